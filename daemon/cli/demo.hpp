#pragma once

#include "daemon/cli/commands.hpp"

#include <iosfwd>

namespace headwater::cli {

/// The daemon on a built-in (or given) replay hub, all in a temporary folder. With `once` it ends
/// when everything is read and prints what was found; otherwise it goes on showing new revisions
/// until SIGTERM or SIGINT.
int run_demo(const DemoCommand &command, const Terminal &terminal, std::ostream &out,
             std::ostream &err);

} // namespace headwater::cli
