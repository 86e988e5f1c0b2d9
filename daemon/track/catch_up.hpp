#pragma once

#include "daemon/track/context.hpp"

#include <boost/asio/awaitable.hpp>

namespace headwater::track {

/// One look at one repo, from the last seen revision to the head: what upstream says of it, changes
/// of access once they are confirmed, then each new commit oldest first. Never throws, never logs
/// but on a change of state; what went wrong is in the repo's state and in when to look again.
boost::asio::awaitable<LookResult> catch_up(Context &context, Key key);

} // namespace headwater::track
