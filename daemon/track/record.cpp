#include "daemon/track/record.hpp"

#include "daemon/diff/known_bytes.hpp"
#include "daemon/track/settle.hpp"
#include "schemas/json.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::track {
namespace {

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Change rewritten(const Commit &commit, const std::string &branch,
                 const std::vector<std::string> &away) {
  return make_change(
      "history.rewritten", "", dump(Json(away.back())), dump(Json(commit.sha)),
      fmt::format("The history of {} was rewritten: {} revision{} up to {} {} no longer on it.",
                  branch, away.size(), away.size() == 1 ? "" : "s", away.back().substr(0, 7),
                  away.size() == 1 ? "is" : "are"));
}

/// An earlier revision with the same facts, other than the one just before; "" when there is none,
/// and when the one just before has the same facts too: then nothing was put back.
Result<std::string> equal_revision(Context &context, const store::Repo &repo,
                                   const Reading &reading, const Before &before,
                                   const diff::Facts &facts) {
  const std::string hash = diff::fact_hash(facts);
  if (hash.empty() || diff::fact_hash(*before.facts) == hash)
    return std::string();
  return context.store.find_equal(repo.id, hash, reading.commit.sha, before.snapshot->commit.sha);
}

Delta make_delta(Context &context, const store::Repo &repo, const Reading &reading,
                 const Before &before, const Move &move, const std::string &equal_revision,
                 const diff::Facts &facts) {
  Delta delta = context.stages.diff({*before.snapshot, *before.facts}, {*reading.snapshot, facts});
  diff::name_known_bytes(*reading.snapshot, delta.changes);
  delta.repo = repo.name;
  delta.branch = repo.branch;
  delta.from = move.other_code_moved ? reading.commit.sha : before.snapshot->commit.sha;
  delta.to = reading.commit.sha;
  delta.date =
      move.other_code_moved || reading.commit.date.empty() ? context.now() : reading.commit.date;
  delta.title = reading.commit.title;
  delta.backfilled = move.backfilled;
  if (!move.rewritten_away.empty())
    delta.changes.push_back(rewritten(reading.commit, repo.branch, move.rewritten_away));
  if (!delta.changes.empty() && !move.other_code_moved)
    delta.equals_revision = equal_revision;
  if (!delta.equals_revision.empty())
    delta.changes.push_back(make_change(
        "history.reverted", "", dump(Json(delta.from)), dump(Json(delta.equals_revision)),
        fmt::format("The content equals that of the earlier revision {}.",
                    delta.equals_revision.substr(0, 7))));
  if (context.options.rules)
    context.options.rules(delta);
  sort_changes(delta.changes);
  return delta;
}

/// The revisions of a repo that are on its branch, oldest first, some left out.
Result<std::vector<std::string>> on_branch(Context &context, const store::Repo &repo,
                                           const std::vector<std::string> &without) {
  const Result<std::vector<store::Revision>> revisions = context.store.revisions(repo.id);
  if (!revisions)
    return std::unexpected(revisions.error());
  std::vector<std::string> list;
  for (const store::Revision &revision : *revisions)
    if (revision.on_branch && std::ranges::find(without, revision.sha) == without.end())
      list.push_back(revision.sha);
  return list;
}

/// All advisories of a repo: the public ones and those that wait.
Result<std::vector<Advisory>> all_advisories(Context &context, const store::Repo &repo) {
  const Result<std::vector<store::AdvisoryRecord>> stored = context.store.advisories_of(repo.id);
  Result<std::vector<Advisory>> held = context.store.held_advisories(repo.id);
  if (!stored || !held)
    return std::unexpected(!stored ? stored.error() : held.error());
  std::vector<Advisory> all;
  std::ranges::transform(*stored, std::back_inserter(all), &store::AdvisoryRecord::advisory);
  std::ranges::move(*held, std::back_inserter(all));
  return all;
}

/// Ids of what is public and was not, or differs in substance.
std::vector<std::string> news_of(const std::vector<Advisory> &written,
                                 const std::vector<Advisory> &known) {
  std::vector<std::string> ids;
  for (const Advisory &advisory : written) {
    const auto before = std::ranges::find(known, advisory.id, &Advisory::id);
    if (advisory.held_until.empty() &&
        (before == known.end() || !before->held_until.empty() ||
         before->substance_at != advisory.substance_at || before->state != advisory.state))
      ids.push_back(advisory.id);
  }
  return ids;
}

/// Stamps and renders what is public and gives all to `write`: from the stamp to the commit nobody
/// else stamps, so a later `modified` is never seen before an earlier one.
template <class Write>
Result<void> write_stamped(Context &context, std::vector<Advisory> advisories, Write write) {
  const auto held = std::ranges::stable_partition(
      advisories, [](const Advisory &advisory) { return advisory.held_until.empty(); });
  std::vector<Advisory> waiting(held.begin(), held.end());
  advisories.erase(held.begin(), held.end());

  const std::lock_guard lock(context.publishing);
  const Result<std::string> greatest = context.store.greatest_modified();
  if (!greatest)
    return std::unexpected(greatest.error());
  if (Result<void> stamped = stamp(advisories, context.now(), *greatest); !stamped)
    return stamped;
  std::vector<store::AdvisoryRecord> records;
  for (Advisory &advisory : advisories) {
    std::string rendered = context.stages.render(advisory);
    records.push_back({std::move(advisory), std::move(rendered)});
  }
  for (Advisory &advisory : waiting)
    records.push_back({std::move(advisory), {}});
  return write(std::move(records));
}

/// The advisories of the repo after the step, then `write` with them. Gives the ids that are news.
template <class Write>
Result<std::vector<std::string>> publish(Context &context, const store::Repo &repo,
                                         const Step &step, Write write) {
  const Result<std::vector<Advisory>> before = all_advisories(context, repo);
  if (!before)
    return std::unexpected(before.error());
  // Facts are made of what is stored, by the readers of today: an older version's word is never set
  // against theirs. Contents that are no longer kept are known where the step has the same.
  std::map<std::string, FactsOfRevision> made = {{step.delta.from, step.facts_before}};
  Result<void> loaded;
  const auto facts_at = [&](const std::string &sha) {
    const auto [at, is_new] = made.try_emplace(sha);
    if (is_new || !at->second) {
      const Result<std::optional<Snapshot>> snapshot = context.store.snapshot(repo.id, sha);
      if (!snapshot)
        loaded = std::unexpected(snapshot.error());
      else if (*snapshot)
        at->second = context.stages.facts(**snapshot, step.facts.get());
    }
    return at->second;
  };
  // Of what was there before the first look the commits' own dates tell how long it stood.
  std::vector<Advisory> known = *before;
  std::vector<std::string> released;
  if (step.delta.backfilled)
    released = let_go(known, step.delta.date);

  Settled settled = settle(advise(known, step, facts_at, context.options.advise), known, step,
                           context.options.settle);
  if (!loaded)
    return std::unexpected(loaded.error());
  for (const Advisory &advisory : known)
    if (std::ranges::find(released, advisory.id) != released.end() &&
        std::ranges::find(settled.advisories, advisory.id, &Advisory::id) ==
            settled.advisories.end())
      settled.advisories.push_back(advisory);
  relate_public(settled.advisories, known, released);
  std::vector<std::string> news = news_of(settled.advisories, *before);
  Result<void> written = write_stamped(
      context, std::move(settled.advisories), [&](std::vector<store::AdvisoryRecord> records) {
        return write(std::move(records), std::move(settled.dropped));
      });
  if (!written)
    return std::unexpected(written.error());
  return news;
}

void tell(Context &context, const store::Repo &repo, const Delta &delta,
          const std::string &revision, bool backfilled, std::vector<std::string> advisories) {
  if (!delta.changes.empty() && !backfilled)
    context.log(LogLevel::info,
                fmt::format("{}: {}: {} change{}, {} {}{}", repo.name, revision.substr(0, 7),
                            delta.changes.size(), delta.changes.size() == 1 ? "" : "s",
                            to_string(impact_of(delta.changes)), to_string(level_of(delta.changes)),
                            advisories.empty() ? std::string()
                                               : fmt::format(": {}", fmt::join(advisories, ", "))));
  if (context.recorded)
    context.recorded({repo.name, repo.branch, revision, backfilled, !delta.changes.empty(),
                      std::move(advisories)});
}

std::vector<store::NamedRepo> named_repos(const Stages &stages, const Snapshot &snapshot) {
  std::vector<store::NamedRepo> names;
  for (const ReferencedRepo &repo : snapshot.referenced)
    names.push_back({"code", repo.name});
  if (stages.base_models)
    for (std::string &name : stages.base_models(snapshot))
      names.push_back({"base", std::move(name)});
  return names;
}

} // namespace

