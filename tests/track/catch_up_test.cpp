#include "daemon/diff/diff.hpp"
#include "daemon/track/catch_up.hpp"
#include "daemon/track/tracker.hpp"
#include "tests/track/fake_hub.hpp"

#include <filesystem>
#include <mutex>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace headwater::track {
namespace {

using std::chrono::milliseconds;

/// Stages that read a whole template and a config and compare them as texts: what is tried here is
/// the way of the values, not the values.
Stages text_stages() {
  Stages stages;
  stages.wanted = [](const FileEntry &file) {
    return file.path == "README.md" ? FilePart::none : FilePart::whole;
  };
  stages.diff = [](const Snapshot &before, const Snapshot &after) {
    Delta delta;
    const auto text = [](const Snapshot &snapshot, const char *path) {
      const std::string *found = find_text(snapshot, path);
      return found == nullptr ? std::string() : *found;
    };
    if (text(before, "chat_template.jinja") != text(after, "chat_template.jinja"))
      delta.changes.push_back(make_change("template.generation-prompt", "chat_template.jinja", "1",
                                          "2", "It differs."));
    if (before.referenced != after.referenced)
      delta.changes.push_back(make_change("code.remote-changed", "", "1", "2", "It moved."));
    return delta;
  };
  stages.diff_access = diff::diff_access;
  stages.facts = [](const Snapshot &snapshot, const diff::Facts *) {
    diff::Facts facts;
    for (const FileEntry &file : snapshot.files) {
      const std::string subject = file.path == "chat_template.jinja" ? "template" : "config.other";
      facts.subjects[subject][file.path].value = file.oid;
    }
    return std::make_shared<const diff::Facts>(std::move(facts));
  };
  stages.plan = [](const Snapshot &snapshot) -> Result<std::string> {
    const std::string *config = find_text(snapshot, "config.json");
    return config == nullptr ? std::string() : *config;
  };
  stages.plan_changes = [](const std::string &, const std::string &) {
    return std::vector<PlanChange>();
  };
  stages.render = [](const Advisory &advisory) { return "{\"id\":\"" + advisory.id + "\"}"; };
  return stages;
}

class CatchUpTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("headwater-track-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    options_.clock = [this] { return now_; };
    options_.confirm = {3, milliseconds(0)};
    options_.retry_unreadable = milliseconds(0);
    open();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void open() {
    store_.reset();
    auto opened = store::Store::open(
        {.path = (folder_ / "headwater.db").string(), .clock = [this] { return now_; }});
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  void watch(const std::string &repo, const std::string &history = "all") {
    store::Watch made;
    made.repo = repo;
    made.history = history;
    ASSERT_TRUE(store_->put_watch(made));
  }
  LookResult look(const std::string &repo = "acme/tiny") {
    boost::asio::thread_pool pool(1);
    Context context{hub_,
                    code_hub_,
                    *store_,
                    pool,
                    options_,
                    stages_,
                    [this](LogLevel, const std::string &line) { log_.push_back(line); },
                    [this](const Recorded &one) { recorded_.push_back(one); }};
    context.alarm = alarm_;
    context.watched = 8;
    boost::asio::io_context io;
    auto done =
        boost::asio::co_spawn(io, catch_up(context, Key{repo, "main"}), boost::asio::use_future);
    io.run();
    pool.join();
    return done.get();
  }
  store::Repo repo(const std::string &name = "acme/tiny") { return **store_->find_repo(name); }
  std::vector<store::Revision> revisions() { return *store_->revisions(repo().id); }
  std::vector<store::AdvisoryRecord> advisories() { return *store_->advisories_of(repo().id); }
  std::vector<store::DeltaRecord> deltas() { return *store_->deltas(repo().id, 100); }

  /// A repo with a base, a changed template, a README edit and a revert.
  void history_of_four() {
    hub_.add("acme/tiny");
    hub_.push("acme/tiny", "a", {{"config.json", "{}"}, {"chat_template.jinja", "one"}});
    hub_.push("acme/tiny", "b", {{"config.json", "{}"}, {"chat_template.jinja", "two"}});
    hub_.push("acme/tiny", "c",
              {{"README.md", "x"}, {"config.json", "{}"}, {"chat_template.jinja", "two"}});
    hub_.push("acme/tiny", "d", {{"config.json", "{}"}, {"chat_template.jinja", "one"}});
  }

  std::filesystem::path folder_;
  TimePoint now_ = *parse_time("2026-06-01T00:00:00Z");
  FakeHub hub_;
  FakeHub code_hub_;
  TrackOptions options_;
  Stages stages_ = text_stages();
  std::unique_ptr<store::Store> store_;
  std::vector<std::string> log_;
  std::vector<Recorded> recorded_;
  std::shared_ptr<Alarm> alarm_ = std::make_shared<Alarm>();
};

TEST_F(CatchUpTest, TheFirstLookReadsTheHistoryOldestFirst) {
  history_of_four();
  watch("acme/tiny");
  EXPECT_FALSE(look().failed);
  const auto read = revisions();
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[0].sha, FakeHub::sha("a"));
  EXPECT_EQ(read[3].sha, FakeHub::sha("d"));
  EXPECT_EQ(repo().head, FakeHub::sha("d"));
  EXPECT_EQ(repo().state, store::RepoState::ok);
  ASSERT_EQ(deltas().size(), 3U);
  EXPECT_TRUE(deltas()[0].delta.backfilled);
  EXPECT_EQ(deltas()[0].delta.equals_revision, FakeHub::sha("a"));
  ASSERT_EQ(advisories().size(), 1U);
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::reverted);
  EXPECT_EQ(advisories()[0].advisory.affected[0].fixed, FakeHub::sha("d"));
  EXPECT_EQ(deltas()[2].advisory_id, advisories()[0].advisory.id);
}

