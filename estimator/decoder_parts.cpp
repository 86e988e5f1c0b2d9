#include "estimator/decoder_parts.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {

void xielu_activation(Decoder &decoder, const LayerSpec & /*spec*/) {
  const auto scope = decoder.builder.in("mlp.act_fn");
  decoder.builder.add("alpha_n", {1});
  decoder.builder.add("alpha_p", {1});
  decoder.builder.add("beta", {}, TensorKind::buffer);
  decoder.builder.add("eps", {}, TensorKind::buffer);
}

void layer_qk_norms(Decoder &decoder, const LayerSpec &spec) {
  if (decoder.config.flag("qk_layernorm", true)) {
    decoder.builder.norm("q_layernorm", spec.head_dim, true);
    decoder.builder.norm("k_layernorm", spec.head_dim, true);
  }
}

// One norm a head, each a module of its own.
void stablelm_qk_norms(Decoder &decoder, const LayerSpec &spec) {
  if (!decoder.config.flag("qk_layernorm")) {
    return;
  }
  for (const auto &[name, heads] :
       {std::pair("q_layernorm.norms", spec.heads), {"k_layernorm.norms", spec.kv_heads}}) {
    const auto scope = decoder.builder.over(name, heads);
    decoder.builder.add("weight", {spec.head_dim});
  }
}

void axk2_norms(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  const std::int64_t rank = decoder.config.size("gated_norm_rank");
  for (const std::string_view name : {"input_layernorm", "post_attention_layernorm"}) {
    const bool gated = name == "input_layernorm" || spec.experts > 0;
    if (!gated) {
      builder.norm(name, decoder.hidden);
      continue;
    }
    const auto scope = builder.in(name);
    builder.norm("norm", decoder.hidden);
    builder.linear("W_down", rank, decoder.hidden);
    builder.linear("W_up", decoder.hidden, rank);
  }
}

namespace {

// Kimi delta attention: a gated delta net with one decay a channel.
void kimi_delta(Decoder &decoder, bool low_rank, bool four_dimensional) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  // The published config has them in an object of their own, or takes the attention's.
  const Config nested = config.child("linear_attn_config", {});
  const auto size = [&](std::string_view inner_key, std::string_view key, std::string_view shared) {
    return nested.has(inner_key) ? nested.size(inner_key)
           : config.has(key)     ? config.size(key)
           : config.has(shared)  ? config.size(shared)
                                 : config.size(key);
  };
  const std::string_view shared_dim = low_rank ? std::string_view{} : "head_dim";
  const std::string_view shared_heads = low_rank ? std::string_view{} : "num_attention_heads";
  const std::int64_t heads = size("num_heads", "linear_num_heads", shared_heads);
  const std::int64_t dim = size("head_dim", "linear_head_dim", shared_dim);
  const std::int64_t kernel =
      size("short_conv_kernel_size", "linear_conv_kernel_dim", "short_conv_kernel_size");
  const std::int64_t inner = heads * dim;
  mixer.kind = MixerKind::gated_delta;
  mixer.heads = heads;
  mixer.kv_heads = heads;
  mixer.head_dim = dim;
  mixer.value_head_dim = dim;
  mixer.inner = inner;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = 3 * inner;
  mixer.state_elements = times(builder.errors(), inner, dim);
  const auto scope = builder.in(decoder.traits.attention);
  for (const std::string_view name : {"q", "k", "v"}) {
    builder.linear(fmt::format("{}_proj", name), inner, decoder.hidden);
    builder.add(fmt::format("{}_conv1d.weight", name), {inner, 1, kernel});
  }
  if (four_dimensional) {
    builder.add("A_log", {1, 1, heads, 1});
  } else {
    builder.add("A_log", {heads});
  }
  builder.add("dt_bias", {inner});
  builder.linear("b_proj", heads, decoder.hidden);
  if (low_rank) {
    for (const std::string_view name : {"f", "g"}) {
      builder.linear(fmt::format("{}_a_proj", name), dim, decoder.hidden);
      builder.linear(fmt::format("{}_b_proj", name), inner, dim);
    }
  } else {
    builder.linear("f_proj", inner, decoder.hidden);
    builder.linear("g_proj", inner, decoder.hidden);
  }
  builder.norm("o_norm", dim);
  builder.linear(four_dimensional ? "o_proj" : "dense", decoder.hidden, inner);
}

