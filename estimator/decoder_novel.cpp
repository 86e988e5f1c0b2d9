#include "estimator/decoder_parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

namespace headwater::estimator {

// The dense layers in front have a width and a pattern of windows of their own.
void cohere2_moe_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  if (spec.feed_forward == FeedForwardKind::dense) {
    spec.width = config.size_or("prefix_dense_intermediate_size", spec.width);
  }
  if (decoder.types.empty()) {
    const bool prefix = index < decoder.first_dense;
    const std::int64_t period =
        std::max<std::int64_t>(1, prefix ? config.size_or("prefix_dense_sliding_window_pattern", 1)
                                         : config.size_or("sliding_window_pattern", 4));
    const std::int64_t position = prefix ? index : index - decoder.first_dense;
    spec.window = (position + 1) % period != 0 ? decoder.window : 0;
  }
}

void doge_plan(Decoder &decoder, std::int64_t /*index*/, LayerSpec &spec) {
  spec.variant = decoder.config.flag("is_moe") ? 1 : 0;
}

// Residual scales of its own, and a value-gated mask; the mixture keeps its experts as embeddings.
void doge_layer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  builder.add("input_residual", {decoder.hidden});
  builder.add("post_attention_residual", {decoder.hidden});
  if (spec.variant == 1) {
    const std::int64_t experts = config.positive("num_experts");
    const auto keys =
        static_cast<std::int64_t>(std::floor(std::sqrt(static_cast<double>(experts))));
    const auto scope = builder.in("mlp");
    builder.linear("router_gate", 2 * keys, decoder.hidden);
    builder.linear("down_embed", experts, decoder.hidden);
    builder.linear("up_embed", experts, decoder.hidden);
  }
}

void jetmoe_attention(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t dim = config.positive("kv_channels");
  const std::int64_t inner = spec.kv_heads * dim;
  const std::int64_t experts = config.positive("num_local_experts");
  mixer.kind = MixerKind::attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.kv_heads;
  mixer.head_dim = dim;
  mixer.value_head_dim = dim;
  const auto scope = builder.in("self_attention");
  builder.linear("kv_proj", 2 * inner, decoder.hidden);
  builder.add("experts.bias", {decoder.hidden});
  builder.add("experts.input_linear.weight", {experts, inner, decoder.hidden});
  builder.add("experts.output_linear.weight", {experts, decoder.hidden, inner});
  builder.linear("experts.router.layer", experts, decoder.hidden);
}

void jetmoe_experts(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = config.positive("num_local_experts");
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = spec.width;
  const auto scope = builder.in("mlp");
  builder.add("bias", {decoder.hidden});
  builder.linear("router.layer", ff.experts, decoder.hidden);
  builder.count_into(&ff.parameters, decoder.experts);
  builder.add("input_linear.weight", {ff.experts, 2 * spec.width, decoder.hidden});
  builder.add("output_linear.weight", {ff.experts, decoder.hidden, spec.width});
}

void lara_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  std::string_view type = type_of(decoder, index);
  if (type.empty()) {
    constexpr std::string_view pattern =
        "linear_attention sliding_attention linear_attention full_attention sliding_attention";
    type = word(pattern, static_cast<std::size_t>(index % 5));
    spec.window = type == "sliding_attention" ? decoder.window : 0;
  }
  if (type == "linear_attention" || type == "mamba") {
    spec.mixer = MixerKind::gated_delta;
  }
}

void lara_delta(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t value_heads = config.size("linear_num_value_heads");
  const std::int64_t key_dim = config.size("linear_key_head_dim");
  const std::int64_t value_dim = config.size("linear_value_head_dim");
  const std::int64_t kernel = config.size("linear_conv_kernel_dim");
  const std::int64_t keys = config.size("linear_num_key_heads") * key_dim;
  const std::int64_t values = value_heads * value_dim;
  mixer.kind = MixerKind::gated_delta;
  mixer.heads = value_heads;
  mixer.kv_heads = config.size("linear_num_key_heads");
  mixer.head_dim = key_dim;
  mixer.value_head_dim = value_dim;
  mixer.inner = values;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = 2 * keys + values;
  mixer.state_elements = times(builder.errors(), values, key_dim);
  const auto scope = builder.in("linear_attn");
  builder.add("A_log", {value_heads});
  builder.add("dt_bias", {value_heads});
  builder.add("conv1d.weight", {2 * keys + values, 1, kernel});
  builder.linear("in_proj", 2 * keys + 2 * values + 2 * value_heads, decoder.hidden);
  builder.norm("out_norm", value_dim);
  builder.linear("out_proj", decoder.hidden, values);
}

