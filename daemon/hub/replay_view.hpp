#pragma once

// What the replay hub shows at one moment: the first N steps of the timeline over all its repos. A
// view is built whole for each step and then only read, so requests in hand keep the one they began
// with.

#include "daemon/hub/replay_repo.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::hub {

/// One step of the timeline: a revision of a repo comes, or an event happens to it.
struct ReplayStep {
  std::size_t repo = 0;
  bool is_event = false;
  std::size_t index = 0; ///< of the commit or the event
  std::int64_t date = 0;
};

/// All that is recorded. The timeline begins with the first revision of each repo (so that each
/// exists), then goes by date; within a repo the recorded order holds whatever the dates say.
struct ReplayWorld {
  std::vector<ReplayRepo> repos;
  std::vector<ReplayStep> timeline;
  std::size_t first_steps = 0; ///< steps that are always shown
};

/// Reads all of ROOT/{models,datasets,spaces}. Errors: bad_input when there is nothing to serve or
/// a repo cannot be read.
Result<std::shared_ptr<const ReplayWorld>> read_replay_world(const std::string &root,
                                                             const ReplayReadOptions &options);

/// One repo as it is now.
struct ReplayView {
  const ReplayRepo *repo = nullptr;
  std::string id;             ///< its name now
  std::string oid;            ///< its _id now
  Json meta = Json::object(); ///< repo.json with the events applied
  bool gone = false;
  std::map<std::string, std::size_t> refs = {}; ///< "refs/heads/main" -> commit
  std::vector<bool> reachable = {};

  bool flag(const char *key) const;
  /// `key` of repo.json as text, "" when it is absent or no text.
  std::string text(const char *key) const;
  std::int64_t number(const char *key) const;
  /// The commit that a branch, tag, full ref, HEAD or (short) sha names, or null. Commits that no
  /// ref reaches are gone.
  const ReplayCommit *resolve(std::string_view revision) const;
  /// The commits from `commit` back to the first, newest first.
  std::vector<const ReplayCommit *> history(const ReplayCommit &commit) const;
  /// Head of main, or null for an empty repo.
  const ReplayCommit *head() const { return resolve("refs/heads/main"); }
};

struct ReplayShown {
  std::shared_ptr<const ReplayWorld> world;
  std::size_t steps = 0;
  std::vector<ReplayView> views;
  using Name = std::pair<std::string, std::string>; ///< kind, "org/name"
  std::map<Name, std::size_t> by_name = {};
  std::map<Name, std::string> renames = {};             ///< old name -> name now
  std::map<std::string, const ReplayFile *> blobs = {}; ///< LFS content by sha256
};

/// The world after its first `steps` steps.
ReplayShown show(std::shared_ptr<const ReplayWorld> world, std::size_t steps);

} // namespace headwater::hub
