#include "estimator/decoder_parts.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

enum V4Attention : std::int64_t { plain = 0, sparse = 1, heavy = 2 };

std::int64_t v4_kind(Decoder &decoder, std::int64_t index) {
  const std::string_view type = type_of(decoder, index);
  if (!type.empty()) {
    return type == "compressed_sparse_attention"    ? sparse
           : type == "heavily_compressed_attention" ? heavy
                                                    : plain;
  }
  const Json *ratios = decoder.config.find("compress_ratios");
  if (ratios != nullptr && ratios->is_array() && static_cast<std::size_t>(index) < ratios->size()) {
    const Json &ratio = (*ratios)[static_cast<std::size_t>(index)];
    return ratio == 4 ? sparse : ratio == 128 ? heavy : plain;
  }
  return index < 2 || index % 2 == 0 ? heavy : sparse;
}

std::int64_t compress_rate(const Config &config, std::string_view type, std::string_view legacy,
                           std::int64_t otherwise) {
  const Config rates = config.child("compress_rates", {});
  return config.size_or(legacy, rates.size_or(type, otherwise));
}

void compressor(Builder &builder, std::int64_t dim, std::int64_t width, std::int64_t rate,
                std::int64_t hidden) {
  const auto scope = builder.in("compressor");
  builder.linear("wkv", width, hidden);
  builder.linear("wgate", width, hidden);
  builder.add("ape", {rate, width});
  builder.norm("norm", dim);
}

void hyper_connection(Builder &builder, std::string_view base, std::string_view function,
                      std::string_view scale, std::int64_t rows, std::int64_t scales,
                      std::int64_t width) {
  builder.add(base, {rows});
  builder.add(function, {rows, width});
  builder.add(scale, {scales});
}

} // namespace

// Whether a layer has an indexer of its own or reuses the one before it.
void shared_indexer_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const Json *types = config.find("indexer_types");
  const Json *pattern = config.find("index_topk_pattern");
  if (types != nullptr && types->is_array()) {
    const auto position = static_cast<std::size_t>(index);
    spec.variant = position < types->size() && (*types)[position] == "shared" ? 1 : 0;
  } else if (pattern != nullptr && pattern->is_string()) {
    const auto &letters = pattern->get_ref<const std::string &>();
    spec.variant = static_cast<std::size_t>(index) < letters.size() &&
                           letters[static_cast<std::size_t>(index)] == 'S'
                       ? 1
                       : 0;
  } else {
    const bool every_fourth = config.model_type() == "hy_v4";
    const std::int64_t frequency =
        std::max<std::int64_t>(1, config.size_or("index_topk_freq", every_fourth ? 4 : 1));
    const std::int64_t offset = config.size_or("index_skip_topk_offset", 2);
    spec.variant =
        index < decoder.layers && std::max<std::int64_t>(index - offset + 1, 0) % frequency != 0
            ? 1
            : 0;
  }
}

// The lightning indexer of DeepSeek sparse attention.
void indexer(Decoder &decoder, const LayerSpec &spec) {
  if (spec.variant == 1) {
    return;
  }
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  const std::int64_t heads = config.size_or("index_n_heads", spec.heads);
  const std::int64_t dim = config.size("index_head_dim");
  decoder.layer->mixer.indexer_width = dim;
  const auto scope = builder.in("indexer");
  builder.linear("wq_b", heads * dim, config.size("q_lora_rank"));
  builder.linear("wk", dim, decoder.hidden);
  builder.norm("k_norm", dim, true);
  builder.linear("weights_proj", heads, decoder.hidden);
}

// variant = attention kind + 4 where experts are chosen by a hash of the token.
void deepseek_v4_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::vector<std::string> &types = decoder.mlp_types;
  const bool hash = static_cast<std::size_t>(index) < types.size()
                        ? types[static_cast<std::size_t>(index)] == "hash_moe"
                        : index < config.size_or("num_hash_layers", 3);
  spec.variant = (index < decoder.layers ? v4_kind(decoder, index) : sparse) +
                 (hash && index < decoder.layers ? 4 : 0);
  spec.mixer = MixerKind::recurrent; // read by deepseek_v4_attention
  spec.feed_forward = FeedForwardKind::mixture;
  spec.experts = config.positive("n_routed_experts");
  // The config class spells the experts' width both ways, and the general one wins.
  spec.width = config.size_or("intermediate_size", config.positive("moe_intermediate_size"));
}

