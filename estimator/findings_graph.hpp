#pragma once

#include "estimator/structure.hpp"
#include "schemas/plan.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// A graph with its edges looked up by node, and the findings of the rule in hand.
class RuleView {
public:
  explicit RuleView(const Graph &graph);

  const Graph &graph;
  std::vector<std::vector<std::uint32_t>> before; ///< direct predecessors
  std::vector<std::vector<std::uint32_t>> after;  ///< direct successors
  std::vector<PlanFinding> findings;

  void begin(std::string_view id, std::string_view severity);
  void say(std::string message, std::string fix);
  void say_as(std::string_view severity, std::string message, std::string fix);

  const Node &node(std::uint32_t index) const { return graph.nodes[index]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(graph.nodes.size()); }
  std::int64_t count(const std::function<bool(const Node &)> &test) const;
  bool any(const std::function<bool(const Node &)> &test) const { return count(test) > 0; }
  /// Calls act(first, second) for each edge.
  void for_each_edge(const std::function<void(const Node &, const Node &)> &act) const;
  /// The first Output node, or size().
  std::uint32_t first_output() const;

private:
  std::string_view id_;
  std::string_view severity_;
};

using RuleCheck = void (*)(RuleView &);

/// Rules about the parts of a model and their sizes; the rest look at how nodes are joined.
void check_attention_position(RuleView &view);
void check_auxiliary_loss(RuleView &view);
void check_expert_choice(RuleView &view);
void check_head_match(RuleView &view);
void check_gated_width(RuleView &view);
void check_huge_linear(RuleView &view);
void check_full_heads_serving(RuleView &view);
void check_deep_attention(RuleView &view);
void check_head_vocabulary(RuleView &view);
void check_cache_budget(RuleView &view);
void check_dropout(RuleView &view);
void check_large_activation(RuleView &view);

} // namespace headwater::estimator
