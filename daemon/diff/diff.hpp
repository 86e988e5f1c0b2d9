#pragma once

#include "daemon/diff/sides.hpp"
#include "schemas/change.hpp"
#include "schemas/snapshot.hpp"

namespace headwater::diff {

/// Two revisions of a repo on one branch -> all that changed, strongest first, each change once.
/// Pure. Fills repo, branch, from, to, date, title and changes; `equals_revision`, `plan_changes`
/// and `backfilled` are the caller's. What could not be read on either side is said as such and
/// never becomes a change of its content.
Delta diff(const Side &old, const Side &now);
/// The same where the facts are of no further use.
Delta diff(const Snapshot &before, const Snapshot &after);

/// Changes of the hub's facts about a repo that need no commit: gate, private, disabled, rename,
/// licence tag.
std::vector<Change> diff_access(const RepoFacts &before, const RepoFacts &after);

} // namespace headwater::diff
