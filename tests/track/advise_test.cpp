#include "daemon/track/advise.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

namespace headwater::track {
namespace {

std::string sha(char letter) {
  return std::string(40, letter);
}

/// A change of the subject at a level of our choice: the lifecycle reads levels, not kinds.
Change change(const std::string &subject, Level level = Level::high,
              const std::string &before = "1", const std::string &after = "2") {
  Change made;
  made.kind = subject + ".test";
  made.subject = subject;
  made.impact = Impact::behaviour;
  made.level = level;
  made.path = "config.json";
  made.before_json = before;
  made.after_json = after;
  made.explanation = "It changed.";
  return made;
}

/// What a revision says where each subject has one place, or more: "value;place=value".
FactsOfRevision facts_of_state(const std::map<std::string, std::string> &state) {
  diff::Facts facts;
  for (const auto &[subject, text] : state) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      const std::size_t equals = item.find('=');
      const std::string place =
          equals == std::string_view::npos ? "config.json" : std::string(item.substr(0, equals));
      facts.subjects[subject][place].value = item.substr(equals + 1);
    }
  }
  return std::make_shared<const diff::Facts>(std::move(facts));
}

Change change_at(const std::string &path, Level level = Level::high) {
  Change made = change("config.other", level);
  made.path = path;
  return made;
}

/// A branch as the lifecycle sees it: each revision is a letter with a value for each subject.
class Branch {
public:
  using State = std::map<std::string, std::string>;

  void start(char letter, State state) {
    head_ = letter;
    states_[sha(letter)] = facts_of_state(state);
    read_.push_back(sha(letter));
  }

  Step step(char letter, const State &state, std::vector<Change> changes) {
    Step step;
    step.delta.repo = "acme/tiny";
    step.delta.from = sha(head_);
    step.delta.to = sha(letter);
    step.delta.date = "2026-05-01T00:00:00Z";
    step.delta.title = "A commit";
    step.delta.changes = std::move(changes);
    step.identity = "id1";
    step.identity_or_name = "id1";
    step.facts = facts_of_state(state);
    step.facts_before = states_[sha(head_)];
    step.read_revisions = read_;
    step.now = "2026-06-01T12:00:00Z";
    return step;
  }

  /// Moves to a new revision and keeps what the lifecycle gives.
  std::vector<Advisory> apply(const Step &step) {
    std::vector<Advisory> touched =
        advise(known_, step, [&](const std::string &revision) { return states_[revision]; }, {});
    for (const Advisory &advisory : touched) {
      const auto at = std::ranges::find(known_, advisory.id, &Advisory::id);
      if (at == known_.end())
        known_.push_back(advisory);
      else
        *at = advisory;
    }
    if (!step.commitless) {
      std::erase_if(read_, [&](const std::string &one) {
        return std::ranges::find(step.rewritten_away, one) != step.rewritten_away.end();
      });
      read_.push_back(step.delta.to);
      if (step.readable) {
        head_ = step.delta.to[0];
        states_[step.delta.to] = step.facts;
      }
    }
    return touched;
  }

  std::vector<Advisory> commit(char letter, const State &state, std::vector<Change> changes = {}) {
    return apply(step(letter, state, std::move(changes)));
  }

  /// What was stored of a revision can no longer be read.
  void lose(char letter) { states_.erase(sha(letter)); }

  const std::vector<Advisory> &known() const { return known_; }
  const AffectedEntry &entry(std::size_t advisory, const std::string &subject) const {
    return *std::ranges::find(known_.at(advisory).affected, subject, &AffectedEntry::subject);
  }
  int open_entries(const std::string &subject) const {
    int open = 0;
    for (const Advisory &advisory : known_)
      for (const AffectedEntry &entry : advisory.affected)
        open += entry.subject == subject && entry.state == AdvisoryState::open ? 1 : 0;
    return open;
  }

private:
  char head_ = '0';
  std::map<std::string, FactsOfRevision> states_;
  std::vector<std::string> read_;
  std::vector<Advisory> known_;
};

