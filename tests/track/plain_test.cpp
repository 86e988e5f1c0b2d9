#include "daemon/track/confirm.hpp"
#include "daemon/track/line.hpp"
#include "daemon/track/schedule.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace headwater::track {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TimePoint at(const char *text) {
  return *parse_time(text);
}

TEST(Confirm, TheSameAnswerMustComeOftenAndOverTheSpan) {
  const ConfirmOptions options{3, minutes(30)};
  std::optional<Pending> pending =
      confirm_once_more(std::nullopt, "gone", at("2026-01-01T00:00:00Z"));
  EXPECT_FALSE(is_confirmed(*pending, at("2026-01-01T00:00:00Z"), options));
  pending = confirm_once_more(pending, "gone", at("2026-01-01T00:10:00Z"));
  pending = confirm_once_more(pending, "gone", at("2026-01-01T00:20:00Z"));
  EXPECT_FALSE(is_confirmed(*pending, at("2026-01-01T00:20:00Z"), options))
      << "three polls, and too soon";
  pending = confirm_once_more(pending, "gone", at("2026-01-01T00:30:00Z"));
  EXPECT_TRUE(is_confirmed(*pending, at("2026-01-01T00:30:00Z"), options));
}

TEST(Confirm, AnotherAnswerStartsAnew) {
  Pending pending = confirm_once_more(std::nullopt, "gone", at("2026-01-01T00:00:00Z"));
  pending = confirm_once_more(pending, "gone", at("2026-01-01T00:01:00Z"));
  pending = confirm_once_more(pending, "gated", at("2026-01-01T00:02:00Z"));
  EXPECT_EQ(pending.count, 1);
  EXPECT_EQ(pending.first, "2026-01-01T00:02:00Z");
}

TEST(Confirm, APendingAnswerSurvivesARestart) {
  const Pending pending{"access.gated \"auto\"", 2, "2026-01-01T00:00:00Z"};
  EXPECT_EQ(pending_from(to_text(pending)), pending);
  EXPECT_EQ(pending_from(""), std::nullopt);
  EXPECT_EQ(pending_from("{\"what\":1}"), std::nullopt);
}

TEST(Alarm, RingsWhenOverFivePercentTurnTheSameWay) {
  Alarm alarm;
  EXPECT_EQ(alarm.give("a/a", "gone"), 1);
  EXPECT_EQ(alarm.give("a/a", "gone"), 2);
  EXPECT_EQ(alarm.give("a/b", "gone"), 1);
  EXPECT_FALSE(is_alarm(alarm.crowd("gone", 8))) << "two repos are no outage";
  alarm.give("a/c", "gone");
  EXPECT_TRUE(is_alarm(alarm.crowd("gone", 40)));
  EXPECT_FALSE(is_alarm(alarm.crowd("gone", 60))) << "5 % exactly";
  EXPECT_FALSE(is_alarm(alarm.crowd("gated", 8)));
  alarm.well("a/c", at("2026-01-01T00:00:00Z"));
  EXPECT_FALSE(is_alarm(alarm.crowd("gone", 40)));
  EXPECT_EQ(alarm.crowd("gone", 40).well, at("2026-01-01T00:00:00Z"));
  EXPECT_EQ(alarm.give("a/a", "gated"), 1) << "another answer starts anew";
}

