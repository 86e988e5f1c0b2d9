#include "schemas/digest.hpp"
#include "store/migrations.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "store/write.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::store {
namespace {

const TimePoint test_time = *parse_time("2026-01-02T03:04:05Z");

/// A folder of its own for each test.
class StoreTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/store-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    path_ = folder_ + "/headwater.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Store> open(std::function<bool()> fault = {}) {
    Result<std::unique_ptr<Store>> store =
        Store::open({path_, [] { return test_time; }, std::move(fault)});
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }

  std::string folder_;
  std::string path_;
};

FileEntry entry(const std::string &path, const std::string &bytes) {
  return {path, git_blob_id(bytes), static_cast<std::int64_t>(bytes.size()), {}};
}

std::shared_ptr<Snapshot> snapshot_of(const std::string &sha,
                                      const std::map<std::string, std::string> &files) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->facts.name = "acme/tiny";
  snapshot->facts.identity = "621ffdc036468d709f17434d";
  snapshot->facts.tags = {"license:mit"};
  snapshot->commit = {sha, "A title", "2026-01-01T00:00:00Z"};
  for (const auto &[path, bytes] : files) {
    snapshot->files.push_back(entry(path, bytes));
    FileContent content;
    content.bytes = std::make_shared<const std::string>(bytes);
    snapshot->contents.emplace(path, content);
  }
  return snapshot;
}

RevisionWrite write_of(std::int64_t repo_id, char digit,
                       const std::map<std::string, std::string> &files, char from = '\0') {
  RevisionWrite write;
  write.repo_id = repo_id;
  const std::string sha(40, digit);
  write.snapshot = snapshot_of(sha, files);
  write.revision.sha = sha;
  write.revision.title = "A title";
  write.revision.date = "2026-01-01T00:00:00Z";
  write.revision.fact_hash = "hash-" + std::string(1, digit);
  write.revision.plan_json = R"({"model_type":"llama"})";
  if (from != '\0') {
    write.has_delta = true;
    write.delta.repo = "acme/tiny";
    write.delta.from = std::string(40, from);
    write.delta.to = sha;
    write.delta.date = write.revision.date;
    Change change;
    change.kind = "weights.values";
    change.subject = "weights";
    change.impact = Impact::behaviour;
    change.level = Level::high;
    write.delta.changes = {change};
    AdvisoryRecord record;
    record.advisory.id = "x_T-2026-00000000000" + std::string(1, digit);
    record.advisory.repo = "acme/tiny";
    record.advisory.from = write.delta.from;
    record.advisory.to = sha;
    record.advisory.level = Level::high;
    record.advisory.modified = "2026-01-02T03:04:05Z";
    AffectedEntry entry;
    entry.subject = change.subject;
    entry.changes = {change};
    record.advisory.affected = {entry};
    record.osv_json = "{}";
    write.advisories = {record};
  }
  return write;
}

TEST_F(StoreTest, RevisionReadsBackWithItsSnapshotDeltaAndAdvisory) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  ASSERT_TRUE(store->write_revision(
      write_of(repo.id, 'a', {{"config.json", "{}"}, {"README.md", "hello"}})));
  ASSERT_TRUE(store->write_revision(
      write_of(repo.id, 'b', {{"config.json", "{\"a\":1}"}, {"README.md", "hello"}}, 'a')));

  const auto revisions = *store->revisions(repo.id);
  ASSERT_EQ(revisions.size(), 2U);
  EXPECT_EQ(revisions[0].sequence, 1);
  EXPECT_EQ(revisions[1].sha, std::string(40, 'b'));
  const auto snapshot = *store->snapshot(repo.id, std::string(40, 'b'));
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(*find_text(*snapshot, "config.json"), "{\"a\":1}");
  EXPECT_EQ(snapshot->facts.tags, std::vector<std::string>{"license:mit"});
  EXPECT_EQ(snapshot->commit.title, "A title");
  EXPECT_EQ(**store->content(git_blob_id("hello"), FilePart::whole), "hello");
  EXPECT_FALSE(*store->content(git_blob_id("hello"), FilePart::gguf_header));

  const auto delta = *store->delta_to(repo.id, std::string(40, 'b'));
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->serial, 1);
  EXPECT_EQ(delta->advisory_id, "x_T-2026-00000000000b");
  EXPECT_TRUE(*store->find_advisory(delta->advisory_id));
  const Repo after = **store->find_repo("acme/tiny");
  EXPECT_EQ(after.head, std::string(40, 'b'));
  EXPECT_EQ(after.revision_count, 2);
  EXPECT_EQ(after.open_advisories, 1);
  EXPECT_EQ(after.open_level, Level::high);
  EXPECT_EQ(after.last_changed, "2026-01-01T00:00:00Z");
  EXPECT_EQ(*store->greatest_modified(), "2026-01-02T03:04:05Z");
}

