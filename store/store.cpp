#include "store/store.hpp"

#include "store/connections.hpp"
#include "store/migrations.hpp"
#include "store/rows.hpp"
#include "store/write.hpp"

#include <atomic>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::store {
namespace {

constexpr std::size_t largest_text = 256U << 20U;

constexpr std::string_view repo_columns =
    "SELECT r.id, r.name, r.branch, r.facts_json, r.state, r.state_note, r.anonymous_can_read, "
    "COALESCE(w.publish, 0), w.repo IS NOT NULL, "
    "r.head, r.head_date, r.last_polled, r.last_changed, (SELECT COUNT(*) FROM revision WHERE "
    "repo_id = r.id), "
    "(SELECT COUNT(*) FROM advisory WHERE repo_id = r.id AND state = 'open' AND withdrawn = 0), "
    "(SELECT MAX(CASE level WHEN 'critical' THEN 3 WHEN 'high' THEN 2 WHEN 'medium' THEN 1 ELSE 0 "
    "END) FROM advisory "
    "WHERE repo_id = r.id AND state = 'open' AND withdrawn = 0), r.visibility "
    "FROM repo AS r LEFT JOIN watch AS w ON w.branch = r.branch AND (w.repo = r.name OR w.repo IN "
    "(SELECT name FROM former_name AS f WHERE f.repo_id = r.id AND f.branch = r.branch)) ";

constexpr std::string_view revision_columns =
    "SELECT sequence, sha, title, date, status, note, on_branch, plan_json, fact_hash, "
    "subject_hashes_json, delta_level, change_count FROM revision ";

constexpr std::string_view delta_columns =
    "SELECT serial, delta_json, recorded_at, advisory_id FROM delta ";

std::string sql(std::string_view columns, std::string_view rest) {
  return std::string(columns) + std::string(rest);
}

Repo repo_from(const Statement &row) {
  Repo repo;
  repo.id = row.number(0);
  repo.name = row.text(1);
  repo.branch = row.text(2);
  repo.facts = facts_from_text(row.text(3));
  repo.state = repo_state_from(row.text(4));
  repo.state_note = row.text(5);
  repo.anonymous_can_read = row.number(6) != 0;
  repo.publish = row.number(7) != 0;
  repo.watched = row.number(8) != 0;
  repo.head = row.text(9);
  repo.head_date = row.text(10);
  repo.last_polled = row.text(11);
  repo.last_changed = row.text(12);
  repo.revision_count = row.number(13);
  repo.open_advisories = row.number(14);
  repo.open_level = static_cast<Level>(row.number(15));
  repo.visibility = visibility_from(row.text(16));
  return repo;
}

Revision revision_from(const Statement &row) {
  Revision revision;
  revision.sequence = row.number(0);
  revision.sha = row.text(1);
  revision.title = row.text(2);
  revision.date = row.text(3);
  revision.status = revision_status_from(row.text(4));
  revision.note = row.text(5);
  revision.on_branch = row.number(6) != 0;
  revision.plan_json = row.text(7);
  revision.fact_hash = row.text(8);
  revision.subject_hashes_json = row.text(9);
  revision.delta_level = level_from(row.text(10)).value_or(Level::low);
  revision.change_count = row.number(11);
  return revision;
}

constexpr std::string_view attempt_columns =
    "SELECT unfinished, failed, next_try_at, note, killed FROM attempt WHERE repo_id = ? AND sha = "
    "?";

Attempt attempt_from(const std::string &sha, const Statement &row) {
  return {
      sha,         static_cast<int>(row.number(0)), static_cast<int>(row.number(1)), row.text(2),
      row.text(3), static_cast<int>(row.number(4))};
}

Watch watch_from(const Statement &row) {
  return {row.text(0), row.text(1), row.number(2) != 0, row.number(3) != 0, row.text(4)};
}

/// One row at most, read by `read`.
template <class T, class Read, class... Values>
Result<std::optional<T>> find_one(Readers &readers, const std::string &query, Read read,
                                  const Values &...values) {
  std::optional<T> found;
  Result<void> done = readers.read([&](Database &db) {
    return db.run(query, [&](const Statement &row) { found = read(row); }, values...);
  });
  if (!done)
    return std::unexpected(done.error());
  return found;
}

template <class T, class Read, class... Values>
Result<std::vector<T>> find_all(Readers &readers, const std::string &query, Read read,
                                const Values &...values) {
  std::vector<T> found;
  Result<void> done = readers.read([&](Database &db) {
    return db.run(query, [&](const Statement &row) { found.push_back(read(row)); }, values...);
  });
  if (!done)
    return std::unexpected(done.error());
  return found;
}

/// Rows that hold a JSON document each; one that does not parse is an error that names what it is.
template <class T>
Result<std::vector<T>> all_or_error(std::vector<Result<T>> rows, std::string_view what) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (Result<T> &row : rows) {
    if (!row)
      return wrap(what, row.error());
    values.push_back(std::move(*row));
  }
  return values;
}