// mLSTM: a matrix memory a head, with exponential input and forget gates.
void xlstm_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Layer &layer = *decoder.layer;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t heads = config.positive("num_heads");
  const auto scaled = [&](std::string_view key, double otherwise) {
    const double value = config.real(key, otherwise) * static_cast<double>(hidden);
    return value >= 0 && value < 1e8 ? static_cast<std::int64_t>(value) : std::int64_t{0};
  };
  const std::int64_t qk = scaled("qk_dim_factor", 0.5);
  const std::int64_t v = scaled("v_dim_factor", 1.0);
  const std::int64_t multiple =
      std::max<std::int64_t>(1, config.size_or("ffn_round_up_to_multiple_of", 64));
  const std::int64_t up = (scaled("ffn_proj_factor", 2.667) + multiple - 1) / multiple * multiple;
  const bool bias = config.flag("use_bias");
  layer.mixer.kind = MixerKind::recurrent;
  layer.mixer.heads = heads;
  layer.mixer.head_dim = qk / heads;
  layer.mixer.value_head_dim = v / heads;
  layer.mixer.inner = v;
  layer.mixer.state_elements = times(builder.errors(), qk / heads, v) + qk + heads;
  {
    const auto scope = builder.in("mlstm_layer");
    builder.linear("q", qk, hidden, bias);
    builder.linear("k", qk, hidden, bias);
    builder.linear("v", v, hidden, bias);
    builder.linear("ogate_preact", v, hidden, bias);
    builder.linear("igate_preact", heads, hidden, true);
    builder.linear("fgate_preact", heads, hidden, true);
    builder.norm("multihead_norm", v, bias);
    builder.linear("out_proj", hidden, v, bias);
  }
  builder.count_into(&layer.feed_forward.parameters);
  layer.feed_forward.kind = FeedForwardKind::dense;
  layer.feed_forward.gated = true;
  layer.feed_forward.intermediate = up;
  const auto scope = builder.in("ffn");
  builder.linear("proj_up_gate", up, hidden, bias);
  builder.linear("proj_up", up, hidden, bias);
  builder.linear("proj_down", hidden, up, bias);
}

// One gate a head, or one an element of each head.
void laguna_gate(Decoder &decoder, const LayerSpec &spec) {
  const Json *gating = decoder.config.find("gating");
  const bool whole = gating != nullptr && *gating != Json(true) && *gating != Json("per-head");
  decoder.builder.linear("g_proj", whole ? spec.heads * spec.head_dim : spec.heads, decoder.hidden);
}

// The layers between the first and the last ones run several times, and each pass keeps its cache.
void dory_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::int64_t first = config.size_or("n_input_layers", 8) / decoder.parts;
  const std::int64_t last = config.size_or("n_output_layers", 8) / decoder.parts;
  const std::int64_t looped = config.has("n_recurrent_layers")
                                  ? config.size("n_recurrent_layers") / decoder.parts
                                  : decoder.layers - first - last;
  if (index >= first && index < first + looped &&
      config.text("recurrent_kv_cache_mode", "per_loop") == "per_loop") {
    spec.variant = std::max<std::int64_t>(1, config.size_or("n_recurrent_loops", 2)) - 1;
  }
}

void zaya_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  if (type_of(decoder, index) == "hybrid_sliding") {
    spec.window = decoder.config.size_or("sliding_window", 0);
  }
  spec.mixer = MixerKind::recurrent; // read by zaya_attention
  spec.variant = index == 0 ? 0 : 1;
}

// Compressed convolutional attention: queries and keys pass two short convolutions, half the value
// is delayed.
void zaya_attention(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t q = spec.heads * spec.head_dim;
  const std::int64_t kv = spec.kv_heads * spec.head_dim;
  const bool bias = config.flag("attention_bias");
  mixer.kind = MixerKind::attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.kv_heads;
  mixer.head_dim = spec.head_dim;
  mixer.value_head_dim = spec.head_dim;
  mixer.window = spec.window;
  // The two convolutions run one after the other over one window; half the last value waits.
  mixer.conv_kernel = config.size("cca_time0") + config.size("cca_time1") - 1;
  mixer.conv_channels = q + kv;
  mixer.state_elements = kv / 2;
  const auto scope = builder.in("self_attn");
  builder.linear("o_proj", hidden, q, bias);
  builder.add("qk_norm.temp", {spec.kv_heads});
  const auto inner = builder.in("qkv_proj");
  builder.linear("q_proj", q, hidden, bias);
  builder.linear("k_proj", kv, hidden, bias);
  builder.linear("v_proj_current", kv / 2, hidden, bias);
  builder.linear("v_proj_delayed", kv / 2, hidden, bias);
  builder.add("conv_qk_depthwise.weight", {q + kv, 1, config.size("cca_time0")});
  builder.add("conv_qk_depthwise.bias", {q + kv});
  builder.add("conv_qk_grouped.weight", {q + kv, spec.head_dim, config.size("cca_time1")});
  builder.add("conv_qk_grouped.bias", {q + kv});
}

