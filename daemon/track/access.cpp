#include "daemon/track/access.hpp"

#include "daemon/track/pending_note.hpp"
#include "daemon/track/record.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headwater::track {
namespace {

std::string confirm_key(const store::Repo &repo) {
  return fmt::format("confirm/{}", repo.id);
}

/// What an answer comes to that was given once more.
struct Standing {
  Verdict verdict = Verdict::wait;
  std::string first = {}; ///< when it was first given
};

std::string duration_text(std::chrono::milliseconds span) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(span).count();
  return minutes >= 120 ? fmt::format("{} hours", minutes / 60)
         : minutes >= 2 ? fmt::format("{} minutes", minutes)
                        : fmt::format("{} s", span.count() / 1000);
}

/// The answers of many repos turned the same way at once: that is perhaps about us.
void hold(Look &look, const std::string &what, const Crowd &crowd, std::chrono::milliseconds gap) {
  Context &context = look.context;
  look.held = fmt::format(
      "held back: {} of {} watched repos say so at once ({}): check the token, the endpoint and "
      "the network; it is told when it still stands after {} with upstream well",
      crowd.same, crowd.watched, what, duration_text(context.options.confirm.span * alarm_spans));
  look.result.no_later = std::max(gap, std::chrono::milliseconds(1000));
  if (context.alarm->is_news(what))
    context.log(LogLevel::error,
                fmt::format("{}: more than 5 % of the watched repos say so at once, so it is held "
                            "back: check the token, the endpoint and the network",
                            what));
}

/// Counts the answer, and says what it comes to; until it counts the look comes again soon.
Result<Standing> stand(Look &look, const std::string &what, Evidence evidence) {
  Context &context = look.context;
  const TimePoint now = context.options.clock();
  const ConfirmOptions &options = context.options.confirm;
  const int given = context.alarm->give(look.repo.name, what);
  Crowd crowd = context.alarm->crowd(what, context.watched);
  crowd.given = given;
  Verdict verdict = Verdict::wait;
  const auto counts = [&](const Pending &pending) {
    verdict = judge(pending, evidence, crowd, now, options);
    return verdict == Verdict::confirmed;
  };
  const Result<Pending> pending =
      note_once_more(context.store, confirm_key(look.repo), what, now, counts);
  if (!pending)
    return std::unexpected(pending.error());
  const std::chrono::milliseconds gap = options.span / std::max(1, options.polls - 1);
  if (verdict == Verdict::confirmed)
    context.alarm->settled(look.repo.name);
  else if (verdict == Verdict::held)
    hold(look, what, crowd, gap);
  else
    look.result.look_again = gap;
  return Standing{verdict, pending->first};
}

/// The repo answers as it was told: what waited to be confirmed is forgotten.
Result<void> forget_pending(const Look &look) {
  look.context.alarm->well(look.repo.name, look.context.options.clock());
  return drop_note(look.context.store, confirm_key(look.repo));
}

/// A bare 401 says only that we were not let in.
Evidence evidence_of(const Error &error) {
  return error.cause == "401" ? Evidence::refusal : Evidence::absence;
}

} // namespace

Result<void> settle_gone(Look &look, const Error &error) {
  Context &context = look.context;
  const store::Repo &repo = look.repo;
  const std::string note = hub::explain(error, repo.name);
  look.over = true;
  look.result.failed = true;
  // Gone is only what was once read.
  if (repo.head.empty())
    return note_state(context, repo, store::RepoState::not_found, note);
  if (repo.state == store::RepoState::gone)
    return note_state(context, repo, store::RepoState::gone, note);
  // What only a token could read is hidden from those who have none: that is about us.
  if (!context.options.has_token && repo.facts.is_private)
    return note_state(context, repo, store::RepoState::waiting,
                      fmt::format("{} is private and is asked for without a token: give one that "
                                  "can read it (HF_TOKEN or [hub] token_file)",
                                  repo.name));
  const Result<Standing> standing = stand(look, "gone", evidence_of(error));
  if (!standing)
    return std::unexpected(standing.error());
  if (standing->verdict != Verdict::confirmed)
    look.result.failed = false;
  if (standing->verdict == Verdict::held)
    return context.store.note_poll(repo.id, context.now(), store::RepoState::waiting, look.held);
  if (standing->verdict == Verdict::wait)
    return context.store.note_poll(repo.id, context.now(), repo.state, repo.state_note);
  std::vector<Change> changes;
  changes.push_back(make_change(
      "access.gone", "", "\"there\"", "\"gone\"",
      "The repository is gone, or no longer ours to see: it answers as one that does not "
      "exist. What was read of it is kept."));
  context.log(LogLevel::warning, note);
  return record_access(context, repo, repo.facts, store::RepoState::gone, note, std::move(changes),
                       standing->first);
}

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
    if (Result<void> forgotten = forget_pending(look); !forgotten)
      return forgotten;
    look.repo.facts = std::move(facts);
    return {};
  }
  std::string what;
  for (const Change &change : changes)
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", change.kind, change.after_json);
  Result<Standing> standing = Standing{Verdict::confirmed, context.now()};
  if (!is_back)
    standing = stand(look, what, Evidence::facts);
  if (!standing)
    return std::unexpected(standing.error());
  const bool replaced = !look.repo.facts.identity.empty() && !facts.identity.empty() &&
                        look.repo.facts.identity != facts.identity;
  if (standing->verdict != Verdict::confirmed) {
    // A new head is read on with access as it was told; another repo's commits are not.
    look.over = replaced;
    look.repo.facts.head = facts.head;
    if (look.over && !look.held.empty())
      return context.store.note_poll(look.repo.id, context.now(), store::RepoState::waiting,
                                     look.held);
    return {};
  }
  if (Result<void> written = record_access(context, look.repo, facts, state_of(facts), "",
                                           std::move(changes), standing->first);
      !written)
    return written;
  look.repo.facts = facts;
  look.repo.name = facts.name;
  look.repo.state = state_of(facts);
  look.repo.state_note.clear();
  return {};
}

} // namespace headwater::track
