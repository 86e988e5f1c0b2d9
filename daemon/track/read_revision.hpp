#pragma once

#include "daemon/track/context.hpp"
#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

namespace headwater::track {

/// Reads one revision: its tree, then of each file the part that is wanted, and the code files of
/// repos that its configs name. A file whose content id is that of `before` or in the store is not
/// fetched again. A file that cannot be read is said beside the file; errors are what makes the
/// whole revision unreadable (malformed, too_large) or ends the look (transient, rate_limited,
/// gated, gone, bad_input, store). `repo_id` is the store's: where new bytes were seen before is
/// looked up there. A tree that lacks files of `before` is believed once the facts of the revision
/// lack them too. With `careful` large files are left out.
boost::asio::awaitable<Result<std::shared_ptr<const Snapshot>>>
read_revision(Context &context, std::int64_t repo_id, RepoFacts facts, std::string branch,
              Commit commit, std::shared_ptr<const Snapshot> before, bool careful = false);

/// Heads and .py files of the repos whose code the snapshot's configs name, read without token.
boost::asio::awaitable<Result<std::vector<ReferencedRepo>>>
read_code_repos(Context &context, std::vector<std::string> names,
                std::vector<ReferencedRepo> before);

/// True for an error that is about the one file or revision, not about upstream or the repo.
bool is_about_content(const Error &error);

} // namespace headwater::track