bool linear_type(std::string_view type) {
  return type == "linear_attention" || type == "mamba";
}

} // namespace

void bailing_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const std::int64_t group =
      std::max<std::int64_t>(1, decoder.config.size_or("layer_group_size", 1));
  const std::string_view type = type_of(decoder, index);
  const bool predicts = index >= decoder.layers; // prediction layers have softmax attention
  const bool linear = !predicts && (type.empty() ? (index + 1) % group != 0 : linear_type(type));
  spec.mixer = linear ? MixerKind::gated_delta : MixerKind::recurrent;
}

void bailing_mixer(Decoder &decoder, const LayerSpec &spec) {
  if (spec.mixer == MixerKind::gated_delta) {
    kimi_delta(decoder, false, false);
    return;
  }
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  mixer.kind = MixerKind::latent_attention;
  mixer.heads = spec.heads;
  mixer.kv_lora_rank = config.size("kv_lora_rank");
  mixer.q_lora_rank = config.size_or("q_lora_rank", 0);
  mixer.rope_head_dim = config.size("qk_rope_head_dim");
  mixer.head_dim = config.size("qk_nope_head_dim") + mixer.rope_head_dim;
  mixer.value_head_dim = config.size("v_head_dim");
  const std::int64_t value = mixer.value_head_dim;
  const bool bias = config.flag("attention_bias");
  const auto scope = builder.in(decoder.traits.attention);
  if (mixer.q_lora_rank == 0) {
    builder.linear("q_proj", spec.heads * mixer.head_dim, decoder.hidden);
  } else {
    builder.linear("q_a_proj", mixer.q_lora_rank, decoder.hidden);
    builder.norm("q_a_layernorm", mixer.q_lora_rank);
    builder.linear("q_b_proj", spec.heads * mixer.head_dim, mixer.q_lora_rank);
  }
  builder.linear("kv_a_proj_with_mqa", mixer.kv_lora_rank + mixer.rope_head_dim, decoder.hidden,
                 bias);
  builder.norm("kv_a_layernorm", mixer.kv_lora_rank);
  builder.linear("kv_b_proj", spec.heads * (mixer.head_dim - mixer.rope_head_dim + value),
                 mixer.kv_lora_rank);
  builder.linear("g_proj", spec.heads, decoder.hidden);
  builder.linear("dense", decoder.hidden, spec.heads * value, bias);
}

void kimi_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  std::string_view type = type_of(decoder, index);
  const Json *linear = decoder.config.find("linear_attn_config");
  if (type.empty() && linear != nullptr && linear->is_object() &&
      linear->contains("full_attn_layers")) {
    // The lists of the published config count layers from 1.
    const Json &full = linear->at("full_attn_layers");
    type = full.is_array() && std::ranges::find(full, Json(index + 1)) != full.end()
               ? "full_attention"
               : "linear_attention";
  } else if (type.empty()) {
    type = index > 0 && index % 4 == 0 ? "full_attention" : "linear_attention";
  }
  spec.mixer = linear_type(type) ? MixerKind::gated_delta : MixerKind::latent_attention;
}

void kimi_mixer(Decoder &decoder, const LayerSpec & /*spec*/) {
  kimi_delta(decoder, true, true);
}

void bamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const std::string_view type = type_of(decoder, index);
  bool mamba = linear_type(type);
  if (type.empty()) {
    const std::vector<std::int64_t> attention = decoder.config.numbers("attn_layer_indices");
    mamba = std::ranges::find(attention, index) == attention.end();
  }
  if (mamba) {
    spec.mixer = MixerKind::mamba2;
  }
  if (decoder.traits.moe != nullptr && spec.experts == 0) {
    spec.feed_forward = FeedForwardKind::none;
  }
}

