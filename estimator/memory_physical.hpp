#pragma once

#include "estimator/architecture.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace headwater::estimator {

/// How a model is trained, as far as what autograd keeps depends on it.
enum class Training : std::uint8_t {
  full, ///< fp32 weights under bf16 autocast
  lora, ///< frozen bf16 base, fp32 adapters of rank 16 on every linear but the head, bf16 autocast
  pure_bf16, ///< bf16 weights, no autocast
};
inline constexpr std::size_t training_kinds = 3;

/// Bytes that autograd keeps for a node: per token, per token and position (scores of eager
/// attention), and once.
struct HeldBytes {
  double per_token = 0;
  double per_token_position = 0;
  double fixed = 0;
};

/// One HeldBytes for each Training.
struct PhysicalBytes {
  std::array<HeldBytes, training_kinds> by_training = {};
  HeldBytes &operator[](Training training) {
    return by_training[static_cast<std::size_t>(training)];
  }
  const HeldBytes &operator[](Training training) const {
    return by_training[static_cast<std::size_t>(training)];
  }
};

enum class QueryKeyNorm : std::uint8_t { none, per_head, per_head_fp32, whole_width };

/// What decides the bytes that a layer keeps, beyond its sizes.
struct PhysicalTraits {
  NormKind norm = NormKind::rms;
  bool norm_keeps_fp32 = false; ///< its normalised value stays fp32 in a bf16 model
  bool centred_norm = false;    ///< a LayerNorm written out in fp32
  int norms_per_part = 1;       ///< 2 where the output of a part is normed too
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  bool fused_qkv = false;
  bool fused_qkv_view = false; ///< values are a view of the fused output, which stays whole
  bool rebuilt_query = false;  ///< partial rotary: the query is concatenated again
  bool fused_gate_up = false;
  bool written_out_gelu = false; ///< tanh-GELU in single steps, each kept
  bool gated_attention = false;  ///< a gate on the context
  double scores_per_head =
      0; ///< bytes per position and head where scores are kept (eager attention)
  bool capped_logits = false;
  bool sigmoid_router = false; ///< sigmoid scores, bf16, and a mask
};

/// Reads the traits from the tensor names, and for what names cannot tell from the model type.
PhysicalTraits physical_traits(const Architecture &architecture);

/// Bytes kept by the parts of a model; forms measured on real autograd with transformers, exact for
/// the model types measured. State-space mixers are taken from what their fused GPU kernels save
/// and are not measured.
PhysicalBytes physical_norm(const PhysicalTraits &traits, std::int64_t hidden);
PhysicalBytes physical_final_norm(const PhysicalTraits &traits, std::int64_t hidden);
PhysicalBytes physical_mixer(const PhysicalTraits &traits, const Mixer &mixer, std::int64_t hidden);
PhysicalBytes physical_feed_forward(const PhysicalTraits &traits, const FeedForward &part,
                                    std::int64_t hidden);
/// Cosines and sines, kept once for all layers.
PhysicalBytes physical_rotary(std::int64_t head_dim);
PhysicalBytes physical_linear(std::int64_t in, std::int64_t out);
/// Head and loss: the head's input, the fp32 log-softmax, and what lives beside it at the loss:
/// bf16 logits, their fp32 copy and the gradient.
PhysicalBytes physical_head(const PhysicalTraits &traits, std::int64_t hidden,
                            std::int64_t vocabulary);

} // namespace headwater::estimator