// One more router output than there are experts lets a token pass by.
void zaya_experts(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t experts = config.positive("num_experts");
  const std::int64_t width = config.positive("moe_intermediate_size");
  const std::int64_t router = config.positive("router_hidden_size");
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = width;
  const auto scope = builder.in("mlp");
  {
    const auto gate = builder.in("gate");
    builder.add("balancing_biases", {experts + 1}, TensorKind::buffer);
    builder.linear("down_proj", router, hidden, true);
    builder.linear("router_mlp.fc1", router, router, true);
    builder.linear("router_mlp.fc2", router, router, true);
    builder.norm("router_mlp.norm", router);
    builder.linear("router_mlp.out_proj", experts + 1, router);
    if (spec.variant == 1) {
      builder.add("router_states_scale", {router});
    }
  }
  builder.count_into(&ff.parameters, decoder.experts);
  builder.add("experts.gate_up_proj", {experts, 2 * width, hidden});
  builder.add("experts.down_proj", {experts, hidden, width});
}

void zaya_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  for (const std::string_view part : {"post_attention_residual_scale", "post_mlp_residual_scale"}) {
    const auto scope = decoder.builder.in(part);
    for (const std::string_view name :
         {"hidden_states_bias", "hidden_states_scale", "residual_bias", "residual_scale"}) {
      decoder.builder.add(name, {decoder.hidden});
    }
  }
}

void zaya_model(Decoder &decoder) {
  decoder.builder.add("model.input_hidden_states_bias", {decoder.hidden});
  decoder.builder.add("model.input_hidden_states_scale", {decoder.hidden});
  if (decoder.config.flag("lm_head_bias")) {
    decoder.builder.add("lm_head.bias", {decoder.architecture.vocabulary});
  }
}

// The slow stack is the table's; the fast one repeats it.
void hrm_model(Decoder &decoder) {
  Architecture &architecture = decoder.architecture;
  const auto stored = static_cast<std::size_t>(decoder.layers);
  const auto root = decoder.builder.in("model");
  decoder.builder.add("z_L_init", {decoder.hidden});
  Layer layer;
  std::int64_t routed = 0;
  decoder.layer = &layer;
  decoder.experts = &routed;
  const auto scope = decoder.builder.over("L_module.layers", decoder.layers);
  emit_layer(decoder, decoder.dense_spec);
  layer.feed_forward.active_parameters = layer.feed_forward.parameters;
  // Each cycle of the slow stack runs the fast one several times, and each run keeps its cache.
  const std::int64_t slow = std::max<std::int64_t>(1, decoder.config.size_or("H_cycles", 1));
  const std::int64_t fast = std::max<std::int64_t>(1, decoder.config.size_or("L_cycles", 1));
  for (Layer &each : architecture.layers) {
    each.mixer.caches = slow;
  }
  layer.mixer.caches = times(decoder.builder.errors(), slow, fast);
  architecture.layers.insert(architecture.layers.end(), stored, layer);
}

void inkling_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::string_view type = type_of(decoder, index);
  const std::vector<std::int64_t> local = config.numbers("local_layer_ids");
  const bool sliding =
      type.empty()
          ? (local.empty() ? (index + 1) % 6 != 0 : std::ranges::find(local, index) != local.end())
          : type == "hybrid_sliding";
  if (sliding) {
    spec.window = config.size_or("sliding_window_size", 0);
    spec.heads = config.size_or("swa_num_attention_heads", spec.heads);
    spec.kv_heads = config.size_or("swa_num_key_value_heads", spec.kv_heads);
    spec.head_dim = config.size_or("swa_head_dim", spec.head_dim);
    spec.value_dim = spec.head_dim;
    spec.variant = 1;
  }
}