// One latent serves as key and value of all heads; most layers add a compressed view of what the
// window lost.
void deepseek_v4_attention(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t dim = spec.head_dim;
  const std::int64_t q_rank = config.positive("q_lora_rank");
  const std::int64_t groups = config.positive("o_groups");
  const std::int64_t out_rank = groups * config.positive("o_lora_rank");
  const std::int64_t kind = spec.variant % 4;
  mixer.kind = MixerKind::latent_attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = 1;
  mixer.head_dim = dim;
  mixer.value_head_dim = dim;
  mixer.q_lora_rank = q_rank;
  mixer.rope_head_dim = config.size("qk_rope_head_dim");
  mixer.kv_lora_rank = dim - mixer.rope_head_dim;
  mixer.window = config.size_or("sliding_window", 0);
  const auto scope = builder.in("attn");
  builder.linear("wq_a", q_rank, hidden);
  builder.norm("q_norm", q_rank);
  builder.linear("wq_b", spec.heads * dim, q_rank);
  builder.linear("wkv", dim, hidden);
  builder.norm("norm", dim);
  builder.linear("wo_a", out_rank, spec.heads * dim / groups);
  builder.linear("wo_b", hidden, out_rank);
  builder.add("attn_sink", {spec.heads});
  if (kind == heavy) {
    const std::int64_t rate =
        compress_rate(config, "heavily_compressed_attention", "compress_rate_hca", 128);
    compressor(builder, dim, dim, rate, hidden);
    mixer.compress_rate = rate;
    mixer.compressed_width = dim;
  }
  if (kind == sparse) {
    const std::int64_t rate =
        compress_rate(config, "compressed_sparse_attention", "compress_rate_csa", 4);
    compressor(builder, dim, 2 * dim, rate, hidden);
    const std::int64_t index_dim = config.size("index_head_dim");
    const std::int64_t index_heads = config.size("index_n_heads");
    mixer.compress_rate = rate;
    mixer.compressed_width = dim + index_dim;
    const auto indexer_scope = builder.in("indexer");
    compressor(builder, index_dim, 2 * index_dim, rate, hidden);
    builder.linear("wq_b", index_heads * index_dim, q_rank);
    builder.linear("weights_proj", index_heads, hidden);
  }
}

void deepseek_v4_experts(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  MoeTraits moe;
  moe.module = "ffn";
  moe.names = "w1 w3 w2";
  moe.shared = "shared_experts";
  moe.shared_names = "w1 w3 w2";
  moe.correction = spec.variant >= 4 ? std::string_view{} : std::string_view("gate.bias");
  mixture_block(decoder, spec, moe);
  if (spec.variant >= 4) {
    builder.add("ffn.gate.tid2eid",
                {decoder.architecture.vocabulary, config.positive("num_experts_per_tok")},
                TensorKind::buffer);
  }
}

void deepseek_v4_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const std::int64_t mult = decoder.config.positive("hc_mult");
  const std::int64_t rows = times(decoder.builder.errors(), mult, mult + 2);
  const std::int64_t width = mult * decoder.hidden;
  hyper_connection(decoder.builder, "hc_attn_base", "hc_attn_fn", "hc_attn_scale", rows, 3, width);
  hyper_connection(decoder.builder, "hc_ffn_base", "hc_ffn_fn", "hc_ffn_scale", rows, 3, width);
}

void deepseek_v4_model(Decoder &decoder) {
  const std::int64_t mult = decoder.config.positive("hc_mult");
  hyper_connection(decoder.builder, "model.hc_head.hc_base", "model.hc_head.hc_fn",
                   "model.hc_head.hc_scale", mult, 1, mult * decoder.hidden);
}