TEST_F(StoreTest, WritingAgainChangesNothing) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  const RevisionWrite first = write_of(repo.id, 'a', {{"config.json", "{}"}});
  const RevisionWrite second = write_of(repo.id, 'b', {{"config.json", "{\"a\":1}"}}, 'a');
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(store->write_revision(first));
    ASSERT_TRUE(store->write_revision(second));
  }
  EXPECT_EQ(store->revisions(repo.id)->size(), 2U);
  EXPECT_EQ(store->deltas(repo.id, 10)->size(), 1U);
  EXPECT_EQ(store->advisories()->size(), 1U);
}

TEST_F(StoreTest, AFailureAtAnyStepLeavesNothingHalfWritten) {
  std::int64_t repo_id = 0;
  {
    const auto store = open();
    repo_id = store->ensure_repo("acme/tiny", "main")->id;
    ASSERT_TRUE(store->write_revision(write_of(repo_id, 'a', {{"config.json", "{}"}})));
  }
  int step = 0;
  for (bool done = false; !done; ++step) {
    ASSERT_LT(step, 200) << "the write never ended";
    int left = step;
    const auto store = open([&left] { return left-- == 0; });
    const Result<void> written = store->write_revision(
        write_of(repo_id, 'b', {{"config.json", "{\"a\":1}"}, {"x", "y"}}, 'a'));
    done = written.has_value();
    EXPECT_EQ(store->revisions(repo_id)->size(), done ? 2U : 1U) << "failed at step " << step;
    EXPECT_EQ(store->advisories()->size(), done ? 1U : 0U) << "failed at step " << step;
    EXPECT_EQ(store->deltas(repo_id, 9)->size(), done ? 1U : 0U) << "failed at step " << step;
    EXPECT_EQ(store->content(git_blob_id("y"), FilePart::whole)->has_value(), done)
        << "failed at step " << step;
    EXPECT_TRUE(done || written.error().code == Errc::store);
  }
  EXPECT_GT(step, 8) << "the fault reached every step";
}

TEST_F(StoreTest, LargeTextsAreKeptForTheHeadOnly) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  const std::string old_large(static_cast<std::size_t>(large_text_bytes) + 1, 'o');
  const std::string new_large(static_cast<std::size_t>(large_text_bytes) + 1, 'n');
  ASSERT_TRUE(store->write_revision(
      write_of(repo.id, 'a', {{"config.json", "{}"}, {"tokenizer.json", old_large}})));
  EXPECT_TRUE(*store->content(git_blob_id(old_large), FilePart::whole));
  ASSERT_TRUE(store->write_revision(
      write_of(repo.id, 'b', {{"config.json", "{}"}, {"tokenizer.json", new_large}}, 'a')));
  EXPECT_FALSE(*store->content(git_blob_id(old_large), FilePart::whole));
  EXPECT_TRUE(*store->content(git_blob_id(new_large), FilePart::whole));
  const auto older = *store->snapshot(repo.id, std::string(40, 'a'));
  ASSERT_TRUE(older);
  EXPECT_TRUE(find_text(*older, "config.json"));
  EXPECT_FALSE(find_text(*older, "tokenizer.json"));
  EXPECT_EQ(find_file(*older, "tokenizer.json")->size, static_cast<std::int64_t>(old_large.size()))
      << "its facts stay";
}