namespace {

Mamba2Sizes bamba_sizes(Decoder &decoder) {
  const Config &config = decoder.config;
  Mamba2Sizes sizes;
  sizes.inner = config.size_or("mamba_expand", 2) * decoder.hidden;
  sizes.heads = config.size("mamba_n_heads");
  sizes.groups = config.size("mamba_n_groups");
  sizes.state = config.size("mamba_d_state");
  sizes.kernel = config.size("mamba_d_conv");
  sizes.conv_bias = config.flag("mamba_conv_bias", true);
  sizes.projection_bias = config.flag("mamba_proj_bias");
  return sizes;
}

} // namespace

void bamba_mixer(Decoder &decoder, const LayerSpec & /*spec*/) {
  mamba2_block(decoder, "mamba", bamba_sizes(decoder));
}

// Mamba and attention run side by side in each layer: the state is the layer's besides its KV
// cache.
void falcon_h1_mamba(Decoder &decoder, const LayerSpec & /*spec*/) {
  Mamba2Sizes sizes = bamba_sizes(decoder);
  sizes.inner = decoder.config.size_or("mamba_d_ssm", sizes.inner);
  sizes.gated_norm = decoder.config.flag("mamba_rms_norm");
  sizes.output_bias = decoder.config.flag("projectors_bias");
  const Mixer attention = decoder.layer->mixer;
  Mixer &mixer = decoder.layer->mixer;
  decoder.builder.count_into(&mixer.parameters);
  mamba2_block(decoder, "mamba", sizes);
  decoder.builder.count_into(nullptr);
  mixer.kind = attention.kind;
  mixer.heads = attention.heads;
  mixer.head_dim = attention.head_dim;
}

void gated_delta_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const std::string_view type = type_of(decoder, index);
  const std::int64_t interval =
      std::max<std::int64_t>(1, decoder.config.size_or("full_attention_interval", 4));
  if (type.empty() ? (index + 1) % interval != 0 : linear_type(type)) {
    spec.mixer = MixerKind::gated_delta;
  }
}

// attention_types: [[["global", "local"], 12]] repeats its list.
void gpt_neo_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  std::vector<std::string> types = config.words("attention_layers");
  if (types.empty()) {
    types = {"global", "local"};
    const Json *pattern = config.find("attention_types");
    if (pattern != nullptr && pattern->is_array() && !pattern->empty() &&
        pattern->front().is_array() && !pattern->front().empty() &&
        pattern->front().front().is_array()) {
      types.clear();
      for (const Json &type : pattern->front().front()) {
        types.push_back(type.is_string() ? type.get<std::string>() : std::string());
      }
    }
  }
  if (!types.empty() && types[static_cast<std::size_t>(index) % types.size()] == "local") {
    spec.window = config.size_or("window_size", 256);
  }
}

void gpt_oss_experts(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t experts = config.positive("num_local_experts");
  const std::int64_t hidden = decoder.hidden;
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = spec.width;
  const auto scope = builder.in("mlp");
  builder.linear("router", experts, hidden, true);
  builder.count_into(&ff.parameters, decoder.experts);
  builder.add("experts.gate_up_proj", {experts, hidden, 2 * spec.width});
  builder.add("experts.gate_up_proj_bias", {experts, 2 * spec.width});
  builder.add("experts.down_proj", {experts, spec.width, hidden});
  builder.add("experts.down_proj_bias", {experts, hidden});
}

