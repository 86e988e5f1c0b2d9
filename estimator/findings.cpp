#include "estimator/findings.hpp"

#include "estimator/findings_graph.hpp"

#include <array>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

bool is_weighted(NodeType type) {
  return type == NodeType::linear || type == NodeType::convolution;
}

bool is_saturating(NodeType type) {
  return type == NodeType::sigmoid || type == NodeType::tanh;
}

bool is_mixing(NodeType type) {
  return is_weighted(type) || is_attention(type) || type == NodeType::swiglu ||
         type == NodeType::feed_forward || type == NodeType::moe ||
         type == NodeType::shared_expert_moe || type == NodeType::mamba1 ||
         type == NodeType::mamba2;
}

void check_input(RuleView &view) {
  if (view.count(NodeType::input) > 0)
    return;
  view.say("The graph has no Input node: shapes cannot flow", "Add an Input node with its shape.");
}

void check_output(RuleView &view) {
  if (view.size() < 2 || view.first_output() < view.size())
    return;
  view.say("The graph has no Output node: nothing marks the end of the forward pass",
           "Add an Output node after the last layer.");
}

void check_isolated(RuleView &view) {
  if (view.size() < 2)
    return;
  std::string names;
  for (std::uint32_t i = 0; i < view.size(); ++i) {
    if (!view.before(i).empty() || !view.after(i).empty())
      continue;
    names += (names.empty() ? "" : ", ") + view.node(i).name;
  }
  if (names.empty())
    return;
  view.say(fmt::format("Not joined to anything: {}", names), "Connect or remove them.");
}

void check_dead_end(RuleView &view) {
  for (std::uint32_t i = 0; i < view.size(); ++i) {
    if (view.before(i).empty() || !view.after(i).empty())
      continue;
    if (view.node(i).type == NodeType::output)
      continue;
    view.say(fmt::format("{} feeds nothing: what it computes is lost", view.node(i).name),
             "Connect its output, or remove it.");
  }
}

/// Says one sentence for each edge whose two ends pass.
void check_pair(RuleView &view, bool (*first)(NodeType), bool (*second)(NodeType),
                std::string_view sentence, std::string_view fix) {
  if (view.count(first) == 0 || view.count(second) == 0)
    return;
  for (std::uint32_t i = 0; i < view.size(); ++i) {
    if (!first(view.node(i).type))
      continue;
    for (const std::uint32_t next : view.after(i)) {
      if (!second(view.node(next).type))
        continue;
      view.say(fmt::format(fmt::runtime(sentence), view.node(i).name, view.node(next).name),
               std::string(fix));
    }
  }
}

bool is_dropout(NodeType type) {
  return type == NodeType::dropout;
}
bool is_flatten(NodeType type) {
  return type == NodeType::flatten;
}
bool is_linear(NodeType type) {
  return type == NodeType::linear;
}
bool is_squashing(NodeType type) {
  return type == NodeType::softmax || type == NodeType::sigmoid;
}

void check_norm_after_activation(RuleView &view) {
  check_pair(view, is_activation, is_norm, "{1} normalises what {0} has already bent",
             "Put the norm before the activation.");
}

void check_dropout_before_norm(RuleView &view) {
  check_pair(view, is_dropout, is_norm,
             "{0} directly before {1}: the norm's statistics differ between training and use",
             "Put the dropout after the norm.");
}

void check_before_output(RuleView &view, bool (*test)(NodeType), std::string_view sentence,
                         std::string_view fix) {
  const std::uint32_t output = view.first_output();
  if (output == view.size())
    return;
  for (const std::uint32_t index : view.before(output)) {
    if (!test(view.node(index).type))
      continue;
    view.say(fmt::format(fmt::runtime(sentence), view.node(index).name), std::string(fix));
  }
}

void check_output_activation(RuleView &view) {
  check_before_output(view, is_squashing,
                      "{} before the output: a loss on logits applies it a second time",
                      "Give logits and leave the activation to the loss.");
}

void check_norm_at_output(RuleView &view) {
  if (view.graph.tied_head)
    return;
  check_before_output(view, is_norm, "{} is the last layer: outputs are normalised, not scored",
                      "Add the head, or expect hidden states from this model.");
}

void check_residual(RuleView &view) {
  const std::int64_t depth = view.count(is_weighted);
  if (depth < 8 || view.count(NodeType::add) > 0)
    return;
  view.say(
      fmt::format("{} convolution and linear layers in a row and no residual connection", depth),
      "Add skip connections every two or three layers.");
}

