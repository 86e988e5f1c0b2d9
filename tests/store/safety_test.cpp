// What goes wrong: writes that throw, rows that cannot be read, backups that would destroy, files
// that were lost.

#include "store/connections.hpp"
#include "store/migrations.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "tests/store/made.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::store {
namespace {

namespace fs = std::filesystem;

class SafetyTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("safety-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "headwater.db").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<std::unique_ptr<Store>> open(bool read_only = false) {
    return Store::open({.path = path_,
                        .clock = [] { return *parse_time("2026-01-02T03:04:05Z"); },
                        .read_only = read_only});
  }
  /// A store with one repo of one revision.
  std::unique_ptr<Store> filled() {
    auto store = *open();
    const std::int64_t repo_id = store->ensure_repo("acme/tiny", "main")->id;
    EXPECT_TRUE(store->write_revision(made_revision(repo_id)));
    EXPECT_TRUE(store->put_base_comparisons(repo_id, {{"acme/base", "a", "b", {}}}));
    RevisionWrite held = made_revision(repo_id);
    held.revision.sha = std::string(40, 'c');
    held.has_delta = false;
    held.snapshot = nullptr;
    held.advisories[0].advisory.id = "x_HEADWATER-2026-hhhhhhhhhhhh";
    held.advisories[0].advisory.held_until = "2026-03-01T00:00:00Z";
    EXPECT_TRUE(store->write_revision(held));
    return store;
  }
  static std::string bytes_of(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  fs::path folder_;
  std::string path_;
};

Result<void> nothing(Database &) {
  return {};
}

std::vector<std::string> values(Database &database) {
  std::vector<std::string> found;
  EXPECT_TRUE(database.run("SELECT value FROM kept ORDER BY value",
                           [&](const Statement &row) { found.push_back(row.text(0)); }));
  return found;
}

Writer::Work keep(const std::string &value) {
  return [value](Database &database) {
    return database.run("INSERT INTO kept (value) VALUES (?)", {}, value);
  };
}

TEST_F(SafetyTest, AWriteThatThrowsIsRolledBackAndTheNextOneGoesOn) {
  auto made = *Database::open(path_, false);
  ASSERT_TRUE(made->run_script("CREATE TABLE kept (value TEXT)"));
  Writer writer(std::move(made), nothing);
  const Result<void> thrown = writer.transact([](Database &database) -> Result<void> {
    EXPECT_TRUE(keep("half")(database));
    throw std::runtime_error("out of everything");
  });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, Errc::internal);
  EXPECT_EQ(thrown.error().cause, "out of everything");
  EXPECT_TRUE(writer.transact(keep("whole")));
  writer.stop();
  auto database = *Database::open(path_, true);
  EXPECT_EQ(values(*database), std::vector<std::string>{"whole"});
}

TEST_F(SafetyTest, WritesThatWaitTogetherFailEachForItself) {
  auto made = *Database::open(path_, false);
  ASSERT_TRUE(made->run_script("CREATE TABLE kept (value TEXT)"));
  Writer writer(std::move(made), nothing);
  std::promise<void> begun;
  std::promise<void> go;
  std::jthread first([&] {
    EXPECT_TRUE(writer.transact([&](Database &) -> Result<void> {
      begun.set_value();
      go.get_future().wait();
      return {};
    }));
  });
  begun.get_future().wait();
  // These wait behind the first and are one transaction, unless they come too late, which is as
  // well.
  std::vector<std::jthread> others;
  for (const std::string value : {"a", "fails", "b", "throws", "c"})
    others.emplace_back([&writer, value] {
      const Result<void> done = writer.transact([value](Database &database) -> Result<void> {
        Result<void> kept = keep(value)(database);
        if (value == "fails")
          return fail(Errc::store, "no");
        if (value == "throws")
          throw std::runtime_error("no");
        return kept;
      });
      EXPECT_EQ(done.has_value(), value.size() == 1) << value;
    });
  go.set_value();
  others.clear();
  first.join();
  writer.stop();
  auto database = *Database::open(path_, true);
  EXPECT_EQ(values(*database), (std::vector<std::string>{"a", "b", "c"}));
}

struct Damage {
  const char *name;
  const char *update;
  std::vector<std::string> told; ///< words of the error
  Result<void> (*read)(Store &store, std::int64_t repo_id);
};

template <class T> Result<void> without_value(const Result<T> &result) {
  return result ? Result<void>() : Result<void>(std::unexpected(result.error()));
}

const std::string second(40, 'b');
const std::string advisory_id = "x_HEADWATER-2026-0123456789ab";

