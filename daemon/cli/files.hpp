#pragma once

#include "daemon/cli/commands.hpp"

#include <iosfwd>

namespace headwater::cli {

/// Writes everything that is published as files, from the state folder that the config names.
int run_export(const ExportCommand &command, std::ostream &out, std::ostream &err);
/// `config check` says "fine" or what is wrong (exit 2); `config show` prints every key.
int run_config(const ConfigCommand &command, std::ostream &out, std::ostream &err);
/// Copies the database, also while the daemon runs.
int run_backup(const BackupCommand &command, std::ostream &out, std::ostream &err);

} // namespace headwater::cli
