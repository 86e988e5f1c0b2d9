#pragma once

#include "store/sqlite.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace headwater::store {

/// Runs writes one after the other on a thread of its own, which alone uses the writing connection.
/// What waits together is made durable together: one transaction, and what fails or throws in it is
/// rolled back alone.
class Writer {
public:
  using Work = std::function<Result<void>(Database &)>;

  /// `regularly` is called on the writer's thread about once a second, outside of a transaction,
  /// and once more at the end. Without a database each write is refused.
  Writer(std::unique_ptr<Database> database, Work regularly);
  ~Writer();
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  /// Runs `work` inside a transaction and waits until it is durable; an error or an exception rolls
  /// all of it back.
  Result<void> transact(Work work);
  /// Ends after the work in hand and checkpoints the log; later work is refused.
  void stop();

private:
  struct Job {
    Work work;
    std::promise<Result<void>> done;
  };
  void loop();

  std::unique_ptr<Database> database_;
  Work regularly_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> work_;
  bool stopping_ = false;
  std::thread thread_;
};

/// Runs `work` in a transaction of its own; an error or an exception rolls it back.
Result<void> in_transaction(Database &database, const Writer::Work &work);

/// Read connections, handed out one per caller. Thread-safe.
class Readers {
public:
  using Observer = std::function<void(std::string_view sql, std::int64_t scanned)>;
  explicit Readers(std::string path, Observer observer = {})
      : path_(std::move(path)), observer_(std::move(observer)) {}
  /// Runs `work` on a connection of its own.
  Result<void> read(const std::function<Result<void>(Database &)> &work);

private:
  std::string path_;
  Observer observer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Database>> idle_;
};

} // namespace headwater::store
