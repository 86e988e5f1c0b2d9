#include "daemon/track/catch_up.hpp"

#include "daemon/track/access.hpp"
#include "daemon/track/line.hpp"
#include "daemon/track/look.hpp"
#include "daemon/track/on_pool.hpp"
#include "daemon/track/read_revision.hpp"
#include "daemon/track/record.hpp"
#include "daemon/track/visibility.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headwater::track {
namespace {

using boost::asio::awaitable;

std::string backfill_key(const store::Repo &repo) {
  return fmt::format("backfill/{}", repo.id);
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
awaitable<Result<hub::CommitList>> list_commits(Look &look, std::size_t limit) {
  const std::string name = look.repo.name;
  const std::string head = look.repo.facts.head;
  const std::string until = look.repo.head;
  co_return co_await look.context.hub.commits(name, head, limit, until);
}

Result<std::string> watched_history(const Look &look) {
  const Result<std::optional<store::Watch>> watch =
      look.context.store.find_watch(look.key.repo, look.key.branch);
  if (!watch)
    return std::unexpected(watch.error());
  return *watch ? (*watch)->history : std::string("20");
}

Result<Work> plan_work(const Look &look, const hub::CommitList &listed, std::size_t limit) {
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
  // What a list leaves out may be what the first commit of it seems to change.
  work.before.is_parent = work.before.is_parent && !work.line.gap;
  return work;
}

/// The attempt ended on trouble upstream: it says nothing about the revision.
awaitable<void> drop_attempt(Look &look, std::string sha) {
  auto drop = [&look, &sha] { return look.context.store.drop_attempt(look.repo.id, sha); };
  const Result<void> dropped = co_await on_pool(look.context.pool, std::move(drop));
  if (!dropped)
    look.context.log(LogLevel::error, dropped.error().message);
}

/// Reads one commit; nothing when the look ended on trouble. The attempt is stored before the first
/// byte. What was ended from outside is read alone, and again alone without its large files.
awaitable<std::optional<Reading>> read_commit(Look &look, Commit commit, store::Attempt attempt,
                                              std::shared_ptr<const Snapshot> before) {
  Reading reading;
  reading.commit = commit;
  reading.attempt = attempt;
  if (!quarantine_note(attempt).empty())
    co_return reading;
  const std::int64_t repo_id = look.repo.id;
  const RepoFacts facts = look.repo.facts;
  const std::string branch = look.key.branch;
  const bool careful = attempt.killed > 1;
  Result<std::shared_ptr<const Snapshot>> snapshot = co_await read_revision(
      look.context, repo_id, facts, branch, commit, std::move(before), careful);
  if (snapshot) {
    reading.snapshot = std::move(*snapshot);
  } else if (is_about_content(snapshot.error())) {
    reading.problem = snapshot.error().message;
  } else {
    const std::string sha = commit.sha;
    co_await drop_attempt(look, sha);
    co_await end_on(look, snapshot.error());
    co_return std::nullopt;
  }
  co_return reading;
}

awaitable<Result<store::Attempt>> begin_attempt(Look &look, std::string sha) {
  auto begin = [&look, &sha] { return look.context.store.begin_attempt(look.repo.id, sha); };
  co_return co_await on_pool(look.context.pool, std::move(begin));
}

/// A reading, and the turn that lasts until it is recorded.
struct Taken {
  Turns::Turn turn;
  Reading reading;
};

/// Reads one commit when its turn has come; nothing when the look ended on trouble. The attempt is
/// stored before: it tells whether the commit is to be read alone.
awaitable<std::optional<Taken>> read_in_turn(Look &look, Commit commit,
                                             std::shared_ptr<const Snapshot> last) {
  const std::string sha = commit.sha;
  Result<store::Attempt> attempt = co_await begin_attempt(look, sha);
  if (!attempt) {
    co_await end_on(look, attempt.error());
    co_return std::nullopt;
  }
  const bool alone = attempt->killed > 0;
  Turns::Turn turn = co_await look.context.turns.take(alone);
  const store::Attempt begun = *attempt;
  std::optional<Reading> reading = co_await read_commit(look, commit, begun, std::move(last));
  if (!reading)
    co_return std::nullopt;
  Taken taken{std::move(turn), std::move(*reading)};
  co_return std::optional<Taken>(std::move(taken));
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
    const std::optional<Taken> taken = co_await read_in_turn(look, commit, last);
    if (!taken)
      co_return;
    Move move;
    move.backfilled = backfilled;
    if (first)
      move.rewritten_away = work.line.rewritten_away;
    auto record = [&look, &work, &move, &taken] {
      return record_revision(look.context, look.repo, taken->reading, work.before, move);
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

/// What a retry found: better than last time, or the same trouble again and when to try next.
Result<void> record_retry(const Look &look, const Reading &reading, const Before &before) {
  Context &context = look.context;
  const std::string &sha = reading.commit.sha;
  const bool left_alone = reading.attempt && !quarantine_note(*reading.attempt).empty();
  const std::string problem =
      reading.snapshot ? reading_problem(*reading.snapshot) : reading.problem;
  if (!problem.empty() && !left_alone)
    return context.store.fail_attempt(
        look.repo.id, sha, problem,
        retry_time(context, reading.attempt ? reading.attempt->failed : 0));
  const Result<std::optional<store::DeltaRecord>> told = context.store.delta_to(look.repo.id, sha);
  if (!told)
    return std::unexpected(told.error());
  Move move;
  move.backfilled = *told && (*told)->delta.backfilled;
  // What it changed was told with the next one that could be read.
  move.late = sha != look.repo.head;
  const Result<Before> recorded = record_revision(context, look.repo, reading, before, move);
  if (!recorded)
    return std::unexpected(recorded.error());
  return {};
}

/// A revision that could not be read, once more when its turn has come; also when it is not the
/// head any longer.
awaitable<void> retry_unreadable(Look &look) {
  auto due = [&look] { return look.context.store.due_retry(look.repo.id, look.context.now()); };
  const Result<std::optional<store::Revision>> found =
      co_await on_pool(look.context.pool, std::move(due));
  if (!found || !*found)
    co_return;
  const Commit commit{(*found)->sha, (*found)->title, (*found)->date};
  const std::string sha = commit.sha;
  auto load = [&look, &sha] { return load_before(look.context, look.repo, sha); };
  Result<Before> before = co_await on_pool(look.context.pool, std::move(load));
  if (!before)
    co_return;
  const std::shared_ptr<const Snapshot> last = before->snapshot;
  const std::optional<Taken> taken = co_await read_in_turn(look, commit, last);
  if (!taken)
    co_return;
  auto record = [&look, &taken, &before] { return record_retry(look, taken->reading, *before); };
  const Result<void> recorded = co_await on_pool(look.context.pool, std::move(record));
  if (!recorded)
    co_await end_on(look, recorded.error());
}

/// Code that the head takes from other repos: it moves without a commit here.
awaitable<void> follow_code(Look &look) {
  // Nearly all take none: then the head is not read from the store at all.
  auto load = [&look]() -> Result<Before> {
    const Result<std::vector<store::NamedRepo>> names =
        look.context.store.named_repos(look.repo.id);
    if (!names)
      return std::unexpected(names.error());
    const bool takes_code =
        std::ranges::any_of(*names, [](const store::NamedRepo &one) { return one.role == "code"; });
    return takes_code ? load_before(look.context, look.repo) : Before{};
  };
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

Result<void> settle_there(Look &look, const RepoFacts &facts, Seen seen, bool proven) {
  Result<void> done = close_when_hidden(look, seen);
  if (done)
    done = settle_access(look, facts);
  return done ? open_when_confirmed(look, seen, proven) : done;
}

Result<void> settle_absence(Look &look, const Error &error, Seen seen) {
  Result<void> done = settle_gone(look, error);
  // What many repos say at once is perhaps about us.
  return done && look.held.empty() ? close_when_hidden(look, seen) : done;
}

/// How an undisturbed look leaves the repo. A head that is left alone is said for as long as it is
/// the head.
Result<void> note_well(Look &look) {
  Context &context = look.context;
  // An answer that is held back was logged once, for all repos that give it.
  if (!look.held.empty())
    return context.store.note_poll(look.repo.id, context.now(), store::RepoState::waiting,
                                   look.held);
  const Result<std::optional<store::Revision>> head =
      context.store.find_revision(look.repo.id, look.repo.head);
  if (!head)
    return std::unexpected(head.error());
  if (*head && (*head)->status == store::RevisionStatus::quarantined)
    return note_state(context, look.repo, store::RepoState::unreadable,
                      fmt::format("{}: its head {} is quarantined: {}", look.repo.name,
                                  look.repo.head.substr(0, 7), (*head)->note));
  return note_state(context, look.repo, state_of(look.repo.facts), "");
}

awaitable<void> look_at(Look &look) {
  // 1. What does upstream say of the repo? Trouble is waited out; "not there" is confirmed before
  // it is told.
  Result<RepoFacts> facts = co_await ask(look);
  const Seen seen = facts ? seen_of(*facts) : seen_of(facts.error());
  if (!facts && facts.error().code != Errc::gone) {
    co_await end_on(look, facts.error());
    auto close = [&look, seen] { return close_when_hidden(look, seen); };
    const Result<void> closed = co_await on_pool(look.context.pool, std::move(close));
    if (!closed)
      look.context.log(LogLevel::error, closed.error().message);
    co_return;
  }
  // 2. Who may read it, its name and its identity: it closes at once, and is told and opens once
  // that is confirmed.
  bool proven = false;
  if (facts && seen == Seen::open && look.repo.visibility != store::Visibility::open) {
    const RepoFacts open_facts = *facts;
    proven = co_await anybody_can_read(look, open_facts);
  }
  auto settle = [&look, &facts, seen, proven] {
    return facts ? settle_there(look, *facts, seen, proven)
                 : settle_absence(look, facts.error(), seen);
  };
  const Result<void> settled = co_await on_pool(look.context.pool, std::move(settle));
  if (!settled) {
    co_await end_on(look, settled.error());
    co_return;
  }
  if (look.over)
    co_return;
  // 3. Which commits are new? Each becomes a revision with a delta, a plan and advisories of its
  // own.
  if (!look.repo.facts.head.empty() && look.repo.facts.head != look.repo.head) {
    auto ask_history = [&look] { return watched_history(look); };
    const Result<std::string> history = co_await on_pool(look.context.pool, std::move(ask_history));
    if (!history) {
      co_await end_on(look, history.error());
      co_return;
    }
    const std::size_t most = look.context.options.max_commits;
    const std::size_t first_look = history_limit(*history, most);
    const std::size_t limit = look.repo.head.empty() ? first_look : most;
    Result<hub::CommitList> listed = co_await list_commits(look, limit);
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
    co_await retry_unreadable(look);
    if (!look.over)
      co_await follow_code(look);
  }
  if (look.over)
    co_return;
  // 5. All is well, until next time.
  auto note = [&look] { return note_well(look); };
  const Result<void> noted = co_await on_pool(look.context.pool, std::move(note));
  if (!noted)
    co_await end_on(look, noted.error());
}

/// How the head stands to each base model that is followed too, kept for its page; made anew when
/// either of them moved.
Result<void> compare_with_bases(Context &context, const store::Repo &known) {
  Result<std::optional<store::Repo>> repo = context.store.find_repo(known.name, known.branch);
  // It was renamed in this look, or forgotten meanwhile.
  if (repo && !*repo)
    repo = context.store.find_renamed(known.name);
  if (repo && !*repo)
    return {};
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
    if (!*base || (*base)->head.empty() || (*base)->id == (*repo)->id)
      continue;
    const store::BaseComparison wanted{named.name, (*repo)->head, (*base)->head, {}};
    const auto same = std::ranges::find_if(*stored, [&](const store::BaseComparison &one) {
      return one.base == wanted.base && one.sha == wanted.sha && one.base_sha == wanted.base_sha;
    });
    if (same != stored->end()) {
      now.push_back(*same);
      continue;
    }
    const Result<std::optional<Snapshot>> head = context.store.snapshot((*repo)->id, (*repo)->head);
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

/// The repo is being looked at for as long as this lives.
class InHand {
public:
  InHand(Context &context, std::int64_t id)
      : context_(context), id_(id), ours_(context.in_hand.insert(id).second) {}
  InHand(const InHand &) = delete;
  InHand &operator=(const InHand &) = delete;
  ~InHand() {
    if (ours_)
      context_.in_hand.erase(id_);
  }
  bool is_ours() const { return ours_; }

private:
  Context &context_;
  std::int64_t id_;
  bool ours_;
};

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
  if (next && *next)
    look.result.no_later = std::min(look.result.no_later.value_or(**next), **next);
  else if (!next)
    look.context.log(LogLevel::error, next.error().message);
}

} // namespace

/// The state that a repo's facts leave it in.
store::RepoState state_of(const RepoFacts &facts) {
  return facts.disabled ? store::RepoState::disabled : store::RepoState::ok;
}

/// Stores how the look ended; logs when that differs from how the last one did.
Result<void> note_state(Context &context, const store::Repo &repo, store::RepoState state,
                        const std::string &note) {
  if (repo.state == state && repo.state_note == note) {
    context.store.note_look(repo.id, context.now());
    return {};
  }
  if (!note.empty())
    context.log(state == store::RepoState::ok ? LogLevel::info : LogLevel::warning, note);
  else if (repo.state != store::RepoState::pending)
    context.log(LogLevel::info, fmt::format("{}: {} again", repo.name, store::to_string(state)));
  return context.store.note_poll(repo.id, context.now(), state, note);
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
  // Two watches may lead to one repo, by its old name and by its new one.
  const InHand hand(context, look.repo.id);
  if (!hand.is_ours()) {
    look.result.look_again = std::chrono::seconds(1);
    co_return look.result;
  }
  co_await look_at(look);
  co_await close_look(look);
  co_return look.result;
}

} // namespace headwater::track
