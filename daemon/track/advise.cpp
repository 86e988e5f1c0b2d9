#include "daemon/track/advise.hpp"

#include "schemas/time.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace headwater::track {
namespace {

bool contains(const std::vector<std::string> &list, std::string_view value) {
  return std::ranges::find(list, value) != list.end();
}

void add_once(std::vector<std::string> &list, const std::string &value) {
  if (!value.empty() && !contains(list, value))
    list.push_back(value);
}

bool is_open(const AffectedEntry &entry) {
  return entry.state == AdvisoryState::open;
}

/// Subjects that the delta changed at medium or above, in the order of the changes.
std::vector<std::string> advised_subjects(const Delta &delta) {
  std::vector<std::string> subjects;
  for (const Change &change : delta.changes)
    if (change.level >= Level::medium)
      add_once(subjects, change.subject);
  return subjects;
}

std::vector<Change> changes_of(const Delta &delta, const std::string &subject) {
  std::vector<Change> changes;
  std::ranges::copy_if(delta.changes, std::back_inserter(changes),
                       [&](const Change &change) { return change.subject == subject; });
  return changes;
}

/// The advisory whose entry of `subject` ended where `later` began; null when there is none.
const Advisory *predecessor(const std::vector<Advisory> &known, const std::string &subject,
                            const Advisory &later) {
  for (const Advisory &advisory : known) {
    if (!advisory.withdrawn.empty() || advisory.id == later.id)
      continue;
    for (const AffectedEntry &entry : advisory.affected) {
      const bool ended_there = entry.fixed == later.to ||
                               (!entry.last_affected.empty() && entry.last_affected == later.from &&
                                contains(advisory.related, later.id));
      if (entry.subject == subject && !is_open(entry) && ended_there)
        return &advisory;
    }
  }
  return nullptr;
}

/// How far a step takes a subject back: to where it was before the last change, and perhaps to
/// where it was before the whole chain of changes that superseded one another.
struct WayBack {
  bool reverted = false;
  bool to_the_start = false;
};

/// What a delta told of a subject at medium or above: places, and changes of which no fact knows a
/// place.
struct Told {
  std::set<std::string> places;
  std::vector<Change> without_place;
};

/// A place that differs and that no change names counts as told: a life that ends too late is
/// better than one that ends too early.
Told told_of(const std::string &subject, const std::vector<Change> &changes,
             const diff::Facts &before, const diff::Facts &after) {
  Told told;
  const diff::Judge judge(before, after);
  std::set<const Change *> placed;
  for (const diff::Facts *side : {&before, &after}) {
    const auto facts = side->subjects.find(subject);
    if (facts == side->subjects.end())
      continue;
    for (const auto &[place, fact] : facts->second) {
      if (judge.same(subject, place))
        continue;
      bool named = false;
      bool matters = false;
      for (const Change &change : changes)
        if (change.subject == subject && diff::tells(change.path, place, fact)) {
          named = true;
          matters = matters || change.level >= Level::medium;
          placed.insert(&change);
        }
      if (matters || !named)
        told.places.insert(place);
    }
  }
  for (const Change &change : changes)
    if (change.subject == subject && change.level >= Level::medium && !placed.contains(&change))
      told.without_place.push_back(change);
  return told;
}

class Lifecycle {
public:
  Lifecycle(const std::vector<Advisory> &known, const Step &step, const FactsAt &facts_at,
            const AdviseOptions &options)
      : known_(known), step_(step), facts_at_(facts_at), options_(options),
        subjects_(advised_subjects(step.delta)) {}

  std::vector<Advisory> run() {
    std::vector<Advisory> out;
    for (const Advisory &advisory : known_)
      if (std::optional<Advisory> touched = carry_forward(advisory))
        out.push_back(std::move(*touched));
    std::optional<Advisory> made = introduce();
    if (!made)
      return out;
    // A second change of access on one day has the first one's id: the record goes on under it.
    for (const Advisory &advisory : known_)
      if (advisory.id == made->id)
        made->published = advisory.published;
    std::erase_if(out, [&](const Advisory &advisory) { return advisory.id == made->id; });
    link(out, *made);
    out.push_back(std::move(*made));
    return out;
  }

private:
  std::string dated() const {
    return step_.delta.backfilled && !step_.delta.date.empty() ? step_.delta.date : step_.now;
  }

