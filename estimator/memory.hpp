#pragma once

#include "estimator/architecture.hpp"
#include "estimator/structure.hpp"
#include "schemas/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// reference: the published pages' forms. physical: all that autograd keeps, as measured.
enum class MemoryModel : std::uint8_t { reference, physical };
std::string_view to_string(MemoryModel model);
std::optional<MemoryModel> memory_model_from(std::string_view word);

/// How training is set up. The default is the reference pages': fp32 master weights, AdamW, bf16
/// autocast.
struct Regime {
  bool pure_bf16 = false;     ///< weights, gradients and moments in bf16
  bool adam_8bit = false;     ///< optimiser moments in 8 bits
  bool checkpointing = false; ///< a layer's activations are computed again; physical model only
  bool qlora = false;         ///< the frozen base is 4-bit with double quantisation
};
/// One sentence: what the training figures assume.
std::string describe(const Regime &regime, MemoryModel model);

/// Bytes of one use: `fixed` once and `per_sample` for each sequence of a batch.
struct Need {
  double fixed = 0;
  double per_sample = 0;
  double at(std::int64_t batch) const { return fixed + per_sample * static_cast<double>(batch); }
};

/// The overhead that the reference adds to weights, optimiser and activations.
inline constexpr double overhead = 1.2;
/// A measured peak against the reference estimate; decides what is borderline.
inline constexpr double peak_factor = 1.43;

/// States a parameter in bytes (weights, gradient, moments), overhead in it.
double state_bytes_per_parameter(const Regime &regime, MemoryModel model);
/// Activation bytes of one sequence of `seq` tokens in one node.
double activation_bytes(const Node &node, std::int64_t seq, Training training, MemoryModel model);

/// Full fine-tune: states and activations.
Need full_fine_tune(const Graph &graph, std::int64_t seq, const Regime &regime, MemoryModel model);

/// LoRA at rank 16: frozen base, adapters with their states, activations.
struct LoraNeed {
  double base = 0;
  double adapters = 0;
  double per_sample = 0;
  Need need() const { return {base + adapters, per_sample}; }
};
LoraNeed lora(const Graph &graph, std::int64_t seq, const Regime &regime, MemoryModel model);

/// Weights at two bytes and, for each sequence, what the layers keep for it by their kind: a cache
/// that grows with the tokens (less where a window or chunk bounds it, none where a layer shares
/// another's), or a fixed state.
struct ServeCache {
  std::string kind;
  std::int64_t layers = 0;
  double bytes_per_token = 0;
  double bytes = 0;
};
struct ServeNeed {
  double weights = 0;
  double kv_cache = 0;            ///< of one sequence
  double recurrent_state = 0;     ///< of one sequence
  std::vector<ServeCache> caches; ///< by kind, of one sequence
  Need need() const { return {weights, kv_cache + recurrent_state}; }
};
ServeNeed serve(const Architecture &architecture, std::int64_t seq);

} // namespace headwater::estimator
