#include "store/read.hpp"

#include "store/rows.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::store {
namespace {

/// The columns of a revision in a list, and from where.
std::string revisions_where(std::string_view rest) {
  return "SELECT sequence, sha, title, date, status, note, on_branch, has_tree, fact_hash, "
         "delta_level, change_count" +
         std::string(rest);
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
  revision.has_tree = row.number(7) != 0;
  revision.fact_hash = row.text(8);
  revision.delta_level = level_from(row.text(9)).value_or(Level::low);
  revision.change_count = row.number(10);
  return revision;
}

Result<Revision> plain_revision(const Statement &row) {
  return revision_from(row);
}

std::string revision_key(std::int64_t repo_id, std::string_view sha) {
  return fmt::format("({}, {})", repo_id, sha);
}

/// A delta's row: serial, recorded_at, advisory_id, delta.
Result<DeltaRecord> delta_from(const Database &database, const Statement &row) {
  Result<std::string> text = decompress(row.blob(3));
  Result<Delta> delta = text ? delta_from_json(Json::parse(*text, nullptr, false))
                             : Result<Delta>(std::unexpected(text.error()));
  if (!delta)
    return undecodable(database, "delta", std::to_string(row.number(0)), delta.error());
  return DeltaRecord{row.number(0), std::move(*delta), row.text(1), row.text(2)};
}

template <class... Values>
Result<std::vector<DeltaRecord>> delta_rows(Database &database, std::string_view query,
                                            const Values &...values) {
  return read_all<DeltaRecord>(
      database, query, [&](const Statement &row) { return delta_from(database, row); }, values...);
}

/// An advisory's row: id, repo_id, record.
Result<OwnedAdvisory> advisory_from(const Database &database, const Statement &row) {
  const Result<std::string> text = decompress(row.blob(2));
  if (!text)
    return undecodable(database, "advisory", row.text(0), text.error());
  // Our own form ends at the NUL, which no JSON text holds; behind it are the published bytes.
  const auto end = text->find('\0');
  Result<Advisory> advisory =
      end == std::string::npos
          ? Result<Advisory>(fail(Errc::malformed, "the record has no published bytes"))
          : advisory_from_json(Json::parse(
                text->begin(), text->begin() + static_cast<std::ptrdiff_t>(end), nullptr, false));
  if (!advisory)
    return undecodable(database, "advisory", row.text(0), advisory.error());
  return OwnedAdvisory{row.number(1), {std::move(*advisory), text->substr(end + 1)}};
}

template <class... Values>
Result<std::vector<AdvisoryRecord>> advisory_rows(Database &database, std::string_view query,
                                                  const Values &...values) {
  const auto read = [&](const Statement &row) -> Result<AdvisoryRecord> {
    Result<OwnedAdvisory> advisory = advisory_from(database, row);
    if (!advisory)
      return std::unexpected(advisory.error());
    return std::move(advisory->record);
  };
  return read_all<AdvisoryRecord>(database, query, read, values...);
}

/// Keys in order, read in ever greater pieces until `limit` of them were taken: what is hidden
/// costs a key each and no more.
template <class Key>
Result<std::vector<Key>> take_keys(Database &database, std::string_view query, const TakeRepo &take,
                                   std::size_t limit, Key (*key_of)(const Statement &)) {
  struct Row {
    std::int64_t repo_id;
    Key key;
  };
  std::vector<Key> taken;
  std::int64_t offset = 0;
  for (std::int64_t piece = static_cast<std::int64_t>(limit);; piece *= 2) {
    const Result<std::vector<Row>> rows = read_all<Row>(
        database, query,
        [&](const Statement &row) -> Result<Row> { return Row{row.number(0), key_of(row)}; }, piece,
        offset);
    if (!rows)
      return std::unexpected(rows.error());
    for (const Row &row : *rows) {
      if (taken.size() < limit && take(row.repo_id))
        taken.push_back(row.key);
    }
    offset += piece;
    if (taken.size() >= limit || static_cast<std::int64_t>(rows->size()) < piece)
      return taken;
  }
}

std::int64_t number_key(const Statement &row) {
  return row.number(1);
}
std::string text_key(const Statement &row) {
  return row.text(1);
}

/// Fills the bytes of what was read; what is kept no more is absent.
Result<void> fill_contents(Database &database, Snapshot &snapshot) {
  for (auto at = snapshot.contents.begin(); at != snapshot.contents.end();) {
    const FileEntry *file = find_file(snapshot, at->first);
    if (file != nullptr && at->second.problem.empty()) {
      Result<std::optional<std::string>> bytes =
          read_content(database, file->content_id(), at->second.part);
      if (!bytes)
        return std::unexpected(bytes.error());
      if (*bytes)
        at->second.bytes = std::make_shared<const std::string>(std::move(**bytes));
    }
    const bool keep = at->second.bytes || !at->second.problem.empty();
    at = keep ? std::next(at) : snapshot.contents.erase(at);
  }
  return {};
}

} // namespace