void granite_shared_mlp(Decoder &decoder, const LayerSpec & /*spec*/) {
  const std::int64_t width = decoder.config.size_or("shared_intermediate_size", 0);
  if (width == 0) {
    return;
  }
  FeedForward &ff = decoder.layer->feed_forward;
  std::int64_t parameters = 0;
  decoder.builder.count_into(&parameters);
  const auto scope = decoder.builder.in("shared_mlp");
  decoder.builder.linear("input_linear", 2 * width, decoder.hidden);
  decoder.builder.linear("output_linear", decoder.hidden, width);
  decoder.builder.count_into(nullptr);
  ff.parameters += parameters;
  ff.gated = true;
  if (ff.kind == FeedForwardKind::mixture) {
    ff.shared_experts = 1;
    ff.shared_intermediate = width;
  } else {
    ff.kind = FeedForwardKind::dense;
    ff.intermediate = width;
  }
}

void jamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::string_view type = type_of(decoder, index);
  const auto on = [&](std::string_view period, std::string_view offset) {
    return index % std::max<std::int64_t>(1, config.size(period)) == config.size(offset);
  };
  if (type.empty() ? !on("attn_layer_period", "attn_layer_offset") : linear_type(type)) {
    spec.mixer = MixerKind::mamba1;
  }
  if (spec.experts > 1 && !on("expert_layer_period", "expert_layer_offset")) {
    spec.experts = 0;
  }
  if (spec.experts < 2) {
    spec.experts = 0;
    spec.feed_forward = FeedForwardKind::dense;
  }
}

void lfm2_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::string_view type = type_of(decoder, index);
  bool convolution = type == "conv";
  if (type.empty() && config.model_type() == "lfm3") {
    convolution = index == 0 || index % 2 != 0;
    spec.window = convolution || index % 4 != 0 ? 0 : decoder.window;
  } else if (type.empty()) {
    const std::vector<std::int64_t> full = config.numbers("full_attn_idxs");
    convolution = !full.empty() && std::ranges::find(full, index) == full.end();
  }
  if (convolution) {
    spec.mixer = MixerKind::short_convolution;
    spec.window = 0;
  }
  if (spec.experts == 0 && config.has("block_ff_dim")) {
    spec.width = config.positive("block_ff_dim");
  }
  if (spec.experts == 0 && config.flag("block_auto_adjust_ff_dim")) {
    const std::int64_t multiple =
        std::max<std::int64_t>(1, config.size_or("block_multiple_of", 256));
    const double scaled =
        config.real("block_ffn_dim_multiplier", 1.0) * static_cast<double>(2 * spec.width / 3);
    if (scaled < 1 || scaled > static_cast<double>(max_dimension)) {
      config.reject("block_ffn_dim_multiplier", "leaves no usable width");
      return;
    }
    spec.width = (static_cast<std::int64_t>(scaled) + multiple - 1) / multiple * multiple;
  }
}

void lfm2_mixer(Decoder &decoder, const LayerSpec & /*spec*/) {
  short_convolution_block(decoder, decoder.config.size("conv_L_cache"),
                          decoder.config.flag("conv_bias"));
}

void llama4_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  bool mixture = false;
  if (config.has("moe_layers")) {
    const std::vector<std::int64_t> layers = config.numbers("moe_layers");
    mixture = std::ranges::find(layers, index) != layers.end();
  } else {
    const std::int64_t step =
        std::max<std::int64_t>(1, config.size_or("interleave_moe_layer_step", 1));
    mixture = (index + 1) % step == 0;
  }
  spec.experts = mixture ? spec.experts : 0;
  spec.feed_forward = mixture ? FeedForwardKind::mixture : FeedForwardKind::dense;
  if (!mixture) {
    spec.width = config.size("intermediate_size_mlp");
  }
  const std::string_view type = type_of(decoder, index);
  const std::int64_t chunk = config.size_or("attention_chunk_size", 0);
  if (type.empty()) {
    const std::vector<std::int64_t> rope = config.numbers("no_rope_layers");
    const std::int64_t interval =
        std::max<std::int64_t>(1, config.size_or("no_rope_layer_interval", 4));
    const bool chunked = static_cast<std::size_t>(index) < rope.size()
                             ? rope[static_cast<std::size_t>(index)] != 0
                             : (index + 1) % interval != 0;
    spec.chunk = chunked ? chunk : 0;
  } else {
    spec.chunk = type.starts_with("chunked") ? chunk : 0;
  }
}

