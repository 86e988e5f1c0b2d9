#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace headwater::track {

using Moment = std::chrono::steady_clock::time_point;

/// A repo at a branch.
struct Key {
  std::string repo;
  std::string branch = "main";
  friend bool operator==(const Key &, const Key &) = default;
  friend auto operator<=>(const Key &, const Key &) = default;
};

struct ScheduleOptions {
  std::chrono::milliseconds interval{std::chrono::minutes(10)};
  double jitter = 0.1; ///< share of a wait that chance may add or take
  std::chrono::milliseconds first_backoff{
      std::chrono::seconds(30)}; ///< doubles with each failure in a row
  std::chrono::milliseconds longest_backoff{std::chrono::hours(1)};
  std::chrono::milliseconds hint_gap{
      std::chrono::minutes(1)}; ///< between two that were brought forward
};

/// How a look at a repo ended, as far as the next one depends on it.
struct LookResult {
  bool failed = false;                      ///< upstream trouble: wait longer each time
  std::chrono::milliseconds retry_after{0}; ///< at least this long, as upstream asked
  std::optional<std::chrono::milliseconds> look_again =
      {}; ///< sooner than the interval (a confirmation)
  std::optional<std::chrono::milliseconds> no_later =
      {}; ///< caught up, and yet there is something to do by then
};

/// When to look at what. Plain: takes the time as an argument, never reads a clock. No call but
/// keys() costs more than the logarithm of what is followed. Not thread-safe.
class Schedule {
public:
  Schedule(ScheduleOptions options, std::uint64_t seed) : options_(options), random_(seed) {}

  void set_interval(std::chrono::milliseconds interval) { options_.interval = interval; }
  /// Due at once; an entry that is there already stays as it is.
  void add(const Key &key, Moment now);
  void remove(const Key &key);
  bool contains(const Key &key) const { return entries_.contains(key); }
  std::vector<Key> keys() const;
  std::size_t size() const { return entries_.size(); }

  /// The entry that is due longest and not being looked at (ties: by name), marked as being looked
  /// at.
  std::optional<Key> take_due(Moment now);
  /// The look has ended; sets when the next one is due. An entry removed meanwhile stays removed.
  /// True when it was asked for again meanwhile and is due at once.
  bool ended(const Key &key, const LookResult &result, Moment now);
  /// Makes an entry due now (or again right behind the look in hand). A hint is refused within
  /// hint_gap of the last one: false.
  bool bring_forward(const Key &key, Moment now, bool is_hint);
  /// When the next entry that is not being looked at is due.
  std::optional<Moment> next_due() const;

private:
  struct Entry {
    Moment due;
    bool looking = false;
    bool again = false;
    int failures = 0;
    std::optional<Moment> last_hint = {};
  };
  using Entries = std::map<Key, Entry>;
  /// Those that are not being looked at, by when they are due; the keys lie in entries_.
  struct Earlier {
    bool operator()(const Entries::value_type *left, const Entries::value_type *right) const {
      return left->second.due != right->second.due ? left->second.due < right->second.due
                                                   : left->first < right->first;
    }
  };
  std::chrono::milliseconds jittered(std::chrono::milliseconds wait);
  /// The only way to change when an entry is due: its place in waiting_ depends on it.
  void set_due(Entries::value_type &entry, Moment due);

  ScheduleOptions options_;
  std::mt19937_64 random_;
  Entries entries_;
  std::set<Entries::value_type *, Earlier> waiting_;
};

} // namespace headwater::track