// Relative logits from a low-rank projection; keys and values pass a short convolution.
void inkling_attention(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  const std::int64_t rank = config.positive("d_rel");
  const std::int64_t kernel = config.positive("conv_kernel_size");
  const std::int64_t extent =
      spec.variant == 1 ? config.positive("sliding_window_size") : config.positive("rel_extent");
  const std::int64_t kv = spec.kv_heads * spec.head_dim;
  builder.linear("r_proj", spec.heads * rank, decoder.hidden);
  builder.add("rel_logits_proj.proj", {rank, extent});
  builder.add("k_sconv.conv1d.weight", {kv, 1, kernel});
  builder.add("v_sconv.conv1d.weight", {kv, 1, kernel});
  decoder.layer->mixer.conv_kernel = kernel;
  decoder.layer->mixer.conv_channels = 2 * kv + 2 * decoder.hidden;
}

// Shared experts are routed too: the gate has a row for each of them.
void inkling_experts(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  if (spec.experts == 0) {
    dense_block(decoder, spec.width);
    return;
  }
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t shared = config.size_or("n_shared_experts", 0);
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = spec.experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = spec.width;
  ff.shared_experts = shared;
  ff.shared_intermediate = shared * spec.width;
  const auto scope = builder.in("mlp");
  builder.linear("gate", spec.experts + shared, hidden);
  builder.add("gate.global_scale", {1});
  builder.add("gate.e_score_correction_bias", {spec.experts}, TensorKind::buffer);
  if (shared > 0) {
    builder.add("shared_experts.gate_proj", {shared, spec.width, hidden});
    builder.add("shared_experts.up_proj", {shared, spec.width, hidden});
    builder.add("shared_experts.down_proj", {shared, hidden, spec.width});
  }
  builder.count_into(&ff.parameters, decoder.experts);
  builder.add("experts.gate_up_proj", {spec.experts, 2 * spec.width, hidden});
  builder.add("experts.down_proj", {spec.experts, hidden, spec.width});
}

void inkling_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const std::int64_t kernel = decoder.config.positive("conv_kernel_size");
  decoder.builder.add("attn_sconv.conv1d.weight", {decoder.hidden, 1, kernel});
  decoder.builder.add("mlp_sconv.conv1d.weight", {decoder.hidden, 1, kernel});
}

// One entry of block_configs a layer: heads in a group, width as a multiple, and parts that are
// left out.
void nas_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const Json *blocks = config.find("block_configs");
  const auto position = static_cast<std::size_t>(index);
  if (blocks == nullptr || !blocks->is_array() || position >= blocks->size() ||
      !(*blocks)[position].is_object()) {
    config.reject("block_configs", "has no entry for each layer");
    return;
  }
  const Config block((*blocks)[position], {}, "block_configs.", config.errors());
  const Config attention = block.child("attention", {});
  const Config ffn = block.child("ffn", {});
  if (attention.flag("no_op")) {
    spec.mixer = MixerKind::none;
    spec.variant += 1;
  } else if (attention.flag("replace_with_linear")) {
    spec.mixer = MixerKind::recurrent; // one matrix, without a state
  } else {
    const std::int64_t group = attention.positive("n_heads_in_group");
    spec.kv_heads = std::max<std::int64_t>(1, spec.heads / std::max<std::int64_t>(1, group));
  }
  if (ffn.flag("no_op")) {
    spec.feed_forward = FeedForwardKind::none;
    spec.width = 0;
    spec.variant += 2;
  } else if (ffn.flag("replace_with_linear")) {
    spec.feed_forward = FeedForwardKind::none;
    spec.width = 0;
    spec.variant += 4;
  } else {
    const double width = 2.0 * ffn.real("ffn_mult", 0) * static_cast<double>(decoder.hidden) / 3.0;
    if (width < 1 || width > static_cast<double>(max_dimension)) {
      ffn.reject("ffn_mult", "leaves no usable width");
      return;
    }
    spec.width = (static_cast<std::int64_t>(width) + 255) / 256 * 256;
  }
}

void nas_linear(Decoder &decoder, const LayerSpec & /*spec*/) {
  decoder.layer->mixer.kind = MixerKind::none;
  decoder.builder.linear("self_attn.linear_attn", decoder.hidden, decoder.hidden);
}

void nas_norms(Decoder &decoder, const LayerSpec &spec) {
  if ((spec.variant & 1) == 0) {
    decoder.builder.norm("input_layernorm", decoder.hidden);
  }
  if ((spec.variant & 2) == 0) {
    decoder.builder.norm("post_attention_layernorm", decoder.hidden);
  }
  if ((spec.variant & 4) != 0) {
    decoder.builder.linear("mlp.linear_mlp", decoder.hidden, decoder.hidden);
  }
}

} // namespace headwater::estimator
