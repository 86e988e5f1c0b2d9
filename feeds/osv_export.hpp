#pragma once

#include "schemas/result.hpp"
#include "store/records.hpp"

#include <span>
#include <string>

namespace headwater::feeds {

/// [{"id","modified"}], newest first: the list that a REST importer of OSV records reads.
std::string osv_list(std::span<const store::AdvisoryRecord> records);
/// "MODIFIED,ID" a line, newest first, ties by id; with_ecosystem: "MODIFIED,GIT/ID" as at the top
/// of a bucket.
std::string osv_modified_csv(std::span<const store::AdvisoryRecord> records, bool with_ecosystem);
/// All records as flat ID.json files in one zip, withdrawn ones included; the same records give the
/// same bytes. Errors: internal, when the archive cannot be made.
Result<std::string> osv_zip(std::span<const store::AdvisoryRecord> records);
/// Names of the ecosystems in use, one a line.
std::string osv_ecosystems();

/// Newest `modified`, "" when there is none.
std::string osv_modified(std::span<const store::AdvisoryRecord> records);

} // namespace headwater::feeds
