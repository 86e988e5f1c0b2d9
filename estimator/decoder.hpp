#pragma once

#include "estimator/builder.hpp"
#include "estimator/config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// All that decides which tensors one decoder layer has; equal layers are emitted once, as runs.
struct LayerSpec {
  MixerKind mixer = MixerKind::attention;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t window = 0;
  std::int64_t chunk = 0;
  bool shares_kv = false;
  FeedForwardKind feed_forward = FeedForwardKind::dense;
  std::int64_t width = 0; ///< of the dense feed-forward part, or of one expert
  std::int64_t experts = 0;
  std::int64_t variant = 0;       ///< whatever else a family's layers differ in
  const Json *own_keys = nullptr; ///< the layer's entry of per_layer_config
  bool operator==(const LayerSpec &other) const {
    return same_sizes(other) &&
           (own_keys == other.own_keys ||
            (own_keys != nullptr && other.own_keys != nullptr && equal_keys(other)));
  }

private:
  bool same_sizes(const LayerSpec &other) const;
  bool equal_keys(const LayerSpec &other) const;
};

struct DecoderTraits;

/// What the blocks of one decoder share while it is read.
struct Decoder {
  const DecoderTraits &traits;
  const Config &config;
  Builder &builder;
  Architecture &architecture;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t parts = 1;                  ///< entries of layer_types for one layer
  std::vector<std::string> types = {};     ///< layer_types, empty when the config has none
  std::vector<std::string> mlp_types = {}; ///< mlp_layer_types
  std::vector<std::int64_t> mlp_only = {}; ///< layers that are never a mixture
  std::int64_t first_dense = 0;            ///< layers before the first mixture
  std::int64_t moe_every = 1;
  std::int64_t window = 0;
  std::int64_t window_period =
      0; ///< layers that the pattern of windows repeats over, 0 = no pattern
  std::string window_letters = {}; ///< one letter a layer, L for a layer with a window
  std::int64_t window_from = 0;    ///< first layer with a window
  const Json *per_layer = nullptr; ///< per_layer_config
  LayerSpec dense_spec = {};       ///< a plain layer
  LayerSpec mixture_spec = {};     ///< a layer with experts
  Layer *layer = nullptr;          ///< the facts of the layer in hand
  std::int64_t *experts = nullptr; ///< parameters of its routed experts
};

using LayerHook = void (*)(Decoder &, const LayerSpec &);
using PlanHook = void (*)(Decoder &, std::int64_t index, LayerSpec &);
using ModelHook = void (*)(Decoder &);
using RowsHook = std::int64_t (*)(const Config &);

enum class NormStyle : std::uint8_t { rms, layer, layer_weight_only, none };
enum class QkNorm : std::uint8_t { none, head, flat };
enum class Window : std::uint8_t {
  never,
  always,     ///< all layers, as soon as the config has one
  by_types,   ///< layers that layer_types calls sliding; without the list every N-th is full
  from_layer, ///< the layers from max_window_layers on
  qwen,       ///< the same, where use_sliding_window holds
  flagged,    ///< all layers, where use_sliding_window holds
  alternate,  ///< every other layer before max_window_layers, where use_sliding_window holds
  unrotated,  ///< layers without rotary positions, where use_sliding_window holds
};
enum class ExpertStyle : std::uint8_t { single, fused_out_in, fused_in_out };
enum class MoeLayers : std::uint8_t {
  all,
  after_first, ///< from first_k_dense_replace on
  sparse_step, ///< every decoder_sparse_step-th, less mlp_only_layers
  by_types, ///< where mlp_layer_types says sparse; without the list from first_k_dense_replace on
};

/// A layer's mixture of experts.
struct MoeTraits {
  std::string_view module = "mlp";
  std::string_view experts_key = "num_experts";
  std::string_view width_key = "moe_intermediate_size";
  std::string_view router = "gate";
  std::string_view names =
      "gate_proj up_proj down_proj"; ///< gate, up, down; two names: not gated, or fused
  ExpertStyle style = ExpertStyle::single;
  std::string_view correction = {};     ///< expert bias tensor of the router
  bool correction_is_weight = false;    ///< a parameter rather than a buffer
  std::string_view correction_key = {}; ///< flag that must hold for it
  std::string_view shared = {};         ///< module of the shared expert
  std::string_view shared_key = {};     ///< flag that must hold for it
  std::string_view shared_width = {};   ///< key of its width; empty: num_shared_experts x width
  bool shared_width_each = false;       ///< that key is the width of one of num_shared_experts
  std::string_view shared_names = "gate_proj up_proj down_proj";
  std::string_view shared_gate = {};
  MoeLayers layers = MoeLayers::all;
};