using Shas = std::vector<std::string>;

TEST(Advise, ADeltaBelowMediumMakesNoAdvisory) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  EXPECT_TRUE(branch.commit('b', {{"template", "2"}}, {change("template", Level::low)}).empty());
}

TEST(Advise, OneAdvisoryForADeltaWithOneEntryForEachSubjectAtMedium) {
  Branch branch;
  branch.start('a', {});
  const auto made = branch.commit('b', {},
                                  {change("template"), change("weights", Level::medium),
                                   change("licence", Level::low), change("template")});
  ASSERT_EQ(made.size(), 1U);
  ASSERT_EQ(made[0].affected.size(), 2U);
  EXPECT_EQ(made[0].affected[0].subject, "template");
  EXPECT_EQ(made[0].affected[0].changes.size(), 2U);
  EXPECT_EQ(made[0].affected[1].subject, "weights");
  EXPECT_EQ(made[0].level, Level::high);
  EXPECT_EQ(made[0].kinds, (Shas{"template.test", "weights.test"}));
  EXPECT_EQ(made[0].from, sha('a'));
  EXPECT_EQ(made[0].affected[0].introduced, sha('b'));
  EXPECT_EQ(made[0].affected[0].versions, Shas{sha('b')});
  EXPECT_EQ(made[0].published, "2026-06-01T12:00:00Z");
  EXPECT_EQ(made[0].state, AdvisoryState::open);
}

TEST(Advise, TheIdDependsOnTheChangeAlone) {
  Branch one;
  one.start('a', {});
  Branch other;
  other.start('a', {});
  Step step = other.step('b', {}, {change("template")});
  step.now = "2027-01-01T00:00:00Z";
  EXPECT_EQ(one.commit('b', {}, {change("template")})[0].id, other.apply(step)[0].id);
  Step branched = one.step('b', {}, {change("template")});
  branched.delta.branch = "dev";
  EXPECT_NE(advise({}, branched, [](const std::string &) { return FactsOfRevision(); }, {})[0].id,
            one.known()[0].id);
}

TEST(Advise, AnOpenEntryGrowsWithEachRevisionAndItsSubstanceDoesNotMove) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  Step step = branch.step('c', {{"template", "2"}}, {});
  step.now = "2026-07-01T00:00:00Z";
  const auto touched = branch.apply(step);
  ASSERT_EQ(touched.size(), 1U);
  EXPECT_EQ(touched[0].affected[0].versions, (Shas{sha('b'), sha('c')}));
  EXPECT_EQ(touched[0].substance_at, "2026-06-01T12:00:00Z");
}

TEST(Advise, ARevertClosesTheEntryAndMakesNoAdvisoryOfItsOwn) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "2"}}, {});
  branch.commit('d', {{"template", "1"}}, {change("template", Level::high, "2", "1")});
  ASSERT_EQ(branch.known().size(), 1U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::reverted);
  EXPECT_EQ(branch.entry(0, "template").fixed, sha('d'));
  EXPECT_EQ(branch.entry(0, "template").versions, (Shas{sha('b'), sha('c')}));
  EXPECT_TRUE(branch.commit('e', {{"template", "1"}}, {}).empty());
}

TEST(Advise, APartialRevertClosesItsSubjectAlone) {
  Branch branch;
  branch.start('a', {{"template", "1"}, {"weights", "1"}});
  branch.commit('b', {{"template", "2"}, {"weights", "2"}},
                {change("template"), change("weights")});
  branch.commit('c', {{"template", "1"}, {"weights", "2"}}, {change("template")});
  ASSERT_EQ(branch.known().size(), 1U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::open);
  EXPECT_EQ(branch.entry(0, "template").state, AdvisoryState::reverted);
  EXPECT_EQ(branch.entry(0, "weights").state, AdvisoryState::open);
  EXPECT_EQ(branch.entry(0, "weights").versions, (Shas{sha('b'), sha('c')}));
}

