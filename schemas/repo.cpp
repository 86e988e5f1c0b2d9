#include "schemas/repo.hpp"

#include "schemas/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater {
namespace {

bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// Why a part of a repo id is refused, "" when it is fine.
std::string fault_of(std::string_view part, std::string_view what) {
  if (part.empty())
    return fmt::format("its {} is empty", what);
  if (part.size() > 96)
    return fmt::format("its {} is longer than 96 characters", what);
  if (part.front() == '.' || part.front() == '-')
    return fmt::format("its {} starts with '{}'", what, part.front());
  if (!std::ranges::all_of(part, is_name_character))
    return fmt::format("its {} has characters other than letters, digits, '.', '_' and '-'", what);
  return {};
}

} // namespace

Result<RepoId> parse_repo_id(std::string_view text) {
  const auto slash = text.find('/');
  const std::string shown = plain_text(text, 80);
  if (slash == std::string_view::npos)
    return fail(Errc::bad_input, fmt::format("'{}' is not a repo: write it as org/name", shown));
  const std::string_view org = text.substr(0, slash);
  const std::string_view name = text.substr(slash + 1);
  for (const auto &[part, what] : {std::pair{org, "organisation"}, std::pair{name, "name"}}) {
    if (const std::string fault = fault_of(part, what); !fault.empty())
      return fail(Errc::bad_input, fmt::format("'{}' is not a repo: {}", shown, fault));
  }
  return RepoId{std::string(org), std::string(name)};
}

bool is_revision(std::string_view text) {
  return text.size() == 40 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view to_string(Gate gate) {
  switch (gate) {
  case Gate::open:
    return "open";
  case Gate::automatic:
    return "auto";
  case Gate::manual:
    return "manual";
  }
  return "open";
}

} // namespace headwater
