#include "estimator/decoder_parts.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {

// Mixtures from moe_layer_start_index to moe_layer_end_index, every moe_layer_interval-th of all.
void ernie_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::int64_t interval = std::max<std::int64_t>(1, config.size_or("moe_layer_interval", 1));
  const Json *end = config.find("moe_layer_end_index");
  const bool past = end != nullptr && *end != -1 && index > config.size("moe_layer_end_index");
  if ((index + 1) % interval != 0 || past) {
    spec = decoder.dense_spec;
  }
}

// The last layer of each group has softmax attention, and so has what is left after the last whole
// group.
void bailing_linear_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const std::int64_t group =
      std::max<std::int64_t>(1, decoder.config.size_or("layer_group_size", 1));
  const bool whole = index < decoder.layers / group * group;
  if (whole && (index + 1) % group != 0) {
    spec.mixer = MixerKind::linear_attention;
  }
}

void bailing_linear_mixer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t width = spec.heads * spec.head_dim;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.heads;
  mixer.head_dim = spec.head_dim;
  mixer.value_head_dim = spec.head_dim;
  mixer.inner = width;
  mixer.state_elements = times(builder.errors(), width, spec.head_dim);
  const auto scope = builder.in(decoder.traits.attention);
  builder.linear("query_key_value", 3 * width, decoder.hidden, config.flag("use_qkv_bias"));
  builder.linear("dense", decoder.hidden, width, config.flag("use_bias"));
  builder.linear("g_proj", width, decoder.hidden);
  builder.norm("g_norm", width);
  if (config.flag("use_qk_norm")) {
    builder.norm("query_layernorm", spec.head_dim);
    builder.norm("key_layernorm", spec.head_dim);
  }
}

// Sizes of experts may be lists of one number a layer; with cross-layer attention the layers
// between read the cache of the one before them.
void hunyuan_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  spec.head_dim = config.size_or("attention_head_dim", spec.head_dim);
  spec.value_dim = spec.head_dim;
  if (spec.experts == 1) {
    spec = decoder.dense_spec;
  } else if (const Json *widths = config.find("moe_intermediate_size")) {
    if (widths->is_array()) {
      const std::vector<std::int64_t> list = config.numbers("moe_intermediate_size");
      if (static_cast<std::size_t>(index) >= list.size()) {
        config.reject("moe_intermediate_size", "has no width for each layer");
        return;
      }
      spec.width = list[static_cast<std::size_t>(index)];
    } else {
      spec.width = config.positive("moe_intermediate_size");
    }
  }
  const std::int64_t share = std::max<std::int64_t>(1, config.size_or("cla_share_factor", 1));
  spec.shares_kv = config.flag("use_cla") && index % share != 0;
}

void falcon_plan(Decoder &decoder, std::int64_t /*index*/, LayerSpec &spec) {
  const Config &config = decoder.config;
  const bool grouped =
      config.flag("new_decoder_architecture") || config.json().contains("n_head_kv");
  const bool two_norms = config.size_or("num_ln_in_parallel_attn", grouped ? 2 : 1) == 2;
  spec.variant = !config.flag("parallel_attn", true) ? 1 : two_norms ? 2 : 0;
  if (grouped) {
    spec.kv_heads =
        config.size_or("num_kv_heads", config.size_or("num_key_value_heads", spec.heads));
  } else {
    spec.kv_heads = config.flag("multi_query", true) ? 1 : spec.heads;
  }
  if (config.has("ffn_hidden_size")) {
    spec.width = config.positive("ffn_hidden_size");
  }
}

void falcon_norms(Decoder &decoder, const LayerSpec &spec) {
  if (spec.variant == 2) {
    decoder.builder.norm("ln_attn", decoder.hidden, true);
    decoder.builder.norm("ln_mlp", decoder.hidden, true);
    return;
  }
  decoder.builder.norm("input_layernorm", decoder.hidden, true);
  if (spec.variant == 1) {
    decoder.builder.norm("post_attention_layernorm", decoder.hidden, true);
  }
}

