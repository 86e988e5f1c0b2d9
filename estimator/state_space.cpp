#include "estimator/state_space.hpp"

#include <nlohmann/json.hpp>

namespace headwater::estimator {

void mamba2_block(Decoder &decoder, std::string_view module, const Mamba2Sizes &sizes) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  ReadErrors &errors = builder.errors();
  const std::int64_t channels = sizes.inner + 2 * times(errors, sizes.groups, sizes.state);
  mixer.kind = MixerKind::mamba2;
  mixer.heads = sizes.heads;
  mixer.head_dim = sizes.heads > 0 ? sizes.inner / sizes.heads : 0;
  mixer.inner = sizes.inner;
  mixer.groups = sizes.groups;
  mixer.state_size = sizes.state;
  mixer.conv_kernel = sizes.kernel;
  mixer.conv_channels = channels;
  mixer.state_elements = times(errors, sizes.inner, sizes.state);
  const auto scope = builder.in(module);
  builder.add("A_log", {sizes.heads});
  builder.add("D", {sizes.heads});
  builder.add("dt_bias", {sizes.heads});
  builder.add("conv1d.weight", {channels, 1, sizes.kernel});
  if (sizes.conv_bias) {
    builder.add("conv1d.bias", {channels});
  }
  builder.linear("in_proj", sizes.inner + channels + sizes.heads, decoder.hidden,
                 sizes.projection_bias);
  if (sizes.gated_norm) {
    builder.norm("norm", sizes.inner);
  }
  builder.linear("out_proj", decoder.hidden, sizes.inner,
                 sizes.output_bias.value_or(sizes.projection_bias));
}

void mamba1_block(Decoder &decoder, std::string_view module, bool bc_norms) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  const bool jamba = bc_norms;
  const std::int64_t inner = jamba ? times(builder.errors(), config.size("mamba_expand"), hidden)
                                   : config.size_or("intermediate_size", 2 * hidden);
  const std::int64_t state = config.size(jamba ? "mamba_d_state" : "state_size");
  const std::int64_t kernel = config.size(jamba ? "mamba_d_conv" : "conv_kernel");
  const std::string_view rank_key = jamba ? "mamba_dt_rank" : "time_step_rank";
  const Json *rank_value = config.find(rank_key);
  const std::int64_t rank = rank_value != nullptr && !rank_value->is_string()
                                ? config.size(rank_key)
                                : (hidden + 15) / 16;
  const bool projection_bias = config.flag(jamba ? "mamba_proj_bias" : "use_bias");
  mixer.kind = MixerKind::mamba1;
  mixer.inner = inner;
  mixer.state_size = state;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = inner;
  mixer.state_elements = times(builder.errors(), inner, state);
  const auto scope = builder.in(module);
  builder.add("A_log", {inner, state});
  builder.add("D", {inner});
  builder.add("conv1d.weight", {inner, 1, kernel});
  if (config.flag(jamba ? "mamba_conv_bias" : "use_conv_bias", true)) {
    builder.add("conv1d.bias", {inner});
  }
  builder.linear("in_proj", 2 * inner, hidden, projection_bias);
  builder.linear("x_proj", rank + 2 * state, inner);
  builder.linear("dt_proj", inner, rank, true);
  builder.linear("out_proj", hidden, inner, projection_bias);
  if (bc_norms) {
    builder.norm("dt_layernorm", rank);
    builder.norm("b_layernorm", state);
    builder.norm("c_layernorm", state);
  }
}

void gated_delta_block(Decoder &decoder, bool fused) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t key_heads = config.size("linear_num_key_heads");
  const std::int64_t value_heads = config.size("linear_num_value_heads");
  const std::int64_t key_dim = config.size("linear_key_head_dim");
  const std::int64_t value_dim = config.size("linear_value_head_dim");
  const std::int64_t kernel = config.size("linear_conv_kernel_dim");
  const std::int64_t keys = key_heads * key_dim;
  const std::int64_t values = value_heads * value_dim;
  mixer.kind = MixerKind::gated_delta;
  mixer.heads = value_heads;
  mixer.kv_heads = key_heads;
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
  if (fused) {
    builder.linear("in_proj_qkvz", 2 * keys + 2 * values, decoder.hidden);
    builder.linear("in_proj_ba", 2 * value_heads, decoder.hidden);
  } else {
    builder.linear("in_proj_qkv", 2 * keys + values, decoder.hidden);
    builder.linear("in_proj_z", values, decoder.hidden);
    builder.linear("in_proj_b", value_heads, decoder.hidden);
    builder.linear("in_proj_a", value_heads, decoder.hidden);
  }
  builder.norm("norm", value_dim);
  builder.linear("out_proj", decoder.hidden, values);
}

void short_convolution_block(Decoder &decoder, std::int64_t kernel, bool bias) {
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  mixer.kind = MixerKind::short_convolution;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = hidden;
  const auto scope = builder.in("conv");
  builder.add("conv.weight", {hidden, 1, kernel});
  if (bias) {
    builder.add("conv.bias", {hidden});
  }
  builder.linear("in_proj", 3 * hidden, hidden, bias);
  builder.linear("out_proj", hidden, hidden, bias);
}

} // namespace headwater::estimator
