#pragma once

#include "daemon/track/context.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

namespace headwater::track {

/// Whom the tracker tells. Called from its own threads, one call at a time for `log` is not
/// promised.
struct Listeners {
  std::function<void(LogLevel, std::string)> log;
  std::function<void(const Recorded &)> recorded =
      {}; ///< behind each commit that added or changed something
};

/// What the tracker is doing now.
struct TrackerStatus {
  std::size_t watched = 0;
  std::size_t looking = 0; ///< looks in hand
  std::size_t settled = 0; ///< watched repos that are caught up, or wait out trouble
  std::size_t looks = 0;   ///< ended since the start
  std::size_t failed = 0;  ///< of them, on trouble
};

/// Looks at every watched repo when its time has come, at most `concurrency` at once. Its
/// coroutines run on `executor`, pure work and waits for the store on threads of its own. All
/// functions may be called from any thread.
class Tracker {
public:
  /// `hub` asks about watched repos; `code_hub`, without token, about repos that upstream content
  /// names.
  Tracker(boost::asio::any_io_executor executor, hub::Client &hub, hub::Client &code_hub,
          store::Store &store, Stages stages, TrackOptions options, Listeners listeners);
  /// Stops.
  ~Tracker();
  Tracker(const Tracker &) = delete;
  Tracker &operator=(const Tracker &) = delete;

  /// Begins with the store's watches, all due at once. Errors: store.
  Result<void> start();
  /// Follows what the store's watches say now: new ones are due at once, those that are gone are
  /// left. Errors: store.
  Result<void> sync_watches();
  /// Looks at a watched repo now. A hint (a webhook) counts at most once a minute for each repo.
  /// False when it is not watched or the hint came too soon.
  bool check_now(const std::string &repo, const std::string &branch, bool is_hint);
  void check_all_now();
  /// Erases all that is known of a repo and follows it no longer; ids of what was public stay
  /// withdrawn. False when nothing was known. Waits for a look in hand. Errors: store, internal,
  /// transient when the look does not end.
  Result<bool> forget(const std::string &repo);
  void set_interval(std::chrono::milliseconds interval);

  /// Blocks until every watched repo was looked at and none waits for a confirmation, or until
  /// stop(). Not from a thread that runs the executor.
  void wait_until_idle();
  TrackerStatus status() const;
  /// Ends the calls upstream and waits for the transactions in hand. Idempotent. The executor must
  /// be running; not from a thread that runs it.
  void stop();

private:
  void pump();
  void look_at(const Key &key);
  void ended(const Key &key, const LookResult &result);
  void wake();
  void bring_dependants(const std::string &repo);
  bool is_idle() const;

  TrackOptions options_;
  Stages stages_;
  boost::asio::thread_pool pool_;
  Context context_;
  boost::asio::strand<boost::asio::any_io_executor> strand_;
  boost::asio::steady_timer timer_; ///< used on the strand alone

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Schedule schedule_;
  std::set<Key> settled_;
  std::set<Key> in_hand_; ///< being looked at
  std::size_t looking_ = 0;
  std::size_t looks_ = 0;
  std::size_t failed_ = 0;
  std::size_t posted_ = 0; ///< handlers on their way to the strand, which stop() waits for
};

} // namespace headwater::track