// Reads an encoder's states where GPT-2 is the decoder of a pair.
void gpt2_cross_attention(Decoder &decoder, const LayerSpec & /*spec*/) {
  if (!decoder.config.flag("add_cross_attention")) {
    return;
  }
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  builder.norm("ln_cross_attn", hidden, true);
  const auto scope = builder.in("crossattention");
  for (const auto &[name, width] :
       {std::pair("c_attn", 2 * hidden), {"q_attn", hidden}, {"c_proj", hidden}}) {
    builder.linear(name, hidden, width);
    builder.add(fmt::format("{}.bias", name), {width});
  }
}

void cpmant_model(Decoder &decoder) {
  const Config &config = decoder.config;
  const std::int64_t types = config.positive("segment_types");
  const auto root = decoder.builder.in(decoder.traits.root);
  decoder.builder.add("segment_embedding.weight", {types, decoder.hidden});
  decoder.builder.add(
      "position_bias.relative_attention_bias",
      {types * types + config.positive("position_bias_num_buckets"), decoder.dense_spec.heads});
}

// RWKV-4: time mixing with a decaying state, channel mixing in place of a feed-forward block.
void rwkv_layer(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  Layer &layer = *decoder.layer;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t inner = decoder.config.size_or("attention_hidden_size", hidden);
  layer.mixer.kind = MixerKind::recurrent;
  layer.mixer.inner = inner;
  layer.mixer.state_elements = 2 * hidden + 3 * inner;
  {
    const auto scope = builder.in("attention");
    builder.linear("key", inner, hidden);
    builder.linear("receptance", inner, hidden);
    builder.linear("value", inner, hidden);
    builder.linear("output", hidden, inner);
    builder.add("time_decay", {inner});
    builder.add("time_first", {inner});
    for (const std::string_view name : {"time_mix_key", "time_mix_value", "time_mix_receptance"}) {
      builder.add(name, {1, 1, hidden});
    }
  }
  builder.count_into(&layer.feed_forward.parameters);
  layer.feed_forward.kind = FeedForwardKind::dense;
  layer.feed_forward.intermediate = spec.width;
  const auto scope = builder.in("feed_forward");
  builder.linear("key", spec.width, hidden);
  builder.linear("receptance", hidden, hidden);
  builder.linear("value", hidden, spec.width);
  builder.add("time_mix_key", {1, 1, hidden});
  builder.add("time_mix_receptance", {1, 1, hidden});
}

// XLNet keeps its projections as [hidden, heads, head size] and reads relative positions.
void xlnet_layer(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  mixer.kind = MixerKind::attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.heads;
  mixer.head_dim = spec.head_dim;
  mixer.value_head_dim = spec.head_dim;
  const auto scope = builder.in("rel_attn");
  for (const std::string_view name : {"q", "k", "v", "o", "r"}) {
    builder.add(name, {hidden, spec.heads, spec.head_dim});
  }
  for (const std::string_view name : {"r_r_bias", "r_s_bias", "r_w_bias"}) {
    builder.add(name, {spec.heads, spec.head_dim});
  }
  builder.add("seg_embed", {2, spec.heads, spec.head_dim});
}

