#pragma once

#include "daemon/hub/client.hpp"
#include "daemon/track/advise.hpp"
#include "daemon/track/confirm.hpp"
#include "daemon/track/schedule.hpp"
#include "daemon/track/stages.hpp"
#include "daemon/track/turns.hpp"
#include "schemas/time.hpp"
#include "store/store.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <boost/asio/thread_pool.hpp>

namespace headwater::track {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// How the tracker works.
struct TrackOptions {
  AdviseOptions advise;
  std::chrono::milliseconds settle{
      0}; ///< before an advisory is public; security and access never wait
  ScheduleOptions schedule;
  ConfirmOptions confirm;
  int concurrency = 4;             ///< repos looked at at once
  unsigned threads = 2;            ///< for the pure work and for waiting on the store
  std::size_t max_commits = 10000; ///< of one branch between two looks
  std::size_t max_code_repos = 8;  ///< named by one repo's configs
  std::chrono::milliseconds retry_unreadable{
      std::chrono::minutes(10)};    ///< doubles with each failure, up to a day
  std::function<TimePoint()> clock; ///< the time that records are dated with
  std::function<void(Delta &)> rules =
      {};                 ///< a person's rules, applied to each delta before it counts
  std::uint64_t seed = 0; ///< of the jitter
  bool has_token = false; ///< watched repos are asked for with one
  /// What a file may be long that is read whole, of a revision whose reading was ended from outside
  /// again and again: half of what it may be else.
  std::int64_t careful_file_bytes = 32LL << 20;
};

/// Something durable has happened; told after its commit returned.
struct Recorded {
  std::string repo;
  std::string branch;
  std::string revision;
  bool backfilled = false;
  bool has_changes = false;
  std::vector<std::string> advisories = {}; ///< ids that are new or changed in substance
};

/// What all looks at all repos share.
struct Context {
  hub::Client &hub;
  hub::Client &code_hub; ///< without token: for repos that upstream content names
  store::Store &store;
  boost::asio::thread_pool &pool;
  const TrackOptions &options;
  const Stages &stages;
  std::function<void(LogLevel, std::string)> log;
  std::function<void(const Recorded &)> recorded;
  std::shared_ptr<Alarm> alarm = std::make_shared<Alarm>();
  std::mutex publishing = {};          ///< from the stamp of `modified` to the commit
  Turns turns = {};                    ///< on the tracker's strand
  std::set<std::int64_t> in_hand = {}; ///< repos that are being looked at; on the strand
  std::atomic<bool> stopping = false;
  std::atomic<std::size_t> watched = 0;

  std::string now() const { return format_time(options.clock()); }
};

} // namespace headwater::track
