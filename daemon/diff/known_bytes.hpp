#pragma once

#include "schemas/change.hpp"
#include "schemas/snapshot.hpp"

#include <vector>

namespace headwater::diff {

/// Digests of the files that `after` has and `before` does not, to look up where their bytes were
/// seen.
std::vector<std::string> new_digests(const Snapshot *before, const Snapshot &after);

/// Says of each change of the weights whose new bytes are known (`after.known`) where they lie too:
/// another revision or repo that has the same weights.
void name_known_bytes(const Snapshot &after, std::vector<Change> &changes);

} // namespace headwater::diff
