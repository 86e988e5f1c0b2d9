#include "daemon/track/visibility.hpp"

#include <gtest/gtest.h>

namespace headwater::track {
namespace {

using store::Visibility;

TEST(Visibility, ClosesWithTheFirstAnswerAndOpensWithTheConfirmedOne) {
  using enum Visibility;
  struct Case {
    Visibility now;
    Seen seen;
    bool confirmed;
    Visibility next;
  };
  const Case cases[] = {
      {unseen, Seen::open, false, open},     {unseen, Seen::hidden, false, closed},
      {unseen, Seen::absent, false, unseen}, {unseen, Seen::unknown, false, unseen},
      {open, Seen::open, false, open},       {open, Seen::hidden, false, closed},
      {open, Seen::absent, false, lost},     {open, Seen::unknown, false, open},
      {closed, Seen::open, false, closed},   {closed, Seen::open, true, open},
      {closed, Seen::hidden, true, closed},  {closed, Seen::absent, true, closed},
      {closed, Seen::unknown, true, closed}, {lost, Seen::open, false, lost},
      {lost, Seen::open, true, open},        {lost, Seen::hidden, false, closed},
      {lost, Seen::absent, true, lost},
  };
  for (const Case &c : cases)
    EXPECT_EQ(decide_visibility(c.now, c.seen, c.confirmed), c.next)
        << store::to_string(c.now) << " " << static_cast<int>(c.seen) << " " << c.confirmed;
}

TEST(Visibility, WhatAnAnswerSaysOfWhoMaySeeTheRepo) {
  RepoFacts facts;
  EXPECT_EQ(seen_of(facts), Seen::open);
  facts.is_private = true;
  EXPECT_EQ(seen_of(facts), Seen::hidden);
  facts = {};
  facts.gate = Gate::manual;
  EXPECT_EQ(seen_of(facts), Seen::hidden);
  facts = {};
  facts.disabled = true;
  EXPECT_EQ(seen_of(facts), Seen::hidden);
  const std::pair<Error, Seen> errors[] = {
      {{Errc::gone, "", "401"}, Seen::absent},
      {{Errc::gone, "", "RepoNotFound 404"}, Seen::absent},
      {{Errc::gone, "", "451"}, Seen::absent},
      {{Errc::gone, "", "404"}, Seen::unknown}, // a proxy's stray page
      {{Errc::gated, "", "GatedRepo 403"}, Seen::hidden},
      {{Errc::transient, "", "503"}, Seen::unknown},
      {{Errc::bad_input, "", "401"}, Seen::unknown}, // our token is refused
  };
  for (const auto &[error, seen] : errors)
    EXPECT_EQ(seen_of(error), seen) << error.cause;
}

} // namespace
} // namespace headwater::track