// A sliding layer without an indexer, a full layer with one (0) or without (2).
void dots3_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  const std::string_view type = type_of(decoder, index);
  const bool canonical = config.json().contains("per_layer_config");
  const bool indexed = canonical ? type != "full_attention" : config.flag("use_dsa", true);
  const bool sliding = type.empty()
                           ? config.flag("use_sliding_window", true) && index >= 2 && index % 4 != 1
                           : type.starts_with("sliding");
  spec.variant = indexed ? 0 : 2;
  if (sliding) {
    spec.window = config.size_or("sliding_window", config.size_or("sliding_window_size", 512));
    spec.variant = 1;
    if (!canonical) {
      spec.heads = config.size_or("swa_num_attention_heads", 64);
      spec.kv_heads = config.size_or("swa_num_key_value_heads", 64);
    }
  }
  spec.mixer = MixerKind::recurrent; // read by dots3_mixer
}

// Sliding layers have latent sizes of their own: in per_layer_config, or under swa_ keys.
void dots3_mixer(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  static const Json none = Json::object();
  const Config own(spec.own_keys == nullptr ? none : *spec.own_keys, {}, "per_layer_config.",
                   config.errors());
  const bool swa = spec.variant == 1 && !config.json().contains("per_layer_config");
  const auto size = [&](std::string_view key, std::int64_t otherwise) {
    return swa ? config.size_or(fmt::format("swa_{}", key), otherwise)
               : own.size_or(key, config.size(key));
  };
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t nope = size("qk_nope_head_dim", 192);
  const std::int64_t rope = size("qk_rope_head_dim", config.size_or("swa_head_dim", 256) -
                                                         std::min<std::int64_t>(nope, 255));
  const std::int64_t value = size("v_head_dim", 128);
  const std::int64_t rank = size("kv_lora_rank", 1024);
  const std::int64_t q_rank = size("q_lora_rank", 1024);
  mixer.kind = MixerKind::latent_attention;
  mixer.heads = spec.heads;
  mixer.kv_heads = spec.kv_heads;
  mixer.head_dim = nope + rope;
  mixer.value_head_dim = value;
  mixer.kv_lora_rank = rank;
  mixer.q_lora_rank = q_rank;
  mixer.rope_head_dim = rope;
  mixer.window = spec.window;
  const bool bias = config.flag("attention_bias");
  const auto scope = builder.in("self_attn");
  builder.linear("q_a_proj", q_rank, decoder.hidden, bias);
  builder.norm("q_a_layernorm", q_rank);
  builder.linear("q_b_proj", spec.heads * (nope + rope), q_rank);
  builder.linear("kv_a_proj_with_mqa", rank + rope, decoder.hidden, bias);
  builder.norm("kv_a_layernorm", rank);
  builder.norm("k_rope_only_layernorm", rope);
  builder.linear("kv_b_proj", spec.heads * (nope + value), rank);
  builder.linear("o_proj", decoder.hidden, spec.heads * value, bias);
  builder.linear("g_proj", spec.heads, decoder.hidden);
  if (spec.variant == 0) {
    indexer(decoder, spec);
  }
}

// variant 1: the layer attends to blocks that an indexer chooses.
void minimax_m3_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  if (spec.feed_forward == FeedForwardKind::dense) {
    spec.width = config.size_or("dense_intermediate_size", spec.width);
  }
  const std::string_view type = type_of(decoder, index);
  if (!type.empty()) {
    spec.variant = type == "minimax_m3_sparse" ? 1 : 0;
    return;
  }
  const std::vector<std::int64_t> sparse =
      config.child("sparse_attention_config", {}).numbers("sparse_attention_freq");
  spec.variant = static_cast<std::size_t>(index) < sparse.size() &&
                 sparse[static_cast<std::size_t>(index)] != 0;
}