std::string retry_time(Context &context, int failures) {
  std::chrono::milliseconds wait = context.options.retry_unreadable;
  for (int doubling = 0; doubling < failures && wait < std::chrono::hours(24); ++doubling)
    wait *= 2;
  return format_time(context.options.clock() + wait);
}

std::string quarantine_note(const store::Attempt &attempt) {
  if (attempt.unfinished > crashes_that_quarantine)
    return fmt::format("Reading it ended the daemon {} times: it is left alone.",
                       crashes_that_quarantine);
  if (attempt.killed >= kills_that_quarantine)
    return fmt::format("The daemon was killed {} times in a row while it read it (for its memory, "
                       "perhaps): it is left alone.",
                       attempt.killed);
  return {};
}

Result<Before> load_before(Context &context, const store::Repo &repo, const std::string &behind) {
  store::Store &store = context.store;
  const Result<std::optional<store::Revision>> newest =
      store.newest_revision(repo.id, true, behind);
  const Result<std::optional<store::Revision>> last = store.newest_revision(repo.id, false, behind);
  if (!newest || !last)
    return std::unexpected(!newest ? newest.error() : last.error());
  if (!*newest)
    return Before{};
  const Result<std::optional<store::Revision>> revision =
      store.find_revision(repo.id, (*newest)->sha);
  Result<std::optional<Snapshot>> snapshot = store.snapshot(repo.id, (*newest)->sha);
  if (!revision || !snapshot)
    return std::unexpected(!revision ? revision.error() : snapshot.error());
  if (!*revision || !*snapshot)
    return fail(Errc::store, fmt::format("{}: revision {} is listed and not kept: restore a backup",
                                         repo.name, (*newest)->sha));
  Before before;
  before.snapshot = std::make_shared<const Snapshot>(std::move(**snapshot));
  before.plan_json = (*revision)->plan_json;
  before.is_parent = *last && (*last)->sha == (*newest)->sha;
  return before;
}

