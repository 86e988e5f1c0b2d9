#include "store/migrations.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "tests/folders.hpp"
#include "tests/store/made.hpp"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::store {
namespace {

namespace fs = std::filesystem;

const fs::path data = test::source_folder() / "tests/data/store";

std::vector<fs::path> released() {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(data))
    if (entry.path().extension() == ".db")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(OldVersions, ADatabaseOfEachReleasedVersionOpensAndHoldsTheSame) {
  const auto files = released();
  ASSERT_FALSE(files.empty());
  for (const fs::path &file : files) {
    SCOPED_TRACE(file.string());
    const fs::path folder = fs::path(testing::TempDir()) / ("old-" + std::to_string(::getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string copy = (folder / "headwater.db").string();
    fs::copy_file(file, copy);
    {
      auto store = Store::open({copy, [] { return *parse_time("2026-02-01T00:00:00Z"); }, {}});
      ASSERT_TRUE(store) << store.error().message;
      const auto repo = (*store)->find_repo("acme/tiny");
      ASSERT_TRUE(repo && *repo);
      const RevisionWrite expected = made_revision((*repo)->id);
      EXPECT_EQ((*repo)->head, expected.revision.sha);
      EXPECT_TRUE((*repo)->watched);
      const auto snapshot = (*store)->snapshot((*repo)->id, expected.revision.sha);
      ASSERT_TRUE(snapshot && *snapshot);
      EXPECT_EQ((*snapshot)->files, expected.snapshot->files);
      EXPECT_EQ(*find_text(**snapshot, "config.json"),
                *find_text(*expected.snapshot, "config.json"));
      const auto revision = (*store)->find_revision((*repo)->id, expected.revision.sha);
      ASSERT_TRUE(revision && *revision);
      EXPECT_EQ((*revision)->plan_json, expected.revision.plan_json);
      EXPECT_EQ((*revision)->fact_hash, expected.revision.fact_hash);
      EXPECT_EQ((*revision)->subject_hashes_json, expected.revision.subject_hashes_json);
      EXPECT_TRUE((*revision)->has_tree);
      EXPECT_EQ((*snapshot)->facts, expected.snapshot->facts);
      const auto distance = (*store)->distance_from((*repo)->id, 0);
      ASSERT_TRUE(distance);
      EXPECT_EQ(distance->deltas, (std::vector<PassedDelta>{{Level::high, Impact::behaviour,
                                                             "x_HEADWATER-2026-0123456789ab"}}));
      const auto deltas = (*store)->deltas((*repo)->id, 10);
      ASSERT_TRUE(deltas && deltas->size() == 1U);
      EXPECT_EQ((*deltas)[0].delta, expected.delta);
      const auto advisories = (*store)->advisories();
      ASSERT_TRUE(advisories && advisories->size() == 1U);
      EXPECT_EQ((*advisories)[0].advisory, expected.advisories[0].advisory);
      EXPECT_EQ((*advisories)[0].osv_json, expected.advisories[0].osv_json);
      EXPECT_EQ((*store)->get_note("note")->value_or(""), "value");
    }
    fs::remove_all(folder);
  }
}

TEST(OldVersions, EveryVersionHasADatabaseInTheTests) {
  for (const Migration &migration : migrations())
    EXPECT_TRUE(fs::exists(data / ("v" + std::to_string(version_of(migration)) + ".db")))
        << migration.name;
}

} // namespace
} // namespace headwater::store
