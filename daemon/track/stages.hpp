#pragma once

#include "daemon/diff/sides.hpp"
#include "feeds/osv.hpp"
#include "schemas/advisory.hpp"
#include "schemas/change.hpp"
#include "schemas/snapshot.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::track {

/// The pure stages that a revision goes through. Each takes what the one before it made.
struct Stages {
  std::function<FilePart(const FileEntry &)> wanted;
  /// What a revision says; what did not change is taken from the facts of another one.
  std::function<std::shared_ptr<const diff::Facts>(const Snapshot &, const diff::Facts *)> facts;
  std::function<Delta(const diff::Side &, const diff::Side &)> diff;
  std::function<std::vector<Change>(const RepoFacts &, const RepoFacts &)> diff_access;
  /// The plan as JSON, "" when the revision has no config to plan by; an error is told beside the
  /// revision.
  std::function<Result<std::string>(const Snapshot &)> plan;
  std::function<std::vector<PlanChange>(const std::string &, const std::string &)> plan_changes;
  std::function<std::string(const Advisory &)> render;
  /// Base models that the card names, and how a head differs from one.
  std::function<std::vector<std::string>(const Snapshot &)> base_models = {};
  std::function<std::vector<Change>(const Snapshot &base, const Snapshot &head)> compare_with_base =
      {};
};

/// The stages as the daemon runs them.
Stages real_stages(const feeds::OsvOptions &osv);

/// Repos whose code a revision's configs name (auto_map "other/repo--module.Class"), sorted, at
/// most `limit`; the revision's own repo left out.
std::vector<std::string> named_code_repos(const Snapshot &snapshot, std::size_t limit);

/// What is wrong with the files that were read, in a sentence; "" when nothing is: a file that
/// could not be read, or a config.json that is not JSON.
std::string reading_problem(const Snapshot &snapshot);

} // namespace headwater::track
