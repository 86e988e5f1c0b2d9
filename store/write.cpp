#include "store/write.hpp"

#include "store/rows.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::store {
namespace {

std::string dump(const OrderedJson &json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// Keeps bytes once in a table of digest and zstd; gives their digest.
Result<std::string> put_document(Database &db, std::string_view bytes) {
  std::string digest = digest_of(bytes);
  bool there = false;
  Result<void> done = db.run(
      "SELECT 1 FROM document WHERE digest = ?", [&](const Statement &) { there = true; },
      Database::Blob{digest});
  if (done && !there)
    done = db.run("INSERT INTO document (digest, zstd) VALUES (?, ?)", {}, Database::Blob{digest},
                  Database::Blob{compress(bytes)});
  if (!done)
    return std::unexpected(done.error());
  return digest;
}

Result<std::string> put_text(Database &db, std::string_view bytes) {
  std::string digest = digest_of(bytes);
  bool there = false;
  Result<void> done = db.run(
      "SELECT 1 FROM text WHERE digest = ?", [&](const Statement &) { there = true; },
      Database::Blob{digest});
  if (done && !there)
    done =
        db.run("INSERT INTO text (digest, size, zstd) VALUES (?, ?, ?)", {}, Database::Blob{digest},
               static_cast<std::int64_t>(bytes.size()), Database::Blob{compress(bytes)});
  if (!done)
    return std::unexpected(done.error());
  return digest;
}

Result<void> put_contents(Database &db, const Snapshot &snapshot) {
  for (const auto &[path, content] : snapshot.contents) {
    const FileEntry *file = find_file(snapshot, path);
    if (file == nullptr || !content.bytes)
      continue;
    const std::string part(to_string(content.part));
    bool there = false;
    Result<void> done = db.run(
        "SELECT 1 FROM content WHERE content_id = ? AND part = ?",
        [&](const Statement &) { there = true; }, file->content_id(), part);
    if (!done)
      return done;
    if (there)
      continue;
    const Result<std::string> digest = put_text(db, *content.bytes);
    if (!digest)
      return std::unexpected(digest.error());
    done = db.run("INSERT INTO content (content_id, part, digest, size) VALUES (?, ?, ?, ?)", {},
                  file->content_id(), part, Database::Blob{*digest},
                  static_cast<std::int64_t>(content.bytes->size()));
    if (!done)
      return done;
  }
  return {};
}

/// Makes the head's large contents the ones that are kept and drops those of the head before it
/// that nobody needs any more.
Result<void> keep_large_of_head(Database &db, std::int64_t repo_id, const Snapshot &snapshot) {
  std::vector<LargeContent> before;
  Result<void> done = db.run(
      "SELECT content_id, part FROM large_of_head WHERE repo_id = ?",
      [&](const Statement &row) { before.push_back({row.text(0), row.text(1)}); }, repo_id);
  if (done)
    done = db.run("DELETE FROM large_of_head WHERE repo_id = ?", {}, repo_id);
  for (const LargeContent &content : large_contents(snapshot))
    if (done)
      done =
          db.run("INSERT OR IGNORE INTO large_of_head (repo_id, content_id, part) VALUES (?, ?, ?)",
                 {}, repo_id, content.content_id, content.part);
  for (const LargeContent &content : before)
    if (done)
      done = drop_unneeded(db, content);
  return done;
}

/// True when the advisory tells one of the delta's changes: it was made by it, not only closed.
bool tells(const Advisory &advisory, const Delta &delta) {
  return std::ranges::any_of(advisory.affected, [&](const AffectedEntry &entry) {
    return std::ranges::any_of(entry.changes, [&](const Change &change) {
      return std::ranges::find(delta.changes, change) != delta.changes.end();
    });
  });
}

/// The advisory that the delta made, "" when it made none or it is not public yet.
std::string advisory_of(const Delta &delta, const std::vector<AdvisoryRecord> &records) {
  for (auto at = records.rbegin(); at != records.rend(); ++at)
    if (at->advisory.to == delta.to && at->advisory.from == delta.from &&
        at->advisory.held_until.empty() && tells(at->advisory, delta))
      return at->advisory.id;
  return {};
}

Result<void> put_delta(Database &db, std::int64_t repo_id, const Delta &delta,
                       const std::vector<AdvisoryRecord> &advisories, const std::string &now) {
  Result<void> done = db.run(
      "INSERT INTO delta (repo_id, to_sha, from_sha, date, level, impact, recorded_at, "
      "advisory_id, delta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (repo_id, to_sha, "
      "from_sha, date) DO UPDATE SET level = excluded.level, impact = excluded.impact, delta = "
      "excluded.delta, advisory_id = excluded.advisory_id",
      {}, repo_id, delta.to, delta.from, delta.date, headwater::to_string(level_of(delta.changes)),
      headwater::to_string(impact_of(delta.changes)), now, advisory_of(delta, advisories),
      Database::Blob{compress(dump(to_json(delta)))});
  if (!done)
    return done;
  const bool moved = std::ranges::any_of(
      delta.changes, [](const Change &change) { return change.impact != Impact::cosmetic; });
  if (!moved)
    return done;
  return db.run("UPDATE repo SET last_changed = ? WHERE id = ?", {}, delta.date, repo_id);
}

/// Stores the facts and whether an anonymous client could read the repo; a new name keeps the old
/// one as a former name.
Result<void> put_facts(Database &db, std::int64_t repo_id, const RepoFacts &facts) {
  const bool readable = !facts.is_private && facts.gate == Gate::open && !facts.disabled;
  Result<void> done = db.run("UPDATE repo SET facts_json = ?, anonymous_can_read = ? WHERE id = ?",
                             {}, facts_to_text(facts), readable, repo_id);
  if (!done || facts.name.empty())
    return done;
  std::string name;
  std::string branch;
  done = db.run(
      "SELECT name, branch FROM repo WHERE id = ?",
      [&](const Statement &row) {
        name = row.text(0);
        branch = row.text(1);
      },
      repo_id);
  if (!done || name == facts.name || name.empty())
    return done;
  bool taken = false;
  done = db.run(
      "SELECT 1 FROM repo WHERE name = ? AND branch = ?", [&](const Statement &) { taken = true; },
      facts.name, branch);
  if (!done || taken)
    return done;
  done = db.run("INSERT OR REPLACE INTO former_name (name, branch, repo_id) VALUES (?, ?, ?)", {},
                name, branch, repo_id);
  if (done)
    done = db.run("DELETE FROM former_name WHERE name = ? AND branch = ?", {}, facts.name, branch);
  if (done)
    done = db.run("UPDATE repo SET name = ? WHERE id = ?", {}, facts.name, repo_id);
  return done;
}

Result<void> put_revision_row(Database &db, const RevisionWrite &write) {
  const Revision &revision = write.revision;
  std::int64_t sequence = 0;
  bool there = false;
  Result<void> done = db.run(
      "SELECT sequence FROM revision WHERE repo_id = ? AND sha = ?",
      [&](const Statement &row) {
        there = true;
        sequence = row.number(0);
      },
      write.repo_id, revision.sha);
  if (!done)
    return done;
  if (!there) {
    done = db.run(
        "SELECT COALESCE(MAX(sequence), 0) + 1 FROM revision WHERE repo_id = ?",
        [&](const Statement &row) { sequence = row.number(0); }, write.repo_id);
    if (!done)
      return done;
  }
  Result<std::string> plan = std::string();
  if (!revision.plan_json.empty())
    plan = put_document(db, revision.plan_json);
  if (!plan)
    return std::unexpected(plan.error());
  const auto put = [&](const auto &plan_digest) {
    return db.run("INSERT INTO revision (repo_id, sequence, sha, title, date, status, note, "
                  "on_branch, has_tree, fact_hash, plan, delta_level, change_count) VALUES "
                  "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                  "ON CONFLICT (repo_id, sha) DO UPDATE SET status = excluded.status, note = "
                  "excluded.note, on_branch = excluded.on_branch, has_tree = excluded.has_tree, "
                  "fact_hash = excluded.fact_hash, plan = excluded.plan, "
                  "delta_level = excluded.delta_level, "
                  "change_count = excluded.change_count",
                  {}, write.repo_id, sequence, revision.sha, revision.title, revision.date,
                  to_string(revision.status), revision.note, revision.on_branch,
                  write.snapshot != nullptr, revision.fact_hash, plan_digest,
                  headwater::to_string(revision.delta_level), revision.change_count);
  };
  done = plan->empty() ? put(nullptr) : put(Database::Blob{*plan});
  if (!done)
    return done;
  if (!write.snapshot)
    return db.run("DELETE FROM revision_tree WHERE repo_id = ? AND sha = ?", {}, write.repo_id,
                  revision.sha);
  return db.run("INSERT INTO revision_tree (repo_id, sha, tree, hashes) VALUES (?, ?, ?, ?) ON "
                "CONFLICT (repo_id, sha) DO UPDATE SET tree = excluded.tree, hashes = "
                "excluded.hashes",
                {}, write.repo_id, revision.sha,
                Database::Blob{compress(tree_to_text(*write.snapshot))},
                Database::Blob{compress(revision.subject_hashes_json)});
}

/// What was read needs no attempt any more; what could not be read is tried again later.
Result<void> end_attempt(Database &db, const RevisionWrite &write) {
  if (write.revision.status != RevisionStatus::unreadable)
    return db.run("DELETE FROM attempt WHERE repo_id = ? AND sha = ?", {}, write.repo_id,
                  write.revision.sha);
  return db.run("INSERT INTO attempt (repo_id, sha, unfinished, failed, next_try_at, note) VALUES "
                "(?1, ?2, 0, 1, ?3, ?4) ON CONFLICT (repo_id, sha) DO UPDATE SET unfinished = 0, "
                "failed = failed + 1, next_try_at = ?3, note = ?4",
                {}, write.repo_id, write.revision.sha, write.next_try_at, write.revision.note);
}

Result<void> hold(Database &db, std::int64_t repo_id, const Advisory &advisory) {
  return db.run("INSERT INTO held_advisory (id, repo_id, held_until, advisory_json) VALUES (?, ?, "
                "?, ?) ON CONFLICT (id) DO UPDATE SET held_until = excluded.held_until, "
                "advisory_json = excluded.advisory_json",
                {}, advisory.id, repo_id, advisory.held_until, dump(to_json(advisory)));
}

/// What was held leaves the hidden place, and its delta names it.
Result<void> release(Database &db, std::int64_t repo_id, const Advisory &advisory) {
  bool held = false;
  Result<void> done = db.run(
      "SELECT 1 FROM held_advisory WHERE id = ?", [&](const Statement &) { held = true; },
      advisory.id);
  if (!done || !held)
    return done;
  done = db.run("DELETE FROM held_advisory WHERE id = ?", {}, advisory.id);
  if (done)
    done =
        db.run("UPDATE delta SET advisory_id = ? WHERE repo_id = ? AND from_sha = ? AND to_sha = "
               "? AND advisory_id = ''",
               {}, advisory.id, repo_id, advisory.from, advisory.to);
  return done;
}

Result<void> drop(Database &db, const std::vector<std::string> &ids) {
  Result<void> done;
  for (const std::string &id : ids)
    if (done)
      done = db.run("DELETE FROM held_advisory WHERE id = ?", {}, id);
  return done;
}

Result<void> put_names(Database &db, std::int64_t repo_id, const std::vector<NamedRepo> &names) {
  Result<void> done = db.run("DELETE FROM named_repo WHERE repo_id = ?", {}, repo_id);
  for (const NamedRepo &named : names)
    if (done)
      done = db.run("INSERT OR IGNORE INTO named_repo (repo_id, role, name) VALUES (?, ?, ?)", {},
                    repo_id, named.role, named.name);
  return done;
}

/// The first place in the repo of all bytes that have a sha256 upstream.
Result<void> put_digests(Database &db, std::int64_t repo_id, const Snapshot &snapshot) {
  Result<void> done;
  for (const FileEntry &file : snapshot.files)
    if (done && !file.sha256.empty())
      done =
          db.run("INSERT OR IGNORE INTO file_digest (sha256, repo_id, sha, path) VALUES (?, ?, ?, "
                 "?)",
                 {}, file.sha256, repo_id, snapshot.commit.sha, file.path);
  return done;
}

} // namespace

std::vector<LargeContent> large_contents(const Snapshot &snapshot) {
  std::vector<LargeContent> large;
  for (const auto &[path, content] : snapshot.contents) {
    const FileEntry *file = find_file(snapshot, path);
    if (file != nullptr && content.bytes &&
        static_cast<std::int64_t>(content.bytes->size()) > large_text_bytes)
      large.push_back({file->content_id(), std::string(to_string(content.part))});
  }
  return large;
}

Result<void> drop_unneeded(Database &db, const LargeContent &content) {
  bool needed = false;
  Result<void> done = db.run(
      "SELECT 1 FROM large_of_head WHERE content_id = ?1 AND part = ?2 UNION ALL SELECT 1 FROM "
      "large_of_pin WHERE content_id = ?1 AND part = ?2 LIMIT 1",
      [&](const Statement &) { needed = true; }, content.content_id, content.part);
  if (!done || needed)
    return done;
  std::string digest;
  done = db.run(
      "SELECT digest FROM content WHERE content_id = ? AND part = ?",
      [&](const Statement &row) { digest = row.blob(0); }, content.content_id, content.part);
  if (done)
    done = db.run("DELETE FROM content WHERE content_id = ? AND part = ?", {}, content.content_id,
                  content.part);
  if (done)
    done = db.run("DELETE FROM text WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM content WHERE "
                  "digest = ?1)",
                  {}, Database::Blob{digest});
  return done;
}

Result<void> put_advisories(Database &db, std::int64_t repo_id,
                            const std::vector<AdvisoryRecord> &records) {
  for (const AdvisoryRecord &record : records) {
    const Advisory &advisory = record.advisory;
    if (!advisory.held_until.empty()) {
      if (Result<void> held = hold(db, repo_id, advisory); !held)
        return held;
      continue;
    }
    Result<void> done = db.run(
        "INSERT INTO advisory (id, repo_id, state, level, withdrawn, modified, substance_at, "
        "record) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = "
        "excluded.state, level = excluded.level, withdrawn = excluded.withdrawn, modified = "
        "excluded.modified, substance_at = excluded.substance_at, record = excluded.record",
        {}, advisory.id, repo_id, headwater::to_string(advisory.state),
        headwater::to_string(advisory.level), !advisory.withdrawn.empty(), advisory.modified,
        advisory.substance_at,
        Database::Blob{compress(dump(to_json(advisory)) + std::string(1, '\0') + record.osv_json)});
    if (done)
      done = release(db, repo_id, advisory);
    if (!done)
      return done;
  }
  return {};
}

Result<void> put_base_comparisons(Database &db, std::int64_t repo_id,
                                  const std::vector<BaseComparison> &comparisons) {
  Result<void> done = db.run("DELETE FROM base_comparison WHERE repo_id = ?", {}, repo_id);
  for (const BaseComparison &comparison : comparisons) {
    if (!done)
      return done;
    OrderedJson changes = OrderedJson::array();
    for (const Change &change : comparison.changes)
      changes.push_back(to_json(change));
    done = db.run("INSERT INTO base_comparison (repo_id, base, sha, base_sha, changes_json) VALUES "
                  "(?, ?, ?, ?, ?)",
                  {}, repo_id, comparison.base, comparison.sha, comparison.base_sha, dump(changes));
  }
  return done;
}

Result<void> write_revision(Database &db, const RevisionWrite &write, const std::string &now) {
  Result<void> done;
  if (write.snapshot)
    done = put_contents(db, *write.snapshot);
  if (done)
    done = put_revision_row(db, write);
  for (const std::string &sha : write.rewritten_away) {
    if (!done)
      return done;
    done = db.run("UPDATE revision SET on_branch = 0 WHERE repo_id = ? AND sha = ?", {},
                  write.repo_id, sha);
  }
  if (done && write.has_delta)
    done = put_delta(db, write.repo_id, write.delta, write.advisories, now);
  if (done)
    done = put_advisories(db, write.repo_id, write.advisories);
  if (done)
    done = drop(db, write.dropped);
  if (done && write.snapshot)
    done = put_digests(db, write.repo_id, *write.snapshot);
  if (done)
    done = end_attempt(db, write);
  if (done)
    done = db.run("UPDATE repo SET (head, head_date) = (SELECT sha, date FROM revision WHERE "
                  "repo_id = ?1 AND on_branch = 1 ORDER BY sequence DESC LIMIT 1) WHERE id = ?1",
                  {}, write.repo_id);
  bool is_head = false;
  if (done)
    done = db.run(
        "SELECT head FROM repo WHERE id = ?",
        [&](const Statement &row) { is_head = row.text(0) == write.revision.sha; }, write.repo_id);
  // A revision that is read late, behind newer ones, leaves what is known of the repo as it is, and
  // no large text behind.
  if (done && !is_head && write.snapshot)
    for (const LargeContent &content : large_contents(*write.snapshot))
      if (done)
        done = drop_unneeded(db, content);
  if (!done || !is_head || !write.snapshot)
    return done;
  done = put_facts(db, write.repo_id, write.snapshot->facts);
  if (done)
    done = put_names(db, write.repo_id, write.names);
  if (done)
    done = keep_large_of_head(db, write.repo_id, *write.snapshot);
  return done;
}

Result<void> write_access(Database &db, const AccessWrite &write, const std::string &now) {
  Result<void> done = put_facts(db, write.repo_id, write.facts);
  if (done)
    done = db.run("UPDATE repo SET state = ?, state_note = ? WHERE id = ?", {},
                  to_string(write.state), write.state_note, write.repo_id);
  if (done && write.has_delta)
    done = put_delta(db, write.repo_id, write.delta, write.advisories, now);
  if (done)
    done = put_advisories(db, write.repo_id, write.advisories);
  if (done)
    done = drop(db, write.dropped);
  return done;
}

} // namespace headwater::store