TEST_F(CatchUpTest, OnlyFilesWhoseContentChangedAreFetched) {
  history_of_four();
  watch("acme/tiny");
  look();
  const std::vector<std::string> expected{FakeHub::sha("a") + " chat_template.jinja",
                                          FakeHub::sha("a") + " config.json",
                                          FakeHub::sha("b") + " chat_template.jinja"};
  EXPECT_EQ(hub_.fetched, expected);
}

TEST_F(CatchUpTest, HistoryBoundsTheFirstLook) {
  history_of_four();
  watch("acme/tiny", "2");
  look();
  EXPECT_EQ(revisions().size(), 2U);
  hub_.add("acme/other");
  hub_.push("acme/other", "e", {{"config.json", "{}"}});
  hub_.push("acme/other", "f", {{"config.json", "{ }"}});
  watch("acme/other", "none");
  look("acme/other");
  EXPECT_EQ(store_->revisions(repo("acme/other").id)->size(), 1U);
}

TEST_F(CatchUpTest, EachCommitBetweenTwoLooksIsARevisionOfItsOwn) {
  history_of_four();
  watch("acme/tiny");
  look();
  hub_.push("acme/tiny", "e", {{"config.json", "{}"}, {"chat_template.jinja", "three"}});
  hub_.push("acme/tiny", "f", {{"config.json", "{}"}, {"chat_template.jinja", "four"}});
  look();
  ASSERT_EQ(revisions().size(), 6U);
  EXPECT_FALSE(deltas()[0].delta.backfilled);
  ASSERT_EQ(advisories().size(), 3U);
  EXPECT_EQ(advisories()[0].advisory.related.size(), 1U);
  ASSERT_GE(recorded_.size(), 2U);
  EXPECT_EQ(recorded_.back().revision, FakeHub::sha("f"));
  EXPECT_EQ(recorded_.back().advisories.size(), 2U) << "the new one and the one that it supersedes";
}

TEST_F(CatchUpTest, LookingAgainChangesNothing) {
  history_of_four();
  watch("acme/tiny");
  look();
  const auto generation = store_->generation();
  const auto lines = log_.size();
  look();
  EXPECT_EQ(store_->generation(), generation);
  EXPECT_EQ(log_.size(), lines);
}

TEST_F(CatchUpTest, ARewrittenHistoryIsToldAndPinsOnItAreKept) {
  history_of_four();
  watch("acme/tiny");
  look();
  auto &line = hub_.repos.at("acme/tiny").revisions;
  line.resize(2);
  hub_.push("acme/tiny", "x", {{"config.json", "{}"}, {"chat_template.jinja", "one"}});
  look();
  const auto read = revisions();
  ASSERT_EQ(read.size(), 5U);
  EXPECT_FALSE(read[2].on_branch);
  EXPECT_FALSE(read[3].on_branch);
  EXPECT_EQ(repo().head, FakeHub::sha("x"));
  EXPECT_EQ(deltas()[0].delta.changes[0].kind, "history.rewritten");
  EXPECT_EQ(deltas()[0].delta.from, FakeHub::sha("d"));
}

