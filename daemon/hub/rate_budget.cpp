#include "daemon/hub/rate_budget.hpp"

#include <algorithm>
#include <charconv>

namespace headwater::hub {
namespace {

using std::chrono::milliseconds;

/// Longest time that a field of ours to believe can make us wait: the published windows are of five
/// minutes.
constexpr std::uint64_t max_seconds = 3600;
/// Below this share of the quota requests are spread over what is left of the window.
constexpr std::uint64_t paced_share = 10;

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    std::string_view before = text.substr(0, at);
    while (before.ends_with(' '))
      before.remove_suffix(1);
    if (!before.ends_with(';'))
      continue;
    std::string_view rest = text.substr(at + key.size());
    while (rest.starts_with(' '))
      rest.remove_prefix(1);
    if (!rest.starts_with('='))
      continue;
    rest.remove_prefix(1);
    while (rest.starts_with(' '))
      rest.remove_prefix(1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc{})
      return value;
  }
  return std::nullopt;
}

} // namespace

std::optional<RateLimit> parse_rate_limit(std::string_view field) {
  const std::size_t open = field.find('"');
  const std::size_t close = open == std::string_view::npos ? open : field.find('"', open + 1);
  if (close == std::string_view::npos)
    return std::nullopt;
  const std::optional<std::uint64_t> left = number_after(field.substr(close + 1), "r");
  const std::optional<std::uint64_t> reset = number_after(field.substr(close + 1), "t");
  if (!left || !reset)
    return std::nullopt;
  RateLimit limit;
  limit.bucket = field.substr(open + 1, close - open - 1);
  limit.left = *left;
  limit.reset = std::chrono::seconds(std::min(*reset, max_seconds));
  return limit;
}

milliseconds RateBudget::reserve(std::string_view name, SteadyTime now) {
  SteadyTime start = now;
  if (per_second_ > 0) {
    start = std::max(start, next_);
    next_ = start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::chrono::duration<double>(1 / per_second_));
  }
  if (const auto found = buckets_.find(name); found != buckets_.end()) {
    Bucket &bucket = found->second;
    if (bucket.reset <= now) {
      buckets_.erase(found);
    } else {
      start = std::max(start, bucket.next);
      bucket.next = start + bucket.pace;
    }
  }
  return std::chrono::ceil<milliseconds>(start - now);
}

void RateBudget::observe(const net::Headers &headers, SteadyTime now) {
  const std::string *field = net::find_header(headers, "RateLimit");
  const std::optional<RateLimit> limit = field != nullptr ? parse_rate_limit(*field) : std::nullopt;
  if (!limit || limit->bucket.size() > 40 ||
      (buckets_.size() >= 16 && !buckets_.contains(limit->bucket)))
    return;
  Bucket &bucket = buckets_[limit->bucket];
  bucket.reset = now + limit->reset + std::chrono::seconds(1);
  bucket.pace = {};
  if (limit->left == 0) {
    bucket.next = bucket.reset;
    return;
  }
  const std::string *policy = net::find_header(headers, "RateLimit-Policy");
  const std::optional<std::uint64_t> quota =
      policy != nullptr ? number_after(*policy, "q") : std::nullopt;
  if (quota && limit->left < *quota / paced_share)
    bucket.pace = std::chrono::duration_cast<milliseconds>(limit->reset) /
                  static_cast<std::int64_t>(limit->left);
}

std::optional<std::chrono::seconds> RateBudget::pause_after_429(const net::Headers &headers) {
  const std::string *field = net::find_header(headers, "RateLimit");
  const std::optional<RateLimit> limit = field != nullptr ? parse_rate_limit(*field) : std::nullopt;
  if (limit && limit->left == 0)
    return limit->reset + std::chrono::seconds(1);
  // With some left it is another quota that is used up, which only Retry-After tells of.
  if (const std::string *after = net::find_header(headers, "Retry-After")) {
    std::uint64_t seconds = 0;
    const auto [end, error] =
        std::from_chars(after->data(), after->data() + after->size(), seconds);
    if (error == std::errc{})
      return std::chrono::seconds(std::min(seconds, max_seconds));
  }
  return std::nullopt;
}

bool RetryBudget::take() {
  if (tokens_ < 1)
    return false;
  tokens_ -= 1;
  return true;
}

void RetryBudget::succeeded() {
  tokens_ = std::min(capacity_, tokens_ + 0.1);
}

milliseconds backoff(int attempt, milliseconds base, double random) {
  const double whole =
      static_cast<double>(base.count()) * static_cast<double>(1 << std::clamp(attempt, 0, 3));
  return milliseconds(static_cast<std::int64_t>(whole * (0.5 + random / 2)));
}

} // namespace headwater::hub
