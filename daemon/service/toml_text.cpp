#include "daemon/service/toml_text.hpp"

#include <cstddef>
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

} // namespace

void end_in_toml_assertion() {
  throw TomlAssertion{};
}

Result<toml::table> parse_toml(std::string_view text, std::string_view source) {
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