TEST_F(CatchUpTest, ABranchThatWasMovedBackIsFollowed) {
  history_of_four();
  watch("acme/tiny");
  look();
  hub_.repos.at("acme/tiny").revisions.resize(2);
  hub_.repos.at("acme/tiny").facts.head = FakeHub::sha("b");
  look();
  EXPECT_EQ(repo().head, FakeHub::sha("b"));
  const auto lines = log_.size();
  look();
  EXPECT_EQ(log_.size(), lines);
  hub_.push("acme/tiny", "y", {{"config.json", "{}"}, {"chat_template.jinja", "two"}});
  look();
  EXPECT_EQ(repo().head, FakeHub::sha("y"));
}

TEST_F(CatchUpTest, AGateIsToldAfterTheSameAnswerThreeTimesAndTakenBackWhenItOpens) {
  history_of_four();
  watch("acme/tiny");
  look();
  hub_.repos.at("acme/tiny").facts.gate = Gate::automatic;
  EXPECT_TRUE(look().look_again.has_value());
  EXPECT_TRUE(look().look_again.has_value());
  EXPECT_EQ(advisories().size(), 1U) << "not told before it is confirmed";
  EXPECT_TRUE(repo().anonymous_can_read);
  EXPECT_FALSE(look().look_again.has_value());
  ASSERT_EQ(advisories().size(), 2U);
  EXPECT_EQ(advisories()[0].advisory.kinds[0], "access.gated");
  EXPECT_EQ(advisories()[0].advisory.affected[0].versions.size(), 4U);
  EXPECT_FALSE(repo().anonymous_can_read);
  hub_.repos.at("acme/tiny").facts.gate = Gate::open;
  for (int n = 0; n < 3; ++n)
    look();
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::restored);
  EXPECT_TRUE(repo().anonymous_can_read);
}

TEST_F(CatchUpTest, AFlickerOfTheGateIsNoNews) {
  history_of_four();
  watch("acme/tiny");
  look();
  for (const Gate gate : {Gate::automatic, Gate::automatic, Gate::open, Gate::automatic,
                          Gate::automatic, Gate::open}) {
    hub_.repos.at("acme/tiny").facts.gate = gate;
    look();
  }
  EXPECT_EQ(advisories().size(), 1U);
}

TEST_F(CatchUpTest, AGoneRepoIsToldOnceItIsConfirmedAndStaysServed) {
  history_of_four();
  watch("acme/tiny");
  look();
  hub_.repo_fails["acme/tiny"] = {Errc::gone, "not there", "RepoNotFound 404"};
  look();
  look();
  EXPECT_NE(repo().state, store::RepoState::gone);
  look();
  EXPECT_EQ(repo().state, store::RepoState::gone);
  EXPECT_EQ(advisories()[0].advisory.kinds[0], "access.gone");
  const auto lines = log_.size();
  look();
  EXPECT_EQ(log_.size(), lines) << "a repo logs on a change of state only";
  EXPECT_EQ(revisions().size(), 4U);
  hub_.repo_fails.clear();
  look();
  EXPECT_EQ(repo().state, store::RepoState::ok);
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::restored);
}

TEST_F(CatchUpTest, ARepoThatNeverExistedHasAStateAndAMendAndNoAdvisory) {
  watch("acme/nothing");
  EXPECT_TRUE(look("acme/nothing").failed);
  EXPECT_EQ(repo("acme/nothing").state, store::RepoState::not_found)
      << "gone is only what was once read";
  EXPECT_FALSE(repo("acme/nothing").state_note.empty());
  EXPECT_TRUE(store_->advisories()->empty());
}

TEST_F(CatchUpTest, AGatedRepoWithoutATokenHasAStateAndIsTriedAgain) {
  history_of_four();
  watch("acme/tiny");
  hub_.repos.at("acme/tiny").facts.gate = Gate::automatic;
  hub_.commits_fail["acme/tiny"] = {Errc::gated, "restricted", "GatedRepo 401"};
  EXPECT_TRUE(look().failed);
  EXPECT_EQ(repo().state, store::RepoState::gated);
  EXPECT_FALSE(repo().state_note.empty());
  hub_.commits_fail.clear();
  EXPECT_FALSE(look().failed);
  EXPECT_EQ(revisions().size(), 4U);
}