void check_vanishing_gradient(RuleView &view) {
  if (layer_count(view.graph) < 5)
    return;
  const std::int64_t count = view.count(is_saturating);
  if (count == 0)
    return;
  view.say(
      fmt::format("{} sigmoid or tanh nodes in a deep model: gradients shrink through each", count),
      "Use ReLU, GELU or SiLU between layers.");
}

void check_deep_without_norm(RuleView &view) {
  const std::int64_t depth = view.count(is_mixing);
  if (depth >= 7 && view.count(is_norm) == 0) {
    view.say(fmt::format("{} layers and no normalisation", depth), "Add a norm to each block.");
    return;
  }
  std::int64_t run = 0;
  for (const Node &node : view.graph.nodes) {
    if (is_norm(node.type))
      run = 0;
    if (node.type == NodeType::convolution && ++run == 5) {
      view.say_as("warn", fmt::format("Five convolutions up to {} without a norm", node.name),
                  "Add a norm after each or every second convolution.");
    }
  }
}

void check_redundant_activation(RuleView &view) {
  check_pair(view, is_activation, is_activation, "{0} and {1} follow each other directly",
             "Keep one of the two.");
}

void check_consecutive_linear(RuleView &view) {
  check_pair(view, is_linear, is_linear,
             "{0} and {1} follow each other with no activation: together they are one linear layer",
             "Put an activation between them, or merge them.");
}

void check_dropout_at_output(RuleView &view) {
  check_before_output(view, is_dropout, "{} drops outputs at random",
                      "Move the dropout before the head.");
}

void check_double_norm(RuleView &view) {
  check_pair(view, is_norm, is_norm, "{0} and {1} follow each other directly",
             "Keep one of the two.");
}

void check_duplicate_position(RuleView &view) {
  // Marks what lies downstream of a position node; edges lead forward in a drawn graph, and the
  // walk ends in any other.
  if (view.count(is_position) < 2)
    return;
  for (std::uint32_t start = 0; start < view.size(); ++start) {
    if (!is_position(view.node(start).type))
      continue;
    std::vector<bool> seen(view.size(), false);
    std::vector<std::uint32_t> open(view.after(start).begin(), view.after(start).end());
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      open.pop_back();
      if (seen[index])
        continue;
      seen[index] = true;
      if (index != start && is_position(view.node(index).type)) {
        view.say(fmt::format("{} lies downstream of {}: positions are encoded twice",
                             view.node(index).name, view.node(start).name),
                 "Keep one of the two.");
        return;
      }
      open.insert(open.end(), view.after(index).begin(), view.after(index).end());
    }
  }
}

void check_flatten_attention(RuleView &view) {
  check_pair(view, is_flatten, is_attention, "{0} joins all positions into one before {1}",
             "Keep the sequence dimension.");
}

void check_saturating_init(RuleView &view) {
  check_pair(view, is_weighted, is_saturating, "{0} is initialised for ReLU and feeds {1}",
             "Use Xavier initialisation there.");
}

struct RuleRow {
  Rule rule;
  RuleCheck check;
};

