#pragma once

#include "schemas/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace headwater::net {

/// Decodes a gzip body piece by piece and never makes more than `limit` bytes of it.
class Inflater {
public:
  explicit Inflater(std::size_t limit);
  ~Inflater();
  Inflater(const Inflater &) = delete;
  Inflater &operator=(const Inflater &) = delete;

  /// Appends to `out` what the piece decodes to. Errors: malformed; too_large once `out` would pass
  /// the limit (it then holds exactly `limit` bytes).
  Result<void> add(std::string_view piece, std::string &out);
  /// True when the last member has ended: false means that the body was cut short.
  bool complete() const;

private:
  struct State;
  std::unique_ptr<State> state_;
  std::size_t limit_;
};

} // namespace headwater::net
