#pragma once

#include "daemon/track/context.hpp"
#include "schemas/result.hpp"
#include "store/records.hpp"

#include <string>

#include <boost/asio/awaitable.hpp>

namespace headwater::track {

/// One look: what is known of the repo, and what the look found.
struct Look {
  Context &context;
  Key key;
  store::Repo repo;
  LookResult result = {};
  bool over = false;     ///< nothing more to do in this look
  std::string held = {}; ///< an answer that is held back, in a sentence, while commits are read on
};

/// The state that a repo's facts leave it in.
store::RepoState state_of(const RepoFacts &facts);

/// Stores how the look ended; logs when that differs from how the last one did.
Result<void> note_state(Context &context, const store::Repo &repo, store::RepoState state,
                        const std::string &note);

/// Ends the look on trouble: the state says what is wrong, the schedule waits.
boost::asio::awaitable<void> end_on(Look &look, Error error);

} // namespace headwater::track
