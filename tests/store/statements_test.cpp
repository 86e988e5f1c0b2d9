// What the store asks SQLite for: no statement walks through a table that grows, and a step costs
// the same whatever else is stored.

#include "schemas/digest.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "store/write.hpp"
#include "tests/folders.hpp"
#include "tests/store/made.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::store {
namespace {

namespace fs = std::filesystem;

/// Statements that read a table from its beginning, each with the reason why it may.
struct Walk {
  const char *begins;
  const char *ends;
  const char *why;
};
constexpr Walk walks[] = {
    {"SELECT repo, branch, declared, publish, history FROM watch ORDER BY", "",
     "the whole list: at start and reload"},
    {"SELECT r.id", "FROM repo AS r ORDER BY r.name, r.branch",
     "the whole list: for answers about all repos"},
    {"SELECT id, repo_id, record FROM advisory ORDER BY", "",
     "the whole list: for exports of all records"},
    {"SELECT p.repo_id, r.name", "", "the whole list: for the person who asks for it"},
    {"SELECT repo_id, serial FROM delta ORDER BY date DESC", "LIMIT ? OFFSET ?",
     "in the order of an index, up to a limit"},
    {"SELECT repo_id, id FROM advisory ORDER BY substance_at DESC", "LIMIT ? OFFSET ?",
     "in the order of an index, up to a limit"},
    {"SELECT serial FROM delta ORDER BY serial DESC", "LIMIT 1", "the last row"},
    {"SELECT modified FROM advisory ORDER BY modified DESC", "LIMIT 1", "the last row"},
    {"SELECT modified FROM tombstone ORDER BY modified DESC", "LIMIT 1", "the last row"},
    {"SELECT id, published, modified, withdrawn FROM tombstone ORDER BY", "",
     "the whole list: for exports of all records"},
};

bool may_walk(const std::string &statement) {
  return std::ranges::any_of(walks, [&](const Walk &walk) {
    return statement.starts_with(walk.begins) && statement.ends_with(walk.ends);
  });
}

/// What ran, and how many rows were passed over without an index.
struct Seen {
  std::mutex mutex;
  std::set<std::string> statements;
  std::int64_t scanned = 0;

