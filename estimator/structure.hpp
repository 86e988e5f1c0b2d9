#pragma once

#include "estimator/architecture.hpp"
#include "estimator/memory_physical.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::estimator {

/// Kinds of node in a drawn model: those that a config gives, and those that only a traced graph
/// has.
enum class NodeType : std::uint8_t {
  input,
  output,
  embedding,
  learned_position,
  sinusoidal_position,
  rope,
  alibi,
  relative_bias,
  rms_norm,
  layer_norm,
  batch_norm,
  group_norm,
  self_attention,
  multi_head_attention,
  grouped_query_attention,
  causal_attention,
  latent_attention,
  cross_attention,
  mamba1,
  mamba2,
  gated_delta,
  linear_attention,
  short_convolution,
  recurrent,
  linear,
  convolution,
  swiglu,
  feed_forward,
  shared_expert_moe,
  moe,
  add,
  concat,
  dropout,
  relu,
  gelu,
  sigmoid,
  tanh,
  softmax,
  flatten,
  other,
};
inline constexpr std::size_t node_types = static_cast<std::size_t>(NodeType::other) + 1;

/// "Grouped Query Attn", "Shared-Expert MoE": the label in the structure table.
std::string_view label(NodeType type);
bool is_norm(NodeType type);
bool is_attention(NodeType type); ///< plain, self, multi-head, grouped-query, causal, latent
bool is_position(NodeType type);
bool is_activation(NodeType type);

/// One node. Sizes are elements, 0 where its type has none.
struct Node {
  NodeType type = NodeType::other;
  std::string name;
  std::int64_t in_width = 0;
  std::int64_t width = 0; ///< of the output; an Input has none
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t span = 0; ///< positions that a window or chunk keeps, 0 = all
  std::int64_t intermediate = 0;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t vocabulary = 0; ///< of an embedding
  double dropout = 0;
  std::int64_t parameters = 0;
  std::int64_t adapter_parameters = 0;  ///< LoRA at rank 16
  double macs = 0;                      ///< multiply-accumulates per token, without the next
  double macs_per_position = 0;         ///< and per token and position
  double reference_held = 0;            ///< bytes per token, memory model reference
  PhysicalBytes physical = {};          ///< memory model physical
  std::int64_t activation_elements = 0; ///< of a traced output, 0 when the source does not say
};

/// A model as nodes in order of execution and edges (from, to) by index.
struct Graph {
  std::vector<Node> nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::int64_t context = 0;
  bool no_position_by_design = false; ///< the family is known to use no position information
  bool tied_head = false; ///< a language-model head that shares the embedding follows the last node
};

/// Draws an architecture: the node order, names and figures of spec/estimator.md sections 1 to 4.
/// The parameters of all nodes add up to the architecture's total.
Graph draw(const Architecture &architecture);

/// Nodes less inputs and outputs.
std::int64_t layer_count(const Graph &graph);

} // namespace headwater::estimator
