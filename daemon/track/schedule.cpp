#include "daemon/track/schedule.hpp"

#include <algorithm>
#include <utility>

namespace headwater::track {

void Schedule::add(const Key &key, Moment now) {
  const auto [at, is_new] = entries_.try_emplace(key, Entry{.due = now});
  if (is_new)
    waiting_.insert(&*at);
}

void Schedule::remove(const Key &key) {
  const auto at = entries_.find(key);
  if (at == entries_.end())
    return;
  waiting_.erase(&*at);
  entries_.erase(at);
}

void Schedule::set_due(Entries::value_type &entry, Moment due) {
  const bool waits = waiting_.erase(&entry) > 0;
  entry.second.due = due;
  if (waits)
    waiting_.insert(&entry);
}

std::optional<Key> Schedule::take_due(Moment now) {
  if (waiting_.empty() || (*waiting_.begin())->second.due > now)
    return std::nullopt;
  Entries::value_type &first = **waiting_.begin();
  waiting_.erase(waiting_.begin());
  first.second.looking = true;
  return first.first;
}

std::vector<Key> Schedule::keys() const {
  std::vector<Key> keys;
  for (const auto &[key, entry] : entries_)
    keys.push_back(key);
  return keys;
}

std::chrono::milliseconds Schedule::jittered(std::chrono::milliseconds wait) {
  std::uniform_real_distribution<double> share(1.0 - options_.jitter, 1.0 + options_.jitter);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(wait.count()) * share(random_)));
}

bool Schedule::ended(const Key &key, const LookResult &result, Moment now) {
  const auto at = entries_.find(key);
  if (at == entries_.end())
    return false;
  Entry &entry = at->second;
  // Out of the line while its place changes.
  waiting_.erase(&*at);
  entry.looking = false;
  entry.failures = result.failed ? std::min(entry.failures + 1, 30) : 0;
  if (result.failed) {
    std::chrono::milliseconds wait = options_.first_backoff;
    for (int doubling = 1; doubling < entry.failures && wait < options_.longest_backoff; ++doubling)
      wait *= 2;
    entry.due =
        now + std::max(jittered(std::min(wait, options_.longest_backoff)), result.retry_after);
  } else if (result.look_again) {
    entry.due = now + std::min(*result.look_again, options_.interval);
  } else {
    entry.due = now + jittered(options_.interval);
  }
  if (!result.failed && result.no_later)
    entry.due = std::min(entry.due, now + std::max(*result.no_later, std::chrono::milliseconds(0)));
  const bool again = std::exchange(entry.again, false);
  if (again)
    entry.due = now;
  waiting_.insert(&*at);
  return again;
}

bool Schedule::bring_forward(const Key &key, Moment now, bool is_hint) {
  const auto at = entries_.find(key);
  if (at == entries_.end())
    return false;
  Entry &entry = at->second;
  if (is_hint && entry.last_hint && now - *entry.last_hint < options_.hint_gap)
    return false;
  if (is_hint)
    entry.last_hint = now;
  if (entry.looking)
    entry.again = true;
  else
    set_due(*at, std::min(entry.due, now));
  return true;
}

std::optional<Moment> Schedule::next_due() const {
  if (waiting_.empty())
    return std::nullopt;
  return (*waiting_.begin())->second.due;
}

} // namespace headwater::track