TEST_F(CatchUpTest, TroubleUpstreamIsNeverAChange) {
  history_of_four();
  watch("acme/tiny");
  look();
  for (const Errc code : {Errc::transient, Errc::rate_limited, Errc::malformed, Errc::too_large}) {
    hub_.all_fail = Error{code, "trouble", ""};
    EXPECT_TRUE(look().failed);
  }
  EXPECT_EQ(deltas().size(), 3U);
  EXPECT_EQ(repo().state, store::RepoState::waiting);
  hub_.all_fail.reset();
  EXPECT_FALSE(look().failed);
  EXPECT_EQ(repo().state, store::RepoState::ok);
}

TEST_F(CatchUpTest, TransientTroubleInTheMiddleGoesOnWhereItStopped) {
  history_of_four();
  watch("acme/tiny");
  hub_.tree_fails[FakeHub::sha("c")] = {Errc::transient, "503", ""};
  EXPECT_TRUE(look().failed);
  EXPECT_EQ(revisions().size(), 2U);
  hub_.tree_fails.clear();
  look();
  EXPECT_EQ(revisions().size(), 4U);
  EXPECT_TRUE(deltas()[0].delta.backfilled) << "the first look goes on as one";
}

TEST_F(CatchUpTest, AnUnreadableRevisionIsMarkedAndTheNextIsComparedPastIt) {
  history_of_four();
  watch("acme/tiny");
  hub_.tree_fails[FakeHub::sha("b")] = {Errc::malformed, "not JSON", ""};
  look();
  const auto read = revisions();
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[1].status, store::RevisionStatus::unreadable);
  EXPECT_NE(read[1].note.find("not JSON"), std::string::npos);
  EXPECT_EQ(deltas()[1].delta.from, FakeHub::sha("a"));
  EXPECT_EQ(deltas()[1].delta.to, FakeHub::sha("c"));
}

TEST_F(CatchUpTest, AnUnreadableHeadIsTriedAgain) {
  history_of_four();
  watch("acme/tiny");
  hub_.tree_fails[FakeHub::sha("d")] = {Errc::too_large, "too many files", ""};
  look();
  EXPECT_EQ(revisions()[3].status, store::RevisionStatus::unreadable);
  EXPECT_EQ(advisories()[0].advisory.affected[0].versions.size(), 3U)
      << "it inherits its parent's state";
  look();
  EXPECT_EQ((*store_->find_attempt(repo().id, FakeHub::sha("d")))->failed, 2);
  hub_.tree_fails.clear();
  look();
  EXPECT_EQ(revisions()[3].status, store::RevisionStatus::read);
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::reverted);
}

TEST_F(CatchUpTest, AFileThatCannotBeReadIsSaidAndTheRestGoesOn) {
  history_of_four();
  watch("acme/tiny");
  hub_.content_fails["config.json"] = {Errc::too_large, "config.json is larger than it may be", ""};
  EXPECT_FALSE(look().failed);
  EXPECT_EQ(revisions()[0].status, store::RevisionStatus::unreadable);
  EXPECT_NE(revisions()[0].note.find("larger"), std::string::npos);
  EXPECT_EQ(advisories().size(), 1U);
}

TEST_F(CatchUpTest, TwoAttemptsThatNeverEndedQuarantineTheRevisionAndTheRestGoesOn) {
  history_of_four();
  watch("acme/tiny");
  hub_.tree_fails[FakeHub::sha("b")] = {Errc::transient, "503", ""};
  look();
  hub_.tree_fails.clear();
  // As if the process had died twice while it parsed this revision.
  ASSERT_TRUE(store_->begin_attempt(repo().id, FakeHub::sha("b")));
  open();
  ASSERT_TRUE(store_->begin_attempt(repo().id, FakeHub::sha("b")));
  open();
  look();
  ASSERT_EQ(revisions().size(), 4U);
  EXPECT_EQ(revisions()[1].status, store::RevisionStatus::quarantined);
  EXPECT_EQ(revisions()[2].status, store::RevisionStatus::read);
  look();
  EXPECT_EQ(revisions()[1].status, store::RevisionStatus::quarantined);
}

