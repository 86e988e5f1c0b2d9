#include "schemas/time.hpp"

#include <array>
#include <cctype>

#include <fmt/format.h>

namespace headwater {
namespace {

using std::chrono::days;
using std::chrono::floor;

struct Parts {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::milliseconds> clock;
  unsigned weekday;
};

Parts parts_of(TimePoint time) {
  const auto day = floor<days>(time);
  return {std::chrono::year_month_day(day),
          std::chrono::hh_mm_ss<std::chrono::milliseconds>(time - day),
          std::chrono::weekday(day).c_encoding()};
}

/// Reads exactly `count` digits at `at`; -1 when they are not there.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size())
    return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9')
      return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

} // namespace

std::string format_time(TimePoint time) {
  const Parts parts = parts_of(time);
  std::string text = fmt::format(
      "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(parts.date.year()),
      static_cast<unsigned>(parts.date.month()), static_cast<unsigned>(parts.date.day()),
      parts.clock.hours().count(), parts.clock.minutes().count(), parts.clock.seconds().count());
  if (const auto milliseconds = parts.clock.subseconds().count(); milliseconds != 0)
    text += fmt::format(".{:03}", milliseconds);
  return text + "Z";
}

std::string format_day(TimePoint time) {
  return format_time(time).substr(0, 10);
}

std::string format_http_date(TimePoint time) {
  static constexpr std::array<std::string_view, 7> weekdays{"Sun", "Mon", "Tue", "Wed",
                                                            "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> months{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Parts parts = parts_of(time);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", weekdays[parts.weekday % 7],
                     static_cast<unsigned>(parts.date.day()),
                     months[(static_cast<unsigned>(parts.date.month()) - 1) % 12],
                     static_cast<int>(parts.date.year()), parts.clock.hours().count(),
                     parts.clock.minutes().count(), parts.clock.seconds().count());
}

Result<TimePoint> parse_time(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::malformed,
                fmt::format("'{}' is not a time like 2026-08-14T14:44:41Z", text.substr(0, 60)));
  };
  const int year = digits(text, 0, 4);
  const int month = digits(text, 5, 2);
  const int day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0)
    return bad();
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') ||
      text[13] != ':' || text[16] != ':')
    return bad();
  if (hour > 23 || minute > 59 || second > 60)
    return bad();
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok())
    return bad();
  std::size_t at = 19;
  std::chrono::milliseconds fraction{0};
  if (at < text.size() && text[at] == '.') {
    int scale = 100;
    std::size_t count = 0;
    for (++at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
         ++at, ++count) {
      fraction += std::chrono::milliseconds((text[at] - '0') * scale);
      scale /= 10;
    }
    if (count == 0)
      return bad();
  }
  std::chrono::minutes offset{0};
  const std::string_view zone = text.substr(at);
  if (zone != "Z" && zone != "z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
      return bad();
    const int hours = digits(zone, 1, 2);
    const int minutes = digits(zone, 4, 2);
    if (hours < 0 || minutes < 0 || hours > 23 || minutes > 59)
      return bad();
    offset = std::chrono::minutes((zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes));
  }
  return TimePoint(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction - offset;
}

std::string age(TimePoint then, TimePoint now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  if (seconds < 5)
    return "just now";
  struct Unit {
    long long seconds;
    std::string_view name;
  };
  static constexpr std::array<Unit, 6> units{{{365LL * 86400, "year"},
                                              {30LL * 86400, "month"},
                                              {86400, "day"},
                                              {3600, "hour"},
                                              {60, "minute"},
                                              {1, "second"}}};
  for (const Unit &unit : units) {
    if (seconds >= unit.seconds) {
      const long long count = seconds / unit.seconds;
      return fmt::format("{} {}{} ago", count, unit.name, count == 1 ? "" : "s");
    }
  }
  return "just now";
}

} // namespace headwater