Result<std::vector<Revision>> read_revisions(Database &database, std::int64_t repo_id) {
  return read_all<Revision>(database,
                            revisions_where(" FROM revision WHERE repo_id = ? ORDER BY sequence"),
                            plain_revision, repo_id);
}

Result<std::optional<Revision>> read_revision(Database &database, std::int64_t repo_id,
                                              const std::string &sha) {
  const auto read = [&](const Statement &row) -> Result<Revision> {
    Revision revision = revision_from(row);
    for (const auto &[column, into] :
         {std::pair{11, &revision.plan_json}, std::pair{12, &revision.subject_hashes_json}}) {
      if (row.is_null(column))
        continue;
      Result<std::string> text = decompress(row.blob(column));
      if (!text)
        return undecodable(database, column == 11 ? "document" : "revision_tree",
                           revision_key(repo_id, sha), text.error());
      *into = std::move(*text);
    }
    return revision;
  };
  return read_one<Revision>(
      database,
      revisions_where(", (SELECT zstd FROM document WHERE digest = plan), (SELECT hashes FROM "
                      "revision_tree AS t WHERE t.repo_id = revision.repo_id AND t.sha = "
                      "revision.sha) FROM revision WHERE repo_id = ? AND sha = ?"),
      read, repo_id, sha);
}

Result<std::optional<Revision>> read_newest_revision(Database &database, std::int64_t repo_id,
                                                     bool with_tree, const std::string &behind) {
  return read_one<Revision>(
      database,
      revisions_where(" FROM revision WHERE repo_id = ?1 AND on_branch = 1 AND has_tree >= ?2 AND "
                      "sequence < COALESCE((SELECT sequence FROM revision WHERE repo_id = ?1 AND "
                      "sha = ?3), 9223372036854775807) ORDER BY sequence DESC LIMIT 1"),
      plain_revision, repo_id, with_tree, behind);
}

Result<std::optional<Revision>> read_due_retry(Database &database, std::int64_t repo_id,
                                               const std::string &now) {
  // By the attempts, which are few; "+" keeps the order from choosing the way.
  return read_one<Revision>(
      database,
      revisions_where(" FROM revision WHERE repo_id = ?1 AND sha IN (SELECT sha FROM attempt WHERE "
                      "repo_id = ?1 AND failed > 0 AND next_try_at <= ?2) AND status = "
                      "'unreadable' AND on_branch = 1 ORDER BY +sequence LIMIT 1"),
      plain_revision, repo_id, now);
}

Result<std::string> read_equal(Database &database, std::int64_t repo_id,
                               const std::string &fact_hash, const std::string &except,
                               const std::string &or_this) {
  Result<std::optional<std::string>> found = read_one<std::string>(
      database,
      "SELECT sha FROM revision WHERE repo_id = ? AND fact_hash = ? AND sha <> ? AND sha <> ? "
      "ORDER BY sequence DESC LIMIT 1",
      [](const Statement &row) -> Result<std::string> { return row.text(0); }, repo_id, fact_hash,
      except, or_this);
  if (!found)
    return std::unexpected(found.error());
  return found->value_or("");
}

