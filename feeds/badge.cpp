#include "feeds/badge.hpp"

#include "feeds/verdana_widths.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> palette{
    {{"brightgreen", "#4b0"},
     {"green", "#67ac09"},
     {"yellow", "#d8b800"},
     {"yellowgreen", "#95991a"},
     {"orange", "#ea7233"},
     {"red", "#dd4343"},
     {"blue", "#007ec6"},
     {"grey", "#555"},
     {"lightgrey", "#939393"},
     {"success", "#4b0"},
     {"important", "#ea7233"},
     {"critical", "#dd4343"},
     {"informational", "#007ec6"},
     {"inactive", "#939393"}}};

constexpr std::string_view label_color = "#555";

std::string hex_of(std::string_view color) {
  const auto named =
      std::ranges::find(palette, color, &std::pair<std::string_view, std::string_view>::first);
  return std::string(named != palette.end() ? named->second : color);
}

using Widths = std::array<double, 95>;

/// The width that tables without a glyph use.
double fallback_width(const Widths &widths) {
  return widths['m' - 32];
}

/// Width of a code point in pixels. Controls count nothing; beyond ASCII the common marks of our
/// messages have their own width in the 11 px table, everything else counts as an "m".
double width_of(char32_t point, const Widths &widths) {
  if (point < 32 || point == 127)
    return 0;
  if (point < 127)
    return widths[point - 32];
  if (&widths == &verdana_11px) {
    if (point == 0x2013)
      return 6.99;
    if (point == 0xB7)
      return 4;
    if (point == 0xD7)
      return 9;
    if ((point >= 0x2190 && point <= 0x21FF) || point == 0x2014 ||
        (point >= 0x3000 && point <= 0x9FFF))
      return 11;
  }
  return fallback_width(widths);
}

std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length && at + i < text.size(); ++i)
      point = (point << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    points.push_back(point);
    at += length;
  }
  return points;
}

double text_width(std::string_view text, const Widths &widths) {
  double width = 0;
  for (const char32_t point : code_points(text))
    width += width_of(point, widths);
  return width;
}

/// UTF-16 units, as the letter spacing of the large style counts them.
std::size_t utf16_length(std::string_view text) {
  std::size_t length = 0;
  for (const char32_t point : code_points(text))
    length += point > 0xFFFF ? 2 : 1;
  return length;
}

/// Whole pixels, always odd, so that the text's middle falls on a pixel.
int odd_width(std::string_view text) {
  // A sum of hundredths may end a hair below the whole number that it is.
  const int width = static_cast<int>(std::floor(text_width(text, verdana_11px) + 1e-9));
  return width % 2 == 0 ? width + 1 : width;
}

std::string number(double value) {
  std::string text = fmt::format("{:.4f}", value);
  while (text.ends_with('0'))
    text.pop_back();
  if (text.ends_with('.'))
    text.pop_back();
  return text;
}

/// Brightness of a hex colour, 0 to 1 in hundredths (299 R + 587 G + 114 B).
double brightness(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (std::tolower(c) - 'a' + 10); };
  if (!hex.starts_with('#') || (hex.size() != 4 && hex.size() != 7))
    return 0;
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i)
    rgb[i] = hex.size() == 4 ? digit(hex[i + 1]) * 17
                             : digit(hex[2 * i + 1]) * 16 + digit(hex[2 * i + 2]);
  return std::round((rgb[0] * 299 + rgb[1] * 587 + rgb[2] * 114) / 255000.0 * 100) / 100;
}

struct Ink {
  std::string_view text;
  std::string_view shadow;
};

Ink ink_on(std::string_view hex) {
  return brightness(hex) > 0.69 ? Ink{"#333", "#ccc"} : Ink{"#fff", "#010101"};
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t'))
    text.remove_suffix(1);
  return std::string(text);
}

/// The measures of one drawn badge.
struct Geometry {
  double left = 0;
  double right = 0;
  double height = 20;
  double label_x = 0;
  double message_x = 0;
  double label_length = 0;
  double message_length = 0;
  double text_y = 140;
};