Result<DeltaRecord> delta_record_from(const Statement &row) {
  DeltaRecord record;
  record.serial = row.number(0);
  const Json json = Json::parse(row.text(1), nullptr, false);
  Result<Delta> delta = delta_from_json(json);
  if (!delta)
    return std::unexpected(delta.error());
  record.delta = std::move(*delta);
  record.recorded_at = row.text(2);
  record.advisory_id = row.text(3);
  return record;
}

Result<AdvisoryRecord> advisory_record_from(const Statement &row) {
  const Json json = Json::parse(row.text(0), nullptr, false);
  Result<Advisory> advisory = advisory_from_json(json);
  if (!advisory)
    return std::unexpected(advisory.error());
  return AdvisoryRecord{std::move(*advisory), row.text(1)};
}

Result<BaseComparison> base_comparison_from(const Statement &row) {
  BaseComparison comparison{row.text(0), row.text(1), row.text(2), {}};
  const Json json = Json::parse(row.text(3), nullptr, false);
  if (!json.is_array())
    return fail(Errc::malformed, "not a list");
  for (const Json &item : json) {
    Result<Change> change = change_from_json(item);
    if (!change)
      return std::unexpected(change.error());
    comparison.changes.push_back(std::move(*change));
  }
  return comparison;
}

class SqliteStore final : public Store {
public:
  SqliteStore(std::string path, std::unique_ptr<Database> database,
              std::function<TimePoint()> clock)
      : readers_(std::move(path)), writer_(std::move(database)), clock_(std::move(clock)) {}

  Result<void> put_watch(const Watch &watch) override {
    return write([watch](Database &db) { return insert_watch(db, watch); });
  }

  Result<void> remove_watch(const std::string &repo, const std::string &branch) override {
    return write([=](Database &db) {
      Result<void> done =
          db.run("DELETE FROM watch WHERE repo = ? AND branch = ?", {}, repo, branch);
      if (done)
        done = db.run("DELETE FROM repo WHERE name = ?1 AND branch = ?2 AND NOT EXISTS (SELECT 1 "
                      "FROM revision WHERE repo_id = repo.id)",
                      {}, repo, branch);
      return done;
    });
  }

  Result<std::vector<Watch>> watches() override {
    return find_all<Watch>(
        readers_,
        "SELECT repo, branch, declared, publish, history FROM watch ORDER BY repo, branch",
        watch_from);
  }

  Result<void> set_declared_watches(const std::vector<Watch> &declared) override {
    return write([declared](Database &db) {
      Result<void> done = db.run("DELETE FROM watch WHERE declared = 1", {});
      for (const Watch &watch : declared) {
        if (!done)
          return done;
        done = insert_watch(db, watch);
      }
      return done;
    });
  }

  Result<std::vector<Repo>> repos() override {
    return find_all<Repo>(readers_, sql(repo_columns, "GROUP BY r.id ORDER BY r.name, r.branch"),
                          repo_from);
  }