// Two attention and two dense parts a layer around one mixture, with experts that pass their input
// through.
void longcat_layer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Layer &layer = *decoder.layer;
  const std::int64_t hidden = decoder.hidden;
  for (const std::string_view part : {"self_attn.0", "self_attn.1"}) {
    const auto scope = builder.in(part);
    DecoderTraits inner = decoder.traits;
    inner.attention = {};
    Decoder view{inner, config, builder, decoder.architecture, hidden, decoder.layers};
    view.layer = &layer;
    latent_attention_block(view, spec);
  }
  layer.mixer.kind = MixerKind::latent_attention;
  layer.mixer.heads = 2 * spec.heads;
  builder.count_into(&layer.feed_forward.parameters);
  const std::int64_t dense = config.size("ffn_hidden_size");
  const std::int64_t experts = config.size("n_routed_experts");
  const std::int64_t zero = config.size_or("zero_expert_num", 0);
  const std::int64_t width = config.size("expert_ffn_hidden_size");
  {
    const auto scope = builder.over("mlps", 2);
    builder.linear("gate_proj", dense, hidden);
    builder.linear("up_proj", dense, hidden);
    builder.linear("down_proj", hidden, dense);
  }
  FeedForward &ff = layer.feed_forward;
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.intermediate = 2 * dense;
  ff.experts = experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = width;
  const auto scope = builder.in("mlp");
  builder.linear("router.classifier", experts + zero, hidden);
  builder.add("router.e_score_correction_bias", {experts + zero}, TensorKind::buffer);
  builder.count_into(&ff.parameters, decoder.experts);
  const auto each = builder.over("experts", experts);
  builder.linear("gate_proj", width, hidden);
  builder.linear("up_proj", width, hidden);
  builder.linear("down_proj", hidden, width);
}

void mamba_plan(Decoder & /*decoder*/, std::int64_t /*index*/, LayerSpec &spec) {
  spec.mixer = MixerKind::mamba1;
  spec.feed_forward = FeedForwardKind::none;
  spec.width = 0;
}

void mamba2_mixer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Mamba2Sizes sizes;
  sizes.inner = config.size_or("expand", 2) * decoder.hidden;
  sizes.heads = config.size("num_heads");
  sizes.groups = config.size("n_groups");
  sizes.state = config.size("state_size");
  sizes.kernel = config.size("conv_kernel");
  sizes.conv_bias = config.flag("use_conv_bias", true);
  sizes.projection_bias = config.flag("use_bias");
  mamba2_block(decoder, "mixer", sizes);
}

void mimo_v2_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  std::string_view type = type_of(decoder, index);
  if (type.empty()) {
    const std::vector<std::int64_t> pattern = config.numbers("hybrid_layer_pattern");
    const bool full = static_cast<std::size_t>(index) < pattern.size()
                          ? pattern[static_cast<std::size_t>(index)] != 1
                          : index == 0 || (index + 1) % 6 == 0;
    type = full ? "full_attention" : "sliding_attention";
  }
  spec.value_dim = config.size_or("v_head_dim", spec.head_dim);
  if (type == "sliding_attention") {
    // The other key counts the tokens before the one that asks.
    spec.window = config.has("sliding_window_size") ? config.size("sliding_window_size") + 1
                                                    : config.size_or("sliding_window", 0);
    spec.kv_heads = config.size_or("swa_num_key_value_heads", 2 * spec.kv_heads);
    spec.heads = config.size_or("swa_num_attention_heads", spec.heads);
    spec.head_dim = config.size_or("swa_head_dim", spec.head_dim);
    spec.value_dim = config.size_or("swa_v_head_dim", spec.value_dim);
    spec.variant = 1;
  }
}

void mimo_v2_sink(Decoder &decoder, const LayerSpec &spec) {
  if (spec.variant == 1) {
    decoder.builder.add("attention_sink_bias", {spec.heads});
  }
}