TEST_F(CatchUpTest, ARenamedRepoKeepsItsRecords) {
  history_of_four();
  watch("acme/tiny");
  look();
  hub_.repos["acme/new"] = hub_.repos.at("acme/tiny");
  hub_.repos.at("acme/new").facts.name = "acme/new";
  hub_.repos.erase("acme/tiny");
  hub_.renamed["acme/tiny"] = "acme/new";
  for (int n = 0; n < 3; ++n)
    look();
  EXPECT_EQ(repo("acme/new").revision_count, 4);
  EXPECT_EQ((*store_->find_renamed("acme/tiny"))->name, "acme/new");
  EXPECT_EQ(store_->repos()->size(), 1U);
  EXPECT_FALSE(look().failed);
}

TEST_F(CatchUpTest, AnotherRepoUnderTheNameIsToldBeforeItsCommitsAreRead) {
  history_of_four();
  watch("acme/tiny");
  look();
  auto &other = hub_.repos.at("acme/tiny");
  other.facts.identity = "id-another";
  other.revisions.clear();
  hub_.push("acme/tiny", "z", {{"config.json", "{}"}});
  look();
  EXPECT_EQ(revisions().size(), 4U);
  look();
  look();
  EXPECT_EQ(revisions().size(), 5U);
  bool told = false;
  for (const auto &record : advisories())
    told = told || record.advisory.kinds[0] == "access.replaced";
  EXPECT_TRUE(told);
}

TEST_F(CatchUpTest, CodeInAnotherRepoIsFollowed) {
  hub_.add("acme/tiny");
  hub_.push("acme/tiny", "a",
            {{"config.json", R"({"auto_map":{"AutoModel":"acme/code--modeling.Net"}})"}});
  code_hub_.add("acme/code");
  code_hub_.push("acme/code", "p", {{"modeling.py", "1"}, {"notes.txt", "x"}});
  watch("acme/tiny");
  look();
  const auto first = *store_->snapshot(repo().id, repo().head);
  ASSERT_EQ(first->referenced.size(), 1U);
  EXPECT_EQ(first->referenced[0].files.size(), 1U);
  look();
  EXPECT_TRUE(deltas().empty());
  code_hub_.push("acme/code", "q", {{"modeling.py", "2"}});
  look();
  ASSERT_EQ(deltas().size(), 1U);
  EXPECT_EQ(deltas()[0].delta.from, deltas()[0].delta.to);
  EXPECT_EQ(advisories()[0].advisory.kinds[0], "code.remote-changed");
  look();
  EXPECT_EQ(deltas().size(), 1U);
}

TEST_F(CatchUpTest, ManyReposThatVanishAtOnceAreOneAlarmAndNoNews) {
  for (const char *name : {"acme/tiny", "acme/b", "acme/c", "acme/d"}) {
    hub_.add(name);
    hub_.push(name, name, {{"config.json", "{}"}});
    watch(name);
  }
  boost::asio::io_context io;
  auto guard = boost::asio::make_work_guard(io);
  std::thread runner([&] { io.run(); });
  options_.schedule.jitter = 0;
  std::mutex log_mutex; // the tracker's threads log at once
  {
    Tracker tracker(io.get_executor(), hub_, code_hub_, *store_, stages_, options_,
                    {[&](LogLevel, const std::string &line) {
                       const std::lock_guard lock(log_mutex);
                       log_.push_back(line);
                     },
                     {}});
    ASSERT_TRUE(tracker.start());
    tracker.wait_until_idle();
    EXPECT_EQ(tracker.status().settled, 4U);
    hub_.all_fail = Error{Errc::gone, "not there", "RepoNotFound 404"};
    for (int round = 0; round < 5; ++round) {
      tracker.check_all_now();
      tracker.wait_until_idle();
    }
  }
  int gone = 0;
  const std::vector<store::Repo> all = *store_->repos();
  for (const store::Repo &one : all)
    gone += one.state == store::RepoState::gone ? 1 : 0;
  EXPECT_LE(gone, 2);
  EXPECT_EQ(
      std::ranges::count_if(
          log_, [](const std::string &line) { return line.find("5 %") != std::string::npos; }),
      1);
  guard.reset();
  runner.join();
}

