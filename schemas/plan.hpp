#pragma once

#include "schemas/json.hpp"
#include "schemas/result.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater {

/// Scalars of a model. total = weights as published: tied once, multi-token prediction included,
/// buffers apart; 0 when only the checkpoint's headers were read, and then `stored` is all that is
/// known.
struct PlanParameters {
  std::int64_t total = 0;
  std::int64_t mtp = 0;
  std::int64_t buffers = 0;
  std::int64_t embedding = 0;
  std::int64_t active = 0;               ///< used for one token
  std::optional<std::int64_t> stored;    ///< scalars counted in the checkpoint's own headers
  std::optional<std::int64_t> published; ///< scalars that the hub shows
  std::string delta = {}; ///< total against published, "-7.10%"; "" without published
  friend bool operator==(const PlanParameters &, const PlanParameters &) = default;
};

/// What layers of one kind keep for one sequence while serving.
struct PlanCache {
  std::string kind; ///< "grouped-query", "sliding window 4,096", "Mamba-2 state", ...
  std::int64_t layers = 0;
  std::int64_t bytes_per_token =
      0;                  ///< growth with each token, all these layers together; 0 for fixed state
  std::int64_t bytes = 0; ///< at the plan's serving length and batch
  friend bool operator==(const PlanCache &, const PlanCache &) = default;
};

/// Bytes, at the plan's batch and sequence lengths. Each total is the sum of the parts beside it.
struct PlanMemory {
  std::string model =
      "reference"; ///< memory model behind the training totals: reference or physical
  std::int64_t batch = 1;
  std::int64_t train_seq = 2048;
  std::int64_t serve_seq = 4096;
  std::int64_t full_fine_tune_bytes = 0; ///< full_states_bytes + full_activation_bytes
  std::int64_t full_states_bytes = 0;    ///< weights, gradients, optimiser moments
  std::int64_t full_activation_bytes = 0;
  std::int64_t lora_bytes = 0; ///< lora_base_bytes + lora_adapter_bytes + lora_activation_bytes
  std::int64_t lora_base_bytes = 0;
  std::int64_t lora_adapter_bytes = 0;
  std::int64_t lora_activation_bytes = 0;
  std::int64_t serve_bytes = 0; ///< serve_weights_bytes + kv_cache_bytes + recurrent_state_bytes
  std::int64_t serve_weights_bytes = 0;
  std::int64_t kv_cache_bytes = 0;
  std::int64_t recurrent_state_bytes = 0;
  std::int64_t reference_bytes = 0;         ///< full fine-tune by the reference model
  std::int64_t physical_bytes = 0;          ///< full fine-tune by the physical model
  std::int64_t conservative_bytes = 0;      ///< max(1.43 x reference, physical), full fine-tune
  std::int64_t lora_conservative_bytes = 0; ///< the same for LoRA
  std::vector<PlanCache> caches; ///< kv_cache_bytes and recurrent_state_bytes by kind of layer
  friend bool operator==(const PlanMemory &, const PlanMemory &) = default;
};

/// Whether one use fits one kind of card, and how.
struct CardFit {
  enum class Kind : std::uint8_t { no, one, two } kind = Kind::no;
  std::int64_t batch = 0;        ///< largest that fits one card; 0 with Kind::one: any
  bool borderline = false;       ///< batch 1 fits only as estimated, not with the peak factor
  std::int64_t first_layers = 0; ///< two cards: layers on each
  std::int64_t second_layers = 0;
  friend bool operator==(const CardFit &, const CardFit &) = default;
};

/// "batch 3, borderline", "2 cards at batch 1 (42 + 57 layers)", "does not fit at batch 1".
std::string to_string(const CardFit &fit);
/// The reverse. Errors: malformed.
Result<CardFit> card_fit_from(std::string_view text);

/// A row of the card table.
struct PlanCard {
  std::string card; ///< "L4 24 GB"
  CardFit full;
  CardFit lora;
  CardFit serve;
  friend bool operator==(const PlanCard &, const PlanCard &) = default;
};

/// Cards needed by memory alone, for each use that fits no single card; "" for the others.
struct PlanSharded {
  std::string full;
  std::string lora;
  std::string serve;
  friend bool operator==(const PlanSharded &, const PlanSharded &) = default;
};

struct PlanCost {
  std::string card;
  double one_run_usd = 0; ///< to the cent
  friend bool operator==(const PlanCost &, const PlanCost &) = default;
};

/// A node of the drawn model.
struct PlanNode {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  friend bool operator==(const PlanNode &, const PlanNode &) = default;
};

struct PlanFinding {
  std::string id;
  std::string severity; ///< block, warn or info
  std::string message;
  std::string fix;
  friend bool operator==(const PlanFinding &, const PlanFinding &) = default;
};

struct PlanTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string tied_to = {};
  friend bool operator==(const PlanTensor &, const PlanTensor &) = default;
};

/// How much each use needs and what holds it, in the words of the page's head.
struct PlanSummary {
  std::string full_fine_tune;      ///< "26.7 GB"
  std::string full_fine_tune_fits; ///< "borderline on one A100 40 GB"
  std::string lora;
  std::string lora_fits;
  std::string serve;
  std::string serve_fits;
  friend bool operator==(const PlanSummary &, const PlanSummary &) = default;
};

/// What a revision needs. Facts that could not be read are absent, never zero (DESIGN.md rule 4).
struct Plan {
  std::string source = {};
  std::string repo = {};
  std::string revision = {};
  std::string model_type;
  std::string family;
  std::string reading = "unknown"; ///< exact, transformers-semantics, headers, unknown
  std::string reading_note = {};   ///< what the reading rests on, or why it is unknown
  bool custom_code = false;
  std::int64_t context = 0; ///< tokens; 0 when the config does not bound it
  std::optional<PlanParameters> parameters = {};
  std::optional<PlanMemory> memory = {};
  std::vector<PlanCard> cards = {};
  PlanSharded sharded = {};
  PlanSummary summary = {};
  std::optional<PlanCost> cost = {};
  std::int64_t layers = 0; ///< nodes less inputs and outputs; 0 when unknown
  std::vector<PlanNode> structure = {};
  std::vector<PlanFinding> findings = {};
  std::vector<std::string> muted =
      {};                  ///< rules that the caller accepted and that would have spoken
  std::string regime = {}; ///< what the training figures assume
  std::vector<std::string> rests_on = {};
  std::vector<PlanTensor> tensors = {};
  friend bool operator==(const Plan &, const Plan &) = default;
};

/// True when no finding blocks ("Will it forward-pass"). Says nothing about an unknown model.
bool forward_passes(const Plan &plan);

/// The JSON that people script against (DESIGN.md "plan {...}"); keys of facts that are not known
/// are left out.
OrderedJson to_json(const Plan &plan);
/// Reads what to_json wrote. Errors: malformed, naming the key.
Result<Plan> plan_from_json(const Json &json);

/// Bytes as the reference pages print them, GB = 1e9: "2.39 TB", "614 GB", "26.7 GB", "5.68 GB",
/// "25 MB".
std::string print_bytes(double bytes);
/// Scalars in billions as the reference pages print them: "124B", "8.49B"; under ten million in
/// millions.
std::string print_parameters(std::int64_t count);
/// Relative difference of `ours` to `published` with its sign kept on zero: "-0.00%", "+83.9%",
/// "+895%".
std::string print_delta(std::int64_t ours, std::int64_t published);

} // namespace headwater