  Result<std::optional<Repo>> find_repo(const std::string &name,
                                        const std::string &branch) override {
    return find_one<Repo>(readers_, sql(repo_columns, "WHERE r.name = ? AND r.branch = ? LIMIT 1"),
                          repo_from, name, branch);
  }

  Result<std::optional<Repo>> find_renamed(const std::string &name) override {
    return find_one<Repo>(
        readers_,
        sql(repo_columns,
            "WHERE r.id = (SELECT repo_id FROM former_name WHERE name = ? LIMIT 1) LIMIT 1"),
        repo_from, name);
  }

  Result<Repo> ensure_repo(const std::string &name, const std::string &branch) override {
    Result<std::optional<Repo>> there = find_repo(name, branch);
    if (there && !*there)
      there = find_renamed(name);
    if (!there)
      return std::unexpected(there.error());
    if (*there)
      return std::move(**there);
    RepoFacts facts;
    facts.name = name;
    Result<void> done = write([=](Database &db) {
      return db.run(
          "INSERT INTO repo (name, branch, facts_json, state, state_note, "
          "anonymous_can_read, head, head_date, last_polled, "
          "last_changed) VALUES (?1, ?2, ?3, 'pending', '', 1, '', '', '', '') ON CONFLICT "
          "(name, branch) DO NOTHING",
          {}, name, branch, facts_to_text(facts));
    });
    if (!done)
      return std::unexpected(done.error());
    Result<std::optional<Repo>> repo = find_repo(name, branch);
    if (!repo)
      return std::unexpected(repo.error());
    if (!*repo)
      return fail(Errc::internal, fmt::format("{} was not stored", name));
    return std::move(**repo);
  }

  Result<std::vector<Revision>> revisions(std::int64_t repo_id) override {
    return find_all<Revision>(readers_,
                              sql(revision_columns, "WHERE repo_id = ? ORDER BY sequence"),
                              revision_from, repo_id);
  }

  Result<std::optional<Revision>> find_revision(std::int64_t repo_id,
                                                const std::string &sha) override {
    return find_one<Revision>(readers_, sql(revision_columns, "WHERE repo_id = ? AND sha = ?"),
                              revision_from, repo_id, sha);
  }

  Result<std::optional<Snapshot>> snapshot(std::int64_t repo_id, const std::string &sha) override {
    std::optional<Snapshot> found;
    Result<void> done = readers_.read([&](Database &db) -> Result<void> {
      std::string tree;
      Result<void> read = db.run(
          "SELECT v.title, v.date, v.facts_json, t.zstd, r.branch FROM revision AS v JOIN repo AS "
          "r ON r.id = v.repo_id "
          "JOIN text AS t ON t.digest = v.tree_digest WHERE v.repo_id = ? AND v.sha = ?",
          [&](const Statement &row) {
            Snapshot snapshot;
            snapshot.commit = {sha, row.text(0), row.text(1)};
            snapshot.facts = facts_from_text(row.text(2));
            tree = decompress(row.blob(3), largest_text).value_or("");
            snapshot.branch = row.text(4);
            found = std::move(snapshot);
          },
          repo_id, sha);
      if (!read || !found)
        return read;
      tree_from_text(tree, *found);
      return fill_contents(db, *found);
    });
    if (!done)
      return std::unexpected(done.error());
    return found;
  }

  Result<std::optional<std::string>> content(const std::string &content_id,
                                             FilePart part) override {
    std::optional<std::string> found;
    Result<void> done =
        readers_.read([&](Database &db) { return read_content(db, content_id, part, found); });
    if (!done)
      return std::unexpected(done.error());
    return found;
  }