TEST_F(CatchUpTest, TheTrackerFollowsTheWatchListAndStopsInOrder) {
  history_of_four();
  watch("acme/tiny");
  boost::asio::io_context io;
  auto guard = boost::asio::make_work_guard(io);
  std::thread runner([&] { io.run(); });
  {
    Tracker tracker(io.get_executor(), hub_, code_hub_, *store_, stages_, options_,
                    {[](LogLevel, const std::string &) {}, {}});
    ASSERT_TRUE(tracker.start());
    tracker.wait_until_idle();
    EXPECT_EQ(revisions().size(), 4U);
    EXPECT_FALSE(tracker.check_now("acme/other", "main", false));
    hub_.push("acme/tiny", "e", {{"config.json", "{}"}, {"chat_template.jinja", "three"}});
    EXPECT_TRUE(tracker.check_now("acme/tiny", "main", true));
    tracker.wait_until_idle();
    EXPECT_EQ(revisions().size(), 5U);
    ASSERT_TRUE(store_->remove_watch("acme/tiny", "main"));
    ASSERT_TRUE(tracker.sync_watches());
    EXPECT_EQ(tracker.status().watched, 0U);
    tracker.wait_until_idle();
    tracker.stop();
    tracker.stop();
  }
  guard.reset();
  runner.join();
}

/// A repo that was read at its first revision, under the rule that advisories wait an hour.
class SettleTest : public CatchUpTest {
protected:
  void SetUp() override {
    CatchUpTest::SetUp();
    options_.settle = std::chrono::hours(1);
    watch("acme/tiny");
    hub_.add("acme/tiny");
    push("one");
  }
  void push(const std::string &text) {
    hub_.push("acme/tiny", "commit " + std::to_string(++commits_), {{"chat_template.jinja", text}});
    look();
  }
  std::size_t held() { return store_->held_advisories(repo().id)->size(); }
  int commits_ = 0;
};

TEST_F(SettleTest, NothingIsPublicBeforeItsTimeAlsoAfterARestart) {
  push("two");
  EXPECT_TRUE(advisories().empty());
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(deltas()[0].advisory_id, "");
  now_ += std::chrono::minutes(59);
  open();
  const LookResult early = look();
  EXPECT_TRUE(advisories().empty());
  ASSERT_TRUE(early.no_later);
  EXPECT_EQ(*early.no_later, std::chrono::minutes(1));
  recorded_.clear();
  now_ += std::chrono::minutes(1);
  const LookResult late = look();
  ASSERT_EQ(advisories().size(), 1U);
  EXPECT_FALSE(late.no_later);
  const Advisory advisory = advisories()[0].advisory;
  EXPECT_EQ(advisory.published, format_time(now_));
  EXPECT_EQ(deltas()[0].advisory_id, advisory.id);
  EXPECT_EQ(held(), 0U);
  ASSERT_EQ(recorded_.size(), 1U);
  EXPECT_EQ(recorded_[0].advisories, std::vector<std::string>{advisory.id});
}

TEST_F(SettleTest, WhatIsUndoneWithinItGivesDeltasAndNoAdvisory) {
  push("two");
  now_ += std::chrono::minutes(30);
  push("one");
  EXPECT_EQ(held(), 0U);
  now_ += std::chrono::hours(3);
  look();
  EXPECT_TRUE(advisories().empty());
  EXPECT_EQ(deltas().size(), 2U);
}

TEST_F(SettleTest, AChainThatIsUndoneWithinItGivesNone) {
  push("two");
  push("three");
  EXPECT_EQ(held(), 2U);
  push("one");
  now_ += std::chrono::hours(3);
  look();
  EXPECT_TRUE(advisories().empty());
  EXPECT_EQ(held(), 0U);
}

TEST_F(SettleTest, WhatChangesAgainWithinItIsToldInItsTimeAndBothNameEachOther) {
  push("two");
  now_ += std::chrono::minutes(30);
  push("three");
  now_ += std::chrono::minutes(30);
  look();
  ASSERT_EQ(advisories().size(), 1U);
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::superseded);
  EXPECT_TRUE(advisories()[0].advisory.related.empty()) << "the second is not public yet";
  now_ += std::chrono::minutes(30);
  look();
  ASSERT_EQ(advisories().size(), 2U);
  const auto both = advisories();
  EXPECT_EQ(both[0].advisory.related, std::vector<std::string>{both[1].advisory.id});
  EXPECT_EQ(both[1].advisory.related, std::vector<std::string>{both[0].advisory.id});
}

TEST_F(SettleTest, WhatIsUndoneLaterIsToldAndClosed) {
  push("two");
  now_ += std::chrono::hours(1);
  look();
  push("one");
  ASSERT_EQ(advisories().size(), 1U);
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::reverted);
}