void minimax_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  std::string_view type = type_of(decoder, index);
  if (type.empty()) {
    const std::vector<std::int64_t> pattern = decoder.config.numbers("attn_type_list");
    const bool full = static_cast<std::size_t>(index) < pattern.size()
                          ? pattern[static_cast<std::size_t>(index)] == 1
                          : (index + 1) % 2 != 0;
    type = full ? "full_attention" : "linear_attention";
  }
  if (linear_type(type)) {
    spec.mixer = MixerKind::linear_attention;
  }
}

// Lightning attention: a decaying matrix state a head, whose decay tables are buffers.
void minimax_lightning(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t width = spec.heads * spec.head_dim;
  const std::int64_t block = decoder.config.size("block_size");
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.heads;
  mixer.head_dim = spec.head_dim;
  mixer.value_head_dim = spec.head_dim;
  mixer.inner = width;
  mixer.state_elements = times(builder.errors(), width, spec.head_dim);
  const auto scope = builder.in("self_attn");
  builder.linear("qkv_proj", 3 * width, decoder.hidden);
  builder.linear("out_proj", decoder.hidden, width);
  builder.linear("output_gate", width, decoder.hidden);
  builder.norm("norm", width);
  builder.add("slope_rate", {spec.heads, 1, 1}, TensorKind::buffer);
  builder.add("query_decay", {spec.heads, block, 1}, TensorKind::buffer);
  builder.add("key_decay", {spec.heads, block, 1}, TensorKind::buffer);
  builder.add("diagonal_decay", {1, spec.heads, block, block}, TensorKind::buffer);
}

void nemotron_h_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  decoder.architecture.hybrid = true;
  if (index >= 0) {
    const std::string_view type = type_of(decoder, index);
    if (!type.empty()) {
      spec.variant = linear_type(type) ? 'M' : type == "moe" ? 'E' : type == "mlp" ? '-' : '*';
    } else {
      const std::string pattern = config.text("hybrid_override_pattern");
      if (std::ssize(pattern) != decoder.layers) {
        config.reject("hybrid_override_pattern",
                      fmt::format("has not one letter a layer of {}", decoder.layers));
        return;
      }
      spec.variant = pattern[static_cast<std::size_t>(index)];
    }
  }
  spec.mixer = spec.variant == 'M'   ? MixerKind::mamba2
               : spec.variant == '*' ? MixerKind::attention
                                     : MixerKind::none;
  spec.feed_forward = spec.variant == 'E'   ? FeedForwardKind::mixture
                      : spec.variant == '-' ? FeedForwardKind::dense
                                            : FeedForwardKind::none;
  if (spec.variant == 'E') {
    spec.experts = config.positive("n_routed_experts");
    spec.width = config.size("moe_intermediate_size");
  } else if (spec.variant == '-') {
    spec.width = config.size("intermediate_size");
  } else if (spec.variant != 'M' && spec.variant != '*') {
    config.reject("hybrid_override_pattern", "has a letter that is none of M, E, * and -");
  }
}

void nemotron_h_mamba(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Mamba2Sizes sizes;
  sizes.heads = config.size("mamba_num_heads");
  sizes.inner = sizes.heads * config.size("mamba_head_dim");
  sizes.groups = config.size("n_groups");
  sizes.state = config.size("ssm_state_size");
  sizes.kernel = config.size("conv_kernel");
  sizes.conv_bias = config.flag("use_conv_bias", true);
  sizes.projection_bias = config.flag("use_bias");
  mamba2_block(decoder, "mixer", sizes);
}

