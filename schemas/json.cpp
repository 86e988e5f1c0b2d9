#include "schemas/json.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

/// A scan before the parse: it bounds depth and count, and finds the literals that only Python
/// writes.
struct Scan {
  std::vector<std::pair<std::size_t, std::size_t>> python_literals; // offset, length
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

Result<Scan> scan(std::string_view text, const JsonLimits &limits) {
  Scan result;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\')
          ++i;
      }
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
    case 'N':
      if (text.substr(i, 3) == "NaN") {
        result.python_literals.emplace_back(i, 3);
        i += 2;
      }
      break;
    case 'I':
      if (text.substr(i, 8) == "Infinity") {
        const bool negative = i > 0 && text[i - 1] == '-';
        result.python_literals.emplace_back(negative ? i - 1 : i, negative ? 9 : 8);
        i += 7;
      }
      break;
    default:
      break;
    }
    if (result.values > limits.max_values)
      return fail(Errc::too_large, fmt::format("more than {} values", limits.max_values));
  }
  return result;
}

std::string with_python_literals_spelled(std::string_view text, const Scan &found) {
  std::string out;
  out.reserve(text.size() + found.python_literals.size() * 24);
  std::size_t from = 0;
  for (const auto &[offset, length] : found.python_literals) {
    out.append(text, from, offset - from);
    out += R"({"__float__":")";
    out.append(text, offset, length);
    out += R"("})";
    from = offset + length;
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
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  if (text.starts_with("version https://git-lfs.github.com/spec/"))
    return fail(Errc::malformed, "a git-lfs pointer stands where JSON is expected");
  const Result<Scan> found = scan(text, limits);
  if (!found)
    return std::unexpected(found.error());
  std::string spelled;
  if (!found->python_literals.empty()) {
    spelled = with_python_literals_spelled(text, *found);
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
