#pragma once

#include "schemas/result.hpp"

#include <string>

namespace headwater::service {

/// A state folder that this process alone writes to, for as long as this lives: also a process that
/// is killed gives it back.
class StateLock {
public:
  /// Makes the folder when it is not there. Errors: bad_input that names the folder, when another
  /// process has it or it cannot be written.
  static Result<StateLock> take(const std::string &folder);
  StateLock(StateLock &&other) noexcept;
  StateLock &operator=(StateLock &&) = delete;
  ~StateLock();

private:
  explicit StateLock(int file) : file_(file) {}
  int file_;
};

} // namespace headwater::service