  Result<std::map<std::string, KnownFile>>
  known_files(std::int64_t repo_id, const std::vector<std::string> &digests) override {
    std::map<std::string, KnownFile> known;
    Result<void> done = readers_.read([&](Database &db) {
      Result<void> read;
      for (const std::string &digest : digests) {
        if (!read)
          return read;
        read = db.run(
            "SELECT r.name, d.sha, d.path FROM file_digest AS d JOIN repo AS r ON r.id = d.repo_id "
            "WHERE d.sha256 = ?1 AND (d.repo_id = ?2 OR r.visibility = 'open') "
            "ORDER BY d.repo_id = ?2 DESC, r.name LIMIT 1",
            [&](const Statement &row) { known[digest] = {row.text(0), row.text(1), row.text(2)}; },
            digest, repo_id);
      }
      return read;
    });
    if (!done)
      return std::unexpected(done.error());
    return known;
  }

  Result<std::vector<NamedRepo>> named_repos(std::int64_t repo_id) override {
    return find_all<NamedRepo>(
        readers_, "SELECT role, name FROM named_repo WHERE repo_id = ? ORDER BY role, name",
        [](const Statement &row) { return NamedRepo{row.text(0), row.text(1)}; }, repo_id);
  }

  Result<std::vector<Watch>> dependants(const std::string &name) override {
    return find_all<Watch>(
        readers_,
        "SELECT DISTINCT w.repo, w.branch, w.declared, w.publish, w.history FROM named_repo AS n "
        "JOIN repo AS r ON r.id = n.repo_id JOIN watch AS w ON w.branch = r.branch AND (w.repo = "
        "r.name OR w.repo IN (SELECT f.name FROM former_name AS f WHERE f.repo_id = r.id)) "
        "WHERE n.name = ? ORDER BY w.repo, w.branch",
        watch_from, name);
  }

  Result<std::vector<BaseComparison>> base_comparisons(std::int64_t repo_id) override {
    Result<std::vector<Result<BaseComparison>>> rows = find_all<Result<BaseComparison>>(
        readers_,
        "SELECT base, sha, base_sha, changes_json FROM base_comparison WHERE repo_id = ? ORDER BY "
        "base",
        base_comparison_from, repo_id);
    if (!rows)
      return std::unexpected(rows.error());
    return all_or_error(std::move(*rows), "a stored comparison");
  }

  Result<void> put_base_comparisons(std::int64_t repo_id,
                                    const std::vector<BaseComparison> &comparisons) override {
    return write(
        [&](Database &db) { return store::put_base_comparisons(db, repo_id, comparisons); });
  }

  Result<Attempt> begin_attempt(std::int64_t repo_id, const std::string &sha) override {
    Attempt attempt;
    Result<void> done = write([&](Database &db) {
      Result<void> written =
          db.run("INSERT INTO attempt (repo_id, sha, unfinished, failed, next_try_at, note) VALUES "
                 "(?, ?, 1, 0, '', '') "
                 "ON CONFLICT (repo_id, sha) DO UPDATE SET unfinished = unfinished + 1",
                 {}, repo_id, sha);
      if (!written)
        return written;
      return db.run(
          attempt_columns, [&](const Statement &row) { attempt = attempt_from(sha, row); }, repo_id,
          sha);
    });
    if (!done)
      return std::unexpected(done.error());
    return attempt;
  }

  Result<void> fail_attempt(std::int64_t repo_id, const std::string &sha, const std::string &note,
                            const std::string &next_try_at) override {
    return write([=](Database &db) {
      return db.run("INSERT INTO attempt (repo_id, sha, unfinished, failed, next_try_at, note) "
                    "VALUES (?1, ?2, 0, 1, ?3, ?4) "
                    "ON CONFLICT (repo_id, sha) DO UPDATE SET unfinished = MAX(unfinished - 1, 0), "
                    "failed = failed + 1, next_try_at = ?3, note = ?4",
                    {}, repo_id, sha, next_try_at, note);
    });
  }

  Result<void> drop_attempt(std::int64_t repo_id, const std::string &sha) override {
    return writer_.transact([=](Database &db) {
      Result<void> done = db.run("UPDATE attempt SET unfinished = MAX(unfinished - 1, 0) WHERE "
                                 "repo_id = ? AND sha = ?",
                                 {}, repo_id, sha);
      if (done)
        done = db.run("DELETE FROM attempt WHERE repo_id = ? AND sha = ? AND unfinished = 0 AND "
                      "failed = 0 AND killed = 0",
                      {}, repo_id, sha);
      return done;
    });
  }

