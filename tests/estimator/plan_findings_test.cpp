#include "estimator/findings.hpp"
#include "estimator/structure.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace headwater::estimator {
namespace {

using enum NodeType;

/// Input, the given nodes, Output, each reading the one before.
Graph chain(const std::vector<NodeType> &types) {
  Graph graph;
  const auto append = [&](NodeType type) {
    Node &node = graph.nodes.emplace_back();
    node.type = type;
    node.name = std::string(label(type)) + "_" + std::to_string(graph.nodes.size());
    node.in_width = 64;
    node.width = 64;
    if (is_attention(type))
      node.heads = 4;
    if (is_attention(type))
      node.kv_heads = 4;
    const auto self = static_cast<std::uint32_t>(graph.nodes.size() - 1);
    if (self > 0)
      graph.edges.emplace_back(self - 1, self);
  };
  append(input);
  for (const NodeType type : types)
    append(type);
  append(output);
  return graph;
}

std::vector<std::string> said(const Graph &graph) {
  std::vector<std::string> words;
  for (const PlanFinding &finding : check_structure(graph)) {
    words.push_back(finding.id + " " + finding.severity);
  }
  return words;
}

struct Case {
  std::string finding;
  Graph graph;
};

Graph changed(Graph graph, const std::function<void(Graph &)> &change) {
  change(graph);
  return graph;
}

std::vector<Case> cases() {
  const std::vector<NodeType> eight_linear(8, linear);
  return {
      {"no-input-node warn", changed(chain({linear}), [](Graph &g) { g.nodes[0].type = gelu; })},
      {"no-output-node warn",
       changed(chain({linear}), [](Graph &g) { g.nodes.back().type = gelu; })},
      {"isolated-components warn",
       changed(chain({linear}), [](Graph &g) { g.nodes.emplace_back().name = "alone"; })},
      {"dead-end warn", changed(chain({linear}),
                                [](Graph &g) {
                                  g.nodes.emplace_back().name = "end";
                                  g.edges.emplace_back(1, 3);
                                })},
      {"bn-after-activation warn", chain({linear, gelu, batch_norm, linear})},
      {"dropout-before-bn info", chain({dropout, layer_norm, linear})},
      {"output-activation info", chain({linear, softmax})},
      {"bn-at-output warn", chain({linear, rms_norm})},
      {"deep-no-residual warn", chain(eight_linear)},
      {"attention-no-pe warn", chain({multi_head_attention, linear})},
      {"attention-no-pe info", changed(chain({multi_head_attention, linear}),
                                       [](Graph &g) { g.no_position_by_design = true; })},
      {"vanishing-gradient info", chain({linear, tanh, linear, relu, linear})},
      {"deep-no-norm info", chain({linear, relu, linear, relu, linear, relu, linear, relu, linear,
                                   relu, linear, relu, linear})},
      {"deep-no-norm warn", chain({convolution, convolution, convolution, convolution, convolution,
                                   batch_norm, linear})},
      {"high-dropout warn",
       changed(chain({dropout, linear}), [](Graph &g) { g.nodes[1].dropout = 0.7; })},
      {"large-activation warn",
       changed(chain({linear}), [](Graph &g) { g.nodes[1].activation_elements = 60'000'000; })},
      {"moe-no-aux-loss info", chain({moe, linear})},
      {"gqa-head-mismatch block", changed(chain({rope, grouped_query_attention, linear}),
                                          [](Graph &g) { g.nodes[2].kv_heads = 3; })},
      {"swiglu-dim-convention info",
       changed(chain({swiglu, linear}), [](Graph &g) { g.nodes[1].intermediate = 64; })},
      {"redundant-activation warn", chain({linear, relu, gelu, linear})},
      {"consecutive-linear-no-activation info", chain({linear, linear})},
      {"dropout-at-output warn", chain({linear, dropout})},
      {"double-norm info", chain({rms_norm, layer_norm, linear})},
      {"duplicate-positional-encoding info", chain({learned_position, linear, rope, gelu})},
      {"flatten-into-attention warn", chain({rope, flatten, self_attention, linear})},
      {"huge-linear-params warn", changed(chain({linear}),
                                          [](Graph &g) {
                                            g.nodes[1].in_width = 40'000;
                                            g.nodes[1].width = 40'000;
                                          })},
      {"full-mha-serving-cost info",
       changed(chain({rope, self_attention, self_attention, self_attention, self_attention,
                      self_attention, self_attention, linear}),
               [](Graph &g) {
                 for (Node &node : g.nodes)
                   node.in_width = 2048;
               })},
      {"init-activation-mismatch info", chain({linear, sigmoid, linear})},
      {"deep-attention-default-init info",
       chain({rope, self_attention, self_attention, self_attention, self_attention, self_attention,
              self_attention, self_attention, self_attention, linear})},
      {"lm-head-vocab-mismatch info", changed(chain({embedding, linear}),
                                              [](Graph &g) {
                                                g.nodes[1].vocabulary = 1000;
                                                g.nodes[2].width = 999;
                                              })},
      {"kv-cache-context-budget warn", changed(chain({rope, self_attention, linear}),
                                               [](Graph &g) { g.nodes[2].in_width = 200'000; })},
      {"compute-error block", changed(chain({shared_expert_moe, linear}),
                                      [](Graph &g) {
                                        g.nodes[1].experts = 4;
                                        g.nodes[1].experts_per_token = 6;
                                      })},
  };
}

TEST(StructureRules, EachSpeaksOfItsTrigger) {
  for (const Case &row : cases()) {
    const std::vector<std::string> words = said(row.graph);
    EXPECT_NE(std::find(words.begin(), words.end(), row.finding), words.end()) << row.finding;
  }
}

TEST(StructureRules, EveryRuleHasACase) {
  std::set<std::string> met;
  for (const Case &row : cases())
    met.insert(row.finding.substr(0, row.finding.find(' ')));
  for (const Rule &rule : rules())
    EXPECT_TRUE(met.contains(std::string(rule.id))) << rule.id;
}

TEST(StructureRules, FindingsComeInTheOrderOfTheRules) {
  for (const Case &row : cases()) {
    std::ptrdiff_t last = 0;
    for (const PlanFinding &finding : check_structure(row.graph)) {
      const auto rule = std::find_if(rules().begin(), rules().end(),
                                     [&](const Rule &r) { return r.id == finding.id; });
      ASSERT_NE(rule, rules().end());
      EXPECT_GE(rule - rules().begin(), last);
      last = rule - rules().begin();
    }
  }
}

TEST(StructureRules, SayNothingOfAnEmptyGraphButThatItHasNoInput) {
  EXPECT_EQ(said({}), std::vector<std::string>{"no-input-node warn"});
}

TEST(StructureRules, ANormBeforeATiedHeadIsFine) {
  Graph graph = chain({linear, rms_norm});
  graph.tied_head = true;
  const std::vector<std::string> words = said(graph);
  EXPECT_EQ(std::find(words.begin(), words.end(), "bn-at-output warn"), words.end());
}

} // namespace
} // namespace headwater::estimator