  std::function<void(std::string_view, std::int64_t)> observer() {
    return [this](std::string_view sql, std::int64_t rows) {
      const std::lock_guard lock(mutex);
      statements.emplace(sql);
      scanned += rows;
    };
  }
};

RevisionWrite write_of(std::int64_t repo_id, const std::string &name, int number) {
  const std::string sha = sha1_hex(name + std::to_string(number));
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->facts.name = name;
  snapshot->facts.identity = "id of " + name;
  snapshot->commit = {sha, "A title", "2026-01-01T00:00:00Z"};
  const std::string small = name + std::to_string(number);
  const std::string large(static_cast<std::size_t>(large_text_bytes) + 1,
                          static_cast<char>('a' + number % 26));
  for (const auto &[path, bytes] :
       {std::pair{"config.json", small}, std::pair{"tokenizer.json", large + small}}) {
    snapshot->files.push_back(
        {path, git_blob_id(bytes), static_cast<std::int64_t>(bytes.size()), {}});
    snapshot->contents[path].bytes = std::make_shared<const std::string>(bytes);
  }
  snapshot->files.push_back(
      {"weights", sha1_hex(small), 9, sha256_hex("the same weights everywhere")});
  RevisionWrite write = made_revision(repo_id);
  write.snapshot = snapshot;
  write.revision.sha = sha;
  write.revision.fact_hash = sha;
  write.names = {{"base", "acme/base"}};
  write.delta.repo = name;
  write.delta.from = sha1_hex(name + std::to_string(number - 1));
  write.delta.to = sha;
  Advisory &advisory = write.advisories[0].advisory;
  advisory.id = "x_T-2026-" + sha.substr(0, 12);
  advisory.repo = name;
  advisory.from = write.delta.from;
  advisory.to = sha;
  return write;
}

/// All that one look at one repo and the answers about it read and write.
void do_everything_of_one(Store &store, const std::string &name, int number) {
  const Result<Repo> repo = store.ensure_repo(name, "main");
  ASSERT_TRUE(repo) << repo.error().message;
  const std::int64_t id = repo->id;
  RevisionWrite write = write_of(id, name, number);
  const std::string sha = write.revision.sha;
  EXPECT_TRUE(store.find_watch(name, "main"));
  EXPECT_TRUE(store.begin_attempt(id, sha));
  EXPECT_TRUE(store.fail_attempt(id, sha, "a note", "2026-01-01T00:00:00Z"));
  EXPECT_TRUE(store.find_attempt(id, sha));
  EXPECT_TRUE(store.due_retry(id, "2026-01-01T00:00:00Z"));
  EXPECT_TRUE(store.drop_attempt(id, sha));
  EXPECT_TRUE(store.newest_revision(id, true));
  EXPECT_TRUE(store.newest_revision(id, false));
  EXPECT_TRUE(store.find_equal(id, "facts", sha, sha));
  EXPECT_TRUE(store.greatest_modified());
  write.dropped = {"x_T-2026-none"};
  write.rewritten_away = {sha1_hex("none")};
  EXPECT_TRUE(store.write_revision(write));
  RevisionWrite held = write_of(id, name, number + 1);
  held.advisories[0].advisory.held_until = "2026-02-01T00:00:00Z";
  EXPECT_TRUE(store.write_revision(held));
  EXPECT_TRUE(store.held_advisories(id));
  held.advisories[0].advisory.held_until.clear();
  EXPECT_TRUE(store.write_advisories(id, held.advisories));
  // Read late, behind the head; and one that cannot be read.
  EXPECT_TRUE(store.write_revision(write));
  RevisionWrite unreadable;
  unreadable.repo_id = id;
  unreadable.revision.sha = sha1_hex(name + "unreadable" + std::to_string(number));
  unreadable.revision.status = RevisionStatus::unreadable;
  EXPECT_TRUE(store.write_revision(unreadable));
  AccessWrite access;
  access.repo_id = id;
  access.facts.name = name;
  EXPECT_TRUE(store.write_access(access));
  EXPECT_TRUE(store.note_poll(id, "2026-01-01T00:00:00Z", RepoState::ok, ""));
  store.note_look(id, "2026-01-01T00:00:00Z");
  EXPECT_TRUE(store.put_note(name, "value"));
  EXPECT_TRUE(store.get_note(name));
  EXPECT_TRUE(store.named_repos(id));
  EXPECT_TRUE(store.put_base_comparisons(id, {{"acme/base", "a", "b", {}}}));
  EXPECT_TRUE(store.base_comparisons(id));

  EXPECT_TRUE(*store.find_repo(name));
  EXPECT_TRUE(*store.find_at_any_branch(name));
  EXPECT_TRUE(*store.get_repo(id));
  EXPECT_TRUE(store.find_renamed(name));
  EXPECT_TRUE(store.revisions(id));
  EXPECT_TRUE(*store.find_revision(id, sha));
  EXPECT_EQ(store.find_by_prefix(id, sha.substr(0, 9))->size(), 1U);
  EXPECT_TRUE(store.distance_from(id, 1));
  EXPECT_TRUE(store.subject_hashes(id, sha));
  EXPECT_TRUE(*store.snapshot(id, sha));
  EXPECT_TRUE(*store.files(id, sha));
  EXPECT_TRUE(store.content("none", FilePart::whole));
  EXPECT_TRUE(
      store.known_files(id, {sha256_hex("the same weights everywhere"), sha256_hex("others")}));
  EXPECT_EQ(store.deltas(id, 1)->size(), 1U);
  EXPECT_EQ(store.deltas_at(id, sha)->size(), 1U);
  EXPECT_TRUE(*store.delta_to(id, sha));
  EXPECT_TRUE(store.deltas_since(*store.newest_serial() - 1, 10));
  EXPECT_TRUE(store.advisories_of(id));
  EXPECT_TRUE(*store.find_advisory(write.advisories[0].advisory.id));
  EXPECT_TRUE(store.find_tombstone(write.advisories[0].advisory.id));
  EXPECT_TRUE(store.open_since(id));
  EXPECT_TRUE(store.put_pin(id, held.revision.sha, true));
  EXPECT_TRUE(store.put_pin(id, held.revision.sha, false));
  EXPECT_TRUE(*store.remove_pin(id, held.revision.sha));
}

class StatementsTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("statements-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::unique_ptr<Store> open(Seen &seen) {
    auto store = Store::open({.path = (folder_ / "headwater.db").string(),
                              .clock = [] { return *parse_time("2026-01-02T03:04:05Z"); },
                              .observe = seen.observer()});
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  fs::path folder_;
};

/// Statements as the sources have them: each literal that begins as one.
std::vector<std::string> written_statements() {
  std::vector<std::string> found;
  for (const char *name : {"store.cpp", "attempts.cpp", "read.cpp", "write.cpp", "pins.cpp"}) {
    std::ifstream file(test::source_folder() / "store" / name);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_FALSE(text.empty()) << name;
    for (const char *word : {"\"SELECT ", "\"INSERT ", "\"UPDATE ", "\"DELETE "})
      for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
        found.push_back(text.substr(at + 1, text.find('"', at + 1) - at - 1));
  }
  return found;
}

TEST_F(StatementsTest, NoneWalksThroughATableThatGrows) {
  Seen seen;
  {
    const auto store = open(seen);
    do_everything_of_one(*store, "acme/one", 1);
    do_everything_of_one(*store, "acme/one", 4);
    ASSERT_TRUE(store->set_declared_watches({{"acme/one", "main", true, false, "20"}}));
    ASSERT_TRUE(store->put_watch({"acme/two", "main", false, false, "20"}));
    ASSERT_TRUE(store->remove_watch("acme/two", "main"));
    ASSERT_TRUE(store->watches());
    ASSERT_TRUE(store->repos());
    ASSERT_TRUE(store->advisories());
    ASSERT_TRUE(store->pins());
    ASSERT_TRUE(store->dependants("acme/base"));
    ASSERT_TRUE(store->tombstones());
    ASSERT_TRUE(store->count_killed_attempts());
    ASSERT_TRUE(store->forget_unfinished_attempts());
    ASSERT_TRUE(store->newest_deltas([](std::int64_t) { return true; }, 5));
    ASSERT_TRUE(store->newest_advisories([](std::int64_t) { return true; }, 5));
    AccessWrite renamed;
    renamed.repo_id = store->find_repo("acme/one")->value().id;
    renamed.facts.name = "acme/other";
    ASSERT_TRUE(store->write_access(renamed));
    store->note_look(renamed.repo_id, "2026-01-03T00:00:00Z");
  }
  for (const std::string &written : written_statements())
    EXPECT_TRUE(std::ranges::any_of(
        seen.statements,
        [&](const std::string &ran) { return ran.find(written) != std::string::npos; }))
        << "this test does not reach the statement: " << written;

  const auto database = *Database::open((folder_ / "headwater.db").string(), false);
  int explained = 0;
  for (const std::string &statement : seen.statements) {
    if (!statement.starts_with("SELECT") && !statement.starts_with("INSERT") &&
        !statement.starts_with("UPDATE") && !statement.starts_with("DELETE"))
      continue;
    ++explained;
    std::vector<std::string> plan;
    ASSERT_TRUE(database->run("EXPLAIN QUERY PLAN " + statement, [&](const Statement &row) {
      plan.push_back(row.text(3));
    })) << statement;
    for (const std::string &step : plan) {
      const bool walks_all = step.starts_with("SCAN ") && !step.starts_with("SCAN CONSTANT ROW") &&
                             !step.starts_with("SCAN (subquery");
      EXPECT_TRUE(!walks_all || may_walk(statement)) << step << "\n  of " << statement;
    }
  }
  EXPECT_GT(explained, 60);
}

TEST_F(StatementsTest, AStepCostsTheSameWhateverElseIsStored) {
  Seen seen;
  const auto store = open(seen);
  const auto scanned_by_one_more = [&] {
    const std::int64_t before = seen.scanned;
    do_everything_of_one(*store, "acme/measured", 1);
    return seen.scanned - before;
  };
  scanned_by_one_more();
  const std::int64_t alone = scanned_by_one_more();
  for (int i = 0; i < 40; ++i) {
    const std::string name = "acme/other-" + std::to_string(i);
    ASSERT_TRUE(store->put_watch({name, "main", false, false, "20"}));
    const Result<Repo> repo = store->ensure_repo(name, "main");
    ASSERT_TRUE(repo);
    for (int revision = 1; revision < 4; ++revision)
      ASSERT_TRUE(store->write_revision(write_of(repo->id, name, revision)));
  }
  EXPECT_EQ(scanned_by_one_more(), alone);
}

} // namespace
} // namespace headwater::store
