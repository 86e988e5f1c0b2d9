#include "daemon/diff/rules.hpp"

#include <algorithm>

namespace headwater::diff {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty())
    return true;
  if (pattern.ends_with('*'))
    return text.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == text;
}

} // namespace

Delta apply_rules(Delta delta, const std::vector<UserRule> &rules) {
  for (const UserRule &rule : rules) {
    if (!matches(rule.repo, delta.repo))
      continue;
    for (Change &change : delta.changes) {
      if (!matches(rule.kind, change.kind) || !matches(rule.subject, change.subject))
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
