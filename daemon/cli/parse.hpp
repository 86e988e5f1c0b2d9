#pragma once

#include "daemon/cli/commands.hpp"
#include "daemon/cli/diff.hpp"
#include "daemon/cli/hub.hpp"
#include "daemon/cli/plan.hpp"
#include "daemon/cli/render.hpp"

#include <optional>
#include <string>
#include <variant>

namespace headwater::cli {

using Command =
    std::variant<ServeCommand, DemoCommand, PlanCommand, DiffCommand, RenderOptions, ControlCommand,
                 ExportCommand, ConfigCommand, BackupCommand, HubCommand>;

/// A parsed command line: a command to run, or the text to print (help, version, what was wrong)
/// and the exit code.
struct Parsed {
  std::optional<Command> command;
  std::string text = {};
  int exit_code = 0;
};

/// Reads the command line.
Parsed parse(int argc, const char *const *argv, const Terminal &terminal);

} // namespace headwater::cli