const Damage damages[] = {
    {"Repo",
     "UPDATE repo SET facts_json = 'x'",
     {"table repo", "acme/tiny"},
     [](Store &store, std::int64_t) { return without_value(store.find_repo("acme/tiny")); }},
    {"RepoInAList",
     "UPDATE repo SET facts_json = '[]'",
     {"table repo", "acme/tiny"},
     [](Store &store, std::int64_t) { return without_value(store.repos()); }},
    {"TreeNotCompressed",
     "UPDATE revision_tree SET tree = x'00'",
     {"table revision_tree", second},
     [](Store &store, std::int64_t id) { return without_value(store.snapshot(id, second)); }},
    {"TreeForAPage",
     "UPDATE revision_tree SET tree = x'28b52ffd200109000078'",
     {"table revision_tree", second},
     [](Store &store, std::int64_t id) { return without_value(store.files(id, second)); }},
    {"Hashes",
     "UPDATE revision_tree SET hashes = x'01'",
     {"table revision_tree", second},
     [](Store &store, std::int64_t id) { return without_value(store.subject_hashes(id, second)); }},
    {"Plan",
     "UPDATE document SET zstd = x'01'",
     {"table document", second},
     [](Store &store, std::int64_t id) { return without_value(store.find_revision(id, second)); }},
    {"Text",
     "UPDATE text SET zstd = x'01'",
     {"table text"},
     [](Store &store, std::int64_t id) { return without_value(store.snapshot(id, second)); }},
    {"Delta",
     "UPDATE delta SET delta = x'01'",
     {"table delta", "row 1"},
     [](Store &store, std::int64_t id) { return without_value(store.deltas(id, 9)); }},
    {"Advisory",
     "UPDATE advisory SET record = x'01'",
     {"table advisory", advisory_id},
     [](Store &store, std::int64_t id) { return without_value(store.advisories_of(id)); }},
    {"Held",
     "UPDATE held_advisory SET advisory_json = '{}'",
     {"table held_advisory", "hhhhhhhhhhhh"},
     [](Store &store, std::int64_t id) { return without_value(store.held_advisories(id)); }},
    {"Base",
     "UPDATE base_comparison SET changes_json = '{}'",
     {"table base_comparison", "acme/base"},
     [](Store &store, std::int64_t id) { return without_value(store.base_comparisons(id)); }},
};

TEST_F(SafetyTest, ARowThatCannotBeReadIsAnErrorThatNamesIt) {
  for (const Damage &damage : damages) {
    SCOPED_TRACE(damage.name);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const auto store = filled();
    const std::int64_t repo_id = (**store->find_repo("acme/tiny")).id;
    ASSERT_TRUE(damage.read(*store, repo_id)) << "whole before";
    EXPECT_EQ(store->damage(), "");
    {
      auto database = *Database::open(path_, false);
      ASSERT_TRUE(database->run_script(damage.update));
      ASSERT_GT(database->changes(), 0);
    }
    const Result<void> read = damage.read(*store, repo_id);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::store);
    for (const std::string &word : damage.told)
      EXPECT_NE(read.error().message.find(word), std::string::npos) << read.error().message;
    EXPECT_EQ(store->damage(), read.error().message);
  }
}

TEST_F(SafetyTest, ABackupReplacesABackupAndNothingElse) {
  const auto store = filled();
  const std::string target = (folder_ / "backup.db").string();
  ASSERT_TRUE(store->copy_to(target));
  const std::string first = bytes_of(target);
  ASSERT_TRUE(store->put_note("more", "than before"));
  ASSERT_TRUE(store->copy_to(target)) << "a backup of ours gives way to a newer one";
  EXPECT_NE(bytes_of(target), first);

  std::ofstream(folder_ / "thesis.txt") << "years of work";
  std::ofstream(folder_ / "empty") << "";
  fs::create_directory(folder_ / "folder");
  {
    auto other = *Database::open((folder_ / "other.db").string(), false);
    ASSERT_TRUE(other->run_script("CREATE TABLE photos (x)"));
  }
  for (const char *name : {"thesis.txt", "empty", "folder", "other.db"}) {
    const fs::path there = folder_ / name;
    const std::string before = fs::is_directory(there) ? "" : bytes_of(there);
    const Result<void> refused = store->copy_to(there.string());
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Errc::bad_input);
    EXPECT_NE(refused.error().message.find(there.string()), std::string::npos);
    EXPECT_EQ(fs::is_directory(there) ? "" : bytes_of(there), before) << name;
  }
  EXPECT_FALSE(store->copy_to((folder_ / "nowhere" / "backup.db").string()));
  for (const auto &entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

TEST_F(SafetyTest, ABackupOntoTheDatabaseItselfIsRefusedByWhateverName) {
  const auto store = filled();
  fs::create_symlink(path_, folder_ / "link.db");
  fs::create_hard_link(path_, folder_ / "hard.db");
  fs::create_directory(folder_ / "sub");
  for (const std::string &name :
       {path_, (folder_ / "link.db").string(), (folder_ / "hard.db").string(),
        (folder_ / "sub" / ".." / "headwater.db").string()}) {
    const Result<void> refused = store->copy_to(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().message.find("the database itself"), std::string::npos)
        << refused.error().message;
  }
  EXPECT_TRUE(*store->find_repo("acme/tiny"));
}

TEST_F(SafetyTest, ADatabaseInUseIsNotReplacedByABackup) {
  const auto store = filled();
  const std::string own = std::exchange(path_, (folder_ / "neighbour.db").string());
  const auto neighbour = filled();
  const Result<void> refused = store->copy_to(path_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("in use"), std::string::npos) << refused.error().message;
}

TEST_F(SafetyTest, ADamagedDatabaseMakesNoBackupAndSaysWhy) {
  const std::string target = (folder_ / "backup.db").string();
  filled()->close();
  ASSERT_TRUE((*open())->copy_to(target));
  const std::string good = bytes_of(target);
  {
    // The roots of two tables change places: each page is sound, and the whole is not.
    auto database = *Database::open(path_, false);
    ASSERT_TRUE(database->run_script(
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT "
        "rootpage FROM sqlite_master WHERE name = 'note') WHERE name = 'attempt'"));
  }
  auto store = open(true);
  ASSERT_TRUE(store) << store.error().message;
  const Result<void> refused = (*store)->copy_to(target);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::store);
  EXPECT_NE(refused.error().message.find("damaged"), std::string::npos) << refused.error().message;
  EXPECT_EQ(bytes_of(target), good) << "the older backup is left as it is";
}

