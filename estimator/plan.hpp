#pragma once

#include "estimator/architecture.hpp"
#include "estimator/memory.hpp"
#include "schemas/change.hpp"
#include "schemas/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headwater::estimator {

/// What a plan is asked for.
struct PlanOptions {
  std::int64_t batch =
      1; ///< sequences in the memory figures; the card table gives the largest that fits
  std::int64_t train_seq = 2048; ///< tokens of a training sequence
  std::int64_t serve_seq = 4096; ///< tokens of a served sequence
  MemoryModel memory_model = MemoryModel::reference;
  Regime regime = {};
  std::string card = {}; ///< only this card, and the run priced on it; "" = the table
  std::optional<std::int64_t> published_scalars = {}; ///< as the hub shows them
  std::optional<std::int64_t> stored_scalars = {};    ///< as the checkpoint's own headers add up
  std::vector<std::string> muted = {};                ///< ids of accepted rules
  bool tensors = false;                               ///< expand the tensor list into the plan
};

/// config.json -> plan. A model that nothing reads gives a plan that says unknown, and why, with no
/// figure that was not read (with stored scalars given: reading headers, with those). Errors:
/// malformed (the config, by key path and value), bad_input (the options), too_large (a tensor list
/// asked for that is too long).
Result<Plan> plan(const Json &config, const PlanOptions &options = {});

/// The same for an architecture that is derived already.
Result<Plan> plan_of(const Architecture &architecture, const Json &config,
                     const PlanOptions &options = {});

/// The figures that differ between two plans of one repo, to the printed digit, each with a
/// sentence ("KV cache at 4096 tokens 1.03 -> 0.52 GB", "serving no longer fits L4 24 GB").
std::vector<PlanChange> plan_changes(const Plan &before, const Plan &after);

} // namespace headwater::estimator
