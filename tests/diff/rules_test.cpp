#include "daemon/diff/base_model.hpp"
#include "daemon/diff/rules.hpp"
#include "tests/diff/fixture.hpp"

#include <gtest/gtest.h>

namespace headwater::diff {
namespace {

Delta delta_of(std::vector<Change> changes) {
  Delta delta;
  delta.repo = "acme/model";
  delta.changes = std::move(changes);
  sort_changes(delta.changes);
  return delta;
}

TEST(Rules, IgnoreRaiseAndLowerByRepoKindAndSubject) {
  const Delta delta = delta_of({make_change("config.dtype", "config.json#/dtype", "1", "2", "x"),
                                make_change("weights.values", "w", "1", "2", "y")});
  const UserRule ignore{UserRule::Action::ignore, "acme/*", "weights.*", "", Level::low};
  EXPECT_EQ(level_of(apply_rules(delta, {ignore}).changes), Level::medium);
  EXPECT_EQ(apply_rules(delta, {ignore}).changes.size(), 2U) << "an ignored change stays on record";
  const UserRule raise{UserRule::Action::raise, "", "", "config.dtype", Level::critical};
  EXPECT_EQ(apply_rules(delta, {raise}).changes.front().kind, "config.dtype")
      << "strongest first again";
  const UserRule lower{UserRule::Action::lower, "", "weights.values", "", Level::medium};
  EXPECT_EQ(level_of(apply_rules(delta, {lower}).changes), Level::medium);
  const UserRule elsewhere{UserRule::Action::ignore, "other/model", "", "", Level::low};
  EXPECT_EQ(apply_rules(delta, {elsewhere}), delta);
  const UserRule no_lowering{UserRule::Action::raise, "", "", "", Level::low};
  EXPECT_EQ(apply_rules(delta, {no_lowering}), delta) << "raise never lowers";
}

TEST(Rules, AStarStandsForAnyRunOfCharactersWhereverItIs) {
  struct Case {
    const char *pattern;
    const char *text;
    bool matches;
  };
  const Case cases[] = {{"", "any", true},
                        {"*", "", true},
                        {"acme/*", "acme/a", true},
                        {"acme/*", "other/a", false},
                        {"*/tiny", "acme/tiny", true},
                        {"*/tiny", "acme/tiny2", false},
                        {"a*e/t*y", "acme/tiny", true},
                        {"a*e/t*y", "acme/tin", false},
                        {"*.removed", "config.removed", true},
                        {"**a**", "bab", true},
                        {"*ab*ab", "abab", true},
                        {"*ab*ab", "aab", false},
                        {"tiny", "tiny", true},
                        {"tin", "tiny", false}};
  for (const Case &c : cases)
    EXPECT_EQ(rule_matches(c.pattern, c.text), c.matches) << c.pattern << " " << c.text;
}

TEST(Rules, SecurityAndAccessNeverWaitToSettle) {
  EXPECT_TRUE(may_settle(delta_of({make_change("config.dtype", "", "1", "2", "x")})));
  EXPECT_FALSE(may_settle(delta_of({make_change("config.dtype", "", "1", "2", "x"),
                                    make_change("code.changed", "a.py", "1", "2", "x")})));
  EXPECT_FALSE(may_settle(delta_of({make_change("licence.stricter", "", "1", "2", "x")})));
}

TEST(BaseModel, IsNamedByTheCardAndComparedBySubject) {
  const Snapshot base = test::snapshot_of({{"config.json", R"({"eos_token_id":106})"},
                                           {"generation_config.json", R"({"eos_token_id":106})"}});
  const Snapshot model =
      test::snapshot_of({{"config.json", R"({"eos_token_id":1})"},
                         {"generation_config.json", R"({"eos_token_id":1})"},
                         {"README.md", "---\nbase_model:\n- acme/base\n- not a repo\n---\n"}});
  EXPECT_EQ(base_models(model), std::vector<std::string>{"acme/base"});
  const std::vector<Change> changes = compare_with_base(base, model);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes.front().kind, "stop-set.base-differs");
  EXPECT_EQ(changes.front().level, Level::high);
  EXPECT_TRUE(compare_with_base(model, model).empty());
}

} // namespace
} // namespace headwater::diff
