#pragma once

#include "store/sqlite.hpp"

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace headwater::store {

/// Runs writes one after the other on a thread of its own, which alone uses the writing connection.
class Writer {
public:
  explicit Writer(std::unique_ptr<Database> database);
  ~Writer();
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  /// Runs `work` inside one transaction and waits until it is durable; an error rolls all of it
  /// back.
  Result<void> transact(std::function<Result<void>(Database &)> work);
  /// Ends after the work in hand and checkpoints the log; later work is refused.
  void stop();

private:
  void loop();

  std::unique_ptr<Database> database_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::packaged_task<Result<void>(Database &)>> work_;
  bool stopping_ = false;
  std::thread thread_;
};

/// Read connections, handed out one per caller. Thread-safe.
class Readers {
public:
  explicit Readers(std::string path) : path_(std::move(path)) {}
  /// Runs `work` on a connection of its own.
  Result<void> read(const std::function<Result<void>(Database &)> &work);

private:
  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Database>> idle_;
};

} // namespace headwater::store
