#pragma once

#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <functional>
#include <iosfwd>
#include <string>

namespace headwater::cli {

/// `headwater diff A B`.
struct DiffCommand {
  std::string before; ///< folder, or org/name[@revision]
  std::string after;
  bool json = false;
  bool exit_code = false; ///< exit 1 when an advisory would be made
  bool colour = false;
  /// Reads a revision from the hub; "" = main.
  std::function<Result<Snapshot>(const std::string &repo, const std::string &revision)> fetch = {};
};

/// Prints what changed, strongest first. Exit codes: 0, 1 (with exit_code: an advisory would be
/// made), 2 bad input, 3 upstream or I/O.
int run_diff(const DiffCommand &command, std::ostream &out, std::ostream &err);

} // namespace headwater::cli
