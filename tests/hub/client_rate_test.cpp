#include "daemon/hub/rate_budget.hpp"

#include <string>

#include <gtest/gtest.h>

namespace headwater::hub {
namespace {

using namespace std::chrono_literals;

const SteadyTime start = SteadyTime{} + 1000h;

net::Headers limits(const std::string &limit, const std::string &policy = {}) {
  net::Headers headers = {{"ratelimit", limit}};
  if (!policy.empty())
    headers.emplace_back("RateLimit-Policy", policy);
  return headers;
}

TEST(RateLimit, ReadsTheFieldWithAndWithoutBlanks) {
  for (const std::string field : {R"("api";r=499;t=295)", R"( "api" ; r = 499 ; t = 295 )"}) {
    const std::optional<RateLimit> limit = parse_rate_limit(field);
    ASSERT_TRUE(limit) << field;
    EXPECT_EQ(limit->bucket, "api");
    EXPECT_EQ(limit->left, 499U);
    EXPECT_EQ(limit->reset, 295s);
  }
  for (const std::string field :
       {"", "api;r=1;t=2", R"("api")", R"("api";r=x;t=2)", R"("api";t=2)", R"("api;r=1;t=2)"})
    EXPECT_FALSE(parse_rate_limit(field)) << field;
}

TEST(RateBudget, HoldsAUsedUpBucketUntilItsReset) {
  RateBudget budget(0);
  EXPECT_EQ(budget.reserve("api", start), 0ms);
  budget.observe(limits(R"("api";r=0;t=10)"), start);
  EXPECT_EQ(budget.reserve("api", start), 11s);
  EXPECT_EQ(budget.reserve("api", start + 5s), 6s);
  EXPECT_EQ(budget.reserve("resolvers", start), 0ms);
  EXPECT_EQ(budget.reserve("api", start + 11s), 0ms);
}

TEST(RateBudget, SpreadsWhatIsLeftOverTheWindow) {
  RateBudget budget(0);
  budget.observe(limits(R"("api";r=400;t=100)", R"("fixed window";"api";q=500;w=300)"), start);
  EXPECT_EQ(budget.reserve("api", start), 0ms);
  EXPECT_EQ(budget.reserve("api", start), 0ms);
  budget.observe(limits(R"("api";r=10;t=100)", R"("fixed window";"api";q=500;w=300)"), start);
  EXPECT_EQ(budget.reserve("api", start), 0ms);
  EXPECT_EQ(budget.reserve("api", start), 10s);
  EXPECT_EQ(budget.reserve("api", start + 10s), 10s);
}

TEST(RateBudget, KeepsOurOwnBound) {
  RateBudget budget(2);
  EXPECT_EQ(budget.reserve("api", start), 0ms);
  EXPECT_EQ(budget.reserve("resolvers", start), 500ms);
  EXPECT_EQ(budget.reserve("api", start), 1000ms);
  EXPECT_EQ(budget.reserve("api", start + 5s), 0ms);
}

TEST(RateBudget, PauseAfter429) {
  EXPECT_EQ(RateBudget::pause_after_429(limits(R"("api";r=0;t=30)")), 31s);
  net::Headers other_quota = limits(R"("api";r=7;t=30)");
  EXPECT_EQ(RateBudget::pause_after_429(other_quota), std::nullopt);
  other_quota.emplace_back("Retry-After", "12");
  EXPECT_EQ(RateBudget::pause_after_429(other_quota), 12s);
  EXPECT_EQ(RateBudget::pause_after_429({{"Retry-After", "Fri, 14 Aug 2026 14:44:41 GMT"}}),
            std::nullopt);
  EXPECT_EQ(RateBudget::pause_after_429({{"Retry-After", "99999999"}}), 3600s);
}

TEST(RetryBudget, IsUsedUpByFailuresAndRefilledBySuccess) {
  RetryBudget budget(2);
  EXPECT_TRUE(budget.take());
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  for (int i = 0; i < 11; ++i)
    budget.succeeded();
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
}

TEST(Backoff, DoublesToEightTimesWithinItsJitter) {
  EXPECT_EQ(backoff(0, 1000ms, 0.0), 500ms);
  EXPECT_EQ(backoff(0, 1000ms, 0.999), 999ms);
  EXPECT_EQ(backoff(2, 1000ms, 0.0), 2000ms);
  EXPECT_EQ(backoff(3, 1000ms, 0.0), 4000ms);
  EXPECT_EQ(backoff(50, 1000ms, 0.0), 4000ms);
}

} // namespace
} // namespace headwater::hub
