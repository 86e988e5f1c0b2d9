#pragma once

#include "daemon/diff/subjects.hpp"
#include "daemon/diff/weight_groups.hpp"

#include <set>
#include <string>

namespace headwater::diff {

/// What an index file says against the files and headers, when that is worse than before; and what
/// it says differently.
void compare_index(const Sides &sides, const WeightGroup &before, const WeightGroup &after,
                   Changes &changes);

/// True when both sides have an index and they name other tensors.
bool index_names_differ(const Sides &sides, const WeightGroup &before, const WeightGroup &after);

/// The files of which a list of digests kept in the repository gives another digest than they have.
std::set<std::string> stale_digests(const Snapshot &snapshot, const std::string &path);

/// Lists of digests kept in the repository (SHA256SUMS, manifests) that disagree with its files and
/// did not before.
void compare_digest_lists(const Sides &sides, Changes &changes);

} // namespace headwater::diff
