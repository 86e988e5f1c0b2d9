#include "daemon/service/toml_text.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headwater::service {
namespace {

bool ends_in_an_assertion(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const TomlAssertion &) {
    return true;
  } catch (const toml::parse_error &) {
    return false;
  }
  return false;
}

// The line that the library cannot say: the first with which the text, cut after it, fails so too.
std::size_t line_of_assertion(std::string_view text) {
  std::vector<std::size_t> line_ends;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    line_ends.push_back(at + 1);
  std::size_t low = 0;
  std::size_t high = line_ends.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (ends_in_an_assertion(text.substr(0, line_ends[middle])))
      high = middle;
    else
      low = middle + 1;
  }
  return low + 1;
}

// Where a string that begins at `at` ends, as TOML has it: three quotes begin one of several lines
// that ends with three to five; any other ends with its line.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool several_lines = text.substr(at, 3) == std::string(3, quote);
  at += several_lines ? 3 : 1;
  while (at < text.size()) {
    if (quote == '"' && text[at] == '\\') {
      at += 2;
    } else if (several_lines && text.substr(at, 3) == std::string(3, quote)) {
      const std::size_t after = text.find_first_not_of(quote, at);
      return std::min({after, at + 5, text.size()});
    } else if (!several_lines && (text[at] == quote || text[at] == '\n')) {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

// The line of the first byte outside ASCII that is in no string and no comment. TOML has none
// there, and what the library does with a letter such as U+018F is undefined in some releases.
std::optional<std::size_t> line_outside_ascii(std::string_view text) {
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < text.size()) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80)
      return static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1;
    if (c == '#')
      at = std::min(text.find('\n', at), text.size());
    else
      at = c == '"' || c == '\'' ? end_of_string(text, at) : at + 1;
  }
  return std::nullopt;
}

} // namespace

void end_in_toml_assertion() {
  throw TomlAssertion{};
}

Result<toml::table> parse_toml(std::string_view text, std::string_view source) {
  if (const std::optional<std::size_t> line = line_outside_ascii(text))
    return fail(Errc::bad_input,
                fmt::format("{}:{}: not TOML: outside of quotes and comments there is nothing but "
                            "ASCII; put quotes around this text",
                            source, *line));
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error &error) {
    return fail(Errc::bad_input, fmt::format("{}:{}: not TOML: {}", source,
                                             error.source().begin.line, error.description()));
  } catch (const TomlAssertion &) {
    return fail(Errc::bad_input,
                fmt::format("{}:{}: not TOML: a [table] name begins with a letter, a digit, '_', "
                            "'-' or a quote",
                            source, line_of_assertion(text)));
  }
}

} // namespace headwater::service
