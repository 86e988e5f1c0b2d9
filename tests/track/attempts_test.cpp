// Attempts that ended without a word, files that came wrong or not at all, and looks that meet.

#include "daemon/track/turns.hpp"
#include "tests/track/hub_run.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace headwater::track {
namespace {

using std::chrono::minutes;

/// A step of the process that died while it read this revision.
void begin_and_die(store::Store &store, std::int64_t repo, const std::string &sha) {
  ASSERT_TRUE(store.begin_attempt(repo, sha));
  ASSERT_TRUE(store.count_killed_attempts());
}

class AttemptsTest : public HubRun {
protected:
  /// The revision that comes next, read up to there, and its id.
  std::string next_revision() {
    record("org/m0", 3);
    serve();
    watch("org/m0");
    rounds(1, minutes(1));
    replay_->reveal_next();
    const auto head =
        boost::asio::co_spawn(io_, client_->poll("org/m0", "main"), boost::asio::use_future).get();
    return head->head;
  }
};

TEST_F(AttemptsTest, FiveEndsWithoutAWordInARowQuarantineTheRevisionAndTheStatusSaysSo) {
  const std::string sha = next_revision();
  for (int kills = 1; kills <= 5; ++kills)
    begin_and_die(*store_, repo("org/m0").id, sha);
  EXPECT_EQ((*store_->find_attempt(repo("org/m0").id, sha))->killed, 5);
  const std::size_t before = asked("/tree/" + sha);
  rounds(1, minutes(1));
  EXPECT_EQ(asked("/tree/" + sha), before) << "not a byte of it is asked for";
  EXPECT_EQ((*store_->find_revision(repo("org/m0").id, sha))->status,
            store::RevisionStatus::quarantined);
  EXPECT_EQ(repo("org/m0").state, store::RepoState::unreadable);
  EXPECT_NE(repo("org/m0").state_note.find("quarantined"), std::string::npos);
  rounds(1, minutes(1));
  EXPECT_EQ(repo("org/m0").state, store::RepoState::unreadable) << "for as long as it is the head";
  reveal_all();
  rounds(1, minutes(1));
  EXPECT_EQ(repo("org/m0").revision_count, 3) << "the rest goes on";
  EXPECT_EQ(repo("org/m0").state, store::RepoState::ok);
}

TEST_F(AttemptsTest, FourEndsChangeNothingAndAnAttemptThatEndsForgetsThem) {
  const std::string sha = next_revision();
  for (int kills = 1; kills <= 4; ++kills)
    begin_and_die(*store_, repo("org/m0").id, sha);
  rounds(1, minutes(1));
  EXPECT_EQ((*store_->find_revision(repo("org/m0").id, sha))->status, store::RevisionStatus::read);
  EXPECT_FALSE(*store_->find_attempt(repo("org/m0").id, sha));
}

TEST_F(AttemptsTest, ACleanStopForgets) {
  const std::string sha = next_revision();
  for (int kills = 1; kills <= 4; ++kills)
    begin_and_die(*store_, repo("org/m0").id, sha);
  ASSERT_TRUE(store_->forget_unfinished_attempts());
  EXPECT_EQ((*store_->find_attempt(repo("org/m0").id, sha))->killed, 0);
}

TEST_F(AttemptsTest, TheSecondEndLeavesLargeFilesOutUntilItIsReadInPeace) {
  const std::string sha = next_revision();
  options_.careful_file_bytes = 100;
  options_.retry_unreadable = minutes(10);
  begin_and_die(*store_, repo("org/m0").id, sha);
  begin_and_die(*store_, repo("org/m0").id, sha);
  rounds(1, minutes(1));
  const auto careful = *store_->find_revision(repo("org/m0").id, sha);
  EXPECT_EQ(careful->status, store::RevisionStatus::unreadable);
  EXPECT_NE(careful->note.find("killed"), std::string::npos) << careful->note;
  ASSERT_TRUE(store_->forget_unfinished_attempts());
  now_ = now_.load() + minutes(10);
  rounds(1, minutes(1));
  EXPECT_EQ((*store_->find_revision(repo("org/m0").id, sha))->status, store::RevisionStatus::read);
}

TEST_F(AttemptsTest, TroubleUpstreamIsNoAttempt) {
  const std::string sha = next_revision();
  fault(R"({"match":"/tree/","status":503,"times":1000000})");
  for (int round = 0; round < 8; ++round)
    EXPECT_TRUE(look("org/m0").failed);
  EXPECT_FALSE(*store_->find_attempt(repo("org/m0").id, sha));
  fault(R"({"clear":true})");
  rounds(1, minutes(1));
  EXPECT_EQ(repo("org/m0").revision_count, 2);
}

TEST(Turns, OneThatReadsAloneWaitsForTheOthersAndTheyForIt) {
  boost::asio::io_context io;
  Turns turns;
  std::string order;
  boost::asio::steady_timer hold(io, boost::asio::steady_timer::time_point::max());
  const auto reader = [&](char letter, bool alone, bool wait) -> boost::asio::awaitable<void> {
    const Turns::Turn turn = co_await turns.take(alone);
    order += letter;
    if (wait)
      co_await hold.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    order += static_cast<char>(letter - 'a' + 'A');
  };
  boost::asio::co_spawn(io, reader('a', false, true), boost::asio::detached);
  boost::asio::co_spawn(io, reader('b', false, true), boost::asio::detached);
  boost::asio::co_spawn(io, reader('c', true, false), boost::asio::detached);
  boost::asio::co_spawn(io, reader('d', false, false), boost::asio::detached);
  io.poll();
  EXPECT_EQ(order, "ab") << "d waits behind the one that is to read alone";
  hold.cancel();
  io.poll();
  EXPECT_EQ(order, "abABcCdD");
}

TEST_F(HubRun, ATreeThatWasCutIsNotBelieved) {
  record("org/m0", 2);
  write("models/org/m0/revisions/0002-last/config.json", "{}");
  serve();
  watch("org/m0");
  rounds(1, minutes(1));
  replay_->reveal_next();
  fault(R"({"match":"/tree/","status":200,"times":1,"body":"[]"})");
  EXPECT_TRUE(look("org/m0").failed);
  EXPECT_EQ(repo("org/m0").revision_count, 1);
  EXPECT_NE(repo("org/m0").state_note.find("config.json"), std::string::npos)
      << repo("org/m0").state_note;
  rounds(1, minutes(1));
  EXPECT_EQ(repo("org/m0").revision_count, 2);
  EXPECT_EQ(told("org/m0", "config.removed"), 0);
}

TEST_F(HubRun, AFileThatWasTrulyRemovedIsTold) {
  record("org/m0", 1);
  write("models/org/m0/revisions/0001-removed/README.md", "# gone");
  serve();
  watch("org/m0");
  rounds(1, minutes(1));
  reveal_all();
  rounds(1, minutes(1));
  EXPECT_EQ(told("org/m0", "config.removed"), 1) << testing::PrintToString(kinds("org/m0"));
}

TEST_F(HubRun, AnUnreadableRevisionIsReadAgainAlsoBehindTheHead) {
  record("org/m0", 4);
  serve();
  watch("org/m0");
  rounds(1, minutes(1));
  replay_->reveal_next();
  fault(R"({"match":"/resolve/","status":200,"times":2,"body":"{\"model_type\":\"lla"})");
  fault(R"({"match":"/tree/","status":200,"times":2,"body":"{}"})");
  rounds(1, minutes(1));
  ASSERT_EQ(repo("org/m0").revision_count, 2);
  const auto revisions = *store_->revisions(repo("org/m0").id);
  const std::string sha = revisions[1].sha;
  ASSERT_EQ(revisions[1].status, store::RevisionStatus::unreadable) << revisions[1].note;
  fault(R"({"clear":true})");
  reveal_all();
  rounds(1, minutes(10));
  ASSERT_EQ(repo("org/m0").revision_count, 4);
  const auto advisories = *store_->advisories();
  rounds(3, minutes(10));
  const auto again = *store_->revisions(repo("org/m0").id);
  EXPECT_EQ(again[1].status, store::RevisionStatus::read) << again[1].note;
  EXPECT_EQ(repo("org/m0").head, again[3].sha) << "the head stays the head";
  EXPECT_EQ(told("org/m0", "stop-set.changed"), 3);
  EXPECT_EQ((*store_->delta_to(repo("org/m0").id, sha))->delta.from, again[0].sha);
  EXPECT_EQ(store_->advisories()->size(), advisories.size())
      << "what it changed was told with the next one that could be read";
}

TEST_F(HubRun, TwoWatchesThatLeadToOneRepoDoNotLookAtItAtOnce) {
  record("org/m0", 2);
  serve();
  watch("org/m0");
  rounds(1, minutes(1));
  boost::asio::thread_pool pool(1);
  Context context{*client_,
                  *code_client_,
                  *store_,
                  pool,
                  options_,
                  stages_,
                  [](LogLevel, const std::string &) {},
                  [](const Recorded &) {}};
  context.in_hand.insert(repo("org/m0").id);
  const std::size_t before = asked("/api/models/org/m0");
  const LookResult result =
      boost::asio::co_spawn(io_, catch_up(context, Key{"org/m0", "main"}), boost::asio::use_future)
          .get();
  EXPECT_TRUE(result.look_again.has_value());
  EXPECT_EQ(asked("/api/models/org/m0"), before);
  EXPECT_TRUE(context.in_hand.contains(repo("org/m0").id)) << "the other look goes on";
  pool.join();
}

} // namespace
} // namespace headwater::track