TEST(Advise, AChangeAgainSupersedesAndBothNameEachOther) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "3"}}, {change("template")});
  ASSERT_EQ(branch.known().size(), 2U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::superseded);
  EXPECT_EQ(branch.entry(0, "template").fixed, sha('c'));
  EXPECT_EQ(branch.known()[0].related, Shas{branch.known()[1].id});
  EXPECT_EQ(branch.known()[1].related, Shas{branch.known()[0].id});
  EXPECT_EQ(branch.open_entries("template"), 1);
}

TEST(Advise, ALowChangeOfTheSubjectLeavesTheEntryOpen) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "2 "}}, {change("template", Level::low)});
  EXPECT_EQ(branch.open_entries("template"), 1);
  EXPECT_EQ(branch.entry(0, "template").versions, (Shas{sha('b'), sha('c')}));
}

TEST(Advise, BackToTheStartOfAChainIsARevertWithoutARecord) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "3"}}, {change("template")});
  branch.commit('d', {{"template", "1"}}, {change("template")});
  ASSERT_EQ(branch.known().size(), 2U);
  EXPECT_EQ(branch.known()[1].state, AdvisoryState::reverted);
  EXPECT_EQ(branch.open_entries("template"), 0);
}

TEST(Advise, BackToTheMiddleOfAChainIsStillAChangeForThoseAtItsStart) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "3"}}, {change("template")});
  branch.commit('d', {{"template", "2"}}, {change("template")});
  ASSERT_EQ(branch.known().size(), 3U);
  EXPECT_EQ(branch.known()[1].state, AdvisoryState::reverted);
  EXPECT_EQ(branch.known()[2].state, AdvisoryState::open);
  EXPECT_EQ(branch.known()[2].related, Shas{branch.known()[1].id});
}

TEST(Advise, ARevertOfWhatWasToldCountsWhateverElseMovedAtLow) {
  Branch branch;
  branch.start('a', {{"config.other", "p=1;q=1"}});
  branch.commit('b', {{"config.other", "p=2;q=2"}}, {change_at("p"), change_at("q", Level::low)});
  branch.commit('c', {{"config.other", "p=2;q=3"}}, {change_at("q", Level::low)});
  EXPECT_EQ(branch.open_entries("config.other"), 1);
  branch.commit('d', {{"config.other", "p=1;q=4"}}, {change_at("p"), change_at("q", Level::low)});
  ASSERT_EQ(branch.known().size(), 1U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::reverted);
}

TEST(Advise, AnotherPlaceOfTheSubjectIsNoRevert) {
  Branch branch;
  branch.start('a', {{"config.other", "p=1;q=1"}});
  branch.commit('b', {{"config.other", "p=2;q=1"}}, {change_at("p")});
  branch.commit('c', {{"config.other", "p=2;q=2"}}, {change_at("q")});
  ASSERT_EQ(branch.known().size(), 2U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::superseded);
  branch.commit('d', {{"config.other", "p=1;q=1"}}, {change_at("p"), change_at("q")});
  EXPECT_EQ(branch.known().size(), 2U);
  EXPECT_EQ(branch.known()[1].state, AdvisoryState::reverted);
  EXPECT_EQ(branch.open_entries("config.other"), 0);
}

TEST(Advise, ARevertThatComesWithAnotherChangeIsBothToldAndClosed) {
  Branch branch;
  branch.start('a', {{"config.other", "p=1;q=1"}});
  branch.commit('b', {{"config.other", "p=2;q=1"}}, {change_at("p")});
  branch.commit('c', {{"config.other", "p=1;q=2"}}, {change_at("p"), change_at("q")});
  ASSERT_EQ(branch.known().size(), 2U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::reverted);
  EXPECT_EQ(branch.known()[1].state, AdvisoryState::open);
}

