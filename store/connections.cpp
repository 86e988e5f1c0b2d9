#include "store/connections.hpp"

#include <utility>

namespace headwater::store {
namespace {

/// Idle read connections that are kept; more are opened for a moment of many callers and closed
/// after.
constexpr std::size_t kept_readers = 4;

Result<void> in_transaction(Database &database,
                            const std::function<Result<void>(Database &)> &work) {
  if (Result<void> begun = database.run("BEGIN IMMEDIATE", {}); !begun)
    return begun;
  Result<void> done = work(database);
  if (done)
    done = database.run("COMMIT", {});
  // A failed COMMIT may leave the transaction open; rolling back an ended one is harmless.
  if (!done)
    static_cast<void>(database.run("ROLLBACK", {}));
  return done;
}

} // namespace

Writer::Writer(std::unique_ptr<Database> database)
    : database_(std::move(database)), thread_([this] { loop(); }) {}

Writer::~Writer() {
  stop();
}

Result<void> Writer::transact(std::function<Result<void>(Database &)> work) {
  std::packaged_task<Result<void>(Database &)> task(
      [work = std::move(work)](Database &database) { return in_transaction(database, work); });
  std::future<Result<void>> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_)
      return fail(Errc::store, "the store is closed");
    work_.push(std::move(task));
  }
  wake_.notify_one();
  return done.get();
}

void Writer::loop() {
  for (;;) {
    std::packaged_task<Result<void>(Database &)> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !work_.empty(); });
      if (work_.empty())
        return;
      task = std::move(work_.front());
      work_.pop();
    }
    task(*database_);
  }
}

void Writer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (!thread_.joinable())
    return;
  thread_.join();
  // A log that cannot be folded in now is folded in at the next start.
  static_cast<void>(database_->run("PRAGMA wal_checkpoint(TRUNCATE)", {}));
}

Result<void> Readers::read(const std::function<Result<void>(Database &)> &work) {
  std::unique_ptr<Database> database;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      database = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!database) {
    Result<std::unique_ptr<Database>> opened = Database::open(path_, true);
    if (!opened)
      return std::unexpected(opened.error());
    database = std::move(*opened);
  }
  Result<void> done = work(*database);
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kept_readers)
    idle_.push_back(std::move(database));
  return done;
}

} // namespace headwater::store
