#include "daemon/track/schedule.hpp"

#include <algorithm>
#include <utility>

namespace headwater::track {

void Schedule::add(const Key &key, Moment now) {
  entries_.try_emplace(key, Entry{.due = now});
}

void Schedule::remove(const Key &key) {
  entries_.erase(key);
}

std::optional<Key> Schedule::take_due(Moment now) {
  auto best = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at)
    if (!at->second.looking && at->second.due <= now &&
        (best == entries_.end() || at->second.due < best->second.due))
      best = at;
  if (best == entries_.end())
    return std::nullopt;
  best->second.looking = true;
  return best->first;
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
    entry.due = std::min(entry.due, now);
  return true;
}

std::optional<Moment> Schedule::next_due() const {
  std::optional<Moment> next;
  for (const auto &[key, entry] : entries_)
    if (!entry.looking && (!next || entry.due < *next))
      next = entry.due;
  return next;
}

} // namespace headwater::track
