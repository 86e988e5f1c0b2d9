// Who may see what: a repo that closes leaves the ids of its public records, one that is forgotten
// leaves nothing else.

#include "store/rows.hpp"
#include "store/write.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::store {
namespace {

constexpr std::size_t largest_tree = 256U << 20U;

/// Ids of the records of a row that anybody could read until now. Of a lost repo that is only what
/// says that it is gone.
Result<void> bury(Database &db, const Repo &row, std::int64_t kept_under, const std::string &now,
                  const std::string &modified) {
  const bool all = row.publish || row.visibility == Visibility::open;
  if (!all && row.visibility != Visibility::lost)
    return {};
  return db.run("INSERT OR IGNORE INTO tombstone (id, repo_id, published, modified, withdrawn) "
                "SELECT id, ?2, COALESCE(json_extract(advisory_json, '$.published'), ''), ?3, ?4 "
                "FROM advisory WHERE repo_id = ?1 AND (?5 OR json_extract(advisory_json, "
                "'$.kinds[0]') = 'access.gone')",
                {}, row.id, kept_under, modified, now, all);
}

/// Content ids that a stored tree names.
Result<std::set<std::string>> named_by_trees(Database &db, const std::string &where) {
  std::set<std::string> ids;
  Result<void> done = db.run(
      "SELECT DISTINCT t.digest, t.zstd FROM text AS t JOIN revision AS v ON v.tree_digest = "
      "t.digest WHERE " +
          where,
      [&](const Statement &row) {
        Snapshot snapshot;
        tree_from_text(decompress(row.blob(1), largest_tree).value_or(""), snapshot);
        for (const FileEntry &file : snapshot.files)
          ids.insert(file.content_id());
      });
  if (!done)
    return std::unexpected(done.error());
  return ids;
}

} // namespace

Result<void> close_repos(Database &db, const std::vector<Repo> &rows, Visibility closed_or_lost,
                         const std::string &now, const std::string &modified) {
  Result<void> done;
  for (const Repo &row : rows) {
    // What its watch publishes stays public; what was never open is not lost.
    if (done && !row.publish)
      done = bury(db, row, row.id, now, modified);
    if (done && (closed_or_lost == Visibility::closed || row.visibility == Visibility::open))
      done = db.run("UPDATE repo SET visibility = ? WHERE id = ?", {}, to_string(closed_or_lost),
                    row.id);
    // What says that it is gone is told for as long as it is lost.
    if (done && closed_or_lost == Visibility::lost && row.visibility == Visibility::open)
      done = db.run("DELETE FROM tombstone WHERE repo_id = ?1 AND id IN (SELECT id FROM advisory "
                    "WHERE repo_id = ?1 AND json_extract(advisory_json, '$.kinds[0]') = "
                    "'access.gone')",
                    {}, row.id);
  }
  return done;
}

Result<void> open_repo(Database &db, std::int64_t repo_id,
                       const std::vector<AdvisoryRecord> &stamped) {
  Result<void> done = db.run("UPDATE repo SET visibility = 'open' WHERE id = ?", {}, repo_id);
  if (done)
    done = db.run("DELETE FROM tombstone WHERE repo_id = ?", {}, repo_id);
  if (done)
    done = put_advisories(db, repo_id, stamped);
  return done;
}

Result<void> forget_repos(Database &db, const std::vector<Repo> &rows, const std::string &now,
                          const std::string &modified) {
  // What is erased is overwritten, not only let go.
  Result<void> done = db.run("PRAGMA secure_delete = ON", {});
  std::set<std::string> ids;
  for (const Repo &row : rows) {
    if (done)
      done = bury(db, row, 0, now, modified);
    if (done)
      done = db.run("UPDATE tombstone SET repo_id = 0 WHERE repo_id = ?", {}, row.id);
    if (!done)
      return done;
    Result<std::set<std::string>> named = named_by_trees(db, fmt::format("v.repo_id = {}", row.id));
    if (!named)
      return std::unexpected(named.error());
    ids.merge(*named);
  }
  std::vector<std::string> digests;
  for (const Repo &row : rows) {
    if (done)
      done = db.run(
          "SELECT tree_digest FROM revision WHERE repo_id = ? AND tree_digest IS NOT NULL",
          [&](const Statement &found) { digests.push_back(found.text(0)); }, row.id);
    for (const char *table : {"confirm", "backfill", "open"})
      if (done)
        done = db.run("DELETE FROM note WHERE key = ?", {}, fmt::format("{}/{}", table, row.id));
    if (done)
      done = db.run("DELETE FROM watch WHERE branch = ?1 AND (repo = ?2 OR repo IN (SELECT name "
                    "FROM former_name WHERE repo_id = ?3))",
                    {}, row.branch, row.name, row.id);
    // What others say of how they differ from it.
    if (done)
      done = db.run("DELETE FROM base_comparison WHERE base = ?", {}, row.name);
    if (done)
      done = db.run("DELETE FROM repo WHERE id = ?", {}, row.id);
  }
  if (!done)
    return done;
  const Result<std::set<std::string>> others = named_by_trees(db, "1");
  if (!others)
    return std::unexpected(others.error());
  for (const std::string &id : ids) {
    if (!done || others->contains(id))
      continue;
    done = db.run(
        "SELECT digest FROM content WHERE content_id = ?",
        [&](const Statement &found) { digests.push_back(found.text(0)); }, id);
    if (done)
      done = db.run("DELETE FROM content WHERE content_id = ?", {}, id);
  }
  for (const std::string &digest : digests)
    if (done)
      done =
          db.run("DELETE FROM text WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM content WHERE "
                 "digest = ?1) AND NOT EXISTS (SELECT 1 FROM revision WHERE tree_digest = ?1)",
                 {}, digest);
  return done;
}

} // namespace headwater::store
