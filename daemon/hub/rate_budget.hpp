#pragma once

#include "daemon/net/message.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headwater::hub {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What a RateLimit field says: `"api";r=499;t=295`.
struct RateLimit {
  std::string bucket;
  std::uint64_t left = 0;
  std::chrono::seconds reset{};
};
/// Nothing for a field of another form.
std::optional<RateLimit> parse_rate_limit(std::string_view field);

/// Keeps requests within what the hub publishes and within our own bound. Knows no clock: each call
/// is given `now`.
class RateBudget {
public:
  /// @param requests_per_second our own bound; 0 = none.
  explicit RateBudget(double requests_per_second) : per_second_(requests_per_second) {}

  /// How long the next request that counts in `bucket` ("api", "resolvers") has to wait; its turn
  /// is taken with this.
  std::chrono::milliseconds reserve(std::string_view bucket, SteadyTime now);
  /// Learns from the fields of any answer.
  void observe(const net::Headers &headers, SteadyTime now);
  /// After a 429: one second beyond the reset when the bucket is used up, else Retry-After, else
  /// nothing is known.
  static std::optional<std::chrono::seconds> pause_after_429(const net::Headers &headers);

private:
  struct Bucket {
    SteadyTime next{}; ///< before it no request goes out
    SteadyTime reset{};
    std::chrono::milliseconds pace{}; ///< between requests while little is left
  };
  double per_second_;
  SteadyTime next_{};
  std::map<std::string, Bucket, std::less<>> buckets_;
};

/// Bounds retries during an outage: each takes a token, each success gives a tenth of one back.
class RetryBudget {
public:
  explicit RetryBudget(double capacity = 50) : capacity_(capacity), tokens_(capacity) {}
  bool take();
  void succeeded();

private:
  double capacity_;
  double tokens_;
};

/// The pause before retry number `attempt` (0 is the first): `base` doubled each time up to eight
/// of it, scaled by `random` in [0, 1) to between a half and the whole.
std::chrono::milliseconds backoff(int attempt, std::chrono::milliseconds base, double random);

} // namespace headwater::hub
