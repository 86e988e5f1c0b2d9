#include "daemon/read/tokenizer.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace headwater::read {
namespace {

/// Calls `take(line)` for each line without its ending; stops at the first error.
template <class Take> Result<void> each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (const Result<void> done = take(line); !done)
      return done;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

bool is_base64(std::string_view text) {
  for (const char c : text)
    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
          c == '/' || c == '='))
      return false;
  return !text.empty();
}

template <class Read> Result<TokenizerFacts> facts_of(Read read) {
  TokenizerFacts facts;
  if (const Result<void> done = read(facts); !done)
    return std::unexpected(done.error());
  return facts;
}

} // namespace

Result<TokenizerFacts> read_tiktoken(std::string_view text) {
  return facts_of([&](TokenizerFacts &facts) {
    facts.base64 = true;
    return each_line(text, [&](std::string_view line) -> Result<void> {
      if (line.empty())
        return {};
      const std::size_t space = line.find(' ');
      std::int64_t rank = -1;
      const std::string_view number =
          space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
      if (error != std::errc() || end != number.data() + number.size() || rank < 0 ||
          rank > std::numeric_limits<std::uint32_t>::max() || !is_base64(line.substr(0, space)))
        return fail(Errc::malformed,
                    fmt::format("line {} is not base64 and a rank", facts.vocabulary.size() + 1));
      facts.vocabulary.push_back({line.substr(0, space), rank});
      return {};
    });
  });
}

Result<TokenizerFacts> read_merges(std::string_view text) {
  return facts_of([&](TokenizerFacts &facts) {
    std::size_t number = 0;
    return each_line(text, [&](std::string_view line) -> Result<void> {
      ++number;
      if (line.empty() || (number == 1 && line.starts_with("#version")))
        return {};
      const std::size_t space = line.find(' ');
      if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
        return fail(Errc::malformed, fmt::format("line {} is not two tokens", number));
      facts.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
      return {};
    });
  });
}

Result<TokenizerFacts> read_vocabulary_lines(std::string_view text) {
  return facts_of([&](TokenizerFacts &facts) {
    return each_line(text, [&](std::string_view line) -> Result<void> {
      facts.vocabulary.push_back({line, static_cast<std::int64_t>(facts.vocabulary.size())});
      return {};
    });
  });
}

} // namespace headwater::read
