#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <string>
#include <vector>

namespace headwater::store {

/// Texts over this are kept only while a head or a pin needs them (DESIGN.md rule 7).
inline constexpr std::int64_t large_text_bytes = 1 << 20;

/// A content that is kept only while a head or a pin needs it.
struct LargeContent {
  std::string content_id;
  std::string part;
};
/// Those of a snapshot whose bytes are there.
std::vector<LargeContent> large_contents(const Snapshot &snapshot);
/// Drops one of them when nobody needs it, with its text when nothing else has the same bytes.
Result<void> drop_unneeded(Database &database, const LargeContent &content);

/// The writes of one step, inside the caller's transaction. Doing one again changes nothing.
Result<void> write_revision(Database &database, const RevisionWrite &write, const std::string &now);
Result<void> put_advisories(Database &database, std::int64_t repo_id,
                            const std::vector<AdvisoryRecord> &records);
Result<void> put_base_comparisons(Database &database, std::int64_t repo_id,
                                  const std::vector<BaseComparison> &comparisons);
/// See Store::close_repo; `rows` are the repo at all its branches, as they are shown now.
Result<void> close_repos(Database &database, const std::vector<Repo> &rows,
                         Visibility closed_or_lost, const std::string &now,
                         const std::string &modified);
Result<void> open_repo(Database &database, std::int64_t repo_id,
                       const std::vector<AdvisoryRecord> &stamped);
/// Erases the rows and the bytes that nothing else needs.
Result<void> forget_repos(Database &database, const std::vector<Repo> &rows, const std::string &now,
                          const std::string &modified);
Result<void> write_access(Database &database, const AccessWrite &write, const std::string &now);

} // namespace headwater::store
