#include "daemon/service/toml_text.hpp"

#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
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

// The line of the first bytes that are not UTF-8; a line ends where no code point can go on.
std::size_t line_not_utf8(std::string_view text) {
  std::size_t line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!jinja::valid_utf8(text.substr(0, end)))
      break;
    text.remove_prefix(end);
    ++line;
  }
  return line;
}

struct QuotedString {
  std::string_view body;
  std::size_t end;    // behind the closing quotes, or where the text or the line of one line ends
  std::size_t quotes; // one or three on each side
  bool closed;
};

// The string that begins at `at`, as TOML has it: three quotes begin one of several lines that ends
// with three to five; any other ends with its line.
QuotedString string_at(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::size_t quotes = text.substr(at, 3) == std::string(3, quote) ? 3 : 1;
  const std::size_t begin = at + quotes;
  at = begin;
  while (at < text.size()) {
    if (quote == '"' && text[at] == '\\') {
      at = std::min(at + 2, text.size());
    } else if (text.substr(at, quotes) == std::string(quotes, quote)) {
      if (quotes == 3)
        at = std::min({text.find_first_not_of(quote, at), at + 5, text.size()}) - 3;
      return {text.substr(begin, at - begin), at + quotes, quotes, true};
    } else if (quotes == 1 && text[at] == '\n') {
      break;
    } else {
      ++at;
    }
  }
  return {text.substr(begin, at - begin), at, quotes, false};
}

bool outside_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

// The string as one in double quotes that holds ASCII alone, or nothing where a backslash stands
// before what no escape begins with, which is not TOML.
bool append_in_ascii(std::string &out, const QuotedString &string, char quote) {
  const std::string quotes(string.quotes, '"');
  out += quotes;
  for (std::size_t at = 0; at < string.body.size();) {
    const char c = string.body[at];
    if (outside_ascii(c)) {
      out += fmt::format("\\U{:08X}",
                         static_cast<std::uint32_t>(jinja::next_code_point(string.body, at)));
      continue;
    }
    ++at;
    if (quote == '"' && c == '\\' && at < string.body.size()) {
      if (outside_ascii(string.body[at]))
        return false;
      out += c;
      out += string.body[at++];
    } else if (quote == '\'' && (c == '\\' || c == '"')) {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  if (string.closed)
    out += quotes;
  return true;
}

// The same document in ASCII alone, a line for a line: what the library does with a letter such as
// U+018F is undefined in some releases, wherever it asks whether that is a space. TOML has letters
// outside ASCII in strings and comments alone; others end in an error with their line.
Result<std::string> in_ascii(std::string_view text, std::string_view source) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const auto refused = [&](std::string_view why) {
    return fail(Errc::bad_input,
                fmt::format("{}:{}: not TOML: {}", source,
                            std::ranges::count(text.substr(0, at), '\n') + 1, why));
  };
  while (at < text.size()) {
    const char c = text[at];
    if (outside_ascii(c))
      return refused("outside of quotes and comments there is nothing but ASCII; put quotes around "
                     "this text");
    if (c == '#') {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      for (; at < end; ++at)
        out += outside_ascii(text[at]) ? '?' : text[at];
    } else if (c == '"' || c == '\'') {
      const QuotedString string = string_at(text, at);
      if (std::ranges::none_of(string.body, outside_ascii))
        out += text.substr(at, string.end - at);
      else if (!append_in_ascii(out, string, c))
        return refused(
            "in this string a backslash stands before a letter outside ASCII; write \\\\ "
            "for a backslash");
      at = string.end;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

} // namespace

void end_in_toml_assertion() {
  throw TomlAssertion{};
}

Result<toml::table> parse_toml(std::string_view text, std::string_view source) {
  if (!jinja::valid_utf8(text))
    return fail(Errc::bad_input,
                fmt::format("{}:{}: not TOML: the text is not UTF-8", source, line_not_utf8(text)));
  const Result<std::string> ascii = in_ascii(text, source);
  if (!ascii)
    return std::unexpected(ascii.error());
  try {
    return toml::parse(*ascii, source);
  } catch (const toml::parse_error &error) {
    return fail(Errc::bad_input, fmt::format("{}:{}: not TOML: {}", source,
                                             error.source().begin.line, error.description()));
  } catch (const TomlAssertion &) {
    return fail(Errc::bad_input,
                fmt::format("{}:{}: not TOML: a [table] name begins with a letter, a digit, '_', "
                            "'-' or a quote",
                            source, line_of_assertion(*ascii)));
  }
}

} // namespace headwater::service
