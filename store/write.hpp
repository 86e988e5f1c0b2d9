#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <string>

namespace headwater::store {

/// Texts over this are kept only while a head needs them (DESIGN.md rule 7).
inline constexpr std::int64_t large_text_bytes = 1 << 20;

/// The writes of one step, inside the caller's transaction. Doing one again changes nothing.
Result<void> write_revision(Database &database, const RevisionWrite &write, const std::string &now);
Result<void> put_advisories(Database &database, std::int64_t repo_id,
                            const std::vector<AdvisoryRecord> &records);
Result<void> put_base_comparisons(Database &database, std::int64_t repo_id,
                                  const std::vector<BaseComparison> &comparisons);
Result<void> write_access(Database &database, const AccessWrite &write, const std::string &now);

} // namespace headwater::store