TEST(Judge, WhenAnAnswerCounts) {
  const ConfirmOptions options{3, minutes(30)};
  const TimePoint first = at("2026-01-01T00:00:00Z");
  struct Case {
    const char *name;
    int count;
    minutes after;
    Evidence evidence;
    std::size_t same;
    std::optional<minutes> well; ///< after the first answer
    int given;
    Verdict verdict;
  };
  using enum Evidence;
  constexpr std::size_t watched = 12;
  const Case cases[] = {
      {"too few", 2, minutes(60), facts, 1, {}, 2, Verdict::wait},
      {"too short", 9, minutes(29), facts, 1, {}, 2, Verdict::wait},
      {"confirmed", 3, minutes(30), facts, 1, {}, 2, Verdict::confirmed},
      {"one after a restart", 3, minutes(30), facts, 1, {}, 1, Verdict::wait},
      {"absence alone", 3, minutes(30), absence, 2, {}, 2, Verdict::confirmed},
      {"refusal alone", 3, minutes(30), refusal, 2, {}, 2, Verdict::confirmed},
      {"many, confirmed as one", 3, minutes(30), facts, 3, {}, 2, Verdict::held},
      {"many, facts, four spans", 12, minutes(120), facts, 12, {}, 2, Verdict::confirmed},
      {"many, facts, too few", 11, minutes(120), facts, 3, {}, 2, Verdict::held},
      {"many, facts, too short", 90, minutes(119), facts, 3, {}, 2, Verdict::held},
      {"many gone, no witness", 12, minutes(120), absence, 3, {}, 2, Verdict::held},
      {"many gone, an old witness", 12, minutes(120), absence, 3, minutes(59), 2, Verdict::held},
      {"many gone, witness", 12, minutes(120), absence, 3, minutes(60), 2, Verdict::confirmed},
      {"many gone, a day", 72, minutes(720), absence, 12, {}, 2, Verdict::confirmed},
      {"many refused, a day", 72, minutes(720), refusal, 12, {}, 2, Verdict::held},
      {"many refused, a year", 9999, minutes(525'600), refusal, 12, {}, 2, Verdict::held},
      {"many refused, witness", 12, minutes(120), refusal, 3, minutes(110), 2, Verdict::confirmed},
  };
  for (const Case &c : cases) {
    Crowd crowd{c.same, watched, {}, c.given};
    if (c.well)
      crowd.well = first + *c.well;
    const Pending pending{"gone", c.count, format_time(first)};
    EXPECT_EQ(judge(pending, c.evidence, crowd, first + c.after, options), c.verdict) << c.name;
  }
}

Commit commit(char letter) {
  return {std::string(40, letter), "", ""};
}
store::Revision revision(std::int64_t sequence, char letter, bool on_branch = true) {
  store::Revision made;
  made.sequence = sequence;
  made.sha = std::string(40, letter);
  made.on_branch = on_branch;
  return made;
}
std::string letters(const std::vector<Commit> &commits) {
  std::string text;
  for (const Commit &one : commits)
    text += one.sha[0];
  return text;
}
std::string letters(const std::vector<std::string> &shas) {
  std::string text;
  for (const std::string &one : shas)
    text += one[0];
  return text;
}

struct LineCase {
  const char *name;
  const char *listed; ///< newest first
  const char *read;   ///< oldest first; upper case: off the branch
  std::size_t limit;
  const char *fresh;
  const char *away;
  bool whole = true; ///< the list goes back to the last revision read, or to the start
  bool gap = false;
};

class LineTest : public testing::TestWithParam<LineCase> {};

TEST_P(LineTest, ComparesTheHubsListWithWhatWasRead) {
  const LineCase &c = GetParam();
  hub::CommitList listed;
  listed.whole = c.whole;
  for (const char *letter = c.listed; *letter != 0; ++letter)
    listed.commits.push_back(commit(*letter));
  std::vector<store::Revision> read;
  for (const char *letter = c.read; *letter != 0; ++letter) {
    const bool off = *letter >= 'A' && *letter <= 'Z';
    read.push_back(
        revision(letter - c.read + 1, off ? static_cast<char>(*letter + 32) : *letter, !off));
  }
  const Line line = compare_lines(listed, read, c.limit);
  EXPECT_EQ(letters(line.fresh), c.fresh);
  EXPECT_EQ(letters(line.rewritten_away), c.away);
  EXPECT_EQ(line.gap, c.gap);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, LineTest,
    testing::Values(LineCase{"FirstLook", "dcba", "", 20, "abcd", ""},
                    LineCase{"FirstLookWithALimit", "dcba", "", 2, "cd", ""},
                    LineCase{"NothingNew", "b", "ab", 20, "", ""},
                    LineCase{"EachCommitBetweenTwoLooks", "edcb", "ab", 20, "cde", ""},
                    LineCase{"Amended", "xba", "abc", 20, "x", "c"},
                    LineCase{"MovedBack", "ba", "abcd", 20, "b", "cd"},
                    LineCase{"NothingShared", "zyx", "abc", 2, "yz", "abc"},
                    LineCase{"ForwardAgainToWhatWasRewrittenAway", "cba", "aBCx", 20, "bc", "x"},
                    LineCase{"EmptyList", "", "", 20, "", ""},
                    LineCase{"HeadAlone", "c", "ab", 20, "c", "", false, true},
                    LineCase{"HeadAloneAtFirst", "c", "", 20, "c", "", false},
                    LineCase{"HeadAloneMovedBack", "b", "abcd", 20, "", "", false},
                    LineCase{"CutBeforeTheLast", "zyx", "abc", 2, "yz", "", false, true},
                    LineCase{"CutBehindAnOlderOne", "yxb", "abc", 20, "xy", "", false}),
    [](const testing::TestParamInfo<LineCase> &param) { return std::string(param.param.name); });

TEST(History, IsAllNoneOrANumber) {
  EXPECT_EQ(history_limit("all", 500), 500U);
  EXPECT_EQ(history_limit("none", 500), 1U);
  EXPECT_EQ(history_limit("20", 500), 20U);
  EXPECT_EQ(history_limit("0", 500), 1U);
  EXPECT_EQ(history_limit("900", 500), 500U);
  EXPECT_EQ(history_limit("x", 500), 1U);
}

class ScheduleTest : public testing::Test {
protected:
  ScheduleOptions options = [] {
    ScheduleOptions made;
    made.interval = minutes(10);
    made.jitter = 0;
    return made;
  }();
  Moment start{};
  Key a{"a/a", "main"};
  Key b{"a/b", "main"};
};

TEST_F(ScheduleTest, NewOnesAreDueAtOnceByName) {
  Schedule schedule(options, 1);
  schedule.add(b, start);
  schedule.add(a, start);
  EXPECT_EQ(schedule.take_due(start), a);
  EXPECT_EQ(schedule.take_due(start), b);
  EXPECT_EQ(schedule.take_due(start), std::nullopt) << "never two looks at one repo at once";
}

TEST_F(ScheduleTest, ComesBackAfterTheInterval) {
  Schedule schedule(options, 1);
  schedule.add(a, start);
  schedule.take_due(start);
  schedule.ended(a, {}, start + seconds(5));
  EXPECT_EQ(schedule.next_due(), start + seconds(5) + minutes(10));
}

TEST_F(ScheduleTest, TroubleWaitsLongerEachTimeAndAtLeastWhatUpstreamAsked) {
  options.first_backoff = seconds(30);
  options.longest_backoff = minutes(2);
  Schedule schedule(options, 1);
  schedule.add(a, start);
  LookResult failed;
  failed.failed = true;
  for (const seconds wait : {seconds(30), seconds(60), seconds(120), seconds(120)}) {
    schedule.ended(a, failed, start);
    EXPECT_EQ(schedule.next_due(), start + wait);
  }
  failed.retry_after = minutes(5);
  schedule.ended(a, failed, start);
  EXPECT_EQ(schedule.next_due(), start + minutes(5));
  schedule.ended(a, {}, start);
  failed.retry_after = {};
  schedule.ended(a, failed, start);
  EXPECT_EQ(schedule.next_due(), start + seconds(30)) << "a success ends the row of failures";
}

TEST_F(ScheduleTest, JitterStaysWithinItsShare) {
  options.jitter = 0.1;
  Schedule schedule(options, 42);
  schedule.add(a, start);
  bool varied = false;
  for (int round = 0; round < 100; ++round) {
    schedule.ended(a, {}, start);
    const auto wait = *schedule.next_due() - start;
    EXPECT_GE(wait, minutes(9));
    EXPECT_LE(wait, minutes(11));
    varied = varied || wait != minutes(10);
  }
  EXPECT_TRUE(varied);
}

TEST_F(ScheduleTest, AConfirmationComesSoonerThanTheInterval) {
  Schedule schedule(options, 1);
  schedule.add(a, start);
  LookResult again;
  again.look_again = seconds(0);
  schedule.ended(a, again, start);
  EXPECT_EQ(schedule.next_due(), start);
}

TEST_F(ScheduleTest, HintsCountOnceAMinute) {
  Schedule schedule(options, 1);
  schedule.add(a, start);
  schedule.take_due(start);
  schedule.ended(a, {}, start);
  EXPECT_TRUE(schedule.bring_forward(a, start + seconds(1), true));
  EXPECT_EQ(schedule.next_due(), start + seconds(1));
  EXPECT_FALSE(schedule.bring_forward(a, start + seconds(30), true));
  EXPECT_TRUE(schedule.bring_forward(a, start + seconds(61), true));
  EXPECT_TRUE(schedule.bring_forward(a, start + seconds(62), false)) << "a person is not bounded";
  EXPECT_FALSE(schedule.bring_forward(b, start, true)) << "an unwatched repo is never looked at";
}

TEST_F(ScheduleTest, AskedForDuringALookMeansAgainRightBehindIt) {
  Schedule schedule(options, 1);
  schedule.add(a, start);
  schedule.take_due(start);
  EXPECT_TRUE(schedule.bring_forward(a, start, false));
  EXPECT_EQ(schedule.take_due(start), std::nullopt);
  EXPECT_TRUE(schedule.ended(a, {}, start + seconds(3)));
  EXPECT_EQ(schedule.next_due(), start + seconds(3));
}

TEST_F(ScheduleTest, ManyComeInTheOrderOfTheirTimesWhateverHappensToThem) {
  // Beside a plain list: the same answers over random adds, looks, hints and removals.
  options.hint_gap = milliseconds(0);
  Schedule schedule(options, 1);
  struct Plain {
    Moment due;
    bool looking = false;
    bool again = false;
  };
  std::map<Key, Plain> plain;
  std::mt19937 random(7);
  Moment now = start;
  for (int step = 0; step < 20'000; ++step) {
    now += seconds(random() % 40);
    const Key key{"org/" + std::to_string(random() % 50), "main"};
    const auto at = plain.find(key);
    switch (random() % 5) {
    case 0:
      schedule.add(key, now);
      plain.try_emplace(key, Plain{now});
      break;
    case 1:
      schedule.remove(key);
      plain.erase(key);
      break;
    case 2: {
      EXPECT_EQ(schedule.bring_forward(key, now, random() % 2 == 0), at != plain.end());
      if (at != plain.end() && at->second.looking)
        at->second.again = true;
      else if (at != plain.end())
        at->second.due = std::min(at->second.due, now);
      break;
    }
    case 3: {
      std::optional<Key> expected;
      for (const auto &[name, one] : plain)
        if (!one.looking && one.due <= now && (!expected || one.due < plain.at(*expected).due))
          expected = name;
      ASSERT_EQ(schedule.take_due(now), expected) << step;
      if (expected)
        plain.at(*expected).looking = true;
      break;
    }
    default:
      if (at == plain.end() || !at->second.looking)
        break;
      ASSERT_EQ(schedule.ended(key, {}, now), at->second.again) << step;
      at->second = {at->second.again ? now : now + minutes(10)};
      break;
    }
    std::optional<Moment> next;
    for (const auto &[name, one] : plain)
      if (!one.looking && (!next || one.due < *next))
        next = one.due;
    ASSERT_EQ(schedule.next_due(), next) << step;
  }
}

TEST_F(ScheduleTest, ARemovedOneStaysRemoved) {
  Schedule schedule(options, 1);
  schedule.add(a, start);
  schedule.take_due(start);
  schedule.remove(a);
  EXPECT_FALSE(schedule.ended(a, {}, start));
  EXPECT_EQ(schedule.next_due(), std::nullopt);
}

} // namespace
} // namespace headwater::track
