#pragma once

#include "daemon/track/look.hpp"
#include "schemas/repo.hpp"
#include "schemas/result.hpp"
#include "store/records.hpp"

#include <cstdint>

#include <boost/asio/awaitable.hpp>

namespace headwater::track {

/// What one answer of upstream says of who may see the repo.
enum class Seen : std::uint8_t {
  open,   ///< anybody
  hidden, ///< it is private, gated or disabled
  absent, ///< upstream has no such repo for us
  unknown ///< nothing: trouble, or a bare "not found" that may be anybody's
};
Seen seen_of(const RepoFacts &facts);
Seen seen_of(const Error &error);

/// Closes with the first answer that says so; opens with one that is `confirmed`, and at once what
/// nobody has closed. Pure.
store::Visibility decide_visibility(store::Visibility now, Seen seen, bool confirmed);

/// True when a client without a token can read what `facts` say. With a token in use it is asked;
/// without one the answer itself was anonymous.
boost::asio::awaitable<bool> anybody_can_read(Look &look, RepoFacts facts);

/// Nobody sees the repo any more when the answer says so, from this transaction on: before any
/// commit of it is read. Blocks; for the pool. Errors: store, internal.
Result<void> close_when_hidden(Look &look, Seen seen);

/// Anybody may see the repo once that is told, proven and confirmed. Blocks; for the pool. Errors:
/// store, internal.
Result<void> open_when_confirmed(Look &look, Seen seen, bool proven);

} // namespace headwater::track
