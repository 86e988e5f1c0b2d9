// Whole looks at a hub where many repos turn the same way at once, and where it only seems so.

#include "tests/track/hub_run.hpp"

namespace headwater::track {
namespace {

using std::chrono::minutes;

std::vector<std::string> names(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i)
    all.push_back("org/m" + std::to_string(i));
  return all;
}

TEST_F(HubRun, ReposThatAreGatedTogetherAreReadOnAndEachIsToldInTheEnd) {
  for (const std::string &name : names(4))
    record(name, 4, R"({"events":[{"after":2,"set":{"gated":"auto"}}]})");
  serve("hf_ok");
  for (const std::string &name : names(4))
    watch(name);
  rounds(1, minutes(10));
  reveal_all();
  rounds(1, minutes(10));
  for (const std::string &name : names(4)) {
    EXPECT_EQ(repo(name).revision_count, 4) << name << ": commits are read whatever is held back";
    EXPECT_EQ(told(name, "access.gated"), 0) << name;
  }
  rounds(1, minutes(10));
  EXPECT_EQ(repo("org/m3").state, store::RepoState::waiting);
  EXPECT_NE(repo("org/m3").state_note.find("held back"), std::string::npos);
  rounds(8, minutes(10));
  for (const std::string &name : names(4))
    EXPECT_EQ(told(name, "access.gated"), 0) << "within four spans it may still be about us";
  rounds(6, minutes(10));
  for (const std::string &name : names(4)) {
    EXPECT_EQ(told(name, "access.gated"), 1) << name;
    EXPECT_EQ(repo(name).state, store::RepoState::ok) << repo(name).state_note;
  }
  EXPECT_EQ(alarms(), 1);
}

TEST_F(HubRun, ThreeOfTwelveThatVanishTogetherAreToldWhileTheOthersAnswer) {
  for (const std::string &name : names(12))
    record(name, 2);
  for (const char *name : {"org/m1", "org/m10", "org/m11"})
    record(name, 2, R"({"events":[{"after":2,"gone":true}]})");
  serve();
  for (const std::string &name : names(12))
    watch(name);
  rounds(1, minutes(10));
  reveal_all();
  rounds(10, minutes(10));
  for (const std::string &name : names(12))
    EXPECT_EQ(told(name, "access.gone"), 0) << name;
  rounds(6, minutes(10));
  for (const std::string &name : names(12)) {
    const bool gone = name == "org/m1" || name == "org/m10" || name == "org/m11";
    EXPECT_EQ(told(name, "access.gone"), gone ? 1 : 0) << name;
  }
  EXPECT_EQ(alarms(), 1);
}

TEST_F(HubRun, TwelveReposOfWhichNoneIsLeftAreNotToldAsGoneByARefusalAlone) {
  for (const std::string &name : names(12))
    record(name, 2);
  serve();
  for (const std::string &name : names(12))
    watch(name);
  reveal_all();
  rounds(2, minutes(10));
  fault(R"({"match":"^/api/","status":401,"times":1000000,"body":"Unauthorized"})");
  rounds(200, minutes(10));
  for (const std::string &name : names(12)) {
    EXPECT_EQ(told(name, "access.gone"), 0) << name;
    EXPECT_EQ(repo(name).state, store::RepoState::waiting);
  }
  EXPECT_EQ(alarms(), 1);
  fault(R"({"clear":true})");
  rounds(1, minutes(10));
  for (const std::string &name : names(12)) {
    EXPECT_EQ(repo(name).state, store::RepoState::ok);
    EXPECT_EQ(kinds(name), kinds("org/m0"));
  }
}

class LostTokenTest : public HubRun, public testing::WithParamInterface<int> {
protected:
  std::string folder_name() const override { return "lost-token-" + std::to_string(GetParam()); }
};

TEST_P(LostTokenTest, IsOneAlarmOrNoneAndNoChange) {
  for (const std::string &name : names(GetParam()))
    record(name, 2, R"({"private":true})");
  serve("hf_ok");
  for (const std::string &name : names(GetParam()))
    watch(name);
  reveal_all();
  rounds(2, minutes(10));
  EXPECT_EQ(repo("org/m0").revision_count, 2);
  for (const std::string token : {"", "hf_expired"}) {
    ask_with(token);
    rounds(30, minutes(10));
    for (const std::string &name : names(GetParam())) {
      EXPECT_EQ(told(name, "access.gone"), 0) << name;
      EXPECT_EQ(repo(name).state, store::RepoState::waiting);
      EXPECT_NE(repo(name).state_note.find("token"), std::string::npos) << repo(name).state_note;
    }
  }
  EXPECT_LE(alarms(), 1);
  ask_with("hf_ok");
  rounds(1, minutes(10));
  for (const std::string &name : names(GetParam()))
    EXPECT_EQ(repo(name).state, store::RepoState::ok) << repo(name).state_note;
}

INSTANTIATE_TEST_SUITE_P(Watched, LostTokenTest, testing::Values(1, 2, 5));

TEST_F(HubRun, ARestartInTheMiddleOfAnAlarmTellsNothingEarly) {
  for (const std::string &name : names(4))
    record(name, 2, R"({"events":[{"after":2,"set":{"gated":"auto"}}]})");
  serve("hf_ok");
  for (const std::string &name : names(4))
    watch(name);
  rounds(1, minutes(10));
  reveal_all();
  rounds(8, minutes(10));
  alarm_ = std::make_shared<Alarm>();
  rounds(2, minutes(10));
  for (const std::string &name : names(4))
    EXPECT_EQ(told(name, "access.gated"), 0) << name;
}

TEST_F(HubRun, OnAMirrorWithoutCommitListsAPushIsAnOrdinaryRevision) {
  record("org/m0", 4);
  serve();
  watch("org/m0");
  fault(R"({"match":"/commits/","status":404,"times":1000000,"body":"Not Found"})");
  for (int step = 0; step < 4; ++step) {
    rounds(1, minutes(10));
    replay_->reveal_next();
  }
  EXPECT_EQ(repo("org/m0").revision_count, 4);
  EXPECT_EQ(told("org/m0", "history.rewritten"), 0);
  EXPECT_EQ(told("org/m0", "stop-set.changed"), 3) << testing::PrintToString(kinds("org/m0"));
}

TEST_F(HubRun, AStrayMissingCommitListIsWaitedOutWhereItWasThereBefore) {
  record("org/m0", 4);
  serve();
  watch("org/m0");
  rounds(1, minutes(10));
  replay_->reveal_next();
  replay_->reveal_next();
  fault(R"({"match":"/commits/","status":404,"times":1,"body":"404 page not found"})");
  EXPECT_TRUE(look("org/m0").failed);
  EXPECT_EQ(repo("org/m0").revision_count, 1);
  EXPECT_EQ(repo("org/m0").state, store::RepoState::waiting);
  rounds(1, minutes(10));
  EXPECT_EQ(repo("org/m0").revision_count, 3);
  EXPECT_EQ(told("org/m0", "history.rewritten"), 0);
}

TEST_F(HubRun, AStrayMissingCommitListRightAfterAStartIsAskedForAgain) {
  record("org/m0", 4);
  serve();
  watch("org/m0");
  rounds(1, minutes(10));
  replay_->reveal_next();
  replay_->reveal_next();
  ask_with("");
  fault(R"({"match":"/commits/","status":404,"times":1,"body":"404 page not found"})");
  EXPECT_FALSE(look("org/m0").failed);
  EXPECT_EQ(repo("org/m0").revision_count, 3);
  EXPECT_EQ(told("org/m0", "history.rewritten"), 0);
}

TEST_F(HubRun, ACommitListThatIsCutBeforeItMeetsTheLastRevisionIsNoRewrite) {
  record("org/m0", 6);
  serve();
  watch("org/m0");
  rounds(1, minutes(10));
  reveal_all();
  options_.max_commits = 2;
  rounds(1, minutes(10));
  EXPECT_EQ(repo("org/m0").revision_count, 3);
  EXPECT_EQ(told("org/m0", "history.rewritten"), 0);
  EXPECT_TRUE((*store_->revisions(repo("org/m0").id))[0].on_branch);
}

} // namespace
} // namespace headwater::track