Result<Before> record_revision(Context &context, const store::Repo &repo, const Reading &reading,
                               const Before &known_before, const Move &move) {
  Before before = known_before;
  // The attempt comes before the first look at the bytes: what crashes us twice is left alone from
  // then on.
  Result<store::Attempt> attempt = reading.attempt.value_or(store::Attempt());
  if (!reading.attempt)
    attempt = context.store.begin_attempt(repo.id, reading.commit.sha);
  const Result<std::optional<store::Revision>> last = context.store.newest_revision(repo.id, false);
  if (!attempt || !last)
    return std::unexpected(!attempt ? attempt.error() : last.error());

  store::RevisionWrite write;
  write.repo_id = repo.id;
  write.revision.sha = reading.commit.sha;
  write.revision.title = reading.commit.title;
  write.revision.date = reading.commit.date;
  write.rewritten_away = move.rewritten_away;
  const std::string left_alone = quarantine_note(*attempt);
  const bool quarantined = !left_alone.empty();
  const bool readable = reading.snapshot != nullptr && !quarantined;

  Before next = before;
  next.is_parent = before.is_parent && !before.snapshot;
  if (quarantined) {
    write.revision.status = store::RevisionStatus::quarantined;
    write.revision.note = left_alone;
  } else if (!readable) {
    write.revision.status = store::RevisionStatus::unreadable;
    write.revision.note = reading.problem;
  } else {
    next.snapshot = reading.snapshot;
    next.is_parent = true;
    const std::string problem = reading_problem(*reading.snapshot);
    if (before.snapshot && !before.facts)
      before.facts = context.stages.facts(*before.snapshot, nullptr);
    next.facts = context.stages.facts(*reading.snapshot, before.facts.get());
    if (before.snapshot) {
      const Result<std::string> equal = equal_revision(context, repo, reading, before, *next.facts);
      if (!equal)
        return std::unexpected(equal.error());
      write.delta = make_delta(context, repo, reading, before, move, *equal, *next.facts);
    }
    write.has_delta = before.snapshot && (!move.other_code_moved || !write.delta.changes.empty());
    Result<std::string> plan = context.stages.plan(*reading.snapshot);
    if (plan && write.has_delta && !before.plan_json.empty())
      write.delta.plan_changes = context.stages.plan_changes(before.plan_json, *plan);
    next.plan_json = plan ? std::move(*plan) : std::string();
    write.snapshot = reading.snapshot;
    write.names = named_repos(context.stages, *reading.snapshot);
    write.revision.status =
        problem.empty() ? store::RevisionStatus::read : store::RevisionStatus::unreadable;
    write.revision.note = !problem.empty() || plan ? problem : plan.error().message;
    write.revision.plan_json = next.plan_json;
    write.revision.fact_hash = diff::fact_hash(*next.facts);
    write.revision.subject_hashes_json = "{}";
    write.revision.delta_level = level_of(write.delta.changes);
    write.revision.change_count = static_cast<std::int64_t>(write.delta.changes.size());
  }
  if (write.revision.status == store::RevisionStatus::unreadable)
    write.next_try_at = retry_time(context, attempt->failed);

  if (move.late) {
    if (Result<void> written = context.store.write_revision(write); !written)
      return std::unexpected(written.error());
    tell(context, repo, write.delta, reading.commit.sha, move.backfilled, {});
    return next;
  }

  Step step;
  step.delta = write.delta;
  step.delta.repo = repo.name;
  step.delta.branch = repo.branch;
  step.delta.to = reading.commit.sha;
  step.delta.date = write.has_delta ? write.delta.date : reading.commit.date;
  step.delta.backfilled = move.backfilled;
  step.readable = readable;
  step.commitless = move.other_code_moved;
  step.parent_was_read = before.is_parent;
  step.identity = repo.facts.identity;
  step.identity_or_name = repo.facts.identity.empty() ? repo.name : repo.facts.identity;
  step.facts = readable ? next.facts : nullptr;
  step.facts_before = before.facts;
  step.rewritten_away = move.rewritten_away;
  step.now = context.now();
  // Only what has no commit of its own, and a rewritten history, say which revisions there are.
  if (step.commitless || !move.rewritten_away.empty()) {
    Result<std::vector<std::string>> read = on_branch(context, repo, move.rewritten_away);
    if (!read)
      return std::unexpected(read.error());
    step.read_revisions = std::move(*read);
  }
  Result<std::vector<std::string>> told =
      publish(context, repo, step,
              [&](std::vector<store::AdvisoryRecord> records, std::vector<std::string> dropped) {
                write.advisories = std::move(records);
                write.dropped = std::move(dropped);
                return context.store.write_revision(write);
              });
  if (!told)
    return std::unexpected(told.error());
  // A repo that cannot be read says so once, not with each revision.
  if (!write.revision.note.empty() && (!*last || (*last)->note != write.revision.note))
    context.log(
        LogLevel::warning,
        fmt::format("{}: {}: {}", repo.name, reading.commit.sha.substr(0, 7), write.revision.note));
  tell(context, repo, write.delta, reading.commit.sha, move.backfilled, std::move(*told));
  return next;
}