TEST_F(StoreTest, WhatAPinNeedsIsKeptUntilItIsRemoved) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  const auto large = [](char fill) {
    return std::string(static_cast<std::size_t>(large_text_bytes) + 1, fill);
  };
  const auto is_kept = [&](char fill) {
    return store->content(git_blob_id(large(fill)), FilePart::whole)->has_value();
  };
  for (const char digit : {'a', 'b', 'c'})
    ASSERT_TRUE(
        store->write_revision(write_of(repo.id, digit, {{"tokenizer.json", large(digit)}})));
  EXPECT_FALSE(is_kept('b'));
  ASSERT_TRUE(store->put_pin(repo.id, std::string(40, 'c'), true));
  ASSERT_TRUE(store->write_revision(write_of(repo.id, 'd', {{"tokenizer.json", large('d')}})));
  EXPECT_TRUE(is_kept('c')) << "a check asked for it";
  EXPECT_EQ(*find_text(**store->snapshot(repo.id, std::string(40, 'c')), "tokenizer.json"),
            large('c'));
  ASSERT_TRUE(store->put_pin(repo.id, std::string(40, 'c'), false));
  ASSERT_TRUE(store->put_pin(repo.id, std::string(40, 'c'), true));
  const std::vector<Pin> expected{
      {repo.id, "acme/tiny", "main", std::string(40, 'c'), false, "2026-01-02T03:04:05Z"}};
  EXPECT_EQ(*store->pins(), expected) << "what a person added stays that";
  EXPECT_TRUE(*store->remove_pin(repo.id, std::string(40, 'c')));
  EXPECT_FALSE(is_kept('c'));
  EXPECT_FALSE(*store->remove_pin(repo.id, std::string(40, 'c')));
  EXPECT_EQ(store->put_pin(repo.id, std::string(40, 'e'), false).error().code, Errc::bad_input);

  // The head's texts outlive a pin on it.
  ASSERT_TRUE(store->put_pin(repo.id, std::string(40, 'd'), false));
  EXPECT_TRUE(*store->remove_pin(repo.id, std::string(40, 'd')));
  EXPECT_TRUE(is_kept('d'));
}

TEST_F(StoreTest, OfPinsThatChecksAskedForTheLastAreKept) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  for (int i = 0; i < 105; ++i) {
    RevisionWrite write = write_of(repo.id, 'a', {});
    write.revision.sha = sha1_hex(std::to_string(i));
    ASSERT_TRUE(store->write_revision(write));
    ASSERT_TRUE(store->put_pin(repo.id, write.revision.sha, i != 50));
  }
  EXPECT_EQ(store->pins()->size(), 101U) << "and the one that a person added";
}

TEST_F(StoreTest, UnfinishedAttemptsAreCountedAcrossRestarts) {
  const std::string sha(40, 'c');
  std::int64_t repo_id = 0;
  for (int expected = 1; expected <= 2; ++expected) {
    const auto store = open();
    repo_id = store->ensure_repo("acme/tiny", "main")->id;
    EXPECT_EQ(store->begin_attempt(repo_id, sha)->unfinished, expected);
  }
  const auto store = open();
  ASSERT_TRUE(store->fail_attempt(repo_id, sha, "truncated", "2026-01-02T04:00:00Z"));
  const auto attempt = *store->find_attempt(repo_id, sha);
  ASSERT_TRUE(attempt);
  EXPECT_EQ(attempt->unfinished, 1);
  EXPECT_EQ(attempt->failed, 1);
  EXPECT_EQ(attempt->note, "truncated");
  ASSERT_TRUE(store->write_revision(write_of(repo_id, 'c', {})));
  EXPECT_FALSE(*store->find_attempt(repo_id, sha))
      << "a revision that was written has no attempts left";
}

