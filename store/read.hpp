#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headwater::store {

/// Rows of a query, each read by `read` (Statement -> Result<T>), until one that cannot be read:
/// that is the error, and none of them is given.
template <class T, class Read, class... Values>
Result<std::vector<T>> read_all(Database &database, std::string_view query, Read read,
                                const Values &...values) {
  std::vector<T> found;
  Result<void> decoded;
  Result<void> done = database.run(
      query,
      [&](const Statement &row) {
        if (!decoded)
          return;
        Result<T> value = read(row);
        if (value)
          found.push_back(std::move(*value));
        else
          decoded = std::unexpected(value.error());
      },
      values...);
  if (done && !decoded)
    done = decoded;
  if (!done)
    return std::unexpected(done.error());
  return found;
}

/// The first row of a query, or nothing.
template <class T, class Read, class... Values>
Result<std::optional<T>> read_one(Database &database, std::string_view query, Read read,
                                  const Values &...values) {
  Result<std::vector<T>> rows = read_all<T>(database, query, read, values...);
  if (!rows)
    return std::unexpected(rows.error());
  if (rows->empty())
    return std::optional<T>();
  return std::optional<T>(std::move(rows->front()));
}

/// True to go on with what `take` is asked for.
using TakeRepo = std::function<bool(std::int64_t repo_id)>;

// Each as Store has it; on one connection. Errors: store, with the table and the key of a row that
// cannot be read.
Result<std::vector<Revision>> read_revisions(Database &database, std::int64_t repo_id);
Result<std::optional<Revision>> read_revision(Database &database, std::int64_t repo_id,
                                              const std::string &sha);
Result<std::optional<Revision>> read_newest_revision(Database &database, std::int64_t repo_id,
                                                     bool with_tree, const std::string &behind);
Result<std::optional<Revision>> read_due_retry(Database &database, std::int64_t repo_id,
                                               const std::string &now);
Result<std::string> read_equal(Database &database, std::int64_t repo_id,
                               const std::string &fact_hash, const std::string &except,
                               const std::string &or_this);
Result<std::vector<Revision>> read_by_prefix(Database &database, std::int64_t repo_id,
                                             const std::string &prefix);
Result<Distance> read_distance(Database &database, std::int64_t repo_id, std::int64_t sequence);
Result<std::string> read_subject_hashes(Database &database, std::int64_t repo_id,
                                        const std::string &sha);
Result<std::optional<Snapshot>> read_snapshot(Database &database, std::int64_t repo_id,
                                              const std::string &sha);
Result<std::optional<std::vector<FileEntry>>> read_files(Database &database, std::int64_t repo_id,
                                                         const std::string &sha);
Result<std::optional<std::string>> read_content(Database &database, const std::string &content_id,
                                                FilePart part);

Result<std::map<std::string, KnownFile>> read_known_files(Database &database, std::int64_t repo_id,
                                                          const std::vector<std::string> &digests);

Result<std::vector<DeltaRecord>> read_deltas(Database &database, std::int64_t repo_id,
                                             std::size_t limit);
Result<std::vector<DeltaRecord>> read_deltas_since(Database &database, std::int64_t serial,
                                                   std::size_t limit);
Result<std::vector<DeltaRecord>> read_deltas_at(Database &database, std::int64_t repo_id,
                                                const std::string &sha);
Result<std::vector<DeltaRecord>> read_newest_deltas(Database &database, const TakeRepo &take,
                                                    std::size_t limit);
Result<std::int64_t> read_newest_serial(Database &database);

Result<std::vector<AdvisoryRecord>> read_advisories(Database &database);
Result<std::vector<OwnedAdvisory>> read_newest_advisories(Database &database, const TakeRepo &take,
                                                          std::size_t limit);
Result<std::vector<AdvisoryRecord>> read_advisories_of(Database &database, std::int64_t repo_id);
Result<std::optional<OwnedAdvisory>> read_advisory(Database &database, const std::string &id);
Result<std::vector<Advisory>> read_held(Database &database, std::int64_t repo_id);
Result<std::string> read_open_since(Database &database, std::int64_t repo_id);
Result<std::vector<BaseComparison>> read_base_comparisons(Database &database, std::int64_t repo_id);

} // namespace headwater::store
