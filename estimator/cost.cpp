#include "estimator/cost.hpp"

#include <algorithm>
#include <cmath>

namespace headwater::estimator {
namespace {

constexpr double run_batch = 32;
constexpr double run_epochs = 10;
constexpr double run_sequences = 50'000;
constexpr double run_start_seconds = 60;
constexpr double step_seconds = 0.005;
constexpr double compute_efficiency = 0.35;
constexpr double memory_efficiency = 0.8;
/// Forward and backward pass, in forward passes.
constexpr double passes = 3;
/// Bytes that a step moves for each parameter.
constexpr double step_bytes_per_parameter = 32;

} // namespace

double macs_per_token(const Graph &graph, std::int64_t seq) {
  double macs = 0;
  for (const Node &node : graph.nodes) {
    const std::int64_t positions = node.span > 0 ? std::min(node.span, seq) : seq;
    macs += node.macs + node.macs_per_position * static_cast<double>(positions);
  }
  return macs;
}

double one_run_usd(const Graph &graph, const Card &card, std::int64_t seq) {
  double parameters = 0;
  for (const Node &node : graph.nodes)
    parameters += static_cast<double>(node.parameters);
  const double macs = macs_per_token(graph, seq) * static_cast<double>(seq);
  const double flops = 2 * std::max(macs, parameters) * passes * run_batch;
  const double compute = flops / (card.flops * compute_efficiency);
  const double memory =
      step_bytes_per_parameter * parameters / (card.bytes_per_second * memory_efficiency);
  const double step = step_seconds + std::max(compute, memory);
  const double seconds =
      run_start_seconds + run_epochs * std::ceil(run_sequences / run_batch) * step;
  return seconds / 3600 * card.usd_per_hour;
}

} // namespace headwater::estimator