void minimax_m3_indexer(Decoder &decoder, const LayerSpec &spec) {
  if (spec.variant == 0) {
    return;
  }
  const Config &config = decoder.config;
  const Config sparse = config.child("sparse_attention_config", {});
  const std::int64_t heads =
      sparse.size_or("sparse_num_index_heads", config.size_or("index_n_heads", 4));
  const std::int64_t dim =
      sparse.size_or("sparse_index_dim", config.size_or("index_head_dim", 128));
  decoder.layer->mixer.indexer_width = dim;
  const auto scope = decoder.builder.in("indexer");
  decoder.builder.linear("q_proj", heads * dim, decoder.hidden);
  decoder.builder.linear("k_proj", dim, decoder.hidden);
  decoder.builder.norm("q_norm", dim);
  decoder.builder.norm("k_norm", dim);
}

// Sliding layers may have a number of heads of their own; moe_layers_enum lists the mixtures.
void step_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  const Config &config = decoder.config;
  if (decoder.mlp_types.empty()) {
    const Json *listed = config.find("moe_layers_enum");
    bool mixture =
        index >= (config.has("first_k_dense_replace") ? config.size("first_k_dense_replace") : 3);
    if (listed != nullptr && listed->is_string()) {
      const std::string list = "," + listed->get<std::string>() + ",";
      mixture = list.find(fmt::format(",{},", index)) != std::string::npos;
    }
    const std::int64_t window = spec.window;
    spec = mixture ? decoder.mixture_spec : decoder.dense_spec;
    spec.window = window;
  }
  if (type_of(decoder, index).starts_with("sliding")) {
    const Config other = config.child("attention_other_setting", {});
    spec.heads = config.size_or("num_sliding_attention_heads",
                                other.size_or("num_attention_heads", spec.heads));
  }
}

// The experts of a layer are one tensor a matrix, and the shared expert stands beside them.
void step_experts(Decoder &decoder, const LayerSpec &spec) {
  if (spec.experts == 0) {
    dense_block(decoder, spec.width);
    return;
  }
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t hidden = decoder.hidden;
  const std::int64_t shared =
      config.size_or("share_expert_dim", config.size_or("share_expert_dims", 0));
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = spec.experts;
  ff.experts_per_token = config.size_or("num_experts_per_tok", 0);
  ff.expert_intermediate = spec.width;
  ff.shared_experts = shared > 0 ? 1 : 0;
  ff.shared_intermediate = shared;
  builder.linear("moe.gate", spec.experts, hidden);
  builder.add("moe.router_bias", {spec.experts}, TensorKind::buffer);
  if (shared > 0) {
    const auto scope = builder.in("share_expert");
    builder.linear("gate_proj", shared, hidden);
    builder.linear("up_proj", shared, hidden);
    builder.linear("down_proj", hidden, shared);
  }
  builder.count_into(&ff.parameters, decoder.experts);
  const auto scope = builder.in("moe");
  builder.add("gate_proj.weight", {spec.experts, spec.width, hidden});
  builder.add("up_proj.weight", {spec.experts, spec.width, hidden});
  builder.add("down_proj.weight", {spec.experts, hidden, spec.width});
}

void hy_v4_attention(Decoder &decoder, const LayerSpec &spec) {
  decoder.builder.linear("linear_gate", spec.heads * decoder.config.size("v_head_dim"),
                         decoder.hidden);
  decoder.builder.add("learnable_sink_param", {spec.heads});
  indexer(decoder, spec);
}

void hy_v4_layer(Decoder &decoder, const LayerSpec & /*spec*/) {
  const std::int64_t mult = decoder.config.positive("hc_mult");
  for (const std::string_view part : {"hc_pre.hc_attn_layer", "hc_pre.hc_mlp_layer"}) {
    const auto scope = decoder.builder.in(part);
    hyper_connection(decoder.builder, "hc_base", "hc_fn", "hc_scale", 2 * mult, 2,
                     mult * decoder.hidden);
  }
}

void hy_v4_model(Decoder &decoder) {
  const std::int64_t mult = decoder.config.positive("hc_mult");
  const auto scope = decoder.builder.in("model.hc_pre.hc_head");
  hyper_connection(decoder.builder, "hc_head_base", "hc_head_fn", "hc_head_scale", mult, 1,
                   mult * decoder.hidden);
}

} // namespace headwater::estimator
