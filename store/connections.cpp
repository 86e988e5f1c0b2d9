#include "store/connections.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

namespace headwater::store {
namespace {

/// Idle read connections that are kept; more are opened for a moment of many callers and closed
/// after.
constexpr std::size_t kept_readers = 4;

/// Jobs that one transaction takes: those behind them wait for the next.
constexpr std::size_t most_together = 64;

constexpr std::chrono::seconds regular_pause(1);

/// No exception crosses into the writer's thread: it would end the daemon for all.
Result<void> run_guarded(Database &database, const Writer::Work &work) {
  try {
    return work(database);
  } catch (const std::exception &thrown) {
    return fail(Errc::internal, database.path() + ": a write ended on a defect of ours",
                thrown.what());
  } catch (...) {
    return fail(Errc::internal, database.path() + ": a write ended on a defect of ours");
  }
}

/// One of several in a transaction: what it did is undone alone.
Result<void> run_in_savepoint(Database &database, const Writer::Work &work) {
  if (Result<void> begun = database.run("SAVEPOINT job", {}); !begun)
    return begun;
  Result<void> done = run_guarded(database, work);
  if (!done)
    static_cast<void>(database.run("ROLLBACK TO job", {}));
  Result<void> released = database.run("RELEASE job", {});
  return done ? released : done;
}

} // namespace

Result<void> in_transaction(Database &database, const Writer::Work &work) {
  if (Result<void> begun = database.run("BEGIN IMMEDIATE", {}); !begun)
    return begun;
  Result<void> done = run_guarded(database, work);
  if (done)
    done = database.run("COMMIT", {});
  // A failed COMMIT may leave the transaction open; rolling back an ended one is harmless.
  if (!done)
    static_cast<void>(database.run("ROLLBACK", {}));
  return done;
}

Writer::Writer(std::unique_ptr<Database> database, Work regularly)
    : database_(std::move(database)), regularly_(std::move(regularly)) {
  if (database_)
    thread_ = std::thread([this] { loop(); });
}

Writer::~Writer() {
  stop();
}

Result<void> Writer::transact(Work work) {
  if (!database_)
    return fail(Errc::store, "the store is open for reading only");
  Job job{std::move(work), {}};
  std::future<Result<void>> done = job.done.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_)
      return fail(Errc::store, "the store is closed");
    work_.push_back(std::move(job));
  }
  wake_.notify_one();
  return done.get();
}

void Writer::loop() {
  auto next = std::chrono::steady_clock::now() + regular_pause;
  for (bool last = false; !last;) {
    std::vector<Job> jobs;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, next, [this] { return stopping_ || !work_.empty(); });
      const auto count = static_cast<std::ptrdiff_t>(std::min(work_.size(), most_together));
      std::move(work_.begin(), work_.begin() + count, std::back_inserter(jobs));
      work_.erase(work_.begin(), work_.begin() + count);
      last = stopping_ && work_.empty();
    }
    std::vector<Result<void>> results(jobs.size());
    if (jobs.size() == 1) {
      results[0] = in_transaction(*database_, jobs[0].work);
    } else if (jobs.size() > 1) {
      const Result<void> all = in_transaction(*database_, [&](Database &database) -> Result<void> {
        for (std::size_t i = 0; i < jobs.size(); ++i)
          results[i] = run_in_savepoint(database, jobs[i].work);
        return {};
      });
      for (Result<void> &result : results)
        if (result && !all)
          result = all;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i)
      jobs[i].done.set_value(std::move(results[i]));
    if (const auto now = std::chrono::steady_clock::now(); last || now >= next) {
      // What it could not write it tries again.
      static_cast<void>(regularly_(*database_));
      next = now + regular_pause;
    }
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
    database->set_observer(observer_);
  }
  Result<void> done = work(*database);
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kept_readers)
    idle_.push_back(std::move(database));
  return done;
}

} // namespace headwater::store