TEST_F(StoreTest, InterruptedAttemptsAreForgottenAndFailedOnesKept) {
  const auto store = open();
  const std::int64_t repo_id = store->ensure_repo("acme/tiny", "main")->id;
  const std::string interrupted(40, 'c');
  const std::string failed(40, 'd');
  ASSERT_TRUE(store->begin_attempt(repo_id, interrupted));
  ASSERT_TRUE(store->fail_attempt(repo_id, failed, "truncated", "2026-01-02T04:00:00Z"));
  ASSERT_TRUE(store->forget_unfinished_attempts());
  EXPECT_EQ(store->begin_attempt(repo_id, interrupted)->unfinished, 1);
  EXPECT_EQ((**store->find_attempt(repo_id, failed)).failed, 1);
}

TEST_F(StoreTest, AReloadUnwatchesOnlyWhatTheConfigDeclared) {
  const auto store = open();
  ASSERT_TRUE(store->set_declared_watches(
      {{"acme/a", "main", true, false, "20"}, {"acme/b", "main", true, false, "20"}}));
  ASSERT_TRUE(store->put_watch({"acme/c", "main", false, true, "all"}));
  ASSERT_TRUE(store->set_declared_watches({{"acme/b", "main", true, false, "5"}}));
  const auto watches = *store->watches();
  ASSERT_EQ(watches.size(), 2U);
  EXPECT_EQ(watches[0].repo, "acme/b");
  EXPECT_EQ(watches[0].history, "5");
  EXPECT_EQ(watches[1].repo, "acme/c");
  EXPECT_TRUE(watches[1].publish);
}

TEST_F(StoreTest, ARenamedRepoIsFoundUnderBothNamesAndStaysOne) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("old/name", "main");
  ASSERT_TRUE(store->put_watch({"old/name", "main", false, false, "20"}));
  AccessWrite access;
  access.repo_id = repo.id;
  access.facts.name = "new/name";
  ASSERT_TRUE(store->write_access(access));
  EXPECT_EQ((**store->find_repo("new/name")).id, repo.id);
  EXPECT_FALSE(*store->find_repo("old/name"));
  EXPECT_EQ((**store->find_renamed("old/name")).id, repo.id);
  EXPECT_EQ(store->ensure_repo("old/name", "main")->id, repo.id);
  const auto repos = *store->repos();
  ASSERT_EQ(repos.size(), 1U);
  EXPECT_TRUE(repos[0].watched) << "its watch stands under the old name";
}

TEST_F(StoreTest, ARenamedRepoAtTwoBranchesKeepsItsRowsApart) {
  const auto store = open();
  std::map<std::string, std::int64_t> ids;
  const auto rename = [&](const std::string &branch) {
    AccessWrite access;
    access.repo_id = ids.at(branch);
    access.facts.name = "new/name";
    return store->write_access(access);
  };
  ids["main"] = store->ensure_repo("old/name", "main")->id;
  ASSERT_TRUE(rename("main"));
  // The second branch is watched only now, under the name that it had.
  ids["dev"] = store->ensure_repo("old/name", "dev")->id;
  EXPECT_NE(ids["dev"], ids["main"]);
  ASSERT_TRUE(rename("dev"));
  for (const std::string name : {"old/name", "new/name"})
    for (const std::string branch : {"main", "dev"})
      EXPECT_EQ(store->ensure_repo(name, branch)->id, ids[branch]) << name << " at " << branch;
  EXPECT_EQ(store->repos()->size(), 2U);
}

TEST_F(StoreTest, GatedFactsMakeARepoUnreadableForTheAnonymous) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  AccessWrite access;
  access.repo_id = repo.id;
  access.facts.name = "acme/tiny";
  access.facts.gate = Gate::manual;
  access.state = RepoState::gated;
  access.state_note = "ask for access";
  ASSERT_TRUE(store->write_access(access));
  const Repo after = **store->find_repo("acme/tiny");
  EXPECT_FALSE(after.is_public());
  EXPECT_EQ(after.state, RepoState::gated);
  EXPECT_EQ(after.state_note, "ask for access");
}

TEST_F(StoreTest, ARepoThatIsPrivateFromItsFirstReadIsNotPublic) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  const RevisionWrite open_one = write_of(repo.id, 'a', {{"config.json", "{}"}});
  RevisionWrite write = open_one;
  auto snapshot = std::make_shared<Snapshot>(*open_one.snapshot);
  snapshot->facts.is_private = true;
  write.snapshot = snapshot;
  ASSERT_TRUE(store->write_revision(write));
  EXPECT_FALSE((**store->find_repo("acme/tiny")).is_public());
}