Result<std::optional<std::chrono::milliseconds>> release_held(Context &context,
                                                              const store::Repo &repo) {
  std::optional<std::chrono::milliseconds> next;
  const Result<std::vector<Advisory>> held = context.store.held_advisories(repo.id);
  if (!held)
    return std::unexpected(held.error());
  if (held->empty())
    return next;
  const Result<std::vector<Advisory>> before = all_advisories(context, repo);
  if (!before)
    return std::unexpected(before.error());
  std::vector<Advisory> known = *before;
  const std::vector<std::string> released = let_go(known, context.now());
  for (const Advisory &advisory : known)
    if (const Result<TimePoint> until = parse_time(advisory.held_until))
      next = std::min(next.value_or(std::chrono::milliseconds::max()),
                      *until - context.options.clock());
  if (released.empty())
    return next;
  std::vector<Advisory> written;
  std::ranges::copy_if(known, std::back_inserter(written), [&](const Advisory &advisory) {
    return std::ranges::find(released, advisory.id) != released.end();
  });
  // What was there before the first look is recorded and told to nobody.
  const bool backfilled = std::ranges::all_of(written, &Advisory::backfilled);
  relate_public(written, known, released);
  Result<void> done = write_stamped(context, std::move(written),
                                    [&](const std::vector<store::AdvisoryRecord> &records) {
                                      return context.store.write_advisories(repo.id, records);
                                    });
  if (!done)
    return std::unexpected(done.error());
  context.log(LogLevel::info,
              fmt::format("{}: public now: {}", repo.name, fmt::join(released, ", ")));
  if (context.recorded)
    context.recorded({repo.name, repo.branch, repo.head, backfilled, true, released});
  return next;
}