Result<std::vector<Revision>> read_by_prefix(Database &database, std::int64_t repo_id,
                                             const std::string &prefix) {
  // 'g' is behind every hex digit.
  return read_all<Revision>(
      database,
      revisions_where(
          " FROM revision WHERE repo_id = ? AND sha >= ? AND sha < ? ORDER BY sha LIMIT 2"),
      plain_revision, repo_id, prefix, prefix + "g");
}

Result<Distance> read_distance(Database &database, std::int64_t repo_id, std::int64_t sequence) {
  Distance distance;
  Result<void> counted = database.run(
      "SELECT COUNT(*) FROM revision WHERE repo_id = ? AND sequence > ? AND on_branch = 1",
      [&](const Statement &row) { distance.revisions = row.number(0); }, repo_id, sequence);
  if (!counted)
    return std::unexpected(counted.error());
  if (distance.revisions == 0)
    return distance;
  Result<std::vector<PassedDelta>> deltas = read_all<PassedDelta>(
      database,
      "SELECT d.level, d.impact, d.advisory_id FROM revision AS v CROSS JOIN delta AS d ON "
      "d.repo_id = v.repo_id AND d.to_sha = v.sha WHERE v.repo_id = ? AND v.sequence > ? AND "
      "v.on_branch = 1 ORDER BY d.serial DESC",
      [](const Statement &row) -> Result<PassedDelta> {
        return PassedDelta{level_from(row.text(0)).value_or(Level::low),
                           impact_from(row.text(1)).value_or(Impact::cosmetic), row.text(2)};
      },
      repo_id, sequence);
  if (!deltas)
    return std::unexpected(deltas.error());
  distance.deltas = std::move(*deltas);
  return distance;
}

Result<std::string> read_subject_hashes(Database &database, std::int64_t repo_id,
                                        const std::string &sha) {
  Result<std::optional<std::string>> found = read_one<std::string>(
      database, "SELECT hashes FROM revision_tree WHERE repo_id = ? AND sha = ?",
      [&](const Statement &row) -> Result<std::string> {
        Result<std::string> text = decompress(row.blob(0));
        if (!text)
          return undecodable(database, "revision_tree", revision_key(repo_id, sha), text.error());
        return text;
      },
      repo_id, sha);
  if (!found)
    return std::unexpected(found.error());
  return found->value_or("{}");
}

Result<std::optional<Snapshot>> read_snapshot(Database &database, std::int64_t repo_id,
                                              const std::string &sha) {
  const auto read = [&](const Statement &row) -> Result<Snapshot> {
    Snapshot snapshot;
    snapshot.commit = {sha, row.text(0), row.text(1)};
    snapshot.branch = row.text(2);
    const Result<std::string> tree = decompress(row.blob(3));
    Result<void> decoded =
        tree ? tree_from_text(*tree, snapshot) : Result<void>(std::unexpected(tree.error()));
    if (!decoded)
      return undecodable(database, "revision_tree", revision_key(repo_id, sha), decoded.error());
    return snapshot;
  };
  Result<std::optional<Snapshot>> found = read_one<Snapshot>(
      database,
      "SELECT v.title, v.date, r.branch, t.tree FROM revision_tree AS t JOIN revision AS v ON "
      "v.repo_id = t.repo_id AND v.sha = t.sha JOIN repo AS r ON r.id = t.repo_id WHERE t.repo_id "
      "= ? AND t.sha = ?",
      read, repo_id, sha);
  if (!found || !*found)
    return found;
  if (Result<void> filled = fill_contents(database, **found); !filled)
    return std::unexpected(filled.error());
  return found;
}

Result<std::optional<std::vector<FileEntry>>> read_files(Database &database, std::int64_t repo_id,
                                                         const std::string &sha) {
  return read_one<std::vector<FileEntry>>(
      database, "SELECT tree FROM revision_tree WHERE repo_id = ? AND sha = ?",
      [&](const Statement &row) -> Result<std::vector<FileEntry>> {
        Snapshot snapshot;
        const Result<std::string> tree = decompress(row.blob(0));
        Result<void> decoded =
            tree ? tree_from_text(*tree, snapshot) : Result<void>(std::unexpected(tree.error()));
        if (!decoded)
          return undecodable(database, "revision_tree", revision_key(repo_id, sha),
                             decoded.error());
        return std::move(snapshot.files);
      },
      repo_id, sha);
}