  WayBack way_back(const Advisory &advisory, const AffectedEntry &entry) const {
    if (!step_.readable || step_.commitless || !step_.facts ||
        !(touches(entry.subject) || moved(entry.subject)))
      return {};
    WayBack way;
    Told told;
    const Advisory *at = &advisory;
    const AffectedEntry *told_by = &entry;
    // A chain is as long as there are advisories at most; the bound keeps damaged records from
    // looping.
    for (std::size_t steps = 0; steps <= known_.size(); ++steps) {
      const FactsOfRevision before = facts_at_(at->from);
      const FactsOfRevision after = facts_at_(at->to);
      const Advisory *previous = predecessor(known_, entry.subject, *at);
      if (!before || !after) {
        // What the revision said is lost: the advisory's own values judge.
        way.reverted = way.reverted || (at == &advisory && restored(entry));
        way.to_the_start = way.reverted && previous == nullptr;
        return way;
      }
      Told more = told_of(entry.subject, told_by->changes, *before, *after);
      told.places.merge(more.places);
      std::ranges::move(more.without_place, std::back_inserter(told.without_place));
      const bool equal = holds_again(entry.subject, told, *before);
      way.reverted = way.reverted || equal;
      way.to_the_start = equal && previous == nullptr && nothing_new(entry.subject, *before);
      if (previous == nullptr)
        break;
      at = previous;
      told_by = &*std::ranges::find(at->affected, entry.subject, &AffectedEntry::subject);
    }
    return way;
  }

  /// True when all that was told of the subject is as it was at `then`.
  bool holds_again(const std::string &subject, const Told &told, const diff::Facts &then) const {
    if (told.places.empty() && told.without_place.empty())
      return false;
    const diff::Judge judge(then, *step_.facts);
    return std::ranges::all_of(
               told.places, [&](const std::string &place) { return judge.same(subject, place); }) &&
           (told.without_place.empty() ||
            diff::subject_hash(then, subject) == diff::subject_hash(*step_.facts, subject) ||
            std::ranges::all_of(told.without_place,
                                [&](const Change &change) { return undone(change); }));
  }

  /// True when nothing that the step tells of the subject is another thing than at `then`.
  bool nothing_new(const std::string &subject, const diff::Facts &then) const {
    if (!step_.facts_before)
      return true;
    const Told told = told_of(subject, step_.delta.changes, *step_.facts_before, *step_.facts);
    const diff::Judge judge(then, *step_.facts);
    return std::ranges::all_of(
        told.places, [&](const std::string &place) { return judge.same(subject, place); });
  }

  /// True when each change of the entry that mattered is undone by a change of the step: turned
  /// round, or led on to something that needs no advisory.
  bool restored(const AffectedEntry &entry) const {
    return touches(entry.subject) && std::ranges::all_of(entry.changes, [&](const Change &old) {
             return old.level < Level::medium || undone(old);
           });
  }

  /// True when a change of the step turns an earlier one round, or leads on to something that needs
  /// no advisory.
  bool undone(const Change &old) const {
    return std::ranges::any_of(step_.delta.changes, [&](const Change &change) {
      return change.subject == old.subject && change.path == old.path &&
             change.before_json == old.after_json &&
             (change.after_json == old.before_json || change.level < Level::medium);
    });
  }

  /// Closes an entry at the step: by `fixed` where the step is a commit behind the introducing one,
  /// else by the last revision that had it.
  void close(AffectedEntry &entry, AdvisoryState state) {
    entry.state = state;
    const bool off_branch = contains(step_.rewritten_away, entry.introduced);
    if (step_.commitless || off_branch || entry.introduced == step_.delta.to)
      entry.last_affected = entry.versions.empty() ? entry.introduced : entry.versions.back();
    else
      entry.fixed = step_.delta.to;
  }

  std::optional<Advisory> carry_forward(const Advisory &advisory) {
    if (!advisory.withdrawn.empty() || advisory.state != AdvisoryState::open)
      return std::nullopt;
    Advisory next = advisory;
    bool closed = false;
    for (AffectedEntry &entry : next.affected) {
      if (!is_open(entry))
        continue;
      const WayBack way = way_back(advisory, entry);
      const bool changed_again = contains(subjects_, entry.subject);
      if (step_.commitless) {
        if (restored(entry)) {
          close(entry, AdvisoryState::restored);
          back_at_start_.insert(entry.subject);
          closed = true;
        } else if (changed_again) {
          supersede(entry, advisory.id);
          closed = true;
        }
      } else if (way.reverted) {
        close(entry, AdvisoryState::reverted);
        closed = true;
        if (way.to_the_start)
          back_at_start_.insert(entry.subject);
        else
          related_.push_back(advisory.id);
      } else if (changed_again) {
        supersede(entry, advisory.id);
        closed = true;
      } else {
        add_once(entry.versions, step_.delta.to);
      }
    }
    if (next == advisory)
      return std::nullopt;
    if (closed) {
      next.substance_at = dated();
      settle_state(next);
    }
    return next;
  }

  bool touches(const std::string &subject) const {
    return std::ranges::any_of(step_.delta.changes,
                               [&](const Change &change) { return change.subject == subject; });
  }

  /// True when the facts of the subject differ, also where no change tells it: a file that could
  /// not be parsed is whole again.
  bool moved(const std::string &subject) const {
    return step_.facts_before && step_.facts &&
           diff::subject_hash(*step_.facts_before, subject) !=
               diff::subject_hash(*step_.facts, subject);
  }

