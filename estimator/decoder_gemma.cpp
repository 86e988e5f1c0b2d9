#include "estimator/decoder_parts.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

// The last layers read the caches of earlier ones and have no key and value of their own.
bool shares_cache(const Decoder &decoder, std::int64_t index) {
  std::int64_t shared = decoder.config.size_or("num_kv_shared_layers", 0);
  if (shared == 0 && decoder.architecture.model_type.ends_with("_assistant")) {
    shared = decoder.layers; // a drafter reads its target's caches only
  }
  return shared > 0 && index >= decoder.layers - shared;
}

void per_layer_inputs(Decoder &decoder) {
  const std::int64_t width = decoder.config.size_or("hidden_size_per_layer_input", 0);
  if (width == 0) {
    return;
  }
  decoder.builder.linear("per_layer_input_gate", width, decoder.hidden);
  decoder.builder.linear("per_layer_projection", decoder.hidden, width);
  decoder.builder.norm("post_per_layer_input_norm", decoder.hidden);
}

void per_layer_model(Decoder &decoder) {
  const Config &config = decoder.config;
  const std::int64_t width = config.size_or("hidden_size_per_layer_input", 0);
  if (width == 0) {
    return;
  }
  const auto root = decoder.builder.in(decoder.traits.root);
  decoder.builder.embedding("embed_tokens_per_layer", config.size("vocab_size_per_layer_input"),
                            decoder.layers * width);
  decoder.builder.linear("per_layer_model_projection", decoder.layers * width, decoder.hidden);
  decoder.builder.norm("per_layer_projection_norm", width);
}

} // namespace

void gemma3n_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  spec.shares_kv = shares_cache(decoder, index);
  const Json *widths = decoder.config.find("intermediate_size");
  if (widths != nullptr && widths->is_array()) {
    const auto position = static_cast<std::size_t>(index);
    if (position >= widths->size() || !(*widths)[position].is_number_integer()) {
      decoder.config.reject("intermediate_size", "has no width for each layer");
      return;
    }
    spec.width =
        std::clamp<std::int64_t>((*widths)[position].get<std::int64_t>(), 1, max_dimension);
  }
}

// AltUp's predictions and corrections, and LAuReL's low-rank residual.
void gemma3n_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t inputs = config.size("altup_num_inputs");
  const std::int64_t rank = config.size("laurel_rank");
  {
    const auto scope = builder.in("altup");
    builder.add("correct_output_scale", {hidden});
    builder.linear("correction_coefs", inputs, inputs);
    builder.linear("modality_router", inputs, hidden);
    builder.linear("prediction_coefs", inputs * inputs, inputs);
    builder.norm("router_norm", hidden);
  }
  {
    const auto scope = builder.in("laurel");
    builder.linear("linear_left", rank, hidden);
    builder.linear("linear_right", hidden, rank);
    builder.norm("post_laurel_norm", hidden);
  }
  per_layer_inputs(decoder);
}

void gemma3n_model(Decoder &decoder) {
  per_layer_model(decoder);
  const auto root = decoder.builder.in(decoder.traits.root);
  const std::int64_t others =
      std::max<std::int64_t>(1, decoder.config.size("altup_num_inputs")) - 1;
  for (const std::string_view name : {"altup_projections", "altup_unembed_projections"}) {
    const auto each = decoder.builder.over(name, others);
    decoder.builder.add("weight", {decoder.hidden, decoder.hidden});
  }
}

void gemma4_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  spec.shares_kv = shares_cache(decoder, index);
  const std::string_view type = type_of(decoder, index);
  const bool full = index + 1 == decoder.layers || // whatever the list says
                    (type.empty() ? (index + 1) % 6 == 0 : type == "full_attention");
  if (!full) {
    spec.window = config.size_or("sliding_window", 0);
    if (spec.window > 0 && config.has("use_bidirectional_attention") &&
        config.text("use_bidirectional_attention") == "all") {
      spec.window = spec.window / 2 + 1; // each side
    }
  }
  if (full && !config.json().contains("per_layer_config")) {
    spec.head_dim = config.size_or("global_head_dim", spec.head_dim);
    spec.value_dim = spec.head_dim;
  }
  if (full && config.flag("attention_k_eq_v")) {
    spec.variant = 1; // the value is the key
    spec.kv_heads = config.size_or("num_global_key_value_heads", spec.kv_heads);
  }
  if (spec.shares_kv && config.flag("use_double_wide_mlp")) {
    spec.width *= 2;
  }
  spec.mixer = MixerKind::recurrent; // read by gemma4_mixer
}