  Result<void> count_killed_attempts() override {
    return writer_.transact([](Database &db) {
      return db.run("UPDATE attempt SET killed = killed + 1, unfinished = 0 WHERE unfinished > 0",
                    {});
    });
  }

  Result<void> forget_unfinished_attempts() override {
    return writer_.transact([](Database &db) {
      return db.run("UPDATE attempt SET unfinished = 0, killed = 0 WHERE unfinished > 0 OR killed "
                    "> 0",
                    {});
    });
  }

  Result<std::optional<Revision>> due_retry(std::int64_t repo_id, const std::string &now) override {
    return find_one<Revision>(
        readers_,
        sql(revision_columns,
            "WHERE repo_id = ?1 AND status = 'unreadable' AND on_branch = 1 AND sha IN (SELECT sha "
            "FROM attempt WHERE repo_id = ?1 AND failed > 0 AND next_try_at <= ?2) ORDER BY "
            "sequence LIMIT 1"),
        revision_from, repo_id, now);
  }

  Result<void> close_repo(std::int64_t repo_id, Visibility closed_or_lost, const std::string &now,
                          const std::string &modified) override {
    return write([=](Database &db) {
      std::vector<Repo> rows;
      Result<void> done = db.run(
          sql(repo_columns,
              "WHERE r.id = ?1 OR (json_extract(r.facts_json, '$.identity') <> '' AND "
              "json_extract(r.facts_json, '$.identity') = (SELECT json_extract(facts_json, "
              "'$.identity') FROM repo WHERE id = ?1)) GROUP BY r.id"),
          [&](const Statement &row) { rows.push_back(repo_from(row)); }, repo_id);
      return done ? close_repos(db, rows, closed_or_lost, now, modified) : done;
    });
  }

  Result<void> open_repo(std::int64_t repo_id,
                         const std::vector<AdvisoryRecord> &stamped) override {
    return write([&](Database &db) { return store::open_repo(db, repo_id, stamped); });
  }

  Result<std::vector<Tombstone>> tombstones() override {
    return find_all<Tombstone>(
        readers_,
        "SELECT id, published, modified, withdrawn FROM tombstone ORDER BY modified DESC, id",
        [](const Statement &row) {
          return Tombstone{row.text(0), row.text(1), row.text(2), row.text(3)};
        });
  }

  Result<bool> forget_repo(const std::string &name, const std::string &now,
                           const std::string &modified) override {
    bool known = false;
    Result<void> done = write([&](Database &db) {
      std::vector<Repo> rows;
      Result<void> read = db.run(
          sql(repo_columns, "WHERE r.name = ?1 OR r.id IN (SELECT repo_id FROM former_name WHERE "
                            "name = ?1) GROUP BY r.id"),
          [&](const Statement &row) { rows.push_back(repo_from(row)); }, name);
      if (read)
        read = db.run("DELETE FROM watch WHERE repo = ?", {}, name);
      known = !rows.empty() || db.changes() > 0;
      return read ? forget_repos(db, rows, now, modified) : read;
    });
    if (!done)
      return std::unexpected(done.error());
    return known;
  }

  Result<std::optional<Attempt>> find_attempt(std::int64_t repo_id,
                                              const std::string &sha) override {
    return find_one<Attempt>(
        readers_, std::string(attempt_columns),
        [&](const Statement &row) { return attempt_from(sha, row); }, repo_id, sha);
  }

  Result<void> write_revision(const RevisionWrite &value) override {
    return write([&](Database &db) { return store::write_revision(db, value, now()); });
  }

  Result<void> write_access(const AccessWrite &value) override {
    return write([&](Database &db) { return store::write_access(db, value, now()); });
  }

  Result<void> note_poll(std::int64_t repo_id, const std::string &at, RepoState state,
                         const std::string &note) override {
    return writer_.transact([&](Database &db) {
      return db.run("UPDATE repo SET last_polled = ?, state = ?, state_note = ? WHERE id = ?", {},
                    at, to_string(state), note, repo_id);
    });
  }