// Experts with two matrices each, in a latent width where the config has one.
void nemotron_h_feed_forward(Decoder &decoder, const LayerSpec &spec) {
  if (spec.feed_forward == FeedForwardKind::dense) {
    dense_block(decoder, spec.width);
  }
  if (spec.feed_forward != FeedForwardKind::mixture) {
    return;
  }
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t hidden = decoder.hidden;
  const bool bias = config.flag("mlp_bias");
  ff.kind = FeedForwardKind::mixture;
  ff.experts = spec.experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = spec.width;
  ff.latent = config.size_or("moe_latent_size", 0);
  ff.shared_experts = config.size_or("n_shared_experts", 0);
  ff.shared_intermediate = config.size_or("moe_shared_expert_intermediate_size", 0);
  const std::int64_t inside = ff.latent > 0 ? ff.latent : hidden;
  const auto scope = builder.in("mixer");
  builder.linear("gate", spec.experts, hidden);
  builder.add("gate.e_score_correction_bias", {spec.experts}, TensorKind::buffer);
  if (ff.latent > 0) {
    builder.linear("fc1_latent_proj", ff.latent, hidden, bias);
    builder.linear("fc2_latent_proj", hidden, ff.latent, bias);
  }
  if (ff.shared_experts > 0 && ff.shared_intermediate > 0) {
    builder.linear("shared_experts.up_proj", ff.shared_intermediate, hidden, bias);
    builder.linear("shared_experts.down_proj", hidden, ff.shared_intermediate, bias);
  }
  builder.count_into(&ff.parameters, decoder.experts);
  const auto experts = builder.over("experts", spec.experts);
  builder.linear("up_proj", spec.width, inside);
  builder.linear("down_proj", inside, spec.width);
}

void olmo_hybrid_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const std::string_view type = type_of(decoder, index);
  const bool only = decoder.layers < 4 && index + 1 == decoder.layers; // one layer has attention
  if (type.empty() ? (index + 1) % 4 != 0 && !only : linear_type(type)) {
    spec.mixer = MixerKind::gated_delta;
  }
}

void olmo_hybrid_mixer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t key_heads =
      std::max<std::int64_t>(1, config.size_or("linear_num_key_heads", spec.heads));
  const std::int64_t value_heads = config.size_or("linear_num_value_heads", spec.heads);
  const std::int64_t key_dim = config.size_or("linear_key_head_dim", hidden * 3 / 4 / key_heads);
  const std::int64_t keys = key_heads * key_dim;
  const std::int64_t value_dim = config.size_or("linear_value_head_dim", 2 * key_dim);
  const std::int64_t values = value_heads * value_dim;
  const std::int64_t kernel = config.size("linear_conv_kernel_dim");
  mixer.heads = value_heads;
  mixer.kv_heads = key_heads;
  mixer.head_dim = key_dim;
  mixer.value_head_dim = value_dim;
  mixer.inner = values;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = 2 * keys + values;
  mixer.state_elements = times(builder.errors(), values, mixer.head_dim);
  const auto scope = builder.in("linear_attn");
  builder.linear("q_proj", keys, hidden);
  builder.linear("k_proj", keys, hidden);
  builder.linear("v_proj", values, hidden);
  builder.add("q_conv1d.weight", {keys, 1, kernel});
  builder.add("k_conv1d.weight", {keys, 1, kernel});
  builder.add("v_conv1d.weight", {values, 1, kernel});
  builder.linear("a_proj", value_heads, hidden);
  builder.linear("b_proj", value_heads, hidden);
  builder.linear("g_proj", values, hidden);
  builder.add("A_log", {value_heads});
  builder.add("dt_bias", {value_heads});
  builder.norm("o_norm", value_dim);
  builder.linear("o_proj", hidden, values);
}

// Linear layers are normed before their parts, attention layers after them; stored names differ
// accordingly.
void olmo_hybrid_norms(Decoder &decoder, const LayerSpec &spec) {
  if (spec.mixer == MixerKind::gated_delta) {
    decoder.builder.norm("attention_layer_norm", decoder.hidden);
    decoder.builder.norm("feedforward_layer_norm", decoder.hidden);
  } else {
    decoder.builder.norm("feedforward_layer_norm", decoder.hidden);
    decoder.builder.norm("post_feedforward_layernorm", decoder.hidden);
  }
}

} // namespace headwater::estimator
