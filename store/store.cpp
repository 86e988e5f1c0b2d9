#include "store/store.hpp"

#include "store/attempts.hpp"
#include "store/backup.hpp"
#include "store/connections.hpp"
#include "store/generations.hpp"
#include "store/migrations.hpp"
#include "store/pins.hpp"
#include "store/place.hpp"
#include "store/read.hpp"
#include "store/rows.hpp"
#include "store/write.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace headwater::store {
namespace {

/// A watch stands under the name that a person gave, which may be a former one of the repo.
constexpr std::string_view repo_columns =
    "SELECT r.id, r.name, r.branch, r.facts_json, r.state, r.state_note, r.anonymous_can_read, "
    "(SELECT MAX(w.publish) FROM watch AS w WHERE w.branch = r.branch AND w.repo IN (SELECT r.name "
    "UNION ALL SELECT f.name FROM former_name AS f WHERE f.repo_id = r.id AND f.branch = "
    "r.branch)), "
    "r.head, r.head_date, r.last_polled, r.last_changed, (SELECT COUNT(*) FROM revision WHERE "
    "repo_id = r.id), "
    "(SELECT COUNT(*) FROM advisory WHERE repo_id = r.id AND state = 'open' AND withdrawn = 0), "
    "(SELECT MAX(CASE level WHEN 'critical' THEN 3 WHEN 'high' THEN 2 WHEN 'medium' THEN 1 ELSE 0 "
    "END) FROM advisory "
    "WHERE repo_id = r.id AND state = 'open' AND withdrawn = 0), r.visibility "
    "FROM repo AS r ";

std::string sql(std::string_view columns, std::string_view rest) {
  return std::string(columns) + std::string(rest);
}

Result<Repo> repo_from(const Database &database, const Statement &row) {
  Repo repo;
  repo.id = row.number(0);
  repo.name = row.text(1);
  repo.branch = row.text(2);
  Result<RepoFacts> facts = facts_from_text(row.text(3));
  if (!facts)
    return undecodable(database, "repo", fmt::format("{} ({})", repo.id, repo.name), facts.error());
  repo.facts = std::move(*facts);
  repo.state = repo_state_from(row.text(4));
  repo.state_note = row.text(5);
  repo.anonymous_can_read = row.number(6) != 0;
  repo.publish = row.number(7) != 0;
  repo.watched = !row.is_null(7);
  repo.head = row.text(8);
  repo.head_date = row.text(9);
  repo.last_polled = row.text(10);
  repo.last_changed = row.text(11);
  repo.revision_count = row.number(12);
  repo.open_advisories = row.number(13);
  repo.open_level = static_cast<Level>(row.number(14));
  repo.visibility = visibility_from(row.text(15));
  return repo;
}

Result<Watch> watch_from(const Statement &row) {
  return Watch{row.text(0), row.text(1), row.number(2) != 0, row.number(3) != 0, row.text(4)};
}

class SqliteStore final : public Store {
public:
  SqliteStore(StoreOptions options, std::unique_ptr<Database> database)
      : readers_(options.path, std::move(options.observe)),
        writer_(std::move(database), [this](Database &db) { return write_looks(db); }),
        clock_(std::move(options.clock)) {}
  ~SqliteStore() override { writer_.stop(); }

  Result<void> put_watch(const Watch &watch) override {
    return write_all([&](Database &db) { return insert_watch(db, watch); });
  }