TEST_F(StoreTest, ANewerDatabaseIsRefusedAndLeftAsItIs) {
  std::filesystem::create_directories(folder_);
  {
    auto database = *Database::open(path_, false);
    ASSERT_TRUE(database->run_script("CREATE TABLE treasure (x); PRAGMA user_version = 9999;"));
  }
  const auto bytes_of = [&] {
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = bytes_of();
  const auto store = Store::open({path_, [] { return test_time; }, {}});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::bad_input);
  EXPECT_NE(store.error().message.find("newer version"), std::string::npos);
  EXPECT_NE(store.error().message.find(path_), std::string::npos);
  EXPECT_EQ(bytes_of(), before);
}

TEST_F(StoreTest, AFolderThatCannotBeMadeIsNamed) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/file") << "x";
  const auto store = Store::open({folder_ + "/file/headwater.db", [] { return test_time; }, {}});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find(folder_ + "/file"), std::string::npos)
      << store.error().message;
}

TEST_F(StoreTest, TheDatabaseIsDurableAndStrict) {
  open();
  auto database = *Database::open(path_, false);
  std::string mode;
  ASSERT_TRUE(
      database->run("PRAGMA journal_mode", [&](const Statement &row) { mode = row.text(0); }));
  EXPECT_EQ(mode, "wal");
  std::int64_t loose = 0;
  ASSERT_TRUE(database->run("SELECT COUNT(*) FROM pragma_table_list WHERE schema = 'main' AND type "
                            "= 'table' AND strict = 0 AND name NOT LIKE 'sqlite%'",
                            [&](const Statement &row) { loose = row.number(0); }));
  EXPECT_EQ(loose, 0);
  std::int64_t version = 0;
  ASSERT_TRUE(
      database->run("PRAGMA user_version", [&](const Statement &row) { version = row.number(0); }));
  EXPECT_EQ(version, newest_version());
}

TEST_F(StoreTest, ReadersAndTheWriterWorkAtOnce) {
  const auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  std::jthread reader([&](const std::stop_token &stop) {
    while (!stop.stop_requested()) {
      const auto revisions = store->revisions(repo.id);
      ASSERT_TRUE(revisions) << revisions.error().message;
      const auto advisories = store->advisories_of(repo.id);
      ASSERT_TRUE(advisories);
    }
  });
  std::jthread other([&] {
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(store->put_note("key", std::to_string(i)));
  });
  const std::string digits = "0123456789abcdef";
  for (std::size_t i = 0; i < digits.size(); ++i)
    ASSERT_TRUE(store->write_revision(write_of(repo.id, digits[i],
                                               {{"config.json", std::string(1, digits[i])}},
                                               i == 0 ? '\0' : digits[i - 1])));
  other.join();
  reader.request_stop();
  reader.join();
  EXPECT_EQ(store->deltas_since(0, 100)->size(), 15U);
  EXPECT_EQ(store->deltas_since(14, 100)->size(), 1U);
  EXPECT_EQ(**store->get_note("key"), "19");
}

TEST_F(StoreTest, ACopyHoldsTheSame) {
  const std::string copy = folder_ + "/copy.db";
  {
    const auto store = open();
    const Repo repo = *store->ensure_repo("acme/tiny", "main");
    ASSERT_TRUE(store->write_revision(write_of(repo.id, 'a', {{"config.json", "{}"}})));
    ASSERT_TRUE(store->copy_to(copy));
  }
  path_ = copy;
  EXPECT_EQ(open()->repos()->size(), 1U);
}

TEST_F(StoreTest, AClosedStoreRefusesWrites) {
  const auto store = open();
  store->close();
  EXPECT_EQ(store->put_note("a", "b").error().code, Errc::store);
}

