// Incidents of public model repositories as histories of their kind, told by
// tests/data/diff/*.json: what changed, and what a reader must be told of it. A file of cases is a
// list of
//   {"name", "before", "after", "expect": [{"kind", "path"?, "says": [...]}], "level", "impact",
//   "only": true?, "quiet": true?}
#include "daemon/diff/diff.hpp"
#include "tests/diff/fixture.hpp"
#include "tests/folders.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using test::snapshot_from;

/// A case of the files, known by its name in what the tests print.
struct Case {
  Json item;
};

void PrintTo(const Case &one, std::ostream *out) {
  *out << one.item["name"].get_ref<const std::string &>();
}

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  std::set<std::string> files;
  for (const auto &entry :
       std::filesystem::directory_iterator(headwater::test::source_folder() / "tests/data/diff"))
    if (entry.path().extension() == ".json")
      files.insert(entry.path().string());
  for (const std::string &file : files) {
    Json items = parse_json(test::read_file(file)).value();
    for (Json &item : items)
      cases.push_back({std::move(item)});
  }
  return cases;
}

/// All cases, read once: each test asks for them.
const std::vector<Case> &all_cases() {
  static const std::vector<Case> cases = read_cases();
  return cases;
}

std::string told(const Delta &delta) {
  std::string text;
  for (const Change &change : delta.changes)
    text += "  " + std::string(to_string(change.impact)) + " " +
            std::string(to_string(change.level)) + " " + change.kind + " " + change.path + ": " +
            change.before_json.substr(0, 120) + " -> " + change.after_json.substr(0, 120) +
            "\n    " + change.explanation + "\n";
  return text;
}

// A suite over no cases passes, and so does a case that expects nothing.
TEST(Incidents, AreReadAndEachExpectsSomething) {
  EXPECT_GT(all_cases().size(), 100U);
  for (const Case &one : all_cases())
    EXPECT_TRUE(!one.item["expect"].empty() || one.item.contains("level"))
        << one.item["name"] << " expects nothing";
}

class Incident : public testing::TestWithParam<Case> {
protected:
  static const Json &item() { return GetParam().item; }
};

TEST_P(Incident, IsToldWithItsKindLevelAndFacts) {
  const Json &item = Incident::item();
  const Delta delta = diff(snapshot_from(item["before"]), snapshot_from(item["after"]));
  SCOPED_TRACE(told(delta));
  for (const Json &expected : item["expect"]) {
    const std::string kind = expected["kind"];
    const auto at = std::ranges::find_if(delta.changes, [&](const Change &change) {
      return change.kind == kind &&
             (!expected.contains("path") || change.path == expected["path"].get<std::string>());
    });
    ASSERT_NE(at, delta.changes.end()) << kind << " was not told";
    for (const Json &words : expected.value("says", Json::array())) {
      EXPECT_NE(at->explanation.find(words.get<std::string>()), std::string::npos)
          << "not said: " << words;
    }
    if (expected.contains("before")) {
      EXPECT_EQ(Json::parse(at->before_json), expected["before"]);
    }
    if (expected.contains("after")) {
      EXPECT_EQ(Json::parse(at->after_json), expected["after"]);
    }
  }
  if (item.contains("level")) {
    EXPECT_EQ(to_string(level_of(delta.changes)), item["level"].get<std::string>());
    EXPECT_EQ(to_string(impact_of(delta.changes)), item["impact"].get<std::string>());
  }
  if (item.value("only", false)) {
    EXPECT_EQ(delta.changes.size(), item["expect"].size());
  }
}

TEST_P(Incident, IsQuietAgainstItself) {
  for (const char *side : {"before", "after"}) {
    const Snapshot snapshot = snapshot_from(item()[side]);
    const Delta delta = diff(snapshot, snapshot);
    EXPECT_TRUE(delta.changes.empty()) << told(delta);
  }
}

/// Kinds of which only one direction is a fact: what is broken is told, that it works again is told
/// as another kind or as what comes with it.
bool one_way(const Change &change) {
  for (const char *part :
       {"malformed", "unreadable", "disagreement", "mismatch", "does-not-parse", "parses-again",
        "raises", "renders-again", "double-bos", "imports", "size", "pickle", "manifest"})
    if (change.kind.find(part) != std::string::npos)
      return true;
  return false;
}

TEST_P(Incident, IsMirroredWhenItIsUndone) {
  const Snapshot before = snapshot_from(item()["before"]);
  const Snapshot after = snapshot_from(item()["after"]);
  const Delta there = diff(before, after);
  const Delta back = diff(after, before);
  SCOPED_TRACE(told(there) + "back:\n" + told(back));
  for (const Change &change : there.changes) {
    if (one_way(change))
      continue;
    const bool mirrored = std::ranges::any_of(back.changes, [&](const Change &other) {
      return other.subject == change.subject && other.before_json == change.after_json &&
             other.after_json == change.before_json;
    });
    EXPECT_TRUE(mirrored) << change.kind << " " << change.path;
  }
}

TEST_P(Incident, HasEqualFactsOnlyWhereNothingOfWeightDiffers) {
  const Snapshot before = snapshot_from(item()["before"]);
  const Snapshot after = snapshot_from(item()["after"]);
  const Delta delta = diff(before, after);
  if (level_of(delta.changes) >= Level::medium && impact_of(delta.changes) != Impact::cosmetic &&
      !item().contains("remote")) {
    EXPECT_NE(fact_hash(facts_of(before)), fact_hash(facts_of(after))) << told(delta);
  }
}

std::string case_name(const testing::TestParamInfo<Case> &info) {
  return info.param.item["name"].get<std::string>();
}

INSTANTIATE_TEST_SUITE_P(Diff, Incident, testing::ValuesIn(all_cases()), case_name);

TEST(Access, EachFactOfTheHubIsItsOwnKind) {
  RepoFacts before;
  before.name = "acme/model";
  before.identity = "1";
  const auto kind_after = [&](auto edit) {
    RepoFacts after = before;
    edit(after);
    const std::vector<Change> changes = diff_access(before, after);
    return changes.size() == 1 ? changes.front().kind : std::to_string(changes.size()) + " changes";
  };
  EXPECT_EQ(kind_after([](RepoFacts &) {}), "0 changes");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.gate = Gate::automatic; }), "access.gated");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.is_private = true; }), "access.private");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.disabled = true; }), "access.disabled");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.name = "acme/renamed"; }), "access.renamed");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.identity = "2"; }), "access.replaced");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.tags = {"license:mit"}; }), "licence.stated");
  EXPECT_EQ(kind_after([](RepoFacts &facts) { facts.tags = {"gguf"}; }), "0 changes");
}

} // namespace
} // namespace headwater::diff
