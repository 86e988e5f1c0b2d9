#pragma once

#include "estimator/structure.hpp"
#include "schemas/plan.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// A graph with its edges looked up by node and its nodes counted by type, and the findings of the
/// rule in hand.
class RuleView {
public:
  explicit RuleView(const Graph &graph);

  const Graph &graph;
  std::vector<PlanFinding> findings;

  void begin(std::string_view id, std::string_view severity);
  void say(std::string message, std::string fix);
  void say_as(std::string_view severity, std::string message, std::string fix);

  const Node &node(std::uint32_t index) const { return graph.nodes[index]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(graph.nodes.size()); }
  /// Direct predecessors and successors.
  std::span<const std::uint32_t> before(std::uint32_t index) const { return before_.of(index); }
  std::span<const std::uint32_t> after(std::uint32_t index) const { return after_.of(index); }
  /// Nodes of a type, or of all types that pass.
  std::int64_t count(NodeType type) const { return by_type_[static_cast<std::size_t>(type)]; }
  std::int64_t count(bool (*test)(NodeType)) const;
  /// The first Output node, or size().
  std::uint32_t first_output() const { return first_output_; }

private:
  /// For each node its neighbours, all in one list.
  struct Neighbours {
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> nodes;
    std::span<const std::uint32_t> of(std::uint32_t index) const {
      return std::span(nodes).subspan(starts[index], starts[index + 1] - starts[index]);
    }
  };
  static Neighbours neighbours(const Graph &graph, bool of_targets);

  std::string_view id_;
  std::string_view severity_;
  Neighbours before_;
  Neighbours after_;
  std::array<std::int64_t, node_types> by_type_ = {};
  std::uint32_t first_output_ = 0;
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
