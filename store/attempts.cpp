#include "store/attempts.hpp"

#include "store/read.hpp"

namespace headwater::store {

Result<void> begin_attempt(Database &db, std::int64_t repo_id, const std::string &sha,
                           Attempt &begun) {
  Result<void> written =
      db.run("INSERT INTO attempt (repo_id, sha, unfinished, failed, next_try_at, note) VALUES "
             "(?, ?, 1, 0, '', '') "
             "ON CONFLICT (repo_id, sha) DO UPDATE SET unfinished = unfinished + 1",
             {}, repo_id, sha);
  if (!written)
    return written;
  Result<std::optional<Attempt>> attempt = read_attempt(db, repo_id, sha);
  if (!attempt)
    return std::unexpected(attempt.error());
  if (*attempt)
    begun = std::move(**attempt);
  return {};
}

Result<void> fail_attempt(Database &db, std::int64_t repo_id, const std::string &sha,
                          const std::string &note, const std::string &next_try_at) {
  return db.run("INSERT INTO attempt (repo_id, sha, unfinished, failed, next_try_at, note) "
                "VALUES (?1, ?2, 0, 1, ?3, ?4) "
                "ON CONFLICT (repo_id, sha) DO UPDATE SET unfinished = MAX(unfinished - 1, 0), "
                "failed = failed + 1, next_try_at = ?3, note = ?4",
                {}, repo_id, sha, next_try_at, note);
}

Result<void> drop_attempt(Database &db, std::int64_t repo_id, const std::string &sha) {
  Result<void> done = db.run("UPDATE attempt SET unfinished = MAX(unfinished - 1, 0) WHERE "
                             "repo_id = ? AND sha = ?",
                             {}, repo_id, sha);
  if (done)
    done = db.run("DELETE FROM attempt WHERE repo_id = ? AND sha = ? AND unfinished = 0 AND "
                  "failed = 0 AND killed = 0",
                  {}, repo_id, sha);
  return done;
}

Result<void> count_killed_attempts(Database &db) {
  return db.run("UPDATE attempt SET killed = killed + 1, unfinished = 0 WHERE unfinished > 0", {});
}

Result<void> forget_unfinished_attempts(Database &db) {
  Result<void> done =
      db.run("UPDATE attempt SET unfinished = 0, killed = 0 WHERE unfinished > 0", {});
  return done ? db.run("UPDATE attempt SET killed = 0 WHERE killed > 0", {}) : done;
}

Result<std::optional<Attempt>> read_attempt(Database &db, std::int64_t repo_id,
                                            const std::string &sha) {
  return read_one<Attempt>(
      db,
      "SELECT unfinished, failed, next_try_at, note, killed FROM attempt WHERE repo_id = ? AND "
      "sha = ?",
      [&](const Statement &row) -> Result<Attempt> {
        return Attempt{sha,
                       static_cast<int>(row.number(0)),
                       static_cast<int>(row.number(1)),
                       row.text(2),
                       row.text(3),
                       static_cast<int>(row.number(4))};
      },
      repo_id, sha);
}

} // namespace headwater::store
