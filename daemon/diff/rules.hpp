#pragma once

#include "schemas/change.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::diff {

/// A rule of the user's: what to do with changes that it matches. An empty pattern matches all;
/// `*` stands for any run of characters, wherever it is.
struct UserRule {
  enum class Action : std::uint8_t { ignore, raise, lower };
  Action action = Action::ignore;
  std::string repo = {};    ///< "org/name" or "org/*"
  std::string kind = {};    ///< "config.*"
  std::string subject = {}; ///< "tokenizer"
  Level level = Level::low; ///< to raise or lower to
};

/// True when a rule's pattern takes a text.
bool rule_matches(std::string_view pattern, std::string_view text);

/// The delta as the user wants it told: rules apply in order, each to what the ones before left.
/// Ignored changes stay in the delta at level low, so that nothing is lost from the record; raise
/// never lowers and lower never raises.
Delta apply_rules(Delta delta, const std::vector<UserRule> &rules);

/// True when an advisory about the delta may wait until it has settled: security and access never
/// do.
bool may_settle(const Delta &delta);

} // namespace headwater::diff
