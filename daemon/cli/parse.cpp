#include "daemon/cli/parse.hpp"

#include "schemas/version.hpp"

#include <memory>
#include <sstream>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headwater::cli {
namespace {

/// The commands that the command line fills; one of them is the outcome.
struct Commands {
  ServeCommand serve;
  DemoCommand demo;
  PlanCommand plan;
  DiffCommand diff;
  RenderOptions render;
  ControlCommand control;
  ExportCommand export_to;
  ConfigCommand config;
  BackupCommand backup;
  HubCommand hub;
  std::optional<Command> chosen;
};

void add_serve(CLI::App &app, Commands &commands) {
  CLI::App *verb = app.add_subcommand("serve", "Run the daemon");
  verb->add_option("--config", commands.serve.config_path,
                   "Config file (default /etc/headwater/headwater.toml)");
  verb->callback([&] { commands.chosen = commands.serve; });
}

void add_demo(CLI::App &app, Commands &commands) {
  CLI::App *verb =
      app.add_subcommand("demo", "Run the daemon on recorded histories, all in a temporary folder");
  DemoCommand &demo = commands.demo;
  verb->add_option("--port", demo.port, "Port of the pages (default: any free one)");
  verb->add_flag("--once", demo.once, "Read everything, print a table, end");
  verb->add_option("--from", demo.from, "Replay this folder instead of the built-in histories");
  verb->add_option("--export", demo.export_to,
                   "Write what was published into this folder (with --once)");
  verb->add_option("--state", demo.state, "Keep the database in this folder");
  verb->add_option("--clock", demo.clock,
                   "Date every record with this time (RFC 3339), for comparing exports");
  verb->add_flag("--json", demo.json, "Print the table as JSON (with --once)");
  verb->add_option("--reveal-every", demo.reveal_milliseconds, "Milliseconds between new revisions")
      ->check(CLI::Range(10, 3'600'000));
  verb->callback([&] { commands.chosen = commands.demo; });
}

void add_plan(CLI::App &app, Commands &commands) {
  CLI::App *verb =
      app.add_subcommand("plan", "What a model takes to fine-tune and to serve, from its config");
  PlanCommand &plan = commands.plan;
  verb->add_option("SOURCE", plan.source, "config.json, a folder, or org/name[@revision]")
      ->required();
  verb->add_flag("--json", plan.json, "Print the plan as JSON");
  verb->add_flag("--tensors", plan.tensors, "List every tensor");
  verb->add_option("--batch", plan.batch, "Sequences at once (default 1)")
      ->check(CLI::Range(1LL, 1LL << 20));
  verb->add_option("--seq", plan.seq,
                   "Tokens per sequence, training and serving (default 2048 and 4096)")
      ->check(CLI::Range(1LL, 1LL << 31));
  verb->add_option("--card", plan.card, "Only this card");
  verb->add_option("--memory-model", plan.memory_model, "reference (default) or physical")
      ->check(CLI::IsMember({"reference", "physical"}));
  verb->add_option("--mute", plan.muted, "Rule that is accepted and not to be told (repeatable)");
  verb->add_option("--compare", plan.compare, "Another SOURCE: say what its plan has otherwise");
  verb->add_option("--reconcile", plan.reconcile,
                   "A folder with safetensors files: check its headers tensor by tensor");
  verb->callback([&] { commands.chosen = commands.plan; });
}

void add_diff(CLI::App &app, Commands &commands) {
  CLI::App *verb =
      app.add_subcommand("diff", "What changed between two revisions, strongest first");
  DiffCommand &diff = commands.diff;
  verb->add_option("A", diff.before, "Folder, or org/name@revision")->required();
  verb->add_option("B", diff.after, "Folder, or org/name@revision")->required();
  verb->add_flag("--json", diff.json, "Print the difference as JSON");
  verb->add_flag("--exit-code", diff.exit_code, "Exit 1 when an advisory would be made");
  verb->callback([&] { commands.chosen = commands.diff; });
}

void add_render(CLI::App &app, Commands &commands) {
  CLI::App *verb = app.add_subcommand("render", "Render a chat template");
  RenderOptions &render = commands.render;
  verb->add_option("TEMPLATE", render.template_path,
                   "Template file, or a folder with tokenizer files")
      ->required();
  verb->add_option("VARIABLES", render.variables_path,
                   "JSON file with messages and the other variables")
      ->required();
  verb->add_option("--now", render.now, "Time that strftime_now shows (RFC 3339)");
  verb->add_flag("--json", render.json, "Print {\"output\"} or {\"error\",\"message\",\"line\"}");
  verb->callback([&] { commands.chosen = commands.render; });
}

void add_hub(CLI::App &app, Commands &commands) {
  CLI::App *verb = app.add_subcommand("hub", "Serve recorded revisions through a hub's API");
  HubCommand &hub = commands.hub;
  verb->add_option("FOLDER", hub.folder, "Folder of recorded repos")->required();
  verb->add_option("--port", hub.port, "Port (default: any free one)");
  verb->add_option("--address", hub.address, "Address to listen on (default 127.0.0.1)");
  verb->add_option("--cdn-port", hub.cdn_port,
                   "Serve large files from a second origin on this port");
  verb->add_option("--reveal-every", hub.reveal_every_seconds,
                   "Show one more revision every so many seconds (default: all at once)");
  verb->callback([&, verb] {
    commands.hub.cdn = verb->count("--cdn-port") > 0;
    commands.chosen = commands.hub;
  });
}

/// A verb over the control socket: its socket and JSON options, and the name it has there.
CLI::App *add_control(CLI::App &app, Commands &commands, const char *name, const char *verb_name,
                      const char *help) {
  CLI::App *verb = app.add_subcommand(name, help);
  verb->add_option("--socket", commands.control.socket,
                   "Control socket of the daemon (default HEADWATER_SOCKET)");
  verb->callback([&commands, verb_name] {
    commands.control.verb = verb_name;
    commands.chosen = commands.control;
  });
  return verb;
}

void add_controls(CLI::App &app, Commands &commands) {
  ControlCommand &control = commands.control;
  CLI::App *watch = app.add_subcommand("watch", "Which repos are followed");
  watch->require_subcommand(1);
  CLI::App *add = add_control(*watch, commands, "add", "watch-add", "Follow repos");
  add->add_option("REPO", control.arguments, "org/name")->required();
  add->add_option("--branch", control.branch, "Branch (default main)");
  add->add_option("--history", control.history, "Revisions read at first: all, none or a number");
  add->add_flag("--publish", control.publish,
                "Show it although an anonymous client could not read it");
  CLI::App *remove = add_control(*watch, commands, "remove", "watch-remove",
                                 "Stop following repos; their records stay");
  remove->add_option("REPO", control.arguments, "org/name")->required();
  remove->add_option("--branch", control.branch, "Branch (default main)");
  add_control(*watch, commands, "forget", "watch-forget",
              "Erase all that is known of repos, watches and revisions included")
      ->add_option("REPO", control.arguments, "org/name")
      ->required();
  add_control(*watch, commands, "list", "watch-list", "List what is followed")
      ->add_flag("--json", control.json, "As JSON");

  CLI::App *pin = app.add_subcommand("pin", "Revisions that somebody depends on");
  pin->require_subcommand(1);
  for (const auto &[name, verb_name, help] :
       {std::tuple{"add", "pin-add", "Keep all that is known of revisions"},
        std::tuple{"remove", "pin-remove", "Let large texts of revisions go with the next head"}}) {
    CLI::App *verb = add_control(*pin, commands, name, verb_name, help);
    verb->add_option("REPO@SHA", control.arguments, "Repo and revision")->required();
    verb->add_option("--branch", control.branch, "Branch (default main)");
  }
  add_control(*pin, commands, "list", "pin-list", "List what is pinned, by hand or by a check")
      ->add_flag("--json", control.json, "As JSON");

  add_control(app, commands, "status", "status", "How each repo stands")
      ->add_flag("--json", control.json, "As JSON");
  for (const auto &[name, help] : {std::pair{"revisions", "Revisions that were read"},
                                   std::pair{"changes", "What changed, newest first"}}) {
    CLI::App *verb = add_control(app, commands, name, name, help);
    verb->add_option("REPO", control.arguments, "org/name")->required()->expected(1);
    verb->add_option("--branch", control.branch, "Branch (default main)");
    verb->add_flag("--json", control.json, "As JSON");
    if (std::string_view(name) == "changes")
      verb->add_option("--impact", control.impact, "Only these impacts, comma-separated");
  }
  CLI::App *advisories =
      add_control(app, commands, "advisories", "advisories", "Advisories, newest first");
  advisories->add_option("REPO", control.arguments, "org/name (default: all)")->expected(0, 1);
  advisories->add_option("--impact", control.impact, "Only these impacts, comma-separated");
  advisories->add_flag("--json", control.json, "As JSON");
  CLI::App *check = add_control(app, commands, "check", "check",
                                "Whether pinned revisions are behind, and how much it matters");
  check->add_option("REPO@PIN", control.arguments, "Repo and full revision")->required();
  check->add_option("--branch", control.branch, "Branch (default main)");
  check->add_option("--fail-on", control.fail_on,
                    "Exit 1 from this level upwards (default medium)");
  check->add_flag("--json", control.json, "As JSON");
}

void add_files(CLI::App &app, Commands &commands) {
  CLI::App *export_to = app.add_subcommand("export", "Write all that is published as files");
  export_to->add_option("FOLDER", commands.export_to.folder, "Where to")->required();
  export_to->add_option("--config", commands.export_to.config_path,
                        "Config file that names the state folder");
  export_to->add_option("--clock", commands.export_to.clock, "Time of the export (RFC 3339)");
  export_to->callback([&] { commands.chosen = commands.export_to; });

  CLI::App *config = app.add_subcommand("config", "The config file");
  config->require_subcommand(1);
  for (const bool show : {false, true}) {
    CLI::App *verb =
        config->add_subcommand(show ? "show" : "check", show ? "Print every key with its value"
                                                             : "Say what is wrong with it");
    verb->add_option("FILE", commands.config.config_path,
                     "Config file (default /etc/headwater/headwater.toml)");
    verb->callback([&commands, show] {
      commands.config.show = show;
      commands.chosen = commands.config;
    });
  }

  CLI::App *backup = app.add_subcommand(
      "backup", "Write a consistent copy of the database, also while the daemon runs");
  backup->add_option("FILE", commands.backup.file, "Where to")->required();
  backup->add_option("--config", commands.backup.config_path,
                     "Config file that names the state folder");
  backup->callback([&] { commands.chosen = commands.backup; });
}

} // namespace

Parsed parse(int argc, const char *const *argv, const Terminal &terminal) {
  CLI::App app{"Headwater follows model repositories and says what changed, whether it matters, "
               "and what it costs.",
               "headwater"};
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("headwater {}", version()));
  app.footer(
      "Exit codes: 0 fine, 1 found something, 2 usage or bad input, 3 upstream, I/O or unknown.");
  Commands commands;
  commands.plan.colour = terminal.colour;
  commands.diff.colour = terminal.colour;
  add_serve(app, commands);
  add_demo(app, commands);
  add_plan(app, commands);
  add_diff(app, commands);
  add_render(app, commands);
  add_controls(app, commands);
  add_files(app, commands);
  add_hub(app, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    if (code == 0)
      return {std::nullopt, out.str(), 0};
    return {std::nullopt,
            "headwater: " + std::string(error.what()) +
                "\nRun headwater --help for the verbs and their options.\n",
            exit_bad_input};
  }
  return {std::move(commands.chosen)};
}

} // namespace headwater::cli
