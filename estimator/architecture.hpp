#pragma once

#include "schemas/json.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// How certain a reading of a config is (DESIGN.md rule 4).
enum class Reading : std::uint8_t { exact, transformers_semantics, headers, unknown };
std::string_view to_string(Reading reading);

/// What mixes tokens in a layer.
enum class MixerKind : std::uint8_t {
  none,
  attention,        ///< multi-head, grouped-query or multi-query, by heads and kv_heads
  latent_attention, ///< MLA: the cache holds kv_lora_rank + rope_head_dim a token
  mamba1,
  mamba2,
  gated_delta, ///< gated delta net and its kin: matrix state a head
  linear_attention,
  short_convolution,
  recurrent, ///< any other fixed-size recurrent state
};

/// One layer's token mixer. Sizes are elements, 0 where the kind has none.
struct Mixer {
  MixerKind kind = MixerKind::none;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_head_dim = 0;
  std::int64_t window =
      0; ///< tokens a sliding window keeps, 0 = all; only where the model's code applies it
  std::int64_t chunk = 0;            ///< tokens of a chunked-attention block, 0 = none
  bool shares_kv = false;            ///< reads another layer's cache and keeps none
  std::int64_t caches = 1;           ///< caches that it keeps: looped layers keep one for each pass
  std::int64_t kv_lora_rank = 0;     ///< latent attention
  std::int64_t q_lora_rank = 0;      ///< latent attention
  std::int64_t rope_head_dim = 0;    ///< latent attention
  std::int64_t indexer_width = 0;    ///< of the keys that choose what is attended to, one a token
  std::int64_t compress_rate = 0;    ///< tokens that one compressed entry stands for, 0 = none
  std::int64_t compressed_width = 0; ///< elements of such an entry
  std::int64_t inner = 0;            ///< d_inner of a state-space mixer
  std::int64_t groups = 0;           ///< n_groups of a state-space mixer
  std::int64_t state_size = 0;       ///< N of a state-space mixer
  std::int64_t conv_kernel = 0;      ///< taps of the short convolution
  std::int64_t conv_channels = 0;    ///< channels of the short convolution
  std::int64_t state_elements = 0;   ///< recurrent state of one sequence in this layer
  std::int64_t parameters = 0;
  bool operator==(const Mixer &) const = default;
};

enum class FeedForwardKind : std::uint8_t { none, dense, mixture };

/// One layer's feed-forward part.
struct FeedForward {
  FeedForwardKind kind = FeedForwardKind::none;
  bool gated = false;            ///< three matrices (SwiGLU and kin) rather than two
  std::int64_t intermediate = 0; ///< dense width
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0; ///< 0 when the config does not say
  std::int64_t expert_intermediate = 0;
  std::int64_t shared_experts = 0;
  std::int64_t shared_intermediate = 0; ///< summed over the shared experts
  std::int64_t latent = 0; ///< width that experts work in when it is not the hidden width
  std::int64_t parameters = 0;
  std::int64_t active_parameters = 0; ///< of them, used for one token
  bool operator==(const FeedForward &) const = default;
};

/// One layer as it is built; a hybrid's letter may have only one of the two parts.
struct Layer {
  Mixer mixer;
  FeedForward feed_forward;
  bool operator==(const Layer &) const = default;
};

enum class NormKind : std::uint8_t { none, rms, layer };
enum class PositionKind : std::uint8_t { none, learned, rotary, alibi, relative, sinusoidal };
enum class TensorKind : std::uint8_t { parameter, buffer };

/// Equal tensors as one entry: `name` has one `{}` for each axis, filled with that axis' indices;
/// the run stands for the product of its axes. `experts.{}` under `layers.{}` is two axes.
struct TensorRun {
  std::string name;
  std::vector<std::vector<std::int64_t>> axes;
  std::vector<std::int64_t> shape;
  TensorKind kind = TensorKind::parameter;
  bool mtp = false;         ///< belongs to a multi-token-prediction layer
  std::string tied_to = {}; ///< not stored: shares this tensor's bytes
  bool operator==(const TensorRun &) const = default;
};

/// A tensor of an expanded list.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  TensorKind kind = TensorKind::parameter;
  bool mtp = false;
  std::string tied_to = {};
};

/// Scalars, all checked for overflow. total = as published: tied once, MTP included, buffers apart.
struct Counts {
  std::int64_t total = 0;
  std::int64_t mtp = 0;
  std::int64_t buffers = 0;
  std::int64_t embedding = 0;
  std::int64_t active = 0; ///< used for one token
  bool operator==(const Counts &) const = default;
};

/// What a config.json says is built: layers for the plan, tensors for the count.
struct Architecture {
  std::string model_type;
  std::string family; ///< row of the families table that read it
  Reading reading = Reading::unknown;
  std::string reading_note = {}; ///< for a person: what the reading rests on, or why it is unknown
  bool custom_code = false;
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0; ///< 0 when the config does not bound it
  NormKind norm = NormKind::none;
  PositionKind position = PositionKind::none;
  bool tied_embeddings = false;
  bool head = false;   ///< has a language-model head (own or tied)
  bool hybrid = false; ///< a pattern of single-part layers
  std::vector<Layer> layers;
  std::vector<Layer> mtp_layers;
  std::vector<Layer> encoder_layers; ///< encoder-decoders only
  std::vector<TensorRun> tensors;
  Counts counts;
};

/// Derives the architecture from a parsed config.json alone: pure, no I/O, no guess. A model type
/// that no row reads gives reading unknown, with a note and no tensors (not an error). Errors:
/// malformed, with the key's path and its value ("num_hidden_layers: -4 ...").
Result<Architecture> derive(const Json &config);

/// Expands runs to single tensors in the order of the layers. Errors: too_large over `limit`
/// tensors.
Result<std::vector<Tensor>> expand(const std::vector<TensorRun> &runs,
                                   std::size_t limit = 2'000'000);

} // namespace headwater::estimator