void gemma4_mixer(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  mixer.kind = MixerKind::attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.kv_heads;
  mixer.head_dim = spec.head_dim;
  mixer.value_head_dim = spec.head_dim;
  mixer.window = spec.window;
  mixer.shares_kv = spec.shares_kv;
  const bool bias = decoder.config.flag("attention_bias");
  const std::int64_t q = spec.heads * spec.head_dim;
  const std::int64_t kv = spec.kv_heads * spec.head_dim;
  const auto scope = builder.in("self_attn");
  builder.linear("q_proj", q, decoder.hidden, bias);
  builder.norm("q_norm", spec.head_dim);
  if (!spec.shares_kv) {
    builder.linear("k_proj", kv, decoder.hidden, bias);
    builder.norm("k_norm", spec.head_dim);
    if (spec.variant != 1) {
      builder.linear("v_proj", kv, decoder.hidden, bias);
    }
  }
  builder.linear("o_proj", decoder.hidden, q, bias);
}

// The expert block runs beside the dense one, each with norms of its own.
void gemma4_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  builder.add("layer_scalar", {1}, TensorKind::buffer);
  per_layer_inputs(decoder);
  if (!config.flag("enable_moe_block")) {
    return;
  }
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t experts = config.positive("num_experts");
  const std::int64_t width = config.positive("moe_intermediate_size");
  ff.kind = FeedForwardKind::mixture;
  ff.shared_experts = 1;
  ff.shared_intermediate = ff.intermediate;
  ff.experts = experts;
  ff.experts_per_token = config.size_or("top_k_experts", 0);
  ff.expert_intermediate = width;
  builder.norm("post_feedforward_layernorm_1", hidden);
  builder.norm("post_feedforward_layernorm_2", hidden);
  builder.norm("pre_feedforward_layernorm_2", hidden);
  std::int64_t added = 0;
  builder.count_into(&added);
  builder.linear("router.proj", experts, hidden);
  builder.add("router.scale", {hidden});
  builder.add("router.per_expert_scale", {experts});
  builder.count_into(&added, decoder.experts);
  builder.add("experts.gate_up_proj", {experts, 2 * width, hidden});
  builder.add("experts.down_proj", {experts, hidden, width});
  builder.count_into(nullptr);
  ff.parameters += added;
}

void gemma4_model(Decoder &decoder) {
  per_layer_model(decoder);
}

// An encoder's window looks both ways.
void gemma3_plan(Decoder &decoder, std::int64_t /*index*/, LayerSpec &spec) {
  if (spec.window > 0 && decoder.config.flag("use_bidirectional_attention")) {
    spec.window = spec.window / 2 + 1;
  }
}

void recurrent_gemma_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  std::vector<std::string> types = config.words("block_types");
  if (types.empty()) {
    types = {"recurrent", "recurrent", "attention"};
  }
  spec.width /= 2; // the config counts gate and up together
  if (types[static_cast<std::size_t>(index) % types.size()] == "recurrent") {
    spec.mixer = MixerKind::recurrent;
  } else {
    spec.window = config.size_or("attention_window_size", 0);
  }
}

// Griffin's real-gated linear recurrent unit behind a short convolution.
void recurrent_gemma_mixer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t width = config.size_or("lru_width", decoder.hidden);
  const std::int64_t block = width / std::max<std::int64_t>(1, spec.heads);
  const std::int64_t kernel = config.size("conv1d_width");
  mixer.inner = width;
  mixer.state_elements = width;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = width;
  const auto scope = builder.in("temporal_block");
  builder.add("conv_1d.weight", {width, 1, kernel});
  builder.add("conv_1d.bias", {width});
  builder.linear("linear_x", width, decoder.hidden, true);
  builder.linear("linear_y", width, decoder.hidden, true);
  builder.linear("linear_out", decoder.hidden, width, true);
  for (const std::string_view gate : {"input_gate", "recurrent_gate"}) {
    builder.add(fmt::format("rg_lru.{}_weight", gate), {spec.heads, block, block});
    builder.add(fmt::format("rg_lru.{}_bias", gate), {spec.heads, block});
  }
  builder.add("rg_lru.recurrent_param", {width});
}

} // namespace headwater::estimator