TEST_F(SettleTest, AccessNeverWaits) {
  hub_.repos.at("acme/tiny").facts.gate = Gate::automatic;
  for (int polls = 0; polls < 3; ++polls)
    look();
  ASSERT_EQ(advisories().size(), 1U);
  EXPECT_EQ(advisories()[0].advisory.kinds, std::vector<std::string>{"access.gated"});
}

TEST_F(CatchUpTest, WhatWasThereBeforeTheFirstLookSettledByTheDatesOfItsCommits) {
  watch("acme/tiny");
  history_of_four();
  options_.settle = std::chrono::hours(1);
  look();
  ASSERT_EQ(advisories().size(), 1U) << "it stood for two days";
  EXPECT_EQ(advisories()[0].advisory.state, AdvisoryState::reverted);
  watch("acme/second");
  hub_.repos["acme/second"] = hub_.repos["acme/tiny"];
  hub_.repos["acme/second"].facts.name = "acme/second";
  options_.settle = std::chrono::hours(24 * 30);
  look("acme/second");
  EXPECT_TRUE(store_->advisories_of(repo("acme/second").id)->empty());
  EXPECT_TRUE(store_->held_advisories(repo("acme/second").id)->empty());
}

TEST_F(CatchUpTest, AHeadIsComparedWithItsBaseWhicheverOfThemMoves) {
  stages_.base_models = [](const Snapshot &snapshot) {
    const std::string *base = find_text(snapshot, "base");
    return base == nullptr ? std::vector<std::string>() : std::vector<std::string>{*base};
  };
  stages_.compare_with_base = [](const Snapshot &base, const Snapshot &head) {
    const std::string *one = find_text(base, "chat_template.jinja");
    const std::string *two = find_text(head, "chat_template.jinja");
    std::vector<Change> changes;
    if (*one != *two)
      changes.push_back(make_change("template.base-differs", "", "1", "2", *one + " " + *two));
    return changes;
  };
  for (const char *name : {"acme/tiny", "acme/base"}) {
    watch(name);
    hub_.add(name);
  }
  hub_.push("acme/tiny", "a", {{"base", "acme/base"}, {"chat_template.jinja", "mine"}});
  look();
  EXPECT_TRUE(store_->base_comparisons(repo().id)->empty()) << "the base was not read yet";
  hub_.push("acme/base", "b", {{"chat_template.jinja", "theirs"}});
  look("acme/base");
  look();
  ASSERT_EQ(store_->base_comparisons(repo().id)->size(), 1U);
  EXPECT_EQ(store_->base_comparisons(repo().id)->front().changes[0].explanation, "theirs mine");
  hub_.push("acme/base", "c", {{"chat_template.jinja", "mine"}});
  look("acme/base");
  look();
  EXPECT_TRUE(store_->base_comparisons(repo().id)->front().changes.empty());
  hub_.push("acme/tiny", "d", {{"chat_template.jinja", "mine"}});
  look();
  EXPECT_TRUE(store_->base_comparisons(repo().id)->empty()) << "the card names it no longer";
}

TEST_F(CatchUpTest, AnOldNameThatAnotherRepoTookIsAReplacement) {
  watch("acme/tiny");
  hub_.add("acme/tiny");
  hub_.push("acme/tiny", "a", {{"chat_template.jinja", "one"}});
  look();
  hub_.repos["acme/moved"] = hub_.repos["acme/tiny"];
  hub_.repos["acme/moved"].facts.name = "acme/moved";
  hub_.repos.erase("acme/tiny");
  hub_.renamed["acme/tiny"] = "acme/moved";
  for (int polls = 0; polls < 3; ++polls)
    look();
  ASSERT_TRUE(*store_->find_repo("acme/moved"));
  hub_.renamed.clear();
  hub_.add("acme/tiny").facts.identity = "somebody else";
  hub_.push("acme/tiny", "x", {{"chat_template.jinja", "theirs"}});
  for (int polls = 0; polls < 3; ++polls)
    look();
  const auto told = *store_->advisories();
  EXPECT_TRUE(std::ranges::any_of(told, [](const store::AdvisoryRecord &record) {
    return record.advisory.kinds == std::vector<std::string>{"access.replaced"};
  }));
}

} // namespace
} // namespace headwater::track
