#pragma once

#include "daemon/cli/commands.hpp"

#include <iosfwd>

namespace headwater::cli {

/// A verb that asks the running daemon over its control socket. Exit codes: 0; 1 when `check` finds
/// an advisory at or above --fail-on between pin and head; 2 for bad arguments; 3 when no daemon
/// answers, or a pin was never read.
int run_control(const ControlCommand &command, const Terminal &terminal, std::ostream &out,
                std::ostream &err);

} // namespace headwater::cli
