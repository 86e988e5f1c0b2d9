#pragma once

#include "schemas/result.hpp"

#include <cstddef>
#include <string>

namespace headwater::cli {

/// Steps at the end of the built-in timeline that the demo keeps back, to come one by one while a
/// person watches.
inline constexpr std::size_t demo_live_steps = 14;

/// Writes the built-in histories into `folder` (made when absent) as a ROOT for hub::ReplayHub.
/// Errors: store when the disk refuses, internal when the executable's own copy is damaged.
Result<void> unpack_demo(const std::string &folder);

} // namespace headwater::cli
