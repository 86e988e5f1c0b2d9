#pragma once

#include "daemon/hub/client.hpp"
#include "schemas/json.hpp"
#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <string>
#include <vector>

namespace headwater::hub {

/// The hub's JSON as our words. What has the wrong type or form is malformed; what is absent keeps
/// its default.

/// `asked` is the name to keep where the answer (of a mirror) has none.
Result<RepoFacts> read_facts(const Json &answer, const std::string &asked);
/// Appends one page of a commit list.
Result<void> read_commits(const Json &answer, std::vector<Commit> &commits);
Result<Refs> read_refs(const Json &answer);
/// Appends the files of one page of a tree.
Result<void> read_tree(const Json &answer, std::vector<FileEntry> &files);
/// The same from the siblings of a repo's facts (blobs=true), for a mirror that has no tree.
Result<void> read_siblings(const Json &answer, std::vector<FileEntry> &files);
/// Paths alone of the siblings of a repo's facts, sorted.
Result<std::vector<std::string>> read_paths(const Json &answer);

} // namespace headwater::hub