Geometry measure(const std::string &label, const std::string &message, BadgeStyle style) {
  Geometry g;
  if (style == BadgeStyle::for_the_badge) {
    const double label_text = std::floor(text_width(label, verdana_10px) + 1e-9) +
                              1.25 * static_cast<double>(utf16_length(label));
    const double message_text = std::floor(text_width(message, verdana_10px_bold) + 1e-9) +
                                1.25 * static_cast<double>(utf16_length(message));
    g.height = 28;
    g.left = label.empty() ? 0 : label_text + 24;
    g.right = message_text + 24;
    g.label_x = 10 * (12 + label_text / 2);
    g.message_x = 10 * (g.left + 12 + message_text / 2);
    g.label_length = 10 * label_text;
    g.message_length = 10 * message_text;
    g.text_y = 175;
    return g;
  }
  const int label_text = label.empty() ? 0 : odd_width(label);
  const int message_text = odd_width(message);
  g.height = style == BadgeStyle::plastic ? 18 : 20;
  g.text_y = style == BadgeStyle::plastic ? 130 : 140;
  g.left = label.empty() ? 0 : label_text + 10;
  g.right = message_text + 10;
  g.label_x = 10 * (1 + label_text / 2.0 + 5);
  g.message_x =
      label.empty() ? 10 * (message_text / 2.0 + 5) : 10 * (g.left - 1 + message_text / 2.0 + 5);
  g.label_length = 10.0 * label_text;
  g.message_length = 10.0 * message_text;
  return g;
}

std::string text_element(double x, double y, double length, std::string_view ink,
                         std::string_view extra, std::string_view content) {
  return fmt::format(
      R"svg(<text x="{}" y="{}"{} fill="{}" transform="scale(.1)" textLength="{}">{}</text>)svg",
      number(x), number(y), extra, ink, number(length), content);
}