constexpr std::array<RuleRow, 30> rule_rows = {{
    {{"no-input-node", "warn", "no Input node"}, check_input},
    {{"no-output-node", "warn", "more than one node and no Output node"}, check_output},
    {{"isolated-components", "warn", "nodes without any edge"}, check_isolated},
    {{"dead-end", "warn", "a node that feeds nothing and is no Output"}, check_dead_end},
    {{"bn-after-activation", "warn", "a norm directly after an activation"},
     check_norm_after_activation},
    {{"dropout-before-bn", "info", "a norm directly after a dropout"}, check_dropout_before_norm},
    {{"output-activation", "info", "softmax or sigmoid directly before the output"},
     check_output_activation},
    {{"bn-at-output", "warn", "a norm directly before the output, where no tied head follows"},
     check_norm_at_output},
    {{"deep-no-residual", "warn", "8 or more convolution or linear nodes and no sum"},
     check_residual},
    {{"attention-no-pe", "warn", "attention and no position node; info where the family uses none"},
     check_attention_position},
    {{"vanishing-gradient", "info", "5 or more layers and a sigmoid or tanh"},
     check_vanishing_gradient},
    {{"deep-no-norm", "info", "7 or more layers without a norm; warn: 5 convolutions in a row"},
     check_deep_without_norm},
    {{"high-dropout", "warn", "a dropout over 0.65"}, check_dropout},
    {{"large-activation", "warn", "an output over 50 million values"}, check_large_activation},
    {{"moe-no-aux-loss", "info", "a mixture of experts without a shared expert"},
     check_auxiliary_loss},
    {{"gqa-head-mismatch", "block", "key-value heads do not divide the heads"}, check_head_match},
    {{"swiglu-dim-convention", "info", "a gated feed-forward width outside 2 to 5 times its input"},
     check_gated_width},
    {{"redundant-activation", "warn", "two activations in a row"}, check_redundant_activation},
    {{"consecutive-linear-no-activation", "info", "two linear nodes in a row"},
     check_consecutive_linear},
    {{"dropout-at-output", "warn", "a dropout directly before the output"},
     check_dropout_at_output},
    {{"double-norm", "info", "two norms in a row"}, check_double_norm},
    {{"duplicate-positional-encoding", "info", "a position node downstream of another"},
     check_duplicate_position},
    {{"flatten-into-attention", "warn", "a flatten directly before attention"},
     check_flatten_attention},
    {{"huge-linear-params", "warn", "a linear node of more than 1e9 weights"}, check_huge_linear},
    {{"full-mha-serving-cost", "info",
      "6 or more attention nodes of mean width 2,048 or more, all with full heads"},
     check_full_heads_serving},
    {{"init-activation-mismatch", "info", "linear or convolution directly before sigmoid or tanh"},
     check_saturating_init},
    {{"deep-attention-default-init", "info", "8 or more attention nodes"}, check_deep_attention},
    {{"lm-head-vocab-mismatch", "info", "a head whose width is no embedding's vocabulary"},
     check_head_vocabulary},
    {{"kv-cache-context-budget", "warn", "key-value cache at 8,192 tokens over 4 GB"},
     check_cache_budget},
    {{"compute-error", "block", "more experts a token than experts"}, check_expert_choice},
}};

constexpr std::size_t rule_total = rule_rows.size();

std::array<Rule, rule_total> listed_rules() {
  std::array<Rule, rule_total> listed = {};
  for (std::size_t i = 0; i < rule_total; ++i)
    listed[i] = rule_rows[i].rule;
  return listed;
}

} // namespace

RuleView::RuleView(const Graph &the_graph)
    : graph(the_graph), before_(neighbours(the_graph, true)), after_(neighbours(the_graph, false)),
      first_output_(static_cast<std::uint32_t>(the_graph.nodes.size())) {
  for (std::uint32_t i = size(); i-- > 0;) {
    const NodeType type = node(i).type;
    ++by_type_[static_cast<std::size_t>(type)];
    if (type == NodeType::output)
      first_output_ = i;
  }
}

RuleView::Neighbours RuleView::neighbours(const Graph &graph, bool of_targets) {
  const std::size_t count = graph.nodes.size();
  Neighbours result;
  result.starts.resize(count + 1);
  for (const auto &[from, to] : graph.edges) {
    if (from < count && to < count)
      ++result.starts[(of_targets ? to : from) + 1U];
  }
  for (std::size_t i = 0; i < count; ++i)
    result.starts[i + 1] += result.starts[i];
  result.nodes.resize(result.starts[count]);
  std::vector<std::uint32_t> next(result.starts.begin(), result.starts.end() - 1);
  for (const auto &[from, to] : graph.edges) {
    if (from >= count || to >= count)
      continue;
    result.nodes[next[of_targets ? to : from]++] = of_targets ? from : to;
  }
  return result;
}

void RuleView::begin(std::string_view id, std::string_view severity) {
  id_ = id;
  severity_ = severity;
}

void RuleView::say(std::string message, std::string fix) {
  say_as(severity_, std::move(message), std::move(fix));
}

void RuleView::say_as(std::string_view severity, std::string message, std::string fix) {
  findings.push_back({std::string(id_), std::string(severity), std::move(message), std::move(fix)});
}

std::int64_t RuleView::count(bool (*test)(NodeType)) const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < by_type_.size(); ++i) {
    if (by_type_[i] > 0 && test(static_cast<NodeType>(i)))
      total += by_type_[i];
  }
  return total;
}

std::span<const Rule> rules() {
  static const std::array<Rule, rule_total> listed = listed_rules();
  return listed;
}

std::vector<PlanFinding> check_structure(const Graph &graph) {
  RuleView view(graph);
  for (std::size_t i = 0; i < rule_total; ++i) {
    view.begin(rule_rows[i].rule.id, rule_rows[i].rule.severity);
    rule_rows[i].check(view);
  }
  return std::move(view.findings);
}

} // namespace headwater::estimator
