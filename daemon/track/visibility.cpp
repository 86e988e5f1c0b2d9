#include "daemon/track/visibility.hpp"

#include "daemon/track/pending_note.hpp"
#include "daemon/track/record.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headwater::track {
namespace {

using store::Visibility;

std::string open_key(const store::Repo &repo) {
  return fmt::format("open/{}", repo.id);
}

/// Counts the answers that say that a closed repo is open; true once they count.
Result<bool> confirm_open(Look &look) {
  Context &context = look.context;
  const TimePoint now = context.options.clock();
  const ConfirmOptions &options = context.options.confirm;
  const auto counts = [&](const Pending &pending) { return is_confirmed(pending, now, options); };
  const Result<Pending> pending =
      note_once_more(context.store, open_key(look.repo), "open", now, counts);
  if (!pending)
    return std::unexpected(pending.error());
  const bool confirmed = counts(*pending);
  if (!confirmed && !look.result.look_again)
    look.result.look_again = options.span / std::max(1, options.polls - 1);
  return confirmed;
}

} // namespace

Seen seen_of(const RepoFacts &facts) {
  return facts.is_private || facts.disabled || facts.gate != Gate::open ? Seen::hidden : Seen::open;
}

Seen seen_of(const Error &error) {
  if (error.code == Errc::gated)
    return Seen::hidden;
  return error.code == Errc::gone && error.cause != "404" ? Seen::absent : Seen::unknown;
}

Visibility decide_visibility(Visibility now, Seen seen, bool confirmed) {
  switch (seen) {
  case Seen::hidden:
    return Visibility::closed;
  case Seen::absent:
    return now == Visibility::open ? Visibility::lost : now;
  case Seen::open:
    return confirmed || now == Visibility::unseen ? Visibility::open : now;
  case Seen::unknown:
    break;
  }
  return now;
}

boost::asio::awaitable<bool> anybody_can_read(Look &look, RepoFacts facts) {
  if (!look.context.options.has_token)
    co_return true;
  const std::string name = facts.name;
  const std::string branch = look.key.branch;
  const Result<RepoFacts> anonymous = co_await look.context.code_hub.poll(name, branch);
  if (!anonymous || anonymous->head != facts.head)
    co_return false;
  co_return seen_of(*anonymous) == Seen::open;
}

Result<void> close_when_hidden(Look &look, Seen seen) {
  if (seen == Seen::open || seen == Seen::unknown)
    return {};
  Context &context = look.context;
  if (look.repo.visibility != Visibility::open && look.repo.visibility != Visibility::unseen)
    if (Result<void> forgotten = drop_note(context.store, open_key(look.repo)); !forgotten)
      return forgotten;
  const Visibility next = decide_visibility(look.repo.visibility, seen, false);
  if (next == look.repo.visibility)
    return {};
  const bool was_open = look.repo.visibility == Visibility::open;
  const std::lock_guard lock(context.publishing);
  const Result<std::string> greatest = context.store.greatest_modified();
  if (!greatest)
    return std::unexpected(greatest.error());
  const std::string now = context.now();
  std::vector<Advisory> stamped(1);
  if (Result<void> done = stamp(stamped, now, *greatest); !done)
    return done;
  if (Result<void> closed =
          context.store.close_repo(look.repo.id, next, now, stamped.front().modified);
      !closed)
    return closed;
  look.repo.visibility = next;
  if (was_open && !look.repo.publish)
    context.log(LogLevel::info,
                fmt::format("{}: an anonymous client can no longer read it: nothing of it is "
                            "public any more",
                            look.repo.name));
  return {};
}

Result<void> open_when_confirmed(Look &look, Seen seen, bool proven) {
  const Visibility before = look.repo.visibility;
  // What was told last must say so too: a change that is held back is not acted on.
  if (seen != Seen::open || !proven || before == Visibility::open ||
      seen_of(look.repo.facts) != Seen::open)
    return {};
  Result<bool> confirmed = before == Visibility::unseen;
  if (before != Visibility::unseen)
    confirmed = confirm_open(look);
  if (!confirmed)
    return std::unexpected(confirmed.error());
  if (decide_visibility(before, seen, *confirmed) != Visibility::open)
    return {};
  if (Result<void> opened = record_opening(look.context, look.repo); !opened)
    return opened;
  look.repo.visibility = Visibility::open;
  return {};
}

} // namespace headwater::track
