#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headwater::cli {

/// Documented exit codes of every verb.
enum ExitCode : int {
  exit_fine = 0,
  exit_found = 1, ///< it found something: diff --exit-code, check, a template that does not render
  exit_bad_input = 2,
  exit_upstream = 3, ///< upstream, I/O or unknown
};

/// How output looks: colour and progress are for terminals.
struct Terminal {
  bool colour = false;
  bool progress = false;
};

struct ServeCommand {
  std::string config_path; ///< "" = /etc/headwater/headwater.toml where it exists, else defaults
};

struct DemoCommand {
  std::uint16_t port = 0; ///< 0 = any free one
  bool once = false;
  std::string from = {}; ///< a replay folder instead of the built-in histories
  std::string export_to = {};
  std::string state = {}; ///< keep the database here instead of in a temporary folder
  std::string clock = {}; ///< RFC 3339: every record is dated with it, for comparing exports
  bool json = false;
  int reveal_milliseconds = 3000; ///< between two new revisions while it runs
};

/// A verb that asks the daemon over its control socket.
struct ControlCommand {
  std::string verb; ///< "watch-add", "watch-remove", "watch-list", "status", "revisions",
                    ///< "changes", "advisories", "check", "pin-add", "pin-remove", "pin-list"
  std::vector<std::string> arguments = {};
  std::string branch = "main";
  std::string history = {};
  bool publish = false;
  std::string impact = {}; ///< filter, comma-separated
  std::string fail_on = "medium";
  std::string socket = {}; ///< "" = HEADWATER_SOCKET, else the config's default
  bool json = false;
};

struct ExportCommand {
  std::string folder;
  std::string config_path = {};
  std::string clock = {};
};

struct ConfigCommand {
  bool show = false; ///< otherwise check
  std::string config_path = {};
};

struct BackupCommand {
  std::string file;
  std::string config_path = {};
};

} // namespace headwater::cli