Result<std::optional<std::string>> read_content(Database &database, const std::string &content_id,
                                                FilePart part) {
  return read_one<std::string>(
      database,
      "SELECT t.zstd FROM content AS c JOIN text AS t ON t.digest = c.digest WHERE c.content_id "
      "= ? AND c.part = ?",
      [&](const Statement &row) -> Result<std::string> {
        Result<std::string> text = decompress(row.blob(0));
        if (!text)
          return undecodable(database, "text", "of content " + content_id, text.error());
        return text;
      },
      content_id, to_string(part));
}

Result<std::map<std::string, KnownFile>> read_known_files(Database &database, std::int64_t repo_id,
                                                          const std::vector<std::string> &digests) {
  std::map<std::string, KnownFile> known;
  for (const std::string &digest : digests) {
    const auto take = [&](const Statement &row) {
      known[digest] = {row.text(0), row.text(1), row.text(2)};
    };
    Result<void> done =
        database.run("SELECT r.name, d.sha, d.path FROM file_digest AS d JOIN repo AS r ON r.id = "
                     "d.repo_id WHERE d.sha256 = ? AND d.repo_id = ?",
                     take, digest, repo_id);
    // Bytes that everybody has are in as many repos: the first of a few by name will do.
    if (done && !known.contains(digest))
      done = database.run("SELECT name, sha, path FROM (SELECT r.name, d.sha, d.path FROM "
                          "file_digest AS d CROSS JOIN repo AS r ON r.id = d.repo_id WHERE "
                          "d.sha256 = ? AND r.visibility = 'open' ORDER BY d.repo_id LIMIT 64) "
                          "ORDER BY name LIMIT 1",
                          take, digest);
    if (!done)
      return std::unexpected(done.error());
  }
  return known;
}

Result<std::vector<DeltaRecord>> read_deltas(Database &database, std::int64_t repo_id,
                                             std::size_t limit) {
  return delta_rows(database,
                    "SELECT serial, recorded_at, advisory_id, delta FROM delta WHERE repo_id = ? "
                    "ORDER BY serial DESC LIMIT ?",
                    repo_id, static_cast<std::int64_t>(limit));
}

Result<std::vector<DeltaRecord>> read_deltas_since(Database &database, std::int64_t serial,
                                                   std::size_t limit) {
  return delta_rows(database,
                    "SELECT serial, recorded_at, advisory_id, delta FROM delta WHERE serial > ? "
                    "ORDER BY serial LIMIT ?",
                    serial, static_cast<std::int64_t>(limit));
}

Result<std::vector<DeltaRecord>> read_deltas_at(Database &database, std::int64_t repo_id,
                                                const std::string &sha) {
  return delta_rows(database,
                    "SELECT serial, recorded_at, advisory_id, delta FROM delta WHERE repo_id = ? "
                    "AND to_sha = ? ORDER BY serial DESC",
                    repo_id, sha);
}

Result<std::vector<DeltaRecord>> read_newest_deltas(Database &database, const TakeRepo &take,
                                                    std::size_t limit) {
  const Result<std::vector<std::int64_t>> serials =
      take_keys<std::int64_t>(database,
                              "SELECT repo_id, serial FROM delta ORDER BY date DESC, to_sha, "
                              "from_sha, repo_id LIMIT ? OFFSET ?",
                              take, limit, number_key);
  if (!serials)
    return std::unexpected(serials.error());
  std::vector<DeltaRecord> records;
  for (const std::int64_t serial : *serials) {
    Result<std::vector<DeltaRecord>> one = delta_rows(
        database, "SELECT serial, recorded_at, advisory_id, delta FROM delta WHERE serial = ?",
        serial);
    if (!one)
      return one;
    for (DeltaRecord &record : *one)
      records.push_back(std::move(record));
  }
  return records;
}

