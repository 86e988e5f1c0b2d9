#pragma once

namespace headwater::cli {

/// Parses the command line, runs its verb and gives the exit code.
int run(int argc, char **argv);

} // namespace headwater::cli