std::string drawn_text(double x, const Geometry &g, double length, std::string_view background,
                       BadgeStyle style, std::string_view extra, std::string_view content) {
  if (content.empty())
    return {};
  const Ink ink = ink_on(background);
  std::string out;
  if (style == BadgeStyle::flat || style == BadgeStyle::plastic) {
    out += R"svg(<g aria-hidden="true">)svg";
    out += text_element(x, g.text_y + 10, length, ink.shadow,
                        R"svg( fill-opacity=".8" filter="url(#blur)")svg", content);
    out +=
        text_element(x, g.text_y + 10, length, ink.shadow, R"svg( fill-opacity=".3")svg", content);
    out += "</g>";
  }
  return out + text_element(x, g.text_y, length, ink.text, extra, content);
}

std::string gradient(BadgeStyle style) {
  if (style == BadgeStyle::flat)
    return R"svg(<linearGradient id="s" x2="0" y2="100%"><stop offset="0" stop-color="#bbb" stop-opacity=".1"/><stop offset="1" stop-opacity=".1"/></linearGradient>)svg";
  if (style == BadgeStyle::plastic)
    return R"svg(<linearGradient id="s" x2="0" y2="100%"><stop offset="0" stop-color="#fff" stop-opacity=".7"/><stop offset=".1" stop-color="#aaa" stop-opacity=".1"/><stop offset=".9" stop-color="#000" stop-opacity=".3"/><stop offset="1" stop-color="#000" stop-opacity=".5"/></linearGradient>)svg";
  return {};
}

} // namespace

std::optional<BadgeStyle> badge_style_from(std::string_view word) {
  if (word == "flat")
    return BadgeStyle::flat;
  if (word == "flat-square")
    return BadgeStyle::flat_square;
  if (word == "plastic")
    return BadgeStyle::plastic;
  if (word == "for-the-badge")
    return BadgeStyle::for_the_badge;
  return std::nullopt;
}

std::string badge_json(const Badge &badge) {
  OrderedJson json;
  json["schemaVersion"] = 1;
  json["label"] = badge.label;
  json["message"] = badge.message;
  json["color"] = badge.color;
  if (badge.is_error)
    json["isError"] = true;
  json["cacheSeconds"] = 300;
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string badge_svg(const Badge &badge, BadgeStyle style) {
  std::string label = trimmed(badge.label);
  std::string message = trimmed(badge.message);
  const std::string title = escape_html(label.empty() ? message : label + ": " + message);
  if (style == BadgeStyle::for_the_badge) {
    std::ranges::transform(label, label.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::ranges::transform(message, message.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  const Geometry g = measure(label, message, style);
  const std::string color = hex_of(badge.color);
  const double width = g.left + g.right;
  const bool smooth = style == BadgeStyle::flat || style == BadgeStyle::plastic;

  std::string out = fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="{2}"><title>{2}</title>)svg",
      number(width), number(g.height), title);
  out += gradient(style);
  if (smooth) {
    out += R"svg(<filter id="blur"><feGaussianBlur stdDeviation="0.6"/></filter>)svg";
    out += fmt::format(
        R"svg(<clipPath id="r"><rect width="{}" height="{}" rx="{}" fill="#fff"/></clipPath>)svg",
        number(width), number(g.height), style == BadgeStyle::flat ? 3 : 4);
  }
  out += smooth ? R"svg(<g clip-path="url(#r)">)svg" : R"svg(<g shape-rendering="crispEdges">)svg";
  // Three styles keep an empty left half; the large one leaves it out.
  if (!label.empty() || style != BadgeStyle::for_the_badge)
    out += fmt::format(R"svg(<rect width="{}" height="{}" fill="{}"/>)svg", number(g.left),
                       number(g.height), label.empty() ? color : std::string(label_color));
  out += fmt::format(R"svg(<rect x="{}" width="{}" height="{}" fill="{}"/>)svg", number(g.left),
                     number(g.right), number(g.height), color);
  if (smooth)
    out += fmt::format(R"svg(<rect width="{}" height="{}" fill="url(#s)"/>)svg", number(width),
                       number(g.height));
  out += fmt::format(
      R"svg(</g><g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" text-rendering="geometricPrecision" font-size="{}">)svg",
      style == BadgeStyle::for_the_badge ? 100 : 110);
  out += drawn_text(g.label_x, g, g.label_length, label_color, style, "", escape_html(label));
  out += drawn_text(g.message_x, g, g.message_length, color, style,
                    style == BadgeStyle::for_the_badge ? R"svg( font-weight="bold")svg" : "",
                    escape_html(message));
  return out + "</g></svg>\n";
}

std::string_view level_color(Level level) {
  switch (level) {
  case Level::critical:
    return "red";
  case Level::high:
    return "orange";
  case Level::medium:
    return "yellow";
  case Level::low:
    return "brightgreen";
  }
  return "lightgrey";
}

Badge repo_badge(const BadgeFacts &facts) {
  if (facts.repo == nullptr)
    return {.message = "unknown repo", .color = "lightgrey"};
  const store::Repo &repo = *facts.repo;
  switch (repo.state) {
  case store::RepoState::gone:
    return {.message = "gone", .color = "red"};
  case store::RepoState::disabled:
    return {.message = "disabled", .color = "red"};
  case store::RepoState::gated:
    return {.message = "gated", .color = "orange"};
  case store::RepoState::not_found:
    return {.message = "not found", .color = "lightgrey"};
  case store::RepoState::pending:
  case store::RepoState::waiting:
    if (repo.head.empty())
      return {.message = "not read yet", .color = "lightgrey"};
    break;
  case store::RepoState::unreadable:
    if (repo.head.empty())
      return {.message = "unreadable", .color = "lightgrey"};
    break;
  case store::RepoState::ok:
    break;
  }
  if (repo.open_advisories == 0)
    return {.message = "unchanged", .color = "brightgreen"};
  std::string message = fmt::format("{} change", headwater::to_string(repo.open_level));
  if (repo.open_advisories > 1)
    message =
        fmt::format("{} changes, {}", repo.open_advisories, headwater::to_string(repo.open_level));
  if (const Result<TimePoint> since = parse_time(facts.since); since)
    message += " " + age(*since, facts.now);
  return {.message = message, .color = std::string(level_color(repo.open_level))};
}

Badge pin_badge(const PinFacts &facts) {
  if (!facts.known_repo)
    return {.label = "pin", .message = "unknown repo", .color = "lightgrey"};
  if (!facts.known_pin)
    return {.label = "pin", .message = "unknown pin", .color = "lightgrey"};
  if (!facts.on_branch)
    return {.label = "pin", .message = "history rewritten", .color = "red"};
  if (facts.behind == 0)
    return {.label = "pin", .message = "current", .color = "brightgreen"};
  const std::string_view matter = facts.level ? headwater::to_string(*facts.level) : "cosmetic";
  return {.label = "pin",
          .message = fmt::format("{} behind, {}", facts.behind, matter),
          .color = std::string(facts.level ? level_color(*facts.level) : "brightgreen")};
}

} // namespace headwater::feeds
