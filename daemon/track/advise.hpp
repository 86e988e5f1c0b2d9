#pragma once

#include "daemon/diff/facts.hpp"
#include "schemas/advisory.hpp"
#include "schemas/change.hpp"
#include "schemas/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::track {

/// What a revision says; null where it was not read.
using FactsOfRevision = std::shared_ptr<const diff::Facts>;
using FactsAt = std::function<FactsOfRevision(const std::string &)>;

/// One move of a branch, as the life of advisories sees it.
struct Step {
  Delta delta;                 ///< empty changes: the branch moved and nothing that is compared did
  bool readable = true;        ///< false: the revision inherits what its parent was affected by
  bool commitless = false;     ///< access or other repos' code changed and no commit was made
  bool parent_was_read = true; ///< false: the change may be older than the revision that has it
  std::string identity_or_name; ///< the hub's _id, else "org/name"
  std::string identity;
  FactsOfRevision facts = nullptr;        ///< at delta.to
  FactsOfRevision facts_before = nullptr; ///< at delta.from
  std::vector<std::string> rewritten_away =
      {}; ///< revisions that this move took off the branch, oldest first
  std::vector<std::string> read_revisions =
      {};          ///< on the branch, oldest first, delta.to left out or last
  std::string now; ///< RFC 3339 UTC
};

struct AdviseOptions {
  std::string prefix = "x_HEADWATER";
  std::string origin = "https://huggingface.co"; ///< where repos live; part of every id
};

/// The life of the advisories of one repo and branch through one step (DESIGN.md, Advisories):
/// entries of `known` that the step reverts, supersedes or restores are closed, open ones grow by
/// the new revision, and a delta at medium or above makes a new advisory with one entry for each
/// subject that it changed at that level. Gives the new and the touched advisories; `modified` is
/// the caller's (stamp). Pure. `facts_at` gives what a stored revision says. An entry is reverted
/// when every place that it told at medium or above says again what it said before; superseded by a
/// change of medium or above of its subject.
std::vector<Advisory> advise(const std::vector<Advisory> &known, const Step &step,
                             const FactsAt &facts_at, const AdviseOptions &options);

/// Gives each advisory a `modified` of its own, max(now, greatest + 1 ms), rising. Errors: internal
/// when `greatest` is not a time.
Result<void> stamp(std::vector<Advisory> &advisories, std::string_view now,
                   std::string_view greatest);

} // namespace headwater::track
