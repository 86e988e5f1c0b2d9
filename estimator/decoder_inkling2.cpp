#include "estimator/decoder_parts.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

enum Inkling2Layer : std::int64_t { full = 1, looped = 2 };

/// The layers that run several times a token: first <= index < end.
struct Loop {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

Loop loop_of(const Config &config) {
  if (config.model_type() != "inkling2_loop_text") {
    return {};
  }
  const Config nested = config.child("loop_config", {});
  return {nested.size_or("core_start", config.size_or("loop_layer_index_start", 6)),
          nested.size_or("core_end", config.size_or("loop_layer_index_end", 18))};
}

bool has_full_attention(const Decoder &decoder, std::int64_t index) {
  const std::string_view type = type_of(decoder, index);
  return type.empty() ? (index + 1) % 6 == 0 : type == "hybrid";
}

} // namespace

// variant: full where nothing slides, looped where the layer runs several times a token.
void inkling2_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  spec.mixer = MixerKind::recurrent; // read by inkling2_attention
  if (has_full_attention(decoder, index)) {
    spec.variant = full;
  } else {
    spec.window = config.size_or("sliding_window_size", 0);
    spec.heads = config.size_or("swa_num_attention_heads", spec.heads);
    spec.kv_heads = config.size_or("swa_num_key_value_heads", spec.kv_heads);
    spec.head_dim = config.size_or("swa_head_dim", spec.head_dim);
    spec.value_dim = spec.head_dim;
  }
  const Loop loop = loop_of(config);
  if (index >= loop.first && index < loop.end) {
    spec.variant += looped;
  }
}

// Relative logits, output gates and sinks; what keys and values are made of passes a convolution,
// whose taps depend on the input in full layers.
void inkling2_attention(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t rank = config.positive("d_rel");
  const std::int64_t kernel = config.positive("conv_kernel_size");
  const bool whole = (spec.variant & full) != 0;
  const std::int64_t q = spec.heads * spec.head_dim;
  const std::int64_t kv = spec.kv_heads * spec.head_dim;
  mixer.kind = MixerKind::attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.kv_heads;
  mixer.head_dim = spec.head_dim;
  mixer.value_head_dim = spec.head_dim;
  mixer.window = spec.window;
  mixer.conv_kernel = kernel;
  mixer.conv_channels = 2 * kv + 2 * hidden;
  const auto scope = builder.in("attn");
  builder.linear("wq_du", q, hidden);
  builder.linear("wk_dv", kv, hidden);
  builder.linear("wv_dv", kv, hidden);
  builder.linear("wr_du", spec.heads * rank, hidden);
  builder.linear("wo_ud", hidden, q);
  builder.linear("gate_attn", q, hidden);
  builder.linear("attn_sink_proj", spec.heads, hidden);
  builder.add("q_l2_clip.scale", {spec.heads, spec.head_dim});
  builder.add("rel_l2_clip.scale", {spec.heads, rank});
  builder.add("rel_logits_proj.proj",
              {rank, config.positive(whole ? "rel_extent" : "sliding_window_size")});
  for (const std::string_view name : {"k_sconv", "v_sconv"}) {
    const auto convolution = builder.in(name);
    if (whole) {
      builder.add("static_w", {kernel, kv});
      builder.add("weight_proj", {kernel * spec.kv_heads, hidden});
    } else {
      builder.add("weight", {kv, 1, kernel});
    }
  }
}

void inkling2_experts(Decoder &decoder, const LayerSpec & /*spec*/) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t experts = config.positive("n_routed_experts");
  const std::int64_t width = config.positive("moe_intermediate_size");
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = width;
  const auto scope = builder.in("mlp");
  builder.linear("gate", experts, decoder.hidden);
  builder.add("gate.bias", {experts}, TensorKind::buffer);
  builder.count_into(&ff.parameters, decoder.experts);
  builder.add("experts.w13_weight", {experts, 2 * width, decoder.hidden});
  builder.add("experts.w2_weight", {experts, decoder.hidden, width});
}

void inkling2_layer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t kernel = config.positive("conv_kernel_size");
  builder.add("attn_sconv.weight", {hidden, 1, kernel});
  builder.add("mlp_sconv.weight", {hidden, 1, kernel});
  builder.norm("mlp_norm", hidden);
  if ((spec.variant & full) != 0) {
    for (const std::string_view name : {"q", "k", "v"}) {
      builder.norm(fmt::format("{}_input_norm", name), hidden);
    }
  } else {
    builder.norm("attn_norm", hidden);
  }
  if ((spec.variant & looped) == 0) {
    return;
  }
  // Each pass but the first mixes in what the one before it left, part by part.
  const Config nested = config.child("loop_config", {});
  const std::int64_t rank = nested.size_or("gate_rank", config.size_or("loop_gate_rank", 64));
  decoder.layer->mixer.caches =
      std::max<std::int64_t>(1, nested.size_or("num_passes", config.size_or("loop_num_passes", 3)));
  for (const std::string_view part : {"attn", "k", "mlp", "v"}) {
    const auto scope = builder.in(fmt::format("controllers.{}", part));
    builder.add("down_weight", {rank, 2 * hidden});
    builder.add("forget_weight", {hidden, rank});
    builder.add("gain_weight", {hidden, rank});
  }
}

// Attention over the residuals of earlier blocks: a query for each part of each layer but the first
// attention, three where queries, keys and values are normed apart.
void inkling2_model(Decoder &decoder) {
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  if (decoder.config.size_or("unpadded_vocab_size", 0) > decoder.architecture.vocabulary) {
    decoder.config.reject("unpadded_vocab_size", "is more than vocab_size, which pads it");
  }
  builder.norm("model.llm.embed_norm", hidden);
  if (const Loop loop = loop_of(decoder.config); loop.end > loop.first) {
    const std::int64_t parts = 2 * (loop.end - loop.first);
    builder.add("model.llm.middle_cycle_cross_pass_queries", {parts, hidden});
    builder.add("model.llm.middle_cycle_cross_pass_kv_queries", {parts, hidden});
  }
  const auto scope = builder.in("model.llm.attn_res");
  builder.add("output_query", {hidden});
  builder.add("mlp_queries.0", {hidden});
  for (std::int64_t index = 1; index < decoder.layers; ++index) {
    builder.add(fmt::format("mlp_queries.{}", index), {hidden});
    const std::string name = fmt::format("attn_queries.{}", index - 1);
    if (has_full_attention(decoder, index)) {
      builder.add(name, {3, hidden});
    } else {
      builder.add(name, {hidden});
    }
  }
}

} // namespace headwater::estimator
