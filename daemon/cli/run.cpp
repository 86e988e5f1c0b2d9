#include "daemon/cli/run.hpp"

#include "daemon/cli/control.hpp"
#include "daemon/cli/demo.hpp"
#include "daemon/cli/files.hpp"
#include "daemon/cli/parse.hpp"
#include "daemon/cli/upstream.hpp"
#include "daemon/service/daemon.hpp"

#include <cstdlib>
#include <iostream>

#include <unistd.h>

namespace headwater::cli {
namespace {

Terminal terminal_of_output() {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const char *no_colour = std::getenv("NO_COLOR");
  return {is_terminal && (no_colour == nullptr || *no_colour == '\0'), is_terminal};
}

/// One function a verb.
struct Run {
  Terminal terminal;
  int operator()(const ServeCommand &command) const { return service::serve(command.config_path); }
  int operator()(const DemoCommand &command) const {
    return run_demo(command, terminal, std::cout, std::cerr);
  }
  int operator()(PlanCommand command) const {
    command.fetch_config = fetch_config;
    return run_plan(command, std::cout, std::cerr);
  }
  int operator()(DiffCommand command) const {
    command.fetch = fetch_snapshot;
    return run_diff(command, std::cout, std::cerr);
  }
  int operator()(const RenderOptions &command) const {
    return run_render(command, std::cout, std::cerr);
  }
  int operator()(const ControlCommand &command) const {
    return run_control(command, terminal, std::cout, std::cerr);
  }
  int operator()(const ExportCommand &command) const {
    return run_export(command, std::cout, std::cerr);
  }
  int operator()(const ConfigCommand &command) const {
    return run_config(command, std::cout, std::cerr);
  }
  int operator()(const BackupCommand &command) const {
    return run_backup(command, std::cout, std::cerr);
  }
  int operator()(const HubCommand &command) const { return run_hub(command, std::cout, std::cerr); }
};

} // namespace

int run(int argc, char **argv) {
  const Terminal terminal = terminal_of_output();
  const Parsed parsed = parse(argc, argv, terminal);
  if (!parsed.command) {
    (parsed.exit_code == 0 ? std::cout : std::cerr) << parsed.text;
    return parsed.exit_code;
  }
  return std::visit(Run{terminal}, *parsed.command);
}

} // namespace headwater::cli
