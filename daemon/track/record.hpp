#pragma once

#include "daemon/diff/facts.hpp"
#include "daemon/track/context.hpp"
#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"
#include "store/records.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwater::track {

/// What was read of one commit; no snapshot when `problem` says why.
struct Reading {
  Commit commit;
  std::shared_ptr<const Snapshot> snapshot = nullptr;
  std::string problem = {};
  std::optional<store::Attempt> attempt = {}; ///< stored already, before the first byte
};

/// Attempts that ended by a fault of ours, after which a revision is left alone.
inline constexpr int crashes_that_quarantine = 2;
/// The same of attempts that were ended from outside, without a word.
inline constexpr int kills_that_quarantine = 5;
/// Why a revision is left alone after so many attempts, in a sentence; "" when it is not.
std::string quarantine_note(const store::Attempt &attempt);

/// The newest revision that was read before a commit, as its delta needs it.
struct Before {
  std::shared_ptr<const Snapshot> snapshot = nullptr; ///< null before the first
  std::string plan_json = {};
  std::shared_ptr<const diff::Facts> facts = nullptr; ///< null until they are needed
  bool is_parent = true; ///< false when commits between could not be read
};

/// How the branch came to the commit.
struct Move {
  bool backfilled = false;
  std::vector<std::string> rewritten_away =
      {};                        ///< revisions that a rewritten history left behind, oldest first
  bool late = false;             ///< read behind newer ones, which told already what it changed
  bool other_code_moved = false; ///< the same revision; code that it takes from other repos changed
};

/// When a revision that failed `failures` times before is read again, RFC 3339 UTC.
std::string retry_time(Context &context, int failures);

/// Loads what `Before` needs from the store: the newest read revision of the branch, with `behind`
/// of those that came before that one.
Result<Before> load_before(Context &context, const store::Repo &repo,
                           const std::string &behind = {});

/// Parses, compares, plans and advises one revision and writes all of it in one transaction; tells
/// it after the commit. The attempt is stored first: those that never ended quarantine the
/// revision. Gives the Before of the next commit. Blocks; for the pool. Errors: store, internal.
Result<Before> record_revision(Context &context, const store::Repo &repo, const Reading &reading,
                               const Before &before, const Move &move);

/// Makes public what was held of the repo and has waited long enough, in one transaction; tells it
/// after the commit. Gives how long the next one still waits. Blocks; for the pool. Errors: store,
/// internal.
Result<std::optional<std::chrono::milliseconds>> release_held(Context &context,
                                                              const store::Repo &repo);

/// Writes a confirmed change of access. `first_seen` dates it. Blocks; for the pool. Errors: store,
/// internal.
Result<void> record_access(Context &context, const store::Repo &repo, const RepoFacts &facts,
                           store::RepoState state, const std::string &note,
                           std::vector<Change> changes, const std::string &first_seen);

/// Makes a repo public again: its records are stamped anew, so that those who have seen them
/// withdrawn notice. Blocks; for the pool. Errors: store, internal.
Result<void> record_opening(Context &context, const store::Repo &repo);

} // namespace headwater::track
