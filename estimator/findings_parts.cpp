#include "estimator/findings_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

constexpr double gigabyte = 1e9;
constexpr double high_dropout = 0.65;
constexpr std::int64_t large_activation = 50'000'000;
constexpr double huge_linear = 1e9;
constexpr std::int64_t deep_attention = 8;
constexpr std::int64_t cache_budget_tokens = 8192;
constexpr double cache_budget_bytes = 4 * gigabyte;
constexpr std::int64_t full_head_nodes = 6;
constexpr double full_head_width = 2048;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

} // namespace

void check_attention_position(RuleView &view) {
  const std::int64_t attention = view.count(is_attention);
  if (attention == 0 || view.count(is_position) > 0)
    return;
  if (view.graph.no_position_by_design) {
    view.say_as(
        "info",
        fmt::format("{} attention nodes and no positional encoding: this family uses none; order "
                    "reaches attention through its other layers",
                    attention),
        "Nothing to do unless positions were expected here.");
    return;
  }
  view.say(
      fmt::format("{} attention nodes and no positional encoding: token order is invisible to them",
                  attention),
      "Add rotary, learned or sinusoidal positions, ALiBi or a relative bias.");
}

void check_auxiliary_loss(RuleView &view) {
  const std::int64_t mixtures = view.count(NodeType::moe);
  if (mixtures == 0)
    return;
  view.say(fmt::format("{} mixture-of-experts layers: without a load-balancing loss a few experts "
                       "take all tokens",
                       mixtures),
           "Add the router's auxiliary loss when training, or a bias that balances it.");
}

void check_expert_choice(RuleView &view) {
  for (const Node &node : view.graph.nodes) {
    if (node.experts == 0 || node.experts_per_token <= node.experts)
      continue;
    view.say(fmt::format("{} chooses {} experts a token of {}", node.name, node.experts_per_token,
                         node.experts),
             fmt::format("Set the experts a token to at most {}.", node.experts));
  }
}

namespace {

/// The divisor of `heads` nearest to `wanted`, the smaller of two.
std::int64_t nearest_divisor(std::int64_t heads, std::int64_t wanted) {
  std::int64_t nearest = 1;
  const auto consider = [&](std::int64_t divisor) {
    const std::int64_t better = std::llabs(divisor - wanted) - std::llabs(nearest - wanted);
    if (better < 0 || (better == 0 && divisor < nearest))
      nearest = divisor;
  };
  for (std::int64_t divisor = 1; divisor <= heads / divisor; ++divisor) {
    if (heads % divisor != 0)
      continue;
    consider(divisor);
    consider(heads / divisor);
  }
  return nearest;
}

} // namespace

void check_head_match(RuleView &view) {
  for (const Node &node : view.graph.nodes) {
    if (node.type != NodeType::grouped_query_attention || node.kv_heads < 1)
      continue;
    if (node.heads % node.kv_heads == 0)
      continue;
    view.say(fmt::format("{}: {} query heads cannot share {} key-value heads evenly", node.name,
                         node.heads, node.kv_heads),
             fmt::format("Use {} key-value heads.", nearest_divisor(node.heads, node.kv_heads)));
  }
}

void check_gated_width(RuleView &view) {
  const Node *example = nullptr;
  std::int64_t count = 0;
  for (const Node &node : view.graph.nodes) {
    if (node.type != NodeType::swiglu || node.in_width == 0)
      continue;
    const double ratio = real(node.intermediate) / real(node.in_width);
    if (ratio >= 2 && ratio <= 5)
      continue;
    if (example == nullptr)
      example = &node;
    ++count;
  }
  if (example == nullptr)
    return;
  const double usual = std::round(8.0 / 3.0 * real(example->in_width) / 256) * 256;
  view.say(fmt::format(
               "{} gated feed-forward layers are {:.2f} times as wide as their input ({} has {})",
               count, real(example->intermediate) / real(example->in_width), example->name,
               example->intermediate),
           fmt::format("8/3 of {} is usual, about {:.0f}; keep the width if it is meant.",
                       example->in_width, usual));
}