  void supersede(AffectedEntry &entry, const std::string &id) {
    close(entry, AdvisoryState::superseded);
    related_.push_back(id);
  }

  /// Open while any entry is; else what the strongest reason for closing was.
  static void settle_state(Advisory &advisory) {
    const auto any = [&](AdvisoryState state) {
      return std::ranges::any_of(advisory.affected,
                                 [&](const AffectedEntry &entry) { return entry.state == state; });
    };
    for (const AdvisoryState state : {AdvisoryState::open, AdvisoryState::superseded,
                                      AdvisoryState::restored, AdvisoryState::reverted}) {
      if (any(state)) {
        advisory.state = state;
        return;
      }
    }
  }

  AffectedEntry entry_for(const std::string &subject) const {
    AffectedEntry entry;
    entry.subject = subject;
    entry.changes = changes_of(step_.delta, subject);
    if (subject == "history" && !step_.rewritten_away.empty()) {
      // Those who stand on the old line are affected; the new line is not.
      entry.introduced = step_.rewritten_away.front();
      entry.last_affected = step_.rewritten_away.back();
      entry.versions = step_.rewritten_away;
      entry.state = AdvisoryState::superseded;
      return entry;
    }
    if (step_.commitless) {
      entry.versions = step_.read_revisions;
      add_once(entry.versions, step_.delta.to);
      entry.introduced = entry.versions.empty() ? step_.delta.to : entry.versions.front();
      return entry;
    }
    entry.introduced = step_.delta.to;
    entry.versions = {step_.delta.to};
    return entry;
  }

  std::optional<Advisory> introduce() const {
    const Delta &delta = step_.delta;
    Advisory made;
    std::vector<Change> changes;
    for (const std::string &subject : subjects_) {
      if (back_at_start_.contains(subject))
        continue;
      made.affected.push_back(entry_for(subject));
      for (const Change &change : made.affected.back().changes) {
        changes.push_back(change);
        add_once(made.kinds, change.kind);
      }
    }
    if (made.affected.empty())
      return std::nullopt;
    // A branch that was moved back to a commit of before makes no new revision: the day stands for
    // it, as for access.
    const bool by_day = step_.commitless ||
                        (!step_.rewritten_away.empty() && contains(step_.read_revisions, delta.to));
    const std::string &when = by_day && !step_.commitless ? step_.now : delta.date;
    const std::string introducing = by_day ? when.substr(0, 10) : delta.to;
    made.id = advisory_id(options_.prefix, when, step_.now, options_.origin, step_.identity_or_name,
                          introducing, delta.branch);
    made.repo = delta.repo;
    made.identity = step_.identity;
    made.branch = delta.branch;
    made.published = dated();
    made.substance_at = made.published;
    made.impact = impact_of(changes);
    made.level = level_of(changes);
    made.backfilled = delta.backfilled;
    made.introduced_is_lower_bound = !step_.parent_was_read;
    made.from = delta.from;
    made.to = delta.to;
    made.title = delta.title;
    made.plan_changes = delta.plan_changes;
    settle_state(made);
    return made;
  }

  /// What the step superseded and what it introduces name each other.
  void link(std::vector<Advisory> &touched, Advisory &made) const {
    for (Advisory &advisory : touched) {
      if (!contains(related_, advisory.id))
        continue;
      add_once(advisory.related, made.id);
      add_once(made.related, advisory.id);
    }
  }

  const std::vector<Advisory> &known_;
  const Step &step_;
  const FactsAt &facts_at_;
  const AdviseOptions &options_;
  std::vector<std::string> subjects_;
  std::vector<std::string> related_ = {};
  std::set<std::string> back_at_start_ = {};
};

/// With milliseconds always, so that the order of the texts is the order of the times.
std::string sortable_time(TimePoint time) {
  std::string text = format_time(time);
  if (text.find('.') == std::string::npos)
    text.insert(text.size() - 1, ".000");
  return text;
}

} // namespace

std::vector<Advisory> advise(const std::vector<Advisory> &known, const Step &step,
                             const FactsAt &facts_at, const AdviseOptions &options) {
  return Lifecycle(known, step, facts_at, options).run();
}

Result<void> stamp(std::vector<Advisory> &advisories, std::string_view now,
                   std::string_view greatest) {
  Result<TimePoint> time = parse_time(now);
  if (!time)
    return fail(Errc::internal, "the clock gives no time", std::string(now));
  if (!greatest.empty()) {
    const Result<TimePoint> last = parse_time(greatest);
    if (!last)
      return fail(Errc::internal, "a stored record has no time", std::string(greatest));
    *time = std::max(*time, *last + std::chrono::milliseconds(1));
  }
  for (Advisory &advisory : advisories) {
    advisory.modified = sortable_time(*time);
    *time += std::chrono::milliseconds(1);
  }
  return {};
}

} // namespace headwater::track