  Result<std::vector<DeltaRecord>> deltas(std::int64_t repo_id, std::size_t limit) override {
    return delta_rows(sql(delta_columns, "WHERE repo_id = ? ORDER BY serial DESC LIMIT ?"), repo_id,
                      static_cast<std::int64_t>(limit));
  }

  Result<std::vector<DeltaRecord>> deltas_since(std::int64_t serial, std::size_t limit) override {
    return delta_rows(sql(delta_columns, "WHERE serial > ? ORDER BY serial LIMIT ?"), serial,
                      static_cast<std::int64_t>(limit));
  }

  Result<std::optional<DeltaRecord>> delta_to(std::int64_t repo_id,
                                              const std::string &sha) override {
    Result<std::vector<DeltaRecord>> rows = delta_rows(
        sql(delta_columns,
            "WHERE repo_id = ? AND to_sha = ? AND from_sha <> to_sha ORDER BY serial DESC LIMIT 1"),
        repo_id, sha);
    if (!rows)
      return std::unexpected(rows.error());
    if (rows->empty())
      return std::optional<DeltaRecord>();
    return std::optional<DeltaRecord>(std::move(rows->front()));
  }

  Result<std::vector<AdvisoryRecord>> advisories() override {
    return advisory_rows("SELECT advisory_json, osv_json FROM advisory ORDER BY modified DESC, id");
  }

  Result<std::vector<AdvisoryRecord>> advisories_of(std::int64_t repo_id) override {
    return advisory_rows(
        "SELECT advisory_json, osv_json FROM advisory WHERE repo_id = ? ORDER BY modified DESC, id",
        repo_id);
  }

  Result<std::optional<AdvisoryRecord>> find_advisory(const std::string &id) override {
    Result<std::vector<AdvisoryRecord>> rows =
        advisory_rows("SELECT advisory_json, osv_json FROM advisory WHERE id = ?", id);
    if (!rows)
      return std::unexpected(rows.error());
    if (rows->empty())
      return std::optional<AdvisoryRecord>();
    return std::optional<AdvisoryRecord>(std::move(rows->front()));
  }

  Result<std::vector<Advisory>> held_advisories(std::int64_t repo_id) override {
    Result<std::vector<Result<Advisory>>> rows = find_all<Result<Advisory>>(
        readers_,
        "SELECT advisory_json FROM held_advisory WHERE repo_id = ? ORDER BY held_until, id",
        [](const Statement &row) {
          return advisory_from_json(Json::parse(row.text(0), nullptr, false));
        },
        repo_id);
    if (!rows)
      return std::unexpected(rows.error());
    return all_or_error(std::move(*rows), "a held advisory");
  }

  Result<void> write_advisories(std::int64_t repo_id,
                                const std::vector<AdvisoryRecord> &advisories) override {
    return write([&](Database &db) { return put_advisories(db, repo_id, advisories); });
  }

  Result<std::string> greatest_modified() override {
    Result<std::optional<std::string>> found =
        find_one<std::string>(readers_,
                              "SELECT MAX(COALESCE((SELECT MAX(modified) FROM advisory), ''), "
                              "COALESCE((SELECT MAX(modified) FROM tombstone), ''))",
                              [](const Statement &row) { return row.text(0); });
    if (!found)
      return std::unexpected(found.error());
    return found->value_or("");
  }

  std::int64_t generation() override { return generation_.load(); }

  Result<std::optional<std::string>> get_note(const std::string &key) override {
    return find_one<std::string>(
        readers_, "SELECT value FROM note WHERE key = ?",
        [](const Statement &row) { return row.text(0); }, key);
  }

  Result<void> put_note(const std::string &key, const std::string &value) override {
    return writer_.transact([=](Database &db) {
      return db.run("INSERT INTO note (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET "
                    "value = ?2",
                    {}, key, value);
    });
  }

