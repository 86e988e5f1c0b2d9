#pragma once

#include "schemas/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace headwater {

using TimePoint = std::chrono::sys_time<std::chrono::milliseconds>;

/// RFC 3339 UTC ending in Z, with milliseconds when they are not zero: "2026-08-14T14:44:41Z".
std::string format_time(TimePoint time);
/// The day alone: "2026-08-14".
std::string format_day(TimePoint time);
/// RFC 9110 date: "Fri, 14 Aug 2026 14:44:41 GMT".
std::string format_http_date(TimePoint time);
/// Reads RFC 3339 with Z or an offset, fraction allowed. Errors: malformed.
Result<TimePoint> parse_time(std::string_view text);
/// "3 minutes ago", "2 days ago": for people.
std::string age(TimePoint then, TimePoint now);

} // namespace headwater
