#pragma once

#include "estimator/structure.hpp"
#include "schemas/plan.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// A rule of the structure check.
struct Rule {
  std::string_view id;
  std::string_view severity; ///< default severity: block, warn or info
  std::string_view meaning;  ///< what triggers it
};

/// All rules, in the order in which their findings are listed.
std::span<const Rule> rules();

/// What the rules say of a graph, in rule order (not by severity). A block means that a forward
/// pass fails.
std::vector<PlanFinding> check_structure(const Graph &graph);

} // namespace headwater::estimator