Result<std::int64_t> read_newest_serial(Database &database) {
  std::int64_t serial = 0;
  Result<void> done = database.run("SELECT serial FROM delta ORDER BY serial DESC LIMIT 1",
                                   [&](const Statement &row) { serial = row.number(0); });
  if (!done)
    return std::unexpected(done.error());
  return serial;
}

Result<std::vector<AdvisoryRecord>> read_advisories(Database &database) {
  return advisory_rows(database,
                       "SELECT id, repo_id, record FROM advisory ORDER BY modified DESC, id");
}

Result<std::vector<OwnedAdvisory>> read_newest_advisories(Database &database, const TakeRepo &take,
                                                          std::size_t limit) {
  const Result<std::vector<std::string>> ids = take_keys<std::string>(
      database, "SELECT repo_id, id FROM advisory ORDER BY substance_at DESC, id LIMIT ? OFFSET ?",
      take, limit, text_key);
  if (!ids)
    return std::unexpected(ids.error());
  std::vector<OwnedAdvisory> records;
  for (const std::string &id : *ids) {
    Result<std::optional<OwnedAdvisory>> one = read_advisory(database, id);
    if (!one)
      return std::unexpected(one.error());
    if (*one)
      records.push_back(std::move(**one));
  }
  return records;
}

Result<std::vector<AdvisoryRecord>> read_advisories_of(Database &database, std::int64_t repo_id) {
  return advisory_rows(
      database,
      "SELECT id, repo_id, record FROM advisory WHERE repo_id = ? ORDER BY modified DESC, id",
      repo_id);
}

Result<std::optional<OwnedAdvisory>> read_advisory(Database &database, const std::string &id) {
  return read_one<OwnedAdvisory>(
      database, "SELECT id, repo_id, record FROM advisory WHERE id = ?",
      [&](const Statement &row) { return advisory_from(database, row); }, id);
}

Result<std::vector<Advisory>> read_held(Database &database, std::int64_t repo_id) {
  return read_all<Advisory>(
      database,
      "SELECT id, advisory_json FROM held_advisory WHERE repo_id = ? ORDER BY held_until, id",
      [&](const Statement &row) -> Result<Advisory> {
        Result<Advisory> held = advisory_from_json(Json::parse(row.text(1), nullptr, false));
        if (!held)
          return undecodable(database, "held_advisory", row.text(0), held.error());
        return held;
      },
      repo_id);
}

Result<std::string> read_open_since(Database &database, std::int64_t repo_id) {
  std::string since;
  Result<void> done = database.run(
      "SELECT substance_at FROM advisory WHERE repo_id = ? AND state = 'open' AND withdrawn = 0 "
      "ORDER BY CASE level WHEN 'critical' THEN 3 WHEN 'high' THEN 2 WHEN 'medium' THEN 1 ELSE 0 "
      "END DESC, substance_at DESC LIMIT 1",
      [&](const Statement &row) { since = row.text(0); }, repo_id);
  if (!done)
    return std::unexpected(done.error());
  return since;
}

Result<std::vector<BaseComparison>> read_base_comparisons(Database &database,
                                                          std::int64_t repo_id) {
  const auto read = [&](const Statement &row) -> Result<BaseComparison> {
    BaseComparison comparison{row.text(0), row.text(1), row.text(2), {}};
    const std::string key = fmt::format("({}, {})", repo_id, comparison.base);
    const Json json = Json::parse(row.text(3), nullptr, false);
    if (!json.is_array())
      return undecodable(database, "base_comparison", key, {Errc::malformed, "not a list"});
    for (const Json &item : json) {
      Result<Change> change = change_from_json(item);
      if (!change)
        return undecodable(database, "base_comparison", key, change.error());
      comparison.changes.push_back(std::move(*change));
    }
    return comparison;
  };
  return read_all<BaseComparison>(
      database,
      "SELECT base, sha, base_sha, changes_json FROM base_comparison WHERE repo_id = ? ORDER BY "
      "base",
      read, repo_id);
}

} // namespace headwater::store