TEST(Advise, WhereARevisionIsLostTheAdvisorysOwnValuesJudge) {
  for (const bool back : {true, false}) {
    Branch branch;
    branch.start('a', {{"template", "1"}});
    branch.commit('b', {{"template", "2"}}, {change("template", Level::high, "1", "2")});
    branch.lose('a');
    branch.commit('c', {{"template", back ? "1" : "3"}},
                  {change("template", Level::high, "2", back ? "1" : "3")});
    EXPECT_EQ(branch.known()[0].state, back ? AdvisoryState::reverted : AdvisoryState::superseded);
    EXPECT_EQ(branch.known().size(), back ? 1U : 2U);
  }
}

TEST(Advise, AnUnreadableRevisionInheritsItsParentsState) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  Step unreadable = branch.step('c', {}, {});
  unreadable.readable = false;
  branch.apply(unreadable);
  EXPECT_EQ(branch.entry(0, "template").versions, (Shas{sha('b'), sha('c')}));
  Step behind = branch.step('d', {{"template", "3"}}, {change("template")});
  behind.parent_was_read = false;
  branch.apply(behind);
  EXPECT_TRUE(branch.known()[1].introduced_is_lower_bound);
  EXPECT_FALSE(branch.known()[0].introduced_is_lower_bound);
}

TEST(Advise, RewrittenHistoryEndsWhatItTookAwayByLastAffected) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "2"}}, {});
  Step rewritten = branch.step('d', {{"template", "1"}}, {change("template"), change("history")});
  rewritten.rewritten_away = {sha('b'), sha('c')};
  branch.apply(rewritten);
  ASSERT_EQ(branch.known().size(), 2U);
  EXPECT_EQ(branch.entry(0, "template").state, AdvisoryState::reverted);
  EXPECT_EQ(branch.entry(0, "template").last_affected, sha('c'));
  EXPECT_TRUE(branch.entry(0, "template").fixed.empty());
  const AffectedEntry &history = branch.entry(1, "history");
  EXPECT_EQ(history.introduced, sha('b'));
  EXPECT_EQ(history.last_affected, sha('c'));
  EXPECT_EQ(history.versions, (Shas{sha('b'), sha('c')}));
  // The new line is not affected.
  EXPECT_TRUE(branch.commit('e', {{"template", "1"}}, {}).empty());
}

TEST(Advise, WhatANewHistoryStillHasStaysOpen) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  Step rewritten = branch.step('c', {{"template", "2"}}, {change("history")});
  rewritten.rewritten_away = {sha('b')};
  branch.apply(rewritten);
  EXPECT_EQ(branch.entry(0, "template").state, AdvisoryState::open);
  EXPECT_EQ(branch.entry(0, "template").versions, (Shas{sha('b'), sha('c')}));
}

TEST(Advise, ABranchMovedBackMakesARecordOfItsOwn) {
  Branch branch;
  branch.start('a', {{"template", "1"}});
  branch.commit('b', {{"template", "2"}}, {change("template")});
  branch.commit('c', {{"template", "3"}}, {change("template")});
  Step back = branch.step('b', {{"template", "2"}}, {change("template"), change("history")});
  back.rewritten_away = {sha('c')};
  branch.apply(back);
  ASSERT_EQ(branch.known().size(), 3U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::superseded);
  EXPECT_EQ(branch.entry(1, "template").state, AdvisoryState::reverted);
  EXPECT_EQ(branch.entry(1, "template").last_affected, sha('c'));
}