Result<void> record_opening(Context &context, const store::Repo &repo) {
  const Result<std::vector<store::AdvisoryRecord>> stored = context.store.advisories_of(repo.id);
  if (!stored)
    return std::unexpected(stored.error());
  std::vector<Advisory> records;
  // What its watch published all along was never withdrawn.
  if (!repo.publish)
    std::ranges::transform(*stored, std::back_inserter(records), &store::AdvisoryRecord::advisory);
  return write_stamped(context, std::move(records),
                       [&](const std::vector<store::AdvisoryRecord> &stamped) {
                         return context.store.open_repo(repo.id, stamped);
                       });
}

Result<void> record_access(Context &context, const store::Repo &repo, const RepoFacts &facts,
                           store::RepoState state, const std::string &note,
                           std::vector<Change> changes, const std::string &first_seen) {
  store::AccessWrite write;
  write.repo_id = repo.id;
  write.facts = facts;
  write.state = state;
  write.state_note = note;
  Step step;
  step.commitless = true;
  step.identity = facts.identity;
  step.identity_or_name = facts.identity.empty() ? facts.name : facts.identity;
  step.now = context.now();
  // A repo of which nothing was read has nobody who could depend on it.
  if (!changes.empty() && !repo.head.empty()) {
    Result<std::vector<std::string>> read = on_branch(context, repo, {});
    if (!read)
      return std::unexpected(read.error());
    step.read_revisions = std::move(*read);
    Delta &delta = step.delta;
    delta.repo = facts.name;
    delta.branch = repo.branch;
    delta.from = repo.head;
    delta.to = repo.head;
    delta.date = first_seen;
    delta.changes = std::move(changes);
    if (context.options.rules)
      context.options.rules(delta);
    sort_changes(delta.changes);
    write.has_delta = true;
    write.delta = delta;
  }
  if (!write.has_delta)
    return context.store.write_access(write);
  Result<std::vector<std::string>> told =
      publish(context, repo, step,
              [&](std::vector<store::AdvisoryRecord> records, std::vector<std::string> dropped) {
                write.advisories = std::move(records);
                write.dropped = std::move(dropped);
                return context.store.write_access(write);
              });
  if (!told)
    return std::unexpected(told.error());
  tell(context, repo, write.delta, repo.head, false, std::move(*told));
  return {};
}

} // namespace headwater::track