void check_huge_linear(RuleView &view) {
  for (const Node &node : view.graph.nodes) {
    if (node.type != NodeType::linear)
      continue;
    const double weights = real(node.in_width) * real(node.width);
    if (weights <= huge_linear)
      continue;
    view.say(fmt::format("{} has {:.0f} M weights, {:.1f} GB in bf16", node.name, weights / 1e6,
                         2 * weights / gigabyte),
             "Factor it, tie it, or split the vocabulary over devices.");
  }
}

void check_full_heads_serving(RuleView &view) {
  std::int64_t count = 0;
  double width = 0;
  for (const Node &node : view.graph.nodes) {
    if (node.type == NodeType::latent_attention)
      return;
    if (!is_attention(node.type))
      continue;
    if (node.kv_heads > 0 && node.kv_heads < node.heads)
      return;
    ++count;
    width += real(node.in_width);
  }
  if (count < full_head_nodes || width / real(count) < full_head_width)
    return;
  const double mean = width / real(count);
  view.say(fmt::format("{} attention nodes keep keys and values of all heads at width {:.0f}: "
                       "{:.0f} KB of cache a token",
                       count, mean, real(count) * 2 * mean * 2 / 1024),
           "Grouped-query or latent attention serves the same width with a fraction of the cache.");
}

void check_deep_attention(RuleView &view) {
  const std::int64_t count = view.count(is_attention);
  if (count < deep_attention)
    return;
  view.say(fmt::format("{} attention layers deep: with default initialisation the residual stream "
                       "grows with depth",
                       count),
           "When training from scratch, scale output projections by 1/sqrt(2 x layers).");
}

void check_head_vocabulary(RuleView &view) {
  const std::uint32_t output = view.first_output();
  if (output == view.size())
    return;
  for (const std::uint32_t index : view.before(output)) {
    const Node &head = view.node(index);
    if (head.type != NodeType::linear)
      continue;
    std::int64_t vocabulary = 0;
    bool met = false;
    for (const Node &node : view.graph.nodes) {
      if (node.type != NodeType::embedding)
        continue;
      vocabulary = node.vocabulary;
      met = met || node.vocabulary == head.width;
    }
    if (met || vocabulary == 0)
      continue;
    view.say(fmt::format("{} gives {} logits, the embedding has {} rows", head.name, head.width,
                         vocabulary),
             "Make both the size of the tokenizer's vocabulary, unless the output is not text.");
  }
}

void check_cache_budget(RuleView &view) {
  std::int64_t count = 0;
  double bytes_per_token = 0;
  double bytes = 0;
  for (const Node &node : view.graph.nodes) {
    if (!is_attention(node.type) || node.heads < 1 || node.type == NodeType::latent_attention) {
      continue;
    }
    ++count;
    const double kv_heads = real(node.kv_heads > 0 ? node.kv_heads : node.heads);
    const double node_bytes = 4 * kv_heads * (real(node.in_width) / real(node.heads));
    const std::int64_t tokens =
        node.span > 0 ? std::min(node.span, cache_budget_tokens) : cache_budget_tokens;
    bytes_per_token += node_bytes;
    bytes += node_bytes * real(tokens);
  }
  if (bytes <= cache_budget_bytes)
    return;
  view.say(fmt::format("{} attention nodes keep {:.0f} KB a token: {:.2f} GB of cache at {} "
                       "tokens, for each sequence",
                       count, bytes_per_token / 1024, bytes / gigabyte, cache_budget_tokens),
           "Serve with a quantised cache or shorter sequences, or use fewer key-value heads.");
}

void check_dropout(RuleView &view) {
  for (const Node &node : view.graph.nodes) {
    if (node.dropout <= high_dropout)
      continue;
    view.say(fmt::format("{} drops {:.0f} % of its input", node.name, node.dropout * 100),
             "Values of 0.1 to 0.5 are usual.");
  }
}

void check_large_activation(RuleView &view) {
  const Node *top = nullptr;
  for (const Node &node : view.graph.nodes) {
    if (node.activation_elements <= large_activation)
      continue;
    if (top == nullptr || node.activation_elements > top->activation_elements)
      top = &node;
  }
  if (top == nullptr)
    return;
  view.say(fmt::format("{} puts out {} values, {:.0f} MB in fp32, for one sample", top->name,
                       top->activation_elements, 4 * real(top->activation_elements) / 1e6),
           "Reduce the resolution or length before it, or recompute it in the backward pass.");
}

} // namespace headwater::estimator
