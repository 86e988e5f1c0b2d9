#include "store/pins.hpp"

#include "store/read.hpp"
#include "store/rows.hpp"
#include "store/write.hpp"

#include <fmt/format.h>

namespace headwater::store {
namespace {

/// Holds on to the revision's large texts that are still kept.
Result<void> hold_large(Database &db, std::int64_t repo_id, const std::string &sha) {
  const Result<std::optional<Snapshot>> snapshot = read_snapshot(db, repo_id, sha);
  if (!snapshot)
    return std::unexpected(snapshot.error());
  Result<void> done;
  if (!*snapshot)
    return done;
  for (const LargeContent &content : large_contents(**snapshot))
    if (done)
      done =
          db.run("INSERT OR IGNORE INTO large_of_pin (repo_id, sha, content_id, part) VALUES (?, "
                 "?, ?, ?)",
                 {}, repo_id, sha, content.content_id, content.part);
  return done;
}

} // namespace

Result<void> put_pin(Database &db, std::int64_t repo_id, const std::string &sha, bool asked,
                     const std::string &now) {
  bool known = false;
  Result<void> done = db.run(
      "SELECT 1 FROM revision WHERE repo_id = ? AND sha = ?",
      [&](const Statement &) { known = true; }, repo_id, sha);
  if (!done)
    return done;
  if (!known)
    return fail(Errc::bad_input,
                fmt::format("{}: this revision was never read, so nothing is known of it", sha));
  done = db.run("INSERT INTO pin (repo_id, sha, asked, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT "
                "(repo_id, sha) DO UPDATE SET asked = MIN(asked, ?3), at = ?4",
                {}, repo_id, sha, asked, now);
  if (done)
    done = hold_large(db, repo_id, sha);
  if (!done || !asked)
    return done;
  std::vector<std::string> old;
  done = db.run(
      "SELECT sha FROM pin WHERE repo_id = ? AND asked = 1 ORDER BY at DESC, sha LIMIT 100 OFFSET "
      "?",
      [&](const Statement &row) { old.push_back(row.text(0)); }, repo_id, most_asked_pins);
  bool there = false;
  for (const std::string &one : old)
    if (done)
      done = remove_pin(db, repo_id, one, there);
  return done;
}

Result<void> remove_pin(Database &db, std::int64_t repo_id, const std::string &sha, bool &there) {
  std::vector<LargeContent> held;
  Result<void> done = db.run(
      "SELECT content_id, part FROM large_of_pin WHERE repo_id = ? AND sha = ?",
      [&](const Statement &row) { held.push_back({row.text(0), row.text(1)}); }, repo_id, sha);
  if (done)
    done = db.run("DELETE FROM pin WHERE repo_id = ? AND sha = ?", {}, repo_id, sha);
  there = done && db.changes() > 0;
  for (const LargeContent &content : held)
    if (done)
      done = drop_unneeded(db, content);
  return done;
}

Result<std::vector<Pin>> read_pins(Database &db) {
  return read_all<Pin>(
      db,
      "SELECT p.repo_id, r.name, r.branch, p.sha, p.asked, p.at FROM pin AS p JOIN repo AS r ON "
      "r.id = p.repo_id ORDER BY r.name, r.branch, p.at, p.sha",
      [](const Statement &row) -> Result<Pin> {
        return Pin{row.number(0), row.text(1),        row.text(2),
                   row.text(3),   row.number(4) != 0, row.text(5)};
      });
}

} // namespace headwater::store
