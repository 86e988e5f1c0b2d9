#include "schemas/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

/// A part of the text that only Python reads, and JSON that stands for it.
struct Respelt {
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string text;
};

/// A scan before the parse: it bounds depth and count, and finds what only Python reads.
struct Scan {
  std::vector<Respelt> respelt;
  std::size_t depth = 0;
  std::size_t values = 0;
};

std::string place(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

/// The unit of UTF-16 that an escape "\uXXXX" at `at` names.
std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u')
    return std::nullopt;
  unsigned unit = 0;
  const char *end = text.data() + at + 6;
  const auto read = std::from_chars(text.data() + at + 2, end, unit, 16);
  return read.ec == std::errc() && read.ptr == end ? std::optional(unit) : std::nullopt;
}

std::string float_object(std::string_view name) {
  return fmt::format(R"({{"__float__":"{}"}})", name);
}

/// Goes over the string that opens at `at`; gives the place of its closing quote. Half of a
/// surrogate pair, which Python keeps and UTF-8 has no form of, is kept as its escape.
std::size_t scan_string(std::string_view text, std::size_t at, Scan &result) {
  std::size_t i = at + 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] != '\\')
      continue;
    const std::optional<unsigned> unit = escaped_unit(text, i);
    if (unit && *unit >= 0xD800 && *unit < 0xE000) {
      const std::optional<unsigned> next = escaped_unit(text, i + 6);
      if (*unit < 0xDC00 && next && *next >= 0xDC00 && *next < 0xE000)
        i += 6;
      else
        result.respelt.push_back({i, 1, "\\\\"});
      i += 5;
    } else {
      ++i;
    }
  }
  return i;
}

/// Goes over the number that begins at `at`; gives the place of its last character. One beyond a
/// double is infinite to Python.
std::size_t scan_number(std::string_view text, std::size_t at, Scan &result) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
  double value = 0;
  const auto read = std::from_chars(text.data() + at, text.data() + end, value);
  if (read.ec == std::errc::result_out_of_range && read.ptr == text.data() + end) {
    // Too small a number is out of range as well, and zero.
    const std::string number(text.substr(at, end - at));
    if (std::isinf(std::strtod(number.c_str(), nullptr)))
      result.respelt.push_back(
          {at, end - at, float_object(text[at] == '-' ? "-Infinity" : "Infinity")});
  }
  return end - 1;
}

Result<Scan> scan(std::string_view text, const JsonLimits &limits) {
  Scan result;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      i = scan_string(text, i, result);
      break;
    case '[':
    case '{':
      ++result.values;
      if (++depth > limits.max_depth)
        return fail(Errc::too_large,
                    fmt::format("nested deeper than {} at {}", limits.max_depth, place(text, i)));
      break;
    case ']':
    case '}':
      if (depth > 0)
        --depth;
      break;
    case ',':
      ++result.values;
      break;
    case '\0':
      return fail(Errc::malformed, fmt::format("not JSON: {} (a NUL byte)", place(text, i)));
    case 'N':
      if (text.substr(i, 3) == "NaN") {
        result.respelt.push_back({i, 3, float_object("NaN")});
        i += 2;
      }
      break;
    case 'I':
      if (text.substr(i, 8) == "Infinity") {
        const bool negative = i > 0 && text[i - 1] == '-';
        result.respelt.push_back({negative ? i - 1 : i, negative ? 9U : 8U,
                                  float_object(negative ? "-Infinity" : "Infinity")});
        i += 7;
      }
      break;
    case '-':
      if (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9')
        i = scan_number(text, i, result);
      break;
    default:
      if (text[i] >= '0' && text[i] <= '9')
        i = scan_number(text, i, result);
      break;
    }
    if (result.values > limits.max_values)
      return fail(Errc::too_large, fmt::format("more than {} values", limits.max_values));
  }
  return result;
}

std::string with_respelt(std::string_view text, const std::vector<Respelt> &parts) {
  std::string out;
  out.reserve(text.size() + parts.size() * 24);
  std::size_t from = 0;
  for (const Respelt &part : parts) {
    out.append(text, from, part.offset - from);
    out += part.text;
    from = part.offset + part.length;
  }
  out.append(text, from);
  return out;
}

/// The library's sentence without its own prefix: "syntax error while parsing value - ...".
std::string reason(const char *what) {
  std::string_view text = what;
  if (const auto colon = text.find(": "); colon != std::string_view::npos)
    text.remove_prefix(colon + 2);
  return std::string(text.substr(0, 200));
}

template <class J> Result<J> parse(std::string_view text, const JsonLimits &limits) {
  if (text.size() > limits.max_bytes)
    return fail(Errc::too_large, fmt::format("{} bytes of JSON, over the limit of {}", text.size(),
                                             limits.max_bytes));
  if (text.starts_with(byte_order_mark))
    return fail(Errc::malformed,
                "not JSON: line 1, column 1 (a byte-order mark, which Python's json refuses)");
  if (text.starts_with("version https://git-lfs.github.com/spec/"))
    return fail(Errc::malformed, "a git-lfs pointer stands where JSON is expected");
  const Result<Scan> found = scan(text, limits);
  if (!found)
    return std::unexpected(found.error());
  std::string spelled;
  if (!found->respelt.empty()) {
    spelled = with_respelt(text, found->respelt);
    text = spelled;
  }
  try {
    return J::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error &error) {
    return fail(Errc::malformed,
                fmt::format("not JSON: {} ({})", place(text, error.byte > 0 ? error.byte - 1 : 0),
                            reason(error.what())));
  } catch (const nlohmann::json::exception &error) {
    return fail(Errc::malformed, fmt::format("not JSON: {}", reason(error.what())));
  }
}

} // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits &limits) {
  return parse<Json>(text, limits);
}

Result<OrderedJson> parse_ordered_json(std::string_view text, const JsonLimits &limits) {
  return parse<OrderedJson>(text, limits);
}

} // namespace headwater