TEST(Advise, AccessWithoutACommitTouchesAllThatWasReadAndIsRestored) {
  Branch branch;
  branch.start('a', {});
  branch.commit('b', {}, {});
  Step gated = branch.step('b', {}, {change("access", Level::high, "false", "\"auto\"")});
  gated.delta.from = sha('b');
  gated.commitless = true;
  gated.delta.date = "2026-05-30T10:00:00Z";
  branch.apply(gated);
  ASSERT_EQ(branch.known().size(), 1U);
  EXPECT_EQ(branch.entry(0, "access").introduced, sha('a'));
  EXPECT_EQ(branch.entry(0, "access").versions, (Shas{sha('a'), sha('b')}));
  EXPECT_TRUE(branch.entry(0, "access").fixed.empty());
  branch.commit('c', {}, {});
  EXPECT_EQ(branch.entry(0, "access").versions.size(), 3U);

  Step open = branch.step('c', {}, {change("access", Level::low, "\"auto\"", "false")});
  open.delta.from = sha('c');
  open.commitless = true;
  branch.apply(open);
  ASSERT_EQ(branch.known().size(), 1U);
  EXPECT_EQ(branch.known()[0].state, AdvisoryState::restored);
  EXPECT_EQ(branch.entry(0, "access").last_affected, sha('c'));
}

TEST(Advise, AccessMayChangeTwiceOnOneDay) {
  Branch branch;
  branch.start('a', {});
  const auto access = [&](Level level, const std::string &before, const std::string &after) {
    Step step = branch.step('a', {}, {change("access", level, before, after)});
    step.delta.from = sha('a');
    step.commitless = true;
    return branch.apply(step);
  };
  access(Level::high, "0", "1");
  access(Level::low, "1", "0");
  const auto again = access(Level::high, "0", "1");
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].state, AdvisoryState::open);
  EXPECT_EQ(branch.known().size(), 1U);
}

TEST(Advise, ABackfilledChangeIsDatedByItsCommit) {
  Branch branch;
  branch.start('a', {});
  Step step = branch.step('b', {}, {change("template")});
  step.delta.backfilled = true;
  const auto made = branch.apply(step);
  EXPECT_TRUE(made[0].backfilled);
  EXPECT_EQ(made[0].published, "2026-05-01T00:00:00Z");
  EXPECT_EQ(made[0].substance_at, "2026-05-01T00:00:00Z");
}

TEST(Advise, WithdrawnRecordsAreLeftAlone) {
  Branch branch;
  branch.start('a', {});
  auto made = branch.commit('b', {}, {change("template")});
  made[0].withdrawn = "2026-06-02T00:00:00Z";
  const Step step = branch.step('c', {}, {});
  EXPECT_TRUE(
      advise(made, step, [](const std::string &) { return FactsOfRevision(); }, {}).empty());
}

TEST(Advise, AtMostOneEntryOfASubjectIsOpenWhateverHappens) {
  // Every walk of five moves over three values of one subject.
  for (int walk = 0; walk < 3 * 3 * 3 * 3 * 3; ++walk) {
    Branch branch;
    branch.start('a', {{"template", "0"}});
    std::string value = "0";
    int rest = walk;
    for (char letter = 'b'; letter <= 'f'; ++letter, rest /= 3) {
      const std::string next = std::to_string(rest % 3);
      std::vector<Change> changes;
      if (next != value)
        changes.push_back(change("template", Level::high, value, next));
      branch.commit(letter, {{"template", next}}, changes);
      value = next;
      ASSERT_LE(branch.open_entries("template"), 1) << walk;
      // Whoever stands at the start is affected exactly when the value differs from it.
      ASSERT_EQ(branch.open_entries("template"), value == "0" ? 0 : 1) << walk << " at " << letter;
    }
  }
}

TEST(Stamp, TimesRiseOverAllRecordsAndSortAsTexts) {
  std::vector<Advisory> records(3);
  ASSERT_TRUE(stamp(records, "2026-06-01T00:00:00Z", ""));
  EXPECT_EQ(records[0].modified, "2026-06-01T00:00:00.000Z");
  EXPECT_EQ(records[1].modified, "2026-06-01T00:00:00.001Z");
  ASSERT_TRUE(stamp(records, "2026-06-01T00:00:00Z", "2026-06-01T00:00:59.999Z"));
  EXPECT_EQ(records[0].modified, "2026-06-01T00:01:00.000Z");
  EXPECT_LT(records[0].modified, records[1].modified);
  EXPECT_FALSE(stamp(records, "yesterday", ""));
}

} // namespace
} // namespace headwater::track