namespace {

// The layers that run the shared block, in order: one pass, for configs of any length.
std::vector<std::int64_t> hybrid_layers(const Decoder &decoder) {
  const Config &config = decoder.config;
  const bool second = config.model_type() == "zamba2";
  std::vector<std::int64_t> ids;
  if (second && decoder.types.empty()) {
    ids = config.numbers("hybrid_layer_ids");
    std::ranges::sort(ids);
  }
  const std::int64_t period = std::max<std::int64_t>(1, config.size_or("attn_layer_period", 6));
  const std::int64_t offset = config.size_or("attn_layer_offset", 4) % period + 1;
  std::vector<std::int64_t> layers;
  for (std::int64_t index = 0; index < decoder.layers; ++index) {
    const std::string_view type = type_of(decoder, index);
    const bool listed = second ? std::ranges::binary_search(ids, index)
                               : index == 2 || (index > 2 && index % period == offset);
    if (type.empty() ? listed : type == "hybrid") {
      layers.push_back(index);
    }
  }
  return layers;
}

// Zamba's Mamba-1 splits its selective scan into heads.
void zamba_mamba(Decoder &decoder) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t inner = config.size_or("mamba_expand", 2) * decoder.hidden;
  const std::int64_t heads = config.positive("n_mamba_heads");
  const std::int64_t state = config.positive("mamba_d_state");
  const std::int64_t kernel = config.positive("mamba_d_conv");
  const Json *given = config.find("mamba_dt_rank");
  const std::int64_t rank = given != nullptr && !given->is_string() ? config.size("mamba_dt_rank")
                                                                    : (decoder.hidden + 15) / 16;
  const std::int64_t each = inner / heads;
  mixer.inner = inner;
  mixer.state_size = state;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = inner;
  mixer.state_elements = times(builder.errors(), inner, state);
  const bool bias = config.flag("mamba_proj_bias");
  const auto scope = builder.in("mamba");
  builder.add("A_log", {heads, each, state});
  builder.add("D", {heads, each});
  builder.add("conv1d.weight", {inner, 1, kernel});
  if (config.flag("mamba_conv_bias", true)) {
    builder.add("conv1d.bias", {inner});
  }
  builder.linear("in_proj", 2 * inner, decoder.hidden, bias);
  builder.add("x_proj_weight", {heads, rank + 2 * state, each});
  builder.add("dt_proj_weight", {heads, each, rank});
  builder.add("dt_proj_bias", {heads, each});
  builder.linear("out_proj", decoder.hidden, inner, bias);
}

void zamba2_mamba(Decoder &decoder) {
  const Config &config = decoder.config;
  Mamba2Sizes sizes;
  sizes.inner = config.size_or("mamba_expand", 2) * decoder.hidden;
  sizes.heads = config.positive("n_mamba_heads");
  sizes.groups = config.size_or("mamba_ngroups", 1);
  sizes.state = config.positive("mamba_d_state");
  sizes.kernel = config.positive("mamba_d_conv");
  sizes.conv_bias = true;
  sizes.projection_bias = config.flag("add_bias_linear");
  mamba2_block(decoder, "mamba", sizes);
}

// The facts of the shared block's attention beside the Mamba state of the layer.
void add_attention_facts(Mixer &mixer, const LayerSpec &spec, std::int64_t dim) {
  mixer.kind = MixerKind::attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.heads;
  mixer.head_dim = dim;
  mixer.value_head_dim = dim;
}

} // namespace

// variant: 0 plain; 1 + the copy for the layers that hold a copy of the shared block; beyond them,
// for the layers that use it again, 1 + copies + the copy.
void zamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  spec.mixer = MixerKind::mamba1;
  spec.feed_forward = FeedForwardKind::none;
  spec.heads = decoder.config.positive("num_attention_heads");
  const std::vector<std::int64_t> hybrids = hybrid_layers(decoder);
  const auto found = std::ranges::lower_bound(hybrids, index);
  if (found == hybrids.end() || *found != index) {
    spec.variant = 0;
    return;
  }
  const std::int64_t copies =
      std::max<std::int64_t>(1, decoder.config.size_or("num_mem_blocks", 1));
  const std::int64_t position = found - hybrids.begin();
  spec.variant = 1 + (position < copies ? position : copies + position % copies);
}

void zamba_layer(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const Config &config = decoder.config;
  const std::int64_t hidden = decoder.hidden;
  if (spec.variant == 0) {
    builder.norm("input_layernorm", hidden);
    zamba_mamba(decoder);
    mixer.kind = MixerKind::mamba1;
    return;
  }
  builder.linear("linear", hidden, hidden);
  {
    const auto scope = builder.in("mamba_decoder");
    builder.norm("input_layernorm", hidden);
    zamba_mamba(decoder);
  }
  const std::int64_t both = config.size_or("attention_hidden_size", 2 * hidden);
  const std::int64_t dim = config.size_or("attention_head_dim", both / spec.heads);
  const std::int64_t width = config.positive("intermediate_size");
  const std::int64_t kv_heads = config.size_or("num_key_value_heads", spec.heads);
  add_attention_facts(mixer, spec, dim);
  mixer.kv_heads = kv_heads;
  const std::string home =
      fmt::format("model.layers.{}.shared_transf.", hybrid_layers(decoder).front());
  const auto weight = [&](std::string_view name, std::initializer_list<std::int64_t> shape) {
    const std::string full = fmt::format("{}.weight", name);
    if (spec.variant == 1) {
      builder.add(full, shape);
    } else {
      builder.tied(full, shape, home + full);
    }
  };
  const auto scope = builder.in("shared_transf");
  weight("self_attn.q_proj", {spec.heads * dim, both});
  weight("self_attn.k_proj", {kv_heads * dim, both});
  weight("self_attn.v_proj", {kv_heads * dim, both});
  weight("self_attn.o_proj", {hidden, spec.heads * dim});
  weight("feed_forward.gate_proj", {width, hidden});
  weight("feed_forward.up_proj", {width, hidden});
  weight("feed_forward.down_proj", {hidden, width});
  weight("input_layernorm", {both});
  weight("pre_ff_layernorm", {hidden});
}

