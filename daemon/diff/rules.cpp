#include "daemon/diff/rules.hpp"

#include <algorithm>

namespace headwater::diff {
bool rule_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty())
    return true;
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

Delta apply_rules(Delta delta, const std::vector<UserRule> &rules) {
  for (const UserRule &rule : rules) {
    if (!rule_matches(rule.repo, delta.repo))
      continue;
    for (Change &change : delta.changes) {
      if (!rule_matches(rule.kind, change.kind) || !rule_matches(rule.subject, change.subject))
        continue;
      switch (rule.action) {
      case UserRule::Action::ignore:
        change.level = Level::low;
        break;
      case UserRule::Action::raise:
        change.level = std::max(change.level, rule.level);
        break;
      case UserRule::Action::lower:
        change.level = std::min(change.level, rule.level);
        break;
      }
    }
  }
  sort_changes(delta.changes);
  return delta;
}

bool may_settle(const Delta &delta) {
  return std::ranges::none_of(delta.changes, [](const Change &change) {
    return change.level >= Level::medium &&
           (change.impact == Impact::security || change.impact == Impact::access);
  });
}

} // namespace headwater::diff
