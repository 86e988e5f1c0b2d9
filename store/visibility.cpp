// Who may see what: a repo that closes leaves the ids of its public records, one that is forgotten
// leaves nothing else.

#include "store/read.hpp"
#include "store/rows.hpp"
#include "store/write.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

namespace headwater::store {
namespace {

bool tells_gone(const Advisory &advisory) {
  return !advisory.kinds.empty() && advisory.kinds.front() == "access.gone";
}

/// Ids of the records of a row that anybody could read until now. Of a lost repo that is only what
/// says that it is gone.
Result<void> bury(Database &db, const Repo &row, std::int64_t kept_under, const std::string &now,
                  const std::string &modified) {
  const bool all = row.publish || row.visibility == Visibility::open;
  if (!all && row.visibility != Visibility::lost)
    return {};
  const Result<std::vector<AdvisoryRecord>> records = read_advisories_of(db, row.id);
  if (!records)
    return std::unexpected(records.error());
  for (const auto &[advisory, osv] : *records) {
    if (!all && !tells_gone(advisory))
      continue;
    Result<void> done = db.run("INSERT OR IGNORE INTO tombstone (id, repo_id, published, modified, "
                               "withdrawn) VALUES (?, ?, ?, ?, ?)",
                               {}, advisory.id, kept_under, advisory.published, modified, now);
    if (!done)
      return done;
  }
  return {};
}

/// What says that the repo is gone is no longer withdrawn.
Result<void> unbury_gone(Database &db, std::int64_t repo_id) {
  const Result<std::vector<AdvisoryRecord>> records = read_advisories_of(db, repo_id);
  if (!records)
    return std::unexpected(records.error());
  for (const auto &[advisory, osv] : *records) {
    if (!tells_gone(advisory))
      continue;
    Result<void> done =
        db.run("DELETE FROM tombstone WHERE repo_id = ? AND id = ?", {}, repo_id, advisory.id);
    if (!done)
      return done;
  }
  return {};
}

/// Content ids that a stored tree names.
Result<std::set<std::string>> named_by_trees(Database &db, const std::string &where) {
  std::set<std::string> ids;
  Result<void> decoded;
  Result<void> done = db.run(
      "SELECT repo_id, sha, tree FROM revision_tree WHERE " + where, [&](const Statement &row) {
        if (!decoded)
          return;
        Snapshot snapshot;
        const Result<std::string> tree = decompress(row.blob(2));
        decoded =
            tree ? tree_from_text(*tree, snapshot) : Result<void>(std::unexpected(tree.error()));
        if (!decoded)
          decoded =
              undecodable(db, "revision_tree", fmt::format("({}, {})", row.number(0), row.text(1)),
                          decoded.error());
        for (const FileEntry &file : snapshot.files)
          ids.insert(file.content_id());
      });
  if (done)
    done = decoded;
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
      done = unbury_gone(db, row.id);
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
    Result<std::set<std::string>> named = named_by_trees(db, fmt::format("repo_id = {}", row.id));
    if (!named)
      return std::unexpected(named.error());
    ids.merge(*named);
  }
  std::vector<std::string> digests;
  std::set<std::string> plans;
  for (const Repo &row : rows) {
    if (done)
      done = db.run(
          "SELECT DISTINCT plan FROM revision WHERE repo_id = ? AND plan IS NOT NULL",
          [&](const Statement &found) { plans.insert(found.blob(0)); }, row.id);
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
        [&](const Statement &found) { digests.push_back(found.blob(0)); }, id);
    if (done)
      done = db.run("DELETE FROM content WHERE content_id = ?", {}, id);
  }
  for (const std::string &digest : digests)
    if (done)
      done =
          db.run("DELETE FROM text WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM content WHERE "
                 "digest = ?1)",
                 {}, Database::Blob{digest});
  for (const std::string &plan : plans)
    if (done)
      done = db.run("DELETE FROM document WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM revision "
                    "WHERE plan = ?1)",
                    {}, Database::Blob{plan});
  return done;
}

} // namespace headwater::store