TEST_F(SafetyTest, OpenedForReadingNothingIsWritten) {
  filled()->close();
  const std::string before = bytes_of(path_);
  {
    auto store = open(true);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_TRUE(*(*store)->find_repo("acme/tiny"));
    const Result<void> written = (*store)->put_note("a", "b");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("reading only"), std::string::npos);
    EXPECT_TRUE((*store)->copy_to((folder_ / "backup.db").string()));
  }
  EXPECT_EQ(bytes_of(path_), before);
}

TEST_F(SafetyTest, OpenedForReadingADatabaseOfAnotherVersionIsRefusedWithTheMend) {
  for (const auto &[version, mend] : {std::pair{newest_version() - 1, "restart the daemon"},
                                      std::pair{newest_version() + 1, "install the version"}}) {
    fs::remove(path_);
    {
      auto database = *Database::open(path_, false);
      ASSERT_TRUE(database->run_script("CREATE TABLE t (x); PRAGMA user_version = " +
                                       std::to_string(version)));
    }
    const std::string before = bytes_of(path_);
    const auto store = open(true);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Errc::bad_input);
    EXPECT_NE(store.error().message.find(mend), std::string::npos) << store.error().message;
    EXPECT_EQ(bytes_of(path_), before);
  }
}

TEST_F(SafetyTest, AnEmptyFileIsALostDatabaseAndAMissingOneAFirstStart) {
  ASSERT_TRUE(open()) << "a first start";
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  // A first start that was cut short leaves only what lies beside.
  std::ofstream(path_ + ".new") << "half";
  ASSERT_TRUE(open());
  EXPECT_FALSE(fs::exists(path_ + ".new"));
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  std::ofstream file(path_);
  file.close();
  const auto store = open();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::bad_input);
  for (const char *word : {"empty", "lost", "backup", "remove the file"})
    EXPECT_NE(store.error().message.find(word), std::string::npos) << store.error().message;
  EXPECT_EQ(fs::file_size(path_), 0U) << "left as it is";
}

TEST_F(SafetyTest, LooksAreWrittenTogetherAndDoNotTouchWhatIsServed) {
  std::int64_t repo_id = 0;
  {
    const auto store = filled();
    repo_id = (**store->find_repo("acme/tiny")).id;
    const std::int64_t generation = store->generation();
    store->note_look(repo_id, "2026-01-05T00:00:00Z");
    store->note_look(repo_id, "2026-01-06T00:00:00Z");
    EXPECT_EQ(store->generation(), generation);
    store->close();
  }
  EXPECT_EQ((**(*open())->get_repo(repo_id)).last_polled, "2026-01-06T00:00:00Z");
}

TEST_F(SafetyTest, AWriteTouchesTheRepoThatItIsOfAndNoOther) {
  const auto store = filled();
  const std::int64_t tiny = (**store->find_repo("acme/tiny")).id;
  const std::int64_t other = store->ensure_repo("acme/other", "main")->id;
  const std::int64_t before = store->generation();
  EXPECT_TRUE(store->touched_since(before).repos.empty());
  ASSERT_TRUE(store->note_poll(tiny, "2026-01-05T00:00:00Z", RepoState::waiting, "a note"));
  EXPECT_GT(store->generation_of(tiny), before) << "a change of state is shown";
  EXPECT_LE(store->generation_of(other), before);
  EXPECT_EQ(store->touched_since(before).repos, std::vector<std::int64_t>{tiny});
  EXPECT_FALSE(store->touched_since(before).all);
  // A new branch of a name, and a name that another takes over, are answered for otherwise.
  const std::int64_t branch = store->ensure_repo("acme/other", "dev")->id;
  EXPECT_EQ(store->touched_since(store->generation_of(tiny)).repos,
            (std::vector<std::int64_t>{other, branch}));
  ASSERT_TRUE(store->put_watch({"acme/other", "main", false, true, "20"}));
  EXPECT_TRUE(store->touched_since(before).all);
  EXPECT_EQ(store->generation_of(tiny), store->generation());
}

} // namespace
} // namespace headwater::store