  Result<void> remove_watch(const std::string &repo, const std::string &branch) override {
    return write_all([&](Database &db) {
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
    return read<std::vector<Watch>>([](Database &db) {
      return read_all<Watch>(
          db, "SELECT repo, branch, declared, publish, history FROM watch ORDER BY repo, branch",
          watch_from);
    });
  }

  Result<std::optional<Watch>> find_watch(const std::string &repo,
                                          const std::string &branch) override {
    return read<std::optional<Watch>>([&](Database &db) {
      return read_one<Watch>(db,
                             "SELECT repo, branch, declared, publish, history FROM watch WHERE "
                             "repo = ? AND branch = ?",
                             watch_from, repo, branch);
    });
  }

  Result<void> set_declared_watches(const std::vector<Watch> &declared) override {
    return write_all([&](Database &db) {
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
    return read<std::vector<Repo>>([](Database &db) {
      return read_all<Repo>(db, sql(repo_columns, "ORDER BY r.name, r.branch"),
                            [&](const Statement &row) { return repo_from(db, row); });
    });
  }

  Result<std::optional<Repo>> get_repo(std::int64_t repo_id) override {
    return one_repo("WHERE r.id = ?", repo_id);
  }

  Result<std::optional<Repo>> find_at_any_branch(const std::string &name) override {
    return one_repo("WHERE r.name = ? ORDER BY r.branch <> 'main', r.branch LIMIT 1", name);
  }

  Result<std::optional<Repo>> find_repo(const std::string &name,
                                        const std::string &branch) override {
    return one_repo("WHERE r.name = ? AND r.branch = ? LIMIT 1", name, branch);
  }

  Result<std::optional<Repo>> find_renamed(const std::string &name) override {
    return one_repo("WHERE r.id = (SELECT repo_id FROM former_name WHERE name = ? LIMIT 1) LIMIT 1",
                    name);
  }

  Result<Repo> ensure_repo(const std::string &name, const std::string &branch) override {
    Result<std::optional<Repo>> there = find_repo(name, branch);
    // Of a renamed repo that is followed at two branches each keeps its own rows.
    if (there && !*there)
      there =
          one_repo("WHERE r.id = (SELECT repo_id FROM former_name WHERE name = ? AND branch = ?)",
                   name, branch);
    if (!there)
      return std::unexpected(there.error());
    if (*there)
      return std::move(**there);
    RepoFacts facts;
    facts.name = name;
    std::vector<std::int64_t> touched;
    Result<void> done = writer_.transact([&](Database &db) {
      Result<void> written =
          db.run("INSERT INTO repo (name, branch, facts_json, state, state_note, "
                 "anonymous_can_read, head, head_date, last_polled, "
                 "last_changed) VALUES (?1, ?2, ?3, 'pending', '', 1, '', '', '', '') ON CONFLICT "
                 "(name, branch) DO NOTHING",
                 {}, name, branch, facts_to_text(facts));
      // What was answered for the name at another branch is answered for this one from now on.
      return written ? add_lines_of(db, name, touched) : written;
    });
    if (!done)
      return std::unexpected(done.error());
    generations_.touch(touched);
    Result<std::optional<Repo>> repo = find_repo(name, branch);
    if (!repo)
      return std::unexpected(repo.error());
    if (!*repo)
      return fail(Errc::internal, fmt::format("{} was not stored", name));
    return std::move(**repo);
  }

  Result<std::vector<Revision>> revisions(std::int64_t repo_id) override {
    return read<std::vector<Revision>>([&](Database &db) { return read_revisions(db, repo_id); });
  }

  Result<std::optional<Revision>> newest_revision(std::int64_t repo_id, bool with_tree,
                                                  const std::string &behind) override {
    return read<std::optional<Revision>>(
        [&](Database &db) { return read_newest_revision(db, repo_id, with_tree, behind); });
  }

  Result<std::string> find_equal(std::int64_t repo_id, const std::string &fact_hash,
                                 const std::string &except, const std::string &or_this) override {
    return read<std::string>(
        [&](Database &db) { return read_equal(db, repo_id, fact_hash, except, or_this); });
  }

  Result<std::vector<Revision>> find_by_prefix(std::int64_t repo_id,
                                               const std::string &prefix) override {
    return read<std::vector<Revision>>(
        [&](Database &db) { return read_by_prefix(db, repo_id, prefix); });
  }

  Result<Distance> distance_from(std::int64_t repo_id, std::int64_t sequence) override {
    return read<Distance>([&](Database &db) { return read_distance(db, repo_id, sequence); });
  }

  Result<std::string> subject_hashes(std::int64_t repo_id, const std::string &sha) override {
    return read<std::string>([&](Database &db) { return read_subject_hashes(db, repo_id, sha); });
  }

  Result<std::optional<Revision>> find_revision(std::int64_t repo_id,
                                                const std::string &sha) override {
    return read<std::optional<Revision>>(
        [&](Database &db) { return read_revision(db, repo_id, sha); });
  }

  Result<std::optional<Snapshot>> snapshot(std::int64_t repo_id, const std::string &sha) override {
    return read<std::optional<Snapshot>>(
        [&](Database &db) { return read_snapshot(db, repo_id, sha); });
  }

  Result<std::optional<std::vector<FileEntry>>> files(std::int64_t repo_id,
                                                      const std::string &sha) override {
    return read<std::optional<std::vector<FileEntry>>>(
        [&](Database &db) { return read_files(db, repo_id, sha); });
  }

  Result<std::optional<std::string>> content(const std::string &content_id,
                                             FilePart part) override {
    return read<std::optional<std::string>>(
        [&](Database &db) { return read_content(db, content_id, part); });
  }

  Result<std::map<std::string, KnownFile>>
  known_files(std::int64_t repo_id, const std::vector<std::string> &digests) override {
    return read<std::map<std::string, KnownFile>>(
        [&](Database &db) { return read_known_files(db, repo_id, digests); });
  }

  Result<std::vector<NamedRepo>> named_repos(std::int64_t repo_id) override {
    return read<std::vector<NamedRepo>>([&](Database &db) {
      return read_all<NamedRepo>(
          db, "SELECT role, name FROM named_repo WHERE repo_id = ? ORDER BY role, name",
          [](const Statement &row) -> Result<NamedRepo> {
            return NamedRepo{row.text(0), row.text(1)};
          },
          repo_id);
    });
  }

  Result<std::vector<Watch>> dependants(const std::string &name) override {
    return read<std::vector<Watch>>([&](Database &db) {
      return read_all<Watch>(
          db,
          "SELECT DISTINCT w.repo, w.branch, w.declared, w.publish, w.history FROM named_repo AS n "
          "CROSS JOIN repo AS r ON r.id = n.repo_id CROSS JOIN watch AS w ON w.branch = r.branch "
          "AND w.repo IN (SELECT r.name UNION ALL SELECT f.name FROM former_name AS f WHERE "
          "f.repo_id = r.id) WHERE n.name = ? ORDER BY w.repo, w.branch",
          watch_from, name);
    });
  }

  Result<std::vector<BaseComparison>> base_comparisons(std::int64_t repo_id) override {
    return read<std::vector<BaseComparison>>(
        [&](Database &db) { return read_base_comparisons(db, repo_id); });
  }

  Result<void> put_base_comparisons(std::int64_t repo_id,
                                    const std::vector<BaseComparison> &comparisons) override {
    return write(repo_id, [&](Database &db) {
      return store::put_base_comparisons(db, repo_id, comparisons);
    });
  }

  Result<void> put_pin(std::int64_t repo_id, const std::string &sha, bool asked) override {
    return writer_.transact(
        [&](Database &db) { return store::put_pin(db, repo_id, sha, asked, now()); });
  }

  Result<bool> remove_pin(std::int64_t repo_id, const std::string &sha) override {
    bool there = false;
    Result<void> done =
        writer_.transact([&](Database &db) { return store::remove_pin(db, repo_id, sha, there); });
    if (!done)
      return std::unexpected(done.error());
    return there;
  }

  Result<std::vector<Pin>> pins() override {
    return read<std::vector<Pin>>([](Database &db) { return read_pins(db); });
  }

  Result<Attempt> begin_attempt(std::int64_t repo_id, const std::string &sha) override {
    Attempt attempt;
    Result<void> done = writer_.transact(
        [&](Database &db) { return store::begin_attempt(db, repo_id, sha, attempt); });
    if (!done)
      return std::unexpected(done.error());
    return attempt;
  }

  Result<void> fail_attempt(std::int64_t repo_id, const std::string &sha, const std::string &note,
                            const std::string &next_try_at) override {
    return write(repo_id, [&](Database &db) {
      return store::fail_attempt(db, repo_id, sha, note, next_try_at);
    });
  }

  Result<void> drop_attempt(std::int64_t repo_id, const std::string &sha) override {
    return writer_.transact([&](Database &db) { return store::drop_attempt(db, repo_id, sha); });
  }

  Result<void> count_killed_attempts() override {
    return writer_.transact([](Database &db) { return store::count_killed_attempts(db); });
  }

  Result<void> forget_unfinished_attempts() override {
    return writer_.transact([](Database &db) { return store::forget_unfinished_attempts(db); });
  }

  Result<std::optional<Revision>> due_retry(std::int64_t repo_id, const std::string &now) override {
    return read<std::optional<Revision>>(
        [&](Database &db) { return read_due_retry(db, repo_id, now); });
  }

  Result<void> close_repo(std::int64_t repo_id, Visibility closed_or_lost, const std::string &now,
                          const std::string &modified) override {
    return write_all([&](Database &db) -> Result<void> {
      const Result<std::vector<Repo>> rows =
          repo_rows(db,
                    "WHERE r.id = ?1 OR (json_extract(r.facts_json, '$.identity') <> '' AND "
                    "json_extract(r.facts_json, '$.identity') = (SELECT json_extract(facts_json, "
                    "'$.identity') FROM repo WHERE id = ?1))",
                    repo_id);
      if (!rows)
        return std::unexpected(rows.error());
      return close_repos(db, *rows, closed_or_lost, now, modified);
    });
  }

  Result<void> open_repo(std::int64_t repo_id,
                         const std::vector<AdvisoryRecord> &stamped) override {
    return write(repo_id, [&](Database &db) { return store::open_repo(db, repo_id, stamped); });
  }

  Result<std::vector<Tombstone>> tombstones() override {
    return read<std::vector<Tombstone>>([](Database &db) {
      return read_all<Tombstone>(
          db, "SELECT id, published, modified, withdrawn FROM tombstone ORDER BY modified DESC, id",
          tombstone_from);
    });
  }

  Result<std::optional<Tombstone>> find_tombstone(const std::string &id) override {
    return read<std::optional<Tombstone>>([&](Database &db) {
      return read_one<Tombstone>(
          db, "SELECT id, published, modified, withdrawn FROM tombstone WHERE id = ?",
          tombstone_from, id);
    });
  }

  Result<bool> forget_repo(const std::string &name, const std::string &now,
                           const std::string &modified) override {
    bool known = false;
    Result<void> done = write_all([&](Database &db) -> Result<void> {
      const Result<std::vector<Repo>> rows = repo_rows(
          db, "WHERE r.name = ?1 OR r.id IN (SELECT repo_id FROM former_name WHERE name = ?1)",
          name);
      if (!rows)
        return std::unexpected(rows.error());
      if (Result<void> unwatched = db.run("DELETE FROM watch WHERE repo = ?", {}, name); !unwatched)
        return unwatched;
      known = !rows->empty() || db.changes() > 0;
      return forget_repos(db, *rows, now, modified);
    });
    if (!done)
      return std::unexpected(done.error());
    return known;
  }

  Result<std::optional<Attempt>> find_attempt(std::int64_t repo_id,
                                              const std::string &sha) override {
    return read<std::optional<Attempt>>(
        [&](Database &db) { return read_attempt(db, repo_id, sha); });
  }

  Result<void> write_revision(const RevisionWrite &value) override {
    return write_lines(value.repo_id, value.snapshot ? value.snapshot->facts.name : std::string(),
                       [&](Database &db) { return store::write_revision(db, value, now()); });
  }

  Result<void> write_access(const AccessWrite &value) override {
    return write_lines(value.repo_id, value.facts.name,
                       [&](Database &db) { return store::write_access(db, value, now()); });
  }

  Result<void> note_poll(std::int64_t repo_id, const std::string &at, RepoState state,
                         const std::string &note) override {
    {
      const std::lock_guard lock(looks_mutex_);
      looks_.erase(repo_id);
    }
    return write(repo_id, [&](Database &db) {
      return db.run("UPDATE repo SET last_polled = ?, state = ?, state_note = ? WHERE id = ?", {},
                    at, to_string(state), note, repo_id);
    });
  }

  void note_look(std::int64_t repo_id, const std::string &at) override {
    const std::lock_guard lock(looks_mutex_);
    looks_[repo_id] = at;
  }

  Result<std::vector<DeltaRecord>> deltas(std::int64_t repo_id, std::size_t limit) override {
    return read<std::vector<DeltaRecord>>(
        [&](Database &db) { return read_deltas(db, repo_id, limit); });
  }

  Result<std::vector<DeltaRecord>> deltas_since(std::int64_t serial, std::size_t limit) override {
    return read<std::vector<DeltaRecord>>(
        [&](Database &db) { return read_deltas_since(db, serial, limit); });
  }

  Result<std::vector<DeltaRecord>> deltas_at(std::int64_t repo_id,
                                             const std::string &sha) override {
    return read<std::vector<DeltaRecord>>(
        [&](Database &db) { return read_deltas_at(db, repo_id, sha); });
  }

  Result<std::optional<DeltaRecord>> delta_to(std::int64_t repo_id,
                                              const std::string &sha) override {
    Result<std::vector<DeltaRecord>> rows = deltas_at(repo_id, sha);
    if (!rows)
      return std::unexpected(rows.error());
    for (DeltaRecord &record : *rows)
      if (record.delta.from != record.delta.to)
        return std::optional<DeltaRecord>(std::move(record));
    return std::optional<DeltaRecord>();
  }

  Result<std::vector<DeltaRecord>> newest_deltas(const std::function<bool(std::int64_t)> &take,
                                                 std::size_t limit) override {
    return read<std::vector<DeltaRecord>>(
        [&](Database &db) { return read_newest_deltas(db, take, limit); });
  }

  Result<std::int64_t> newest_serial() override {
    return read<std::int64_t>([](Database &db) { return read_newest_serial(db); });
  }

  Result<std::vector<AdvisoryRecord>> advisories() override {
    return read<std::vector<AdvisoryRecord>>([](Database &db) { return read_advisories(db); });
  }

  Result<std::vector<OwnedAdvisory>>
  newest_advisories(const std::function<bool(std::int64_t)> &take, std::size_t limit) override {
    return read<std::vector<OwnedAdvisory>>(
        [&](Database &db) { return read_newest_advisories(db, take, limit); });
  }

  Result<std::string> open_since(std::int64_t repo_id) override {
    return read<std::string>([&](Database &db) { return read_open_since(db, repo_id); });
  }

  Result<std::vector<AdvisoryRecord>> advisories_of(std::int64_t repo_id) override {
    return read<std::vector<AdvisoryRecord>>(
        [&](Database &db) { return read_advisories_of(db, repo_id); });
  }

  Result<std::optional<AdvisoryRecord>> find_advisory(const std::string &id) override {
    Result<std::optional<OwnedAdvisory>> found = find_owned_advisory(id);
    if (!found)
      return std::unexpected(found.error());
    if (!*found)
      return std::optional<AdvisoryRecord>();
    return std::optional<AdvisoryRecord>(std::move((*found)->record));
  }

  Result<std::optional<OwnedAdvisory>> find_owned_advisory(const std::string &id) override {
    return read<std::optional<OwnedAdvisory>>([&](Database &db) { return read_advisory(db, id); });
  }

  Result<std::vector<Advisory>> held_advisories(std::int64_t repo_id) override {
    return read<std::vector<Advisory>>([&](Database &db) { return read_held(db, repo_id); });
  }

  Result<void> write_advisories(std::int64_t repo_id,
                                const std::vector<AdvisoryRecord> &advisories) override {
    return write(repo_id, [&](Database &db) { return put_advisories(db, repo_id, advisories); });
  }

  Result<std::string> greatest_modified() override {
    return read<std::string>([](Database &db) -> Result<std::string> {
      std::string greatest;
      const auto take = [&](const Statement &row) { greatest = std::max(greatest, row.text(0)); };
      Result<void> done =
          db.run("SELECT modified FROM advisory ORDER BY modified DESC LIMIT 1", take);
      if (done)
        done = db.run("SELECT modified FROM tombstone ORDER BY modified DESC LIMIT 1", take);
      if (!done)
        return std::unexpected(done.error());
      return greatest;
    });
  }

  std::int64_t generation() override { return generations_.now(); }
  std::int64_t generation_of(std::int64_t repo_id) override { return generations_.of(repo_id); }
  Touched touched_since(std::int64_t generation) override { return generations_.since(generation); }

  Result<std::optional<std::string>> get_note(const std::string &key) override {
    return read<std::optional<std::string>>([&](Database &db) {
      return read_one<std::string>(
          db, "SELECT value FROM note WHERE key = ?",
          [](const Statement &row) -> Result<std::string> { return row.text(0); }, key);
    });
  }

  Result<void> put_note(const std::string &key, const std::string &value) override {
    return writer_.transact([&](Database &db) {
      return db.run("INSERT INTO note (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET "
                    "value = ?2",
                    {}, key, value);
    });
  }

  Result<void> copy_to(const std::string &path) override {
    return readers_.read([&](Database &db) { return back_up(db, path); });
  }

  std::string damage() override {
    const std::lock_guard lock(damage_mutex_);
    return damage_;
  }

  void close() override { writer_.stop(); }

private:
  std::string now() const { return format_time(clock_()); }

  /// What `work` (Database -> Result<T>) gives on a connection of its own.
  template <class T, class Work> Result<T> read(Work work) {
    Result<T> value{};
    Result<void> done = readers_.read([&](Database &db) -> Result<void> {
      value = work(db);
      return {};
    });
    if (!done)
      value = std::unexpected(done.error());
    if (!value && is_damage(value.error())) {
      const std::lock_guard lock(damage_mutex_);
      if (damage_.empty())
        damage_ = value.error().message;
    }
    return value;
  }

  template <class... Values>
  Result<std::optional<Repo>> one_repo(std::string_view where, const Values &...values) {
    return read<std::optional<Repo>>([&](Database &db) {
      return read_one<Repo>(
          db, sql(repo_columns, where), [&](const Statement &row) { return repo_from(db, row); },
          values...);
    });
  }

  /// A write after which what is served of one repo may differ.
  Result<void> write(std::int64_t repo_id, Writer::Work work) {
    Result<void> done = writer_.transact(std::move(work));
    if (done)
      generations_.touch({repo_id});
    return done;
  }

  /// A write after which the repo may have another name, which others had or have.
  Result<void> write_lines(std::int64_t repo_id, const std::string &name, Writer::Work work) {
    std::vector<std::int64_t> touched{repo_id};
    Result<void> done = writer_.transact([&](Database &db) {
      Result<void> written = work(db);
      return written && !name.empty() ? add_lines_of(db, name, touched) : written;
    });
    if (done)
      generations_.touch(touched);
    return done;
  }

  /// A write after which all that is served may differ.
  Result<void> write_all(Writer::Work work) {
    Result<void> done = writer_.transact(std::move(work));
    if (done)
      generations_.touch({});
    return done;
  }

  static Result<void> add_lines_of(Database &db, const std::string &name,
                                   std::vector<std::int64_t> &ids) {
    return db.run(
        "SELECT id FROM repo WHERE name = ?1 UNION SELECT repo_id FROM former_name WHERE name = ?1",
        [&](const Statement &row) {
          if (std::ranges::find(ids, row.number(0)) == ids.end())
            ids.push_back(row.number(0));
        },
        name);
  }

  template <class... Values>
  static Result<std::vector<Repo>> repo_rows(Database &db, std::string_view where,
                                             const Values &...values) {
    return read_all<Repo>(
        db, sql(repo_columns, where), [&](const Statement &row) { return repo_from(db, row); },
        values...);
  }

  static Result<Tombstone> tombstone_from(const Statement &row) {
    return Tombstone{row.text(0), row.text(1), row.text(2), row.text(3)};
  }

  static Result<void> insert_watch(Database &db, const Watch &watch) {
    return db.run(
        "INSERT INTO watch (repo, branch, declared, publish, history) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT (repo, branch) DO UPDATE SET declared = MAX(declared, ?3), publish = ?4, "
        "history = ?5",
        {}, watch.repo, watch.branch, watch.declared, watch.publish, watch.history);
  }

  /// The times of the looks since the last call, in one transaction.
  Result<void> write_looks(Database &db) {
    std::map<std::int64_t, std::string> looks;
    {
      const std::lock_guard lock(looks_mutex_);
      looks.swap(looks_);
    }
    if (looks.empty())
      return {};
    return in_transaction(db, [&](Database &inside) {
      Result<void> done;
      for (const auto &[repo_id, at] : looks)
        if (done)
          done = inside.run("UPDATE repo SET last_polled = ? WHERE id = ?", {}, at, repo_id);
      return done;
    });
  }

  std::mutex damage_mutex_;
  std::string damage_;
  std::mutex looks_mutex_;
  std::map<std::int64_t, std::string> looks_; ///< times by repo, not written yet
  Generations generations_;
  Readers readers_;
  Writer writer_;
  std::function<TimePoint()> clock_;
};

Result<std::unique_ptr<Store>> open_read_only(StoreOptions options) {
  const Result<std::unique_ptr<Database>> database = Database::open(options.path, true);
  if (!database)
    return std::unexpected(database.error());
  const Result<std::int64_t> version = version_of(**database);
  if (!version)
    return std::unexpected(version.error());
  if (*version != newest_version())
    return fail(Errc::bad_input,
                fmt::format("{}: it has schema {}, and this headwater reads schema {}: {}; the "
                            "file was left as it is",
                            options.path, *version, newest_version(),
                            *version < newest_version()
                                ? "use the version that its daemon runs, or restart the daemon "
                                  "with this one, which brings it up to date and keeps a copy"
                                : "install the version that its daemon runs"));
  return std::make_unique<SqliteStore>(std::move(options), nullptr);
}

} // namespace

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  if (options.read_only)
    return open_read_only(std::move(options));
  if (Result<void> ready = prepare_place(options.path); !ready)
    return std::unexpected(ready.error());
  Result<std::unique_ptr<Database>> database = Database::open(options.path, false);
  if (!database)
    return std::unexpected(database.error());
  // A database of a newer version is refused before anything touches the file.
  Result<void> ready = migrate(**database);
  for (const char *pragma :
       {"PRAGMA foreign_keys = ON", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
        "PRAGMA wal_autocheckpoint = 1000", "PRAGMA journal_size_limit = 16777216"}) {
    if (ready)
      ready = (*database)->run(pragma, {});
  }
  if (!ready)
    return std::unexpected(ready.error());
  (*database)->set_fault(std::move(options.fault));
  (*database)->set_observer(options.observe);
  return std::make_unique<SqliteStore>(std::move(options), std::move(*database));
}

} // namespace headwater::store
