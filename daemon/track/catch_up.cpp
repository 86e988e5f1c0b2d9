#include "daemon/track/catch_up.hpp"

#include "daemon/track/line.hpp"
#include "daemon/track/on_pool.hpp"
#include "daemon/track/read_revision.hpp"
#include "daemon/track/record.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headwater::track {
namespace {

using boost::asio::awaitable;

/// One look: what is known of the repo, and what the look found.
struct Look {
  Context &context;
  Key key;
  store::Repo repo;
  LookResult result = {};
  bool over = false; ///< nothing more to do in this look
};

std::string confirm_key(const store::Repo &repo) {
  return fmt::format("confirm/{}", repo.id);
}
std::string backfill_key(const store::Repo &repo) {
  return fmt::format("backfill/{}", repo.id);
}

/// Stores how the look ended; logs when that differs from how the last one did.
Result<void> note_state(Context &context, const store::Repo &repo, store::RepoState state,
                        const std::string &note) {
  if (repo.state != state || repo.state_note != note) {
    if (!note.empty())
      context.log(state == store::RepoState::ok ? LogLevel::info : LogLevel::warning, note);
    else if (repo.state != store::RepoState::pending)
      context.log(LogLevel::info, fmt::format("{}: {} again", repo.name, store::to_string(state)));
  }
  return context.store.note_poll(repo.id, context.now(), state, note);
}

/// The state that a repo's facts leave it in.
store::RepoState state_of(const RepoFacts &facts) {
  return facts.disabled ? store::RepoState::disabled : store::RepoState::ok;
}

/// Ends the look on trouble: the state says what is wrong, the schedule waits.
awaitable<void> end_on(Look &look, Error error) {
  look.over = true;
  look.result.failed = true;
  look.result.retry_after = std::chrono::seconds(error.retry_after_seconds);
  // Upstream calls that were cut short by our own end say nothing about upstream.
  if (look.context.stopping)
    co_return;
  const bool gated = error.code == Errc::gated;
  const bool ours = error.code == Errc::store || error.code == Errc::internal;
  std::string note = ours ? fmt::format("{}: {}", look.repo.name, error.message)
                          : hub::explain(error, look.repo.name);
  const store::RepoState state = gated  ? store::RepoState::gated
                                 : ours ? store::RepoState::unreadable
                                        : store::RepoState::waiting;
  auto work = [&look, state, note = std::move(note)] {
    return note_state(look.context, look.repo, state, note);
  };
  const Result<void> noted = co_await on_pool(look.context.pool, std::move(work));
  if (!noted)
    look.context.log(LogLevel::error, noted.error().message);
}

/// True once the same answer was given often enough; until then the look comes again soon.
Result<std::optional<std::string>> confirm(Look &look, const std::string &what) {
  Context &context = look.context;
  const std::string name = confirm_key(look.repo);
  const Result<std::optional<std::string>> stored = context.store.get_note(name);
  if (!stored)
    return std::unexpected(stored.error());
  const std::optional<Pending> before = *stored ? pending_from(**stored) : std::nullopt;
  const Pending pending = confirm_once_more(before, what, context.options.clock());
  if (is_confirmed(pending, context.options.clock(), context.options.confirm)) {
    if (Result<void> put = context.store.put_note(name, ""); !put)
      return std::unexpected(put.error());
    return std::optional(pending.first);
  }
  if (Result<void> put = context.store.put_note(name, to_text(pending)); !put)
    return std::unexpected(put.error());
  look.result.look_again =
      context.options.confirm.span / std::max(1, context.options.confirm.polls - 1);
  return std::optional<std::string>();
}

Result<void> forget_pending(const Look &look) {
  const Result<std::optional<std::string>> stored =
      look.context.store.get_note(confirm_key(look.repo));
  if (!stored)
    return std::unexpected(stored.error());
  if (!*stored || (*stored)->empty())
    return {};
  return look.context.store.put_note(confirm_key(look.repo), "");
}

/// The answers of many repos turned the same way at once: that is about us, so nothing is told.
bool is_alarm(Look &look, const std::string &what) {
  Context &context = look.context;
  context.alarm.set(look.repo.name, what);
  if (!context.alarm.rings(what, context.watched))
    return false;
  look.result.failed = true;
  if (context.alarm.is_news(what))
    context.log(LogLevel::error,
                fmt::format("{}: more than 5 % of the watched repos say so at once, so it is held "
                            "back: check the token, the endpoint and the network",
                            what));
  return true;
}

/// Upstream has no such repo for us. Of a repo that was read before that is a change, once it is
/// confirmed.
Result<void> settle_gone(Look &look, const Error &error) {
  Context &context = look.context;
  const std::string note = hub::explain(error, look.repo.name);
  look.over = true;
  look.result.failed = true;
  if (look.repo.head.empty() || look.repo.state == store::RepoState::gone)
    return note_state(context, look.repo, store::RepoState::gone, note);
  if (is_alarm(look, "gone"))
    return context.store.note_poll(look.repo.id, context.now(), store::RepoState::waiting, note);
  const Result<std::optional<std::string>> confirmed = confirm(look, "gone");
  if (!confirmed)
    return std::unexpected(confirmed.error());
  if (!*confirmed) {
    look.result.failed = false;
    return context.store.note_poll(look.repo.id, context.now(), look.repo.state,
                                   look.repo.state_note);
  }
  std::vector<Change> changes;
  changes.push_back(make_change(
      "access.gone", "", "\"there\"", "\"gone\"",
      "The repository is gone, or no longer ours to see: it answers as one that does not "
      "exist. What was read of it stays served."));
  context.log(LogLevel::warning, note);
  context.alarm.set(look.repo.name, "");
  return record_access(context, look.repo, look.repo.facts, store::RepoState::gone, note,
                       std::move(changes), **confirmed);
}

/// Compares what upstream says of the repo with what was told last. A difference is told once it is
/// confirmed; until then what was known holds. Commits of a repo that took another's name are not
/// read before.
Result<void> settle_access(Look &look, RepoFacts facts) {
  Context &context = look.context;
  if (look.repo.head.empty() && look.repo.facts.head.empty()) {
    // The first answer is what later ones are compared with.
    if (Result<void> written =
            record_access(context, look.repo, facts, state_of(facts), "", {}, "");
        !written)
      return written;
    look.repo.facts = facts;
    look.repo.name = facts.name;
    return {};
  }
  RepoFacts compared = facts;
  // The card's tags change with commits, and are compared there.
  compared.tags = look.repo.facts.tags;
  std::vector<Change> changes = context.stages.diff_access(look.repo.facts, compared);
  std::erase_if(changes, [](const Change &change) { return change.subject != "access"; });
  const bool is_back = look.repo.state == store::RepoState::gone && !look.repo.head.empty();
  if (is_back)
    changes.push_back(
        make_change("access.restored", "", "\"gone\"", "\"there\"", "The repository is back."));
  if (changes.empty()) {
    context.alarm.set(look.repo.name, "");
    if (Result<void> forgotten = forget_pending(look); !forgotten)
      return forgotten;
    look.repo.facts = std::move(facts);
    return {};
  }
  std::string what;
  for (const Change &change : changes)
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", change.kind, change.after_json);
  if (is_alarm(look, what)) {
    look.over = true;
    return context.store.note_poll(look.repo.id, context.now(), store::RepoState::waiting,
                                   "held back: many repos changed in the same way at once");
  }
  Result<std::optional<std::string>> confirmed = std::optional<std::string>(context.now());
  if (!is_back)
    confirmed = confirm(look, what);
  if (!confirmed)
    return std::unexpected(confirmed.error());
  const bool replaced = !look.repo.facts.identity.empty() && !facts.identity.empty() &&
                        look.repo.facts.identity != facts.identity;
  if (!*confirmed) {
    // A new head is read on with access as it was told; another repo's commits are not.
    look.over = replaced;
    look.repo.facts.head = facts.head;
    return {};
  }
  context.alarm.set(look.repo.name, "");
  if (Result<void> written = record_access(context, look.repo, facts, state_of(facts), "",
                                           std::move(changes), **confirmed);
      !written)
    return written;
  look.repo.facts = facts;
  look.repo.name = facts.name;
  look.repo.state = state_of(facts);
  look.repo.state_note.clear();
  return {};
}

/// What upstream says of the repo: the cheap answer, and the whole one where that shows something
/// new.
///
/// The name that is watched is asked for, as those who depend on it do: behind it there may be
/// another repo by now. Where it leads nowhere any more, the name that it was changed to is asked
/// for.
awaitable<Result<RepoFacts>> ask(Look &look) {
  const std::string watched = look.key.repo;
  const std::string name = look.repo.name;
  const std::string branch = look.key.branch;
  Result<RepoFacts> cheap = co_await look.context.hub.poll(watched, branch);
  if (!cheap && cheap.error().code == Errc::gone && name != watched)
    cheap = co_await look.context.hub.poll(name, branch);
  if (!cheap)
    co_return cheap;
  const RepoFacts &known = look.repo.facts;
  const bool same = cheap->head == look.repo.head && cheap->name == known.name &&
                    cheap->identity == known.identity && cheap->gate == known.gate &&
                    cheap->is_private == known.is_private && cheap->disabled == known.disabled &&
                    !look.repo.head.empty();
  if (same) {
    RepoFacts facts = known;
    facts.head = cheap->head;
    co_return facts;
  }
  const std::string landed = cheap->name;
  co_return co_await look.context.hub.repo(landed, branch);
}

struct Work {
  Line line;
  Before before;
  std::string backfill_until; ///< commits up to this one are of the first look
};

/// Commits between the last revision read and the head.
awaitable<Result<std::vector<Commit>>> list_commits(Look &look, std::size_t limit) {
  const std::string name = look.repo.name;
  const std::string head = look.repo.facts.head;
  const std::string until = look.repo.head;
  co_return co_await look.context.hub.commits(name, head, limit, until);
}

Result<std::string> watched_history(const Look &look) {
  const Result<std::vector<store::Watch>> watches = look.context.store.watches();
  if (!watches)
    return std::unexpected(watches.error());
  for (const store::Watch &watch : *watches)
    if (watch.repo == look.key.repo && watch.branch == look.key.branch)
      return watch.history;
  return std::string("20");
}

Result<Work> plan_work(const Look &look, const std::vector<Commit> &listed, std::size_t limit) {
  Context &context = look.context;
  Work work;
  const Result<std::vector<store::Revision>> read = context.store.revisions(look.repo.id);
  if (!read)
    return std::unexpected(read.error());
  work.line = compare_lines(listed, *read, limit);
  if (read->empty() && !work.line.fresh.empty()) {
    work.backfill_until = work.line.fresh.back().sha;
    if (Result<void> put = context.store.put_note(backfill_key(look.repo), work.backfill_until);
        !put)
      return std::unexpected(put.error());
  } else {
    const Result<std::optional<std::string>> stored =
        context.store.get_note(backfill_key(look.repo));
    if (!stored)
      return std::unexpected(stored.error());
    // A first look that was cut short goes on as one.
    const std::string until = stored->value_or("");
    if (std::ranges::find(work.line.fresh, until, &Commit::sha) != work.line.fresh.end())
      work.backfill_until = until;
  }
  Result<Before> before = load_before(context, look.repo);
  if (!before)
    return std::unexpected(before.error());
  work.before = std::move(*before);
  return work;
}

/// Reads one commit; nothing when the look ended on trouble.
awaitable<std::optional<Reading>> read_commit(Look &look, Commit commit,
                                              std::shared_ptr<const Snapshot> before) {
  Reading reading;
  reading.commit = commit;
  const std::int64_t repo_id = look.repo.id;
  const RepoFacts facts = look.repo.facts;
  const std::string branch = look.key.branch;
  Result<std::shared_ptr<const Snapshot>> snapshot =
      co_await read_revision(look.context, repo_id, facts, branch, commit, std::move(before));
  if (snapshot) {
    reading.snapshot = std::move(*snapshot);
  } else if (is_about_content(snapshot.error())) {
    reading.problem = snapshot.error().message;
  } else {
    co_await end_on(look, snapshot.error());
    co_return std::nullopt;
  }
  co_return reading;
}

/// Each new commit, oldest first: read, then recorded in one transaction.
awaitable<void> read_commits(Look &look, Work work) {
  bool backfilled = !work.backfill_until.empty();
  bool first = true;
  for (const Commit &commit : work.line.fresh) {
    if (look.context.stopping) {
      look.over = true;
      co_return;
    }
    const std::shared_ptr<const Snapshot> last = work.before.snapshot;
    std::optional<Reading> reading = co_await read_commit(look, commit, last);
    if (!reading)
      co_return;
    Move move;
    move.backfilled = backfilled;
    if (first)
      move.rewritten_away = work.line.rewritten_away;
    auto record = [&look, &work, &move, &reading] {
      return record_revision(look.context, look.repo, *reading, work.before, move);
    };
    Result<Before> next = co_await on_pool(look.context.pool, std::move(record));
    if (!next) {
      co_await end_on(look, next.error());
      co_return;
    }
    work.before = std::move(*next);
    look.repo.head = commit.sha;
    backfilled = backfilled && commit.sha != work.backfill_until;
    first = false;
  }
}

/// The head once more when it could not be read, and its turn has come.
Result<std::optional<Commit>> head_to_retry(const Look &look) {
  const Result<std::optional<store::Revision>> head =
      look.context.store.find_revision(look.repo.id, look.repo.head);
  if (!head)
    return std::unexpected(head.error());
  if (!*head || (*head)->status != store::RevisionStatus::unreadable)
    return std::optional<Commit>();
  const Result<std::optional<store::Attempt>> attempt =
      look.context.store.find_attempt(look.repo.id, look.repo.head);
  if (!attempt)
    return std::unexpected(attempt.error());
  if (*attempt && !(*attempt)->next_try_at.empty()) {
    const Result<TimePoint> due = parse_time((*attempt)->next_try_at);
    if (due && *due > look.context.options.clock())
      return std::optional<Commit>();
  }
  return std::optional(Commit{(*head)->sha, (*head)->title, (*head)->date});
}

/// What a retry found: better than last time, or the same trouble again and when to try next.
Result<void> record_retry(const Look &look, const Reading &reading, const Before &before) {
  Context &context = look.context;
  const std::string &sha = reading.commit.sha;
  const std::string problem =
      reading.snapshot ? reading_problem(*reading.snapshot) : reading.problem;
  if (!problem.empty()) {
    const Result<std::optional<store::Attempt>> attempt =
        context.store.find_attempt(look.repo.id, sha);
    if (!attempt)
      return std::unexpected(attempt.error());
    return context.store.fail_attempt(look.repo.id, sha, problem,
                                      retry_time(context, *attempt ? (*attempt)->failed : 0));
  }
  const Result<std::optional<store::DeltaRecord>> told = context.store.delta_to(look.repo.id, sha);
  if (!told)
    return std::unexpected(told.error());
  Move move;
  move.backfilled = *told && (*told)->delta.backfilled;
  const Result<Before> recorded = record_revision(context, look.repo, reading, before, move);
  if (!recorded)
    return std::unexpected(recorded.error());
  return {};
}

awaitable<void> retry_head(Look &look) {
  auto due = [&look] { return head_to_retry(look); };
  const Result<std::optional<Commit>> found = co_await on_pool(look.context.pool, std::move(due));
  if (!found || !*found)
    co_return;
  const Commit commit = **found;
  auto load = [&look, &commit] { return load_before(look.context, look.repo, commit.sha); };
  Result<Before> before = co_await on_pool(look.context.pool, std::move(load));
  if (!before)
    co_return;
  const std::shared_ptr<const Snapshot> last = before->snapshot;
  std::optional<Reading> reading = co_await read_commit(look, commit, last);
  if (!reading)
    co_return;
  auto record = [&look, &reading, &before] { return record_retry(look, *reading, *before); };
  const Result<void> recorded = co_await on_pool(look.context.pool, std::move(record));
  if (!recorded)
    co_await end_on(look, recorded.error());
}

/// Code that the head takes from other repos: it moves without a commit here.
awaitable<void> follow_code(Look &look) {
  auto load = [&look] { return load_before(look.context, look.repo); };
  const Result<Before> head = co_await on_pool(look.context.pool, std::move(load));
  if (!head || !head->snapshot || head->snapshot->referenced.empty() ||
      head->snapshot->commit.sha != look.repo.head)
    co_return;
  std::vector<std::string> names;
  for (const ReferencedRepo &repo : head->snapshot->referenced)
    names.push_back(repo.name);
  std::vector<ReferencedRepo> known = head->snapshot->referenced;
  Result<std::vector<ReferencedRepo>> code =
      co_await read_code_repos(look.context, std::move(names), std::move(known));
  if (!code || *code == head->snapshot->referenced)
    co_return;
  Reading reading;
  reading.commit = head->snapshot->commit;
  auto moved = std::make_shared<Snapshot>(*head->snapshot);
  moved->referenced = std::move(*code);
  reading.snapshot = moved;
  Move move;
  move.other_code_moved = true;
  auto record = [&look, &reading, &head, &move] {
    return record_revision(look.context, look.repo, reading, *head, move);
  };
  const Result<Before> recorded = co_await on_pool(look.context.pool, std::move(record));
  if (!recorded)
    co_await end_on(look, recorded.error());
}

awaitable<void> look_at(Look &look) {
  // 1. What does upstream say of the repo? Trouble is waited out; "not there" is confirmed before
  // it is told.
  Result<RepoFacts> facts = co_await ask(look);
  if (!facts && facts.error().code != Errc::gone) {
    co_await end_on(look, facts.error());
    co_return;
  }
  // 2. Who may read it, its name and its identity: told once they are confirmed.
  auto settle = [&look, &facts] {
    return facts ? settle_access(look, *facts) : settle_gone(look, facts.error());
  };
  const Result<void> settled = co_await on_pool(look.context.pool, std::move(settle));
  if (!settled)
    co_await end_on(look, settled.error());
  if (look.over)
    co_return;
  // 3. Which commits are new? Each becomes a revision with a delta, a plan and advisories of its
  // own.
  if (!look.repo.facts.head.empty() && look.repo.facts.head != look.repo.head) {
    auto ask_history = [&look] { return watched_history(look); };
    const Result<std::string> history = co_await on_pool(look.context.pool, std::move(ask_history));
    const std::size_t most = look.context.options.max_commits;
    const std::size_t first_look = history ? history_limit(*history, most) : std::size_t{1};
    const std::size_t limit = look.repo.head.empty() ? first_look : most;
    Result<std::vector<Commit>> listed = co_await list_commits(look, limit);
    if (!listed) {
      co_await end_on(look, listed.error());
      co_return;
    }
    auto compare = [&look, &listed, first_look] { return plan_work(look, *listed, first_look); };
    Result<Work> work = co_await on_pool(look.context.pool, std::move(compare));
    if (!work) {
      co_await end_on(look, work.error());
      co_return;
    }
    co_await read_commits(look, std::move(*work));
  } else {
    // 4. No news here: then what could not be read last time, and the code that is taken from other
    // repos.
    co_await retry_head(look);
    if (!look.over)
      co_await follow_code(look);
  }
  if (look.over)
    co_return;
  // 5. All is well, until next time.
  auto note = [&look] {
    return note_state(look.context, look.repo, state_of(look.repo.facts), "");
  };
  const Result<void> noted = co_await on_pool(look.context.pool, std::move(note));
  if (!noted)
    co_await end_on(look, noted.error());
}

/// How the head stands to each base model that is followed too, kept for its page; made anew when
/// either of them moved.
Result<void> compare_with_bases(Context &context, const store::Repo &known) {
  const Result<store::Repo> repo = context.store.ensure_repo(known.name, known.branch);
  const Result<std::vector<store::NamedRepo>> names = context.store.named_repos(known.id);
  const Result<std::vector<store::BaseComparison>> stored =
      context.store.base_comparisons(known.id);
  if (!repo || !names || !stored)
    return std::unexpected(!repo ? repo.error() : !names ? names.error() : stored.error());
  std::vector<store::BaseComparison> now;
  for (const store::NamedRepo &named : *names) {
    if (named.role != "base")
      continue;
    Result<std::optional<store::Repo>> base = context.store.find_repo(named.name);
    if (base && !*base)
      base = context.store.find_renamed(named.name);
    if (!base)
      return std::unexpected(base.error());
    if (!*base || (*base)->head.empty() || (*base)->id == repo->id)
      continue;
    const store::BaseComparison wanted{named.name, repo->head, (*base)->head, {}};
    const auto same = std::ranges::find_if(*stored, [&](const store::BaseComparison &one) {
      return one.base == wanted.base && one.sha == wanted.sha && one.base_sha == wanted.base_sha;
    });
    if (same != stored->end()) {
      now.push_back(*same);
      continue;
    }
    const Result<std::optional<Snapshot>> head = context.store.snapshot(repo->id, repo->head);
    const Result<std::optional<Snapshot>> of = context.store.snapshot((*base)->id, (*base)->head);
    if (!head || !of)
      return std::unexpected(!head ? head.error() : of.error());
    if (!*head || !*of)
      continue;
    now.push_back(wanted);
    now.back().changes = context.stages.compare_with_base(**of, **head);
  }
  return now == *stored ? Result<void>() : context.store.put_base_comparisons(known.id, now);
}

/// However the look went: what has waited long enough is made public, and the page of a model
/// follows its base.
awaitable<void> close_look(Look &look) {
  if (look.context.stopping)
    co_return;
  auto work = [&look]() -> Result<std::optional<std::chrono::milliseconds>> {
    if (look.context.stages.compare_with_base)
      if (Result<void> compared = compare_with_bases(look.context, look.repo); !compared)
        return std::unexpected(compared.error());
    return release_held(look.context, look.repo);
  };
  const Result<std::optional<std::chrono::milliseconds>> next =
      co_await on_pool(look.context.pool, std::move(work));
  if (next)
    look.result.no_later = *next;
  else
    look.context.log(LogLevel::error, next.error().message);
}

} // namespace

awaitable<LookResult> catch_up(Context &context, Key key) {
  auto find = [&context, key] { return context.store.ensure_repo(key.repo, key.branch); };
  Result<store::Repo> repo = co_await on_pool(context.pool, std::move(find));
  if (!repo) {
    context.log(LogLevel::error, repo.error().message);
    LookResult failed;
    failed.failed = true;
    co_return failed;
  }
  Look look{context, key, std::move(*repo)};
  co_await look_at(look);
  co_await close_look(look);
  co_return look.result;
}

} // namespace headwater::track
