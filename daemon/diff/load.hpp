#pragma once

#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <string>

namespace headwater::diff {

/// A revision from a local folder: texts whole, weights by header and SHA-256 (read in pieces),
/// everything else by git blob id; .git and links to folders are left out; a git-lfs pointer stands
/// for the file it names. Errors: bad_input for a path that is no folder, store when the disk
/// fails, too_large over 100,000 files.
Result<Snapshot> load_folder(const std::string &folder);

} // namespace headwater::diff