// The shared block of Zamba2 comes in num_mem_blocks copies used in turn, each with adapters for
// its uses.
void zamba2_layer(Decoder &decoder, const LayerSpec &spec) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const Config &config = decoder.config;
  const std::int64_t hidden = decoder.hidden;
  if (spec.variant == 0) {
    builder.norm("input_layernorm", hidden);
    zamba2_mamba(decoder);
    return;
  }
  builder.linear("linear", hidden, hidden, config.flag("add_bias_linear"));
  {
    const auto scope = builder.in("mamba_decoder");
    builder.norm("input_layernorm", hidden);
    zamba2_mamba(decoder);
  }
  const std::int64_t blocks = std::max<std::int64_t>(1, config.size_or("num_mem_blocks", 1));
  const std::int64_t position = spec.variant - 1;
  const std::int64_t block = position % blocks;
  const std::vector<std::int64_t> hybrids = hybrid_layers(decoder);
  const std::int64_t uses = std::ssize(hybrids);
  const std::int64_t both = 2 * hidden;
  const std::int64_t dim = both / spec.heads;
  const std::int64_t kv_heads = config.size_or("num_key_value_heads", spec.heads);
  const std::int64_t width = config.positive("intermediate_size");
  const std::int64_t rank = config.size_or("adapter_rank", 128);
  add_attention_facts(mixer, spec, dim);
  mixer.kv_heads = kv_heads;
  const std::string home =
      fmt::format("model.layers.{}.shared_transformer.", hybrids[static_cast<std::size_t>(block)]);
  const bool bias = config.flag("add_bias_linear");
  const auto part = [&](const std::string &name, std::initializer_list<std::int64_t> shape) {
    if (position < blocks) {
      builder.add(name, shape);
    } else {
      builder.tied(name, shape, home + name);
    }
  };
  const auto linear = [&](std::string_view name, std::int64_t out, std::int64_t in,
                          bool with_bias) {
    part(fmt::format("{}.weight", name), {out, in});
    if (with_bias) {
      part(fmt::format("{}.bias", name), {out});
    }
  };
  const auto scope = builder.in("shared_transformer");
  const bool adapted = config.flag("use_shared_attention_adapter");
  for (const std::string_view name : {"q", "k", "v"}) {
    const std::int64_t out = (name == "q" ? spec.heads : kv_heads) * dim;
    linear(fmt::format("self_attn.{}_proj", name), out, both, false);
    for (std::int64_t use = block; adapted && use < uses; use += blocks) {
      linear(fmt::format("self_attn.linear_{}_adapter_list.{}.0", name, use), rank, both, false);
      linear(fmt::format("self_attn.linear_{}_adapter_list.{}.1", name, use), out, rank, false);
    }
  }
  linear("self_attn.o_proj", hidden, spec.heads * dim, false);
  linear("feed_forward.gate_up_proj", 2 * width, hidden, bias);
  linear("feed_forward.down_proj", hidden, width, bias);
  for (std::int64_t use = block; use < uses; use += blocks) {
    linear(fmt::format("feed_forward.gate_up_proj_adapter_list.{}.0", use), rank, hidden, false);
    linear(fmt::format("feed_forward.gate_up_proj_adapter_list.{}.1", use), 2 * width, rank, false);
  }
  part("input_layernorm.weight", {both});
  part("pre_ff_layernorm.weight", {hidden});
}

} // namespace headwater::estimator
