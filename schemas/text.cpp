#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace headwater {
namespace {

constexpr char32_t replacement = 0xFFFD;

/// The next code point of a text and its length in bytes; an invalid sequence is one replacement of
/// one byte.
std::pair<char32_t, std::size_t> next_code_point(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80)
    return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size())
    return {replacement, 1};
  char32_t point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U)
      return {replacement, 1};
    point = (point << 6U) | (byte(at + i) & 0x3FU);
  }
  static constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
    return {replacement, 1};
  return {point, length};
}

void append_utf8(std::string &out, char32_t point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6U));
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12U));
    put(0x80 | ((point >> 6U) & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | (point >> 18U));
    put(0x80 | ((point >> 12U) & 0x3F));
    put(0x80 | ((point >> 6U) & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

/// Controls, bidi marks and isolates, zero-width and other invisible format characters: what a
/// reader cannot see, or what moves what a reader sees.
bool is_invisible(char32_t point) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 14> ranges{{{0x00, 0x1F},
                                                                         {0x7F, 0x9F},
                                                                         {0xAD, 0xAD},
                                                                         {0x61C, 0x61C},
                                                                         {0x180E, 0x180E},
                                                                         {0x200B, 0x200F},
                                                                         {0x2028, 0x202E},
                                                                         {0x2060, 0x206F},
                                                                         {0xFE00, 0xFE0F},
                                                                         {0xFEFF, 0xFEFF},
                                                                         {0xFFF0, 0xFFFB},
                                                                         {0x1D173, 0x1D17A},
                                                                         {0xE0000, 0xE0FFF},
                                                                         {0x115F, 0x1160}}};
  return std::ranges::any_of(
      ranges, [&](const auto &range) { return point >= range.first && point <= range.second; });
}

void append_visible(std::string &out, char32_t point) {
  if (is_invisible(point))
    out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(point));
  else
    append_utf8(out, point);
}

std::size_t longest_run_of_backticks(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

/// Text with invisible characters spelled out, line ends kept when asked.
std::string visible(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, length] = next_code_point(text, at);
    at += length;
    if (keep_lines && (point == '\n' || point == '\t'))
      out.push_back(static_cast<char>(point));
    else
      append_visible(out, point);
  }
  return out;
}

} // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : visible(text, true)) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      out.push_back(c);
    }
  }
  return out;
}

std::string plain_text(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (count == limit)
      return out + "\u2026";
    const auto [point, length] = next_code_point(text, at);
    at += length;
    ++count;
    append_visible(out, point);
  }
  return out;
}

std::string markdown_fence(std::string_view text, std::string_view info) {
  const std::string fence(std::max<std::size_t>(3, longest_run_of_backticks(text) + 1), '`');
  std::string out = fence + std::string(info) + "\n" + visible(text, true);
  if (!out.ends_with('\n'))
    out.push_back('\n');
  return out + fence + "\n";
}

std::string markdown_code(std::string_view text) {
  const std::string shown = plain_text(text);
  if (shown.empty())
    return "` `";
  const std::string mark(longest_run_of_backticks(shown) + 1, '`');
  const bool pad =
      shown.front() == '`' || shown.back() == '`' || (shown.front() == ' ' && shown.back() == ' ');
  return mark + (pad ? " " : "") + shown + (pad ? " " : "") + mark;
}

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// True for a character that Markdown could read as markup where it stands. Brackets, tags,
/// emphasis, code and entities anywhere; an underscore only at the edge of a word; headings, lists
/// and quotes only at the beginning; addresses that some renderers make links of.
bool is_markup(std::string_view text, std::size_t at) {
  const char c = text[at];
  const char before = at > 0 ? text[at - 1] : ' ';
  const char after = at + 1 < text.size() ? text[at + 1] : ' ';
  switch (c) {
  case '\\':
  case '`':
  case '*':
  case '[':
  case ']':
  case '<':
  case '~':
  case '|':
    return true;
  case '_':
    return !is_word(before) || !is_word(after);
  case '&':
    return is_word(after) || after == '#';
  case '#':
  case '>':
  case '+':
  case '-':
  case '=':
    return at == 0;
  case ')':
    return at > 0 && text.find_first_not_of("0123456789") == at;
  case '.':
    return (at > 0 && text.find_first_not_of("0123456789") == at) ||
           (at >= 3 && (text.substr(at - 3, 3) == "www" || text.substr(at - 3, 3) == "WWW"));
  case ':':
    return text.substr(at + 1, 2) == "//";
  default:
    return false;
  }
}

/// A sentence of ours may hold several pieces of upstream text, each cut already.
constexpr std::size_t longest_markdown_text = 1000;

} // namespace

std::string markdown_text(std::string_view text) {
  const std::string plain = plain_text(text, longest_markdown_text);
  std::string out;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (is_markup(plain, at))
      out.push_back('\\');
    out.push_back(plain[at]);
  }
  return out;
}

std::string human_bytes(double bytes) {
  static constexpr std::array<std::string_view, 5> units{"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 999.5 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  const double size = std::abs(bytes);
  const int decimals = unit == 0 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, decimals, units[unit]);
}

std::string with_thousands(long long number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

} // namespace headwater