TEST_F(StoreTest, WhatIsHeldIsInNoAnswerUntilItIsLetGo) {
  auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  RevisionWrite write = write_of(repo.id, 'b', {{"config.json", "{}"}}, 'a');
  write.advisories[0].advisory.held_until = "2026-01-03T00:00:00Z";
  ASSERT_TRUE(store->write_revision(write));
  EXPECT_TRUE(store->advisories()->empty());
  EXPECT_TRUE(store->advisories_of(repo.id)->empty());
  EXPECT_FALSE(*store->find_advisory(write.advisories[0].advisory.id));
  EXPECT_EQ(*store->greatest_modified(), "");
  EXPECT_EQ((*store->deltas(repo.id, 9))[0].advisory_id, "");
  EXPECT_EQ((*store->find_repo("acme/tiny"))->open_advisories, 0);
  const auto held = store->held_advisories(repo.id);
  ASSERT_TRUE(held && held->size() == 1U);
  EXPECT_EQ((*held)[0], write.advisories[0].advisory);

  AdvisoryRecord record = write.advisories[0];
  record.advisory.held_until.clear();
  ASSERT_TRUE(store->write_advisories(repo.id, {record}));
  EXPECT_TRUE(store->held_advisories(repo.id)->empty());
  ASSERT_EQ(store->advisories()->size(), 1U);
  EXPECT_EQ((*store->deltas(repo.id, 9))[0].advisory_id, record.advisory.id);
}

TEST_F(StoreTest, WhatIsHeldAndUndoneLeavesNothing) {
  auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  RevisionWrite write = write_of(repo.id, 'b', {{"config.json", "{}"}}, 'a');
  write.advisories[0].advisory.held_until = "2026-01-03T00:00:00Z";
  ASSERT_TRUE(store->write_revision(write));
  RevisionWrite back = write_of(repo.id, 'c', {{"config.json", "[]"}}, 'b');
  back.advisories.clear();
  back.dropped = {write.advisories[0].advisory.id};
  ASSERT_TRUE(store->write_revision(back));
  EXPECT_TRUE(store->held_advisories(repo.id)->empty());
  EXPECT_TRUE(store->advisories()->empty());
}

TEST_F(StoreTest, BytesAreFoundByTheirDigestInPublicRepos) {
  auto store = open();
  const Repo repo = *store->ensure_repo("acme/tiny", "main");
  const Repo other = *store->ensure_repo("acme/other", "main");
  const std::string digest(64, 'd');
  const auto with_weights = [&](const Repo &of, char sha, bool is_private) {
    RevisionWrite write = write_of(of.id, sha, {{"config.json", "{}"}});
    auto snapshot = std::make_shared<Snapshot>(*write.snapshot);
    snapshot->facts.name = of.name;
    snapshot->facts.is_private = is_private;
    snapshot->commit.sha = write.revision.sha;
    snapshot->files.push_back({"model.safetensors", std::string(40, 'e'), 9, digest});
    write.snapshot = snapshot;
    write.names = {{"base", "acme/base"}};
    return write;
  };
  ASSERT_TRUE(store->write_revision(with_weights(repo, '1', true)));
  EXPECT_TRUE(store->known_files(other.id, {digest})->empty()) << "a private repo is not named";
  ASSERT_TRUE(store->write_revision(with_weights(repo, '2', false)));
  EXPECT_TRUE(store->known_files(other.id, {digest})->empty()) << "nor one that nobody has opened";
  ASSERT_TRUE(store->open_repo(repo.id, {}));
  const KnownFile first{"acme/tiny", std::string(40, '1'), "model.safetensors"};
  EXPECT_EQ(store->known_files(other.id, {digest})->at(digest), first);
  EXPECT_TRUE(store->known_files(other.id, {std::string(64, '0')})->empty());
  Watch watch;
  watch.repo = "acme/tiny";
  ASSERT_TRUE(store->put_watch(watch));
  ASSERT_EQ(store->dependants("acme/base")->size(), 1U);
  EXPECT_EQ(store->dependants("acme/base")->front().repo, "acme/tiny");
  EXPECT_TRUE(store->dependants("acme/tiny")->empty());
}

} // namespace
} // namespace headwater::store
