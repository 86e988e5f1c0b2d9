#include "daemon/track/settle.hpp"

#include "daemon/diff/rules.hpp"
#include "schemas/time.hpp"

#include <algorithm>

namespace headwater::track {
namespace {

bool is_held(const Advisory &advisory) {
  return !advisory.held_until.empty();
}

bool contains(const std::vector<std::string> &list, const std::string &value) {
  return std::ranges::find(list, value) != list.end();
}

const Advisory *find(const std::vector<Advisory> &advisories, const std::string &id) {
  const auto at = std::ranges::find(advisories, id, &Advisory::id);
  return at == advisories.end() ? nullptr : &*at;
}

bool is_due(const Advisory &advisory, TimePoint time) {
  const Result<TimePoint> until = parse_time(advisory.held_until);
  return !until || *until <= time;
}

/// The time that the step counts as: when it was read, or when it was committed for one that was
/// there before the first look.
std::string time_of(const Step &step) {
  return step.delta.backfilled && !step.delta.date.empty() ? step.delta.date : step.now;
}

bool has_subject(const Advisory &advisory, const std::string &subject) {
  return std::ranges::any_of(advisory.affected, [&](const AffectedEntry &entry) {
    return entry.subject == subject && entry.state == AdvisoryState::open;
  });
}

/// What waits, as the step leaves it.
struct Waiting {
  std::vector<Advisory> held;
  std::vector<std::string> made; ///< ids of what the step introduced
  const std::vector<Advisory> &touched;

  /// True when what superseded the entry is undone too, and nothing new stands in its place.
  bool undone_with(const AffectedEntry &entry, const std::vector<std::string> &dropped) const {
    const bool again = std::ranges::any_of(made, [&](const std::string &id) {
      const Advisory *advisory = find(touched, id);
      return advisory != nullptr && has_subject(*advisory, entry.subject);
    });
    return !again && !entry.fixed.empty() && std::ranges::any_of(held, [&](const Advisory &later) {
      return later.to == entry.fixed && contains(dropped, later.id);
    });
  }

  bool is_undone(const Advisory &advisory, const std::vector<std::string> &dropped) const {
    return std::ranges::all_of(advisory.affected, [&](const AffectedEntry &entry) {
      switch (entry.state) {
      case AdvisoryState::open:
        return false;
      case AdvisoryState::reverted:
      case AdvisoryState::restored:
        return true;
      case AdvisoryState::superseded:
        return undone_with(entry, dropped);
      }
      return false;
    });
  }
};

} // namespace

Settled settle(std::vector<Advisory> touched, const std::vector<Advisory> &known, const Step &step,
               std::chrono::milliseconds wait) {
  Waiting waiting{{}, {}, touched};
  const Result<TimePoint> time = parse_time(time_of(step));
  const bool waits = wait.count() > 0 && time && diff::may_settle(step.delta);
  for (Advisory &advisory : touched) {
    const Advisory *before = find(known, advisory.id);
    if (before == nullptr)
      waiting.made.push_back(advisory.id);
    if (before == nullptr && waits)
      advisory.held_until = format_time(*time + wait);
    else if (before != nullptr)
      advisory.held_until = before->held_until;
  }
  for (const Advisory &advisory : touched)
    if (is_held(advisory))
      waiting.held.push_back(advisory);
  for (const Advisory &advisory : known)
    if (is_held(advisory) && find(touched, advisory.id) == nullptr)
      waiting.held.push_back(advisory);

  Settled settled;
  for (bool more = true; more;) {
    more = false;
    for (const Advisory &advisory : waiting.held) {
      if (contains(settled.dropped, advisory.id) || !waiting.is_undone(advisory, settled.dropped))
        continue;
      settled.dropped.push_back(advisory.id);
      more = true;
    }
  }
  std::erase_if(touched,
                [&](const Advisory &advisory) { return contains(settled.dropped, advisory.id); });
  settled.advisories = std::move(touched);
  return settled;
}

std::vector<std::string> let_go(std::vector<Advisory> &advisories, const std::string &time) {
  std::vector<std::string> released;
  const Result<TimePoint> now = parse_time(time);
  for (Advisory &advisory : advisories) {
    if (!now || !is_held(advisory) || !is_due(advisory, *now))
      continue;
    advisory.held_until.clear();
    if (!advisory.backfilled) {
      advisory.published = time;
      advisory.substance_at = time;
    }
    released.push_back(advisory.id);
  }
  return released;
}

void relate_public(std::vector<Advisory> &written, const std::vector<Advisory> &known,
                   const std::vector<std::string> &released) {
  for (const std::string &id : released) {
    const Advisory *advisory = find(written, id);
    const std::vector<std::string> related =
        advisory != nullptr ? advisory->related : std::vector<std::string>();
    for (const std::string &other : related) {
      const Advisory *there = find(known, other);
      if (find(written, other) == nullptr && there != nullptr && !is_held(*there))
        written.push_back(*there);
      for (Advisory &named : written)
        if (named.id == other && !contains(named.related, id))
          named.related.push_back(id);
    }
  }
  const auto is_public = [&](const std::string &id) {
    const Advisory *advisory = find(written, id);
    if (advisory == nullptr)
      advisory = find(known, id);
    return advisory != nullptr && !is_held(*advisory);
  };
  for (Advisory &advisory : written)
    if (!is_held(advisory))
      std::erase_if(advisory.related, [&](const std::string &id) { return !is_public(id); });
}

} // namespace headwater::track