/// One row of the decoders' table. The defaults are Llama's.
struct DecoderTraits {
  std::string_view model_type;
  bool own_code =
      false; ///< built by its repositories' own code, which no class of transformers confirms
  std::string_view root = "model.";
  std::string_view embed = "embed_tokens";
  std::string_view layers = "layers";
  std::string_view final_norm = "norm";
  std::string_view head = "lm_head";
  std::int64_t embed_extra_rows = 0; ///< rows of the embedding besides the vocabulary
  RowsHook embed_rows = nullptr;     ///< the same, from the config
  std::string_view embed_width_key =
      {}; ///< width of the embedding where it is not the hidden width
  bool head_bias = false;
  bool can_tie = true;
  std::string_view norms = "input_layernorm post_attention_layernorm";
  NormStyle norm = NormStyle::rms;
  std::string_view norm_key = {}; ///< flag without which the layers' norms have no weights
  PositionKind position = PositionKind::rotary;
  std::string_view positions = {};  ///< learned position embedding
  std::int64_t position_offset = 0; ///< rows it has besides max_position_embeddings
  std::string_view attention = "self_attn";
  std::string_view projections =
      "q_proj k_proj v_proj o_proj"; ///< two names: q, k and v fused, and out
  std::string_view qkv_bias = {};    ///< key, or "yes"
  std::string_view out_bias = {};
  bool transposed = false; ///< weights stored [in, out]
  QkNorm qk = QkNorm::none;
  std::string_view qk_names = "q_norm k_norm";
  std::string_view qk_key = {}; ///< flag that must hold for them
  bool gated_query = false;     ///< q_proj holds the output gate too
  bool multi_head_only = false; ///< kv heads are heads whatever the config says
  std::string_view mlp = "mlp";
  std::string_view mlp_names =
      "gate_proj up_proj down_proj"; ///< two names: not gated unless `fused_gate`
  bool fused_gate = false;
  std::string_view mlp_bias = {};
  bool per_layer_width = false;  ///< intermediate_size may be a list, read by the row's plan
  std::int64_t mlp_multiple = 0; ///< width = this x hidden when the config names none
  const MoeTraits *moe = nullptr;
  Window window = Window::never;
  std::string_view window_key = "sliding_window";
  std::int64_t window_period = 0;
  std::int64_t window_full = -1; ///< the layer of each period that has no window; -1: its last
  std::int64_t window_after = 0; ///< layers before the first that may have a window
  bool window_ends_full = false; ///< the last layer never has a window
  std::string_view window_period_key = {}; ///< key that gives the period
  std::string_view window_twice_key = {};  ///< key of a window that counts both sides
  bool latent = false;                     ///< multi-head latent attention
  std::int64_t parts_per_layer = 1; ///< entries that num_hidden_layers and layer_types count for
                                    ///< one layer, where they name "mlp"
  std::string_view layer_count_key = "num_hidden_layers";
  std::string_view pattern_key =
      "layer_types"; ///< says how many layers there are where num_hidden_layers does not
  PlanHook plan = nullptr;
  LayerHook mixer =
      nullptr; ///< in place of the attention block where spec.mixer is neither attention kind
  LayerHook attention_extra = nullptr;
  LayerHook layer_extra = nullptr;
  LayerHook feed_forward = nullptr; ///< in place of the feed-forward block
  ModelHook model_extra = nullptr;
};

/// Reads `config` as the decoder of a row, into `architecture`.
void read_decoder(const DecoderTraits &traits, const Config &config, Architecture &architecture,
                  ReadErrors &errors);

/// Blocks that several decoders share.
void attention_block(Decoder &decoder, const LayerSpec &spec);
void latent_attention_block(Decoder &decoder, const LayerSpec &spec);
void dense_block(Decoder &decoder, std::int64_t width);
void mixture_block(Decoder &decoder, const LayerSpec &spec, const MoeTraits &moe);
/// Layer `index` of a row, its own hook included.
LayerSpec plan_layer(Decoder &decoder, std::int64_t index);
/// layer_types of a layer, empty where there is none.
std::string_view type_of(const Decoder &decoder, std::int64_t index);
/// All of one layer's tensors under the present prefix.
void emit_layer(Decoder &decoder, const LayerSpec &spec);

/// A word of a space-separated list.
std::string_view word(std::string_view list, std::size_t index);
std::size_t word_count(std::string_view list);

/// The table's row for a model type, nullptr when there is none.
const DecoderTraits *find_decoder(std::string_view model_type);

} // namespace headwater::estimator