  Result<void> copy_to(const std::string &path) override {
    return readers_.read([&](Database &db) { return db.copy_to(path); });
  }

  void close() override { writer_.stop(); }

private:
  std::string now() const { return format_time(clock_()); }

  /// A write after which what is served may differ.
  Result<void> write(std::function<Result<void>(Database &)> work) {
    Result<void> done = writer_.transact(std::move(work));
    if (done)
      ++generation_;
    return done;
  }

  static Result<void> insert_watch(Database &db, const Watch &watch) {
    return db.run(
        "INSERT INTO watch (repo, branch, declared, publish, history) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT (repo, branch) DO UPDATE SET declared = MAX(declared, ?3), publish = ?4, "
        "history = ?5",
        {}, watch.repo, watch.branch, watch.declared, watch.publish, watch.history);
  }

  static Result<void> read_content(Database &db, const std::string &content_id, FilePart part,
                                   std::optional<std::string> &found) {
    return db.run(
        "SELECT t.zstd FROM content AS c JOIN text AS t ON t.digest = c.digest WHERE c.content_id "
        "= ? AND c.part = ?",
        [&](const Statement &row) { found = decompress(row.blob(0), largest_text); }, content_id,
        to_string(part));
  }

  static Result<void> fill_contents(Database &db, Snapshot &snapshot) {
    for (auto at = snapshot.contents.begin(); at != snapshot.contents.end();) {
      const FileEntry *file = find_file(snapshot, at->first);
      std::optional<std::string> bytes;
      if (file != nullptr && at->second.problem.empty()) {
        if (Result<void> read = read_content(db, file->content_id(), at->second.part, bytes); !read)
          return read;
      }
      if (bytes)
        at->second.bytes = std::make_shared<const std::string>(std::move(*bytes));
      const bool keep = at->second.bytes || !at->second.problem.empty();
      at = keep ? std::next(at) : snapshot.contents.erase(at);
    }
    return {};
  }

  template <class... Values>
  Result<std::vector<DeltaRecord>> delta_rows(const std::string &query, const Values &...values) {
    Result<std::vector<Result<DeltaRecord>>> rows =
        find_all<Result<DeltaRecord>>(readers_, query, delta_record_from, values...);
    if (!rows)
      return std::unexpected(rows.error());
    return all_or_error(std::move(*rows), "a stored delta");
  }

  template <class... Values>
  Result<std::vector<AdvisoryRecord>> advisory_rows(const std::string &query,
                                                    const Values &...values) {
    Result<std::vector<Result<AdvisoryRecord>>> rows =
        find_all<Result<AdvisoryRecord>>(readers_, query, advisory_record_from, values...);
    if (!rows)
      return std::unexpected(rows.error());
    return all_or_error(std::move(*rows), "a stored advisory");
  }

  Readers readers_;
  Writer writer_;
  std::function<TimePoint()> clock_;
  std::atomic<std::int64_t> generation_ = 1;
};

} // namespace

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(options.path).parent_path();
  if (!folder.empty())
    std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::bad_input, fmt::format("{}: the state folder cannot be made ({}): name "
                                             "another in [state] folder, or give this user "
                                             "the right to write there",
                                             folder.string(), error.message()));
  Result<std::unique_ptr<Database>> database = Database::open(options.path, false);
  if (!database)
    return std::unexpected(database.error());
  // A database of a newer version is refused before anything touches the file.
  Result<void> ready = (*database)->run("PRAGMA foreign_keys = ON", {});
  if (ready)
    ready = migrate(**database);
  for (const char *pragma :
       {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
        "PRAGMA wal_autocheckpoint = 1000", "PRAGMA journal_size_limit = 16777216"}) {
    if (ready)
      ready = (*database)->run(pragma, {});
  }
  if (!ready)
    return std::unexpected(ready.error());
  (*database)->set_fault(std::move(options.fault));
  return std::make_unique<SqliteStore>(options.path, std::move(*database),
                                       std::move(options.clock));
}

} // namespace headwater::store
