#pragma once

#include "schemas/change.hpp"
#include "schemas/snapshot.hpp"

#include <string>

namespace headwater::diff {

/// Two revisions of a repo on one branch -> all that changed, strongest first, each change once.
/// Pure. Fills repo, branch, from, to, date, title and changes; `equals_revision`, `plan_changes`
/// and `backfilled` are the caller's. What could not be read on either side is said as such and
/// never becomes a change of its content.
Delta diff(const Snapshot &before, const Snapshot &after);

/// Changes of the hub's facts about a repo that need no commit: gate, private, disabled, rename,
/// licence tag.
std::vector<Change> diff_access(const RepoFacts &before, const RepoFacts &after);

/// A digest of everything in a snapshot that diff() would compare, equal for revisions of equal
/// content.
std::string fact_hash(const Snapshot &snapshot);

/// The same for one subject alone: equal when the subject stands as it stood (a partial revert).
std::string subject_hash(const Snapshot &snapshot, std::string_view subject);

} // namespace headwater::diff
