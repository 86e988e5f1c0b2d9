#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headwater {

/// Checks and splits "org/name" (each part [A-Za-z0-9._-]{1,96}, not starting with '.' or '-').
/// Errors: bad_input that names the part at fault.
struct RepoId {
  std::string org;
  std::string name;
  std::string str() const { return org + "/" + name; }
  friend bool operator==(const RepoId &, const RepoId &) = default;
  friend auto operator<=>(const RepoId &, const RepoId &) = default;
};
Result<RepoId> parse_repo_id(std::string_view text);

/// True for a full revision: 40 lower-case hex digits.
bool is_revision(std::string_view text);

/// Who may read a repo's files.
enum class Gate : std::uint8_t { open, automatic, manual };
std::string_view to_string(Gate gate);

/// What the hub says of a repo, apart from its files.
struct RepoFacts {
  std::string name;     ///< "org/name" as the hub spells it now
  std::string identity; ///< the hub's _id; survives renames; "" where a mirror has none
  std::string head;     ///< revision that the asked branch points at; "" for an empty repo
  bool is_private = false;
  bool disabled = false;
  Gate gate = Gate::open;
  std::vector<std::string> tags = {}; ///< sorted
  std::string library_name = {};
  std::string pipeline_tag = {};
  std::string created_at = {};    ///< RFC 3339 UTC
  std::string last_modified = {}; ///< RFC 3339 UTC
  std::string safetensors_json =
      {}; ///< the hub's own count {"parameters":..,"total":..} as compact JSON; "" when absent
  friend bool operator==(const RepoFacts &, const RepoFacts &) = default;
};

/// One row of a branch's commit list.
struct Commit {
  std::string sha;
  std::string title = {};
  std::string date = {}; ///< RFC 3339 UTC
  friend bool operator==(const Commit &, const Commit &) = default;
};

} // namespace headwater
