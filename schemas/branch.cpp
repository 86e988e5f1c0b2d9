#include "schemas/branch.hpp"

#include <algorithm>
#include <cstddef>

namespace headwater {
namespace {

constexpr std::size_t longest_branch = 200;

bool is_part(std::string_view part) {
  return !part.empty() && !part.starts_with('.') && !part.ends_with(".lock");
}

} // namespace

bool is_branch_name(std::string_view name) {
  constexpr std::string_view forbidden = " ~^:?*[\\\x7f";
  if (name.empty() || name.size() > longest_branch || name == "@" || name.starts_with('-') ||
      name.ends_with('.') || name.find("..") != std::string_view::npos ||
      name.find("@{") != std::string_view::npos)
    return false;
  if (std::ranges::any_of(name, [&](char c) {
        return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ||
               forbidden.find(c) != std::string_view::npos;
      }))
    return false;
  for (std::string_view rest = name;;) {
    const std::size_t slash = rest.find('/');
    if (!is_part(rest.substr(0, slash)))
      return false;
    if (slash == std::string_view::npos)
      return true;
    rest.remove_prefix(slash + 1);
  }
}

} // namespace headwater
