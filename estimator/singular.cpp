#include "estimator/decoder_parts.hpp"
#include "estimator/families.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

std::int64_t layers_of(const Config &config, std::string_view key) {
  const std::int64_t layers = config.positive(key);
  if (layers > max_layers) {
    config.reject(key, "layers are over the limit of 10000");
    return 1;
  }
  return layers;
}

void attention_facts(Layer &layer, std::int64_t heads, std::int64_t kv_heads, std::int64_t dim) {
  layer.mixer.kind = MixerKind::attention;
  layer.mixer.heads = heads;
  layer.mixer.kv_heads = kv_heads;
  layer.mixer.head_dim = dim;
  layer.mixer.value_head_dim = dim;
}

void common_facts(Architecture &architecture, const Config &config, NormKind norm,
                  PositionKind position) {
  architecture.hidden = config.positive("hidden_size");
  architecture.vocabulary = config.positive("vocab_size");
  architecture.max_positions =
      config.maybe("max_position_embeddings", max_positions_limit).value_or(0);
  architecture.norm = norm;
  architecture.position = position;
  architecture.head = true;
  architecture.tied_embeddings = config.flag("tie_word_embeddings", true);
}

// XLM keeps one list of modules a kind instead of one a layer.
void read_xlm(const Config &config, Architecture &architecture, ReadErrors &errors) {
  Builder builder(architecture, errors);
  common_facts(architecture, config, NormKind::layer, PositionKind::learned);
  const std::int64_t hidden = architecture.hidden;
  const std::int64_t layers = layers_of(config, "n_layers");
  const std::int64_t heads = config.positive("n_heads");
  Layer layer;
  attention_facts(layer, heads, heads, hidden / heads);
  layer.feed_forward.kind = FeedForwardKind::dense;
  layer.feed_forward.intermediate = 4 * hidden;
  {
    const auto root = builder.in("transformer");
    builder.embedding("embeddings", architecture.vocabulary, hidden);
    builder.embedding("position_embeddings", config.size("max_position_embeddings"), hidden);
    if (config.size_or("n_langs", 1) > 1 && config.flag("use_lang_emb", true)) {
      builder.embedding("lang_embeddings", config.size("n_langs"), hidden);
    }
    builder.norm("layer_norm_emb", hidden, true);
    {
      const auto each = builder.over("attentions", layers);
      builder.count_into(&layer.mixer.parameters);
      for (const std::string_view name : {"q_lin", "k_lin", "v_lin", "out_lin"}) {
        builder.linear(name, hidden, hidden, true);
      }
    }
    {
      const auto each = builder.over("ffns", layers);
      builder.count_into(&layer.feed_forward.parameters);
      builder.linear("lin1", 4 * hidden, hidden, true);
      builder.linear("lin2", hidden, 4 * hidden, true);
    }
    builder.count_into(nullptr);
    for (const std::string_view name : {"layer_norm1", "layer_norm2"}) {
      const auto each = builder.over(name, layers);
      builder.add("weight", {hidden});
      builder.add("bias", {hidden});
    }
  }
  layer.feed_forward.active_parameters = layer.feed_forward.parameters;
  architecture.layers.assign(static_cast<std::size_t>(layers), layer);
  if (architecture.tied_embeddings) {
    builder.tied("pred_layer.proj.weight", {architecture.vocabulary, hidden},
                 "transformer.embeddings.weight");
  } else {
    builder.linear("pred_layer.proj", architecture.vocabulary, hidden);
  }
  builder.add("pred_layer.proj.bias", {architecture.vocabulary});
}

// ProphetNet's decoder alone, with its n-gram streams.
void read_prophetnet(const Config &config, Architecture &architecture, ReadErrors &errors) {
  Builder builder(architecture, errors);
  common_facts(architecture, config, NormKind::layer, PositionKind::learned);
  const std::int64_t hidden = architecture.hidden;
  const std::int64_t layers = layers_of(config, "num_decoder_layers");
  const std::int64_t heads = config.positive("num_decoder_attention_heads");
  const std::int64_t width = config.positive("decoder_ffn_dim");
  builder.embedding("prophetnet.word_embeddings", architecture.vocabulary, hidden);
  Layer layer;
  attention_facts(layer, heads, heads, hidden / heads);
  {
    const auto root = builder.in("prophetnet.decoder");
    if (architecture.tied_embeddings) {
      builder.tied("word_embeddings.weight", {architecture.vocabulary, hidden},
                   "prophetnet.word_embeddings.weight");
    } else {
      builder.embedding("word_embeddings", architecture.vocabulary, hidden);
    }
    builder.embedding("position_embeddings", config.size("max_position_embeddings"), hidden);
    builder.embedding("ngram_embeddings", config.size("ngram"), hidden);
    builder.norm("embeddings_layer_norm", hidden, true);
    const auto each = builder.over("layers", layers);
    builder.count_into(&layer.mixer.parameters);
    for (const std::string_view module : {"self_attn", "cross_attn"}) {
      const auto scope = builder.in(module);
      for (const std::string_view name : {"query_proj", "key_proj", "value_proj", "out_proj"}) {
        builder.linear(name, hidden, hidden, true);
      }
    }
    builder.linear("self_attn.relative_pos_embeddings",
                   times(errors, config.positive("num_buckets"), heads), hidden, true);
    builder.count_into(&layer.feed_forward.parameters);
    builder.linear("feed_forward.intermediate", width, hidden, true);
    builder.linear("feed_forward.output", hidden, width, true);
    builder.count_into(nullptr);
    for (const std::string_view name :
         {"self_attn_layer_norm", "cross_attn_layer_norm", "feed_forward_layer_norm"}) {
      builder.norm(name, hidden, true);
    }
  }
  layer.feed_forward.kind = FeedForwardKind::dense;
  layer.feed_forward.intermediate = width;
  layer.feed_forward.active_parameters = layer.feed_forward.parameters;
  architecture.layers.assign(static_cast<std::size_t>(layers), layer);
  if (architecture.tied_embeddings) {
    builder.tied("lm_head.weight", {architecture.vocabulary, hidden},
                 "prophetnet.word_embeddings.weight");
  } else {
    builder.linear("lm_head", architecture.vocabulary, hidden);
  }
}

// One side of T5Gemma: Gemma-2 layers, with cross attention in the decoder.
void t5gemma_stack(const Config &config, Builder &builder, Architecture &architecture, bool decoder,
                   std::int64_t encoder_hidden) {
  const std::int64_t hidden = config.positive("hidden_size");
  const std::int64_t layers = layers_of(config, "num_hidden_layers");
  const std::int64_t heads = config.positive("num_attention_heads");
  const std::int64_t kv_heads = config.size_or("num_key_value_heads", heads);
  const std::int64_t dim = config.size_or("head_dim", hidden / heads);
  const std::int64_t width = config.positive("intermediate_size");
  const bool bias = config.flag("attention_bias");
  const std::vector<std::string> types = config.words("layer_types");
  if (decoder) {
    architecture.hidden = hidden;
    architecture.vocabulary = config.positive("vocab_size");
    architecture.max_positions =
        config.maybe("max_position_embeddings", max_positions_limit).value_or(0);
  }
  builder.embedding("embed_tokens", config.positive("vocab_size"), hidden);
  Layer layer;
  attention_facts(layer, heads, kv_heads, dim);
  layer.feed_forward.kind = FeedForwardKind::dense;
  layer.feed_forward.gated = true;
  layer.feed_forward.intermediate = width;
  {
    const auto each = builder.over("layers", layers);
    builder.count_into(&layer.mixer.parameters);
    const auto attention = [&](std::string_view module, std::int64_t from) {
      const auto scope = builder.in(module);
      builder.linear("q_proj", heads * dim, hidden, bias);
      builder.linear("k_proj", kv_heads * dim, from, bias);
      builder.linear("v_proj", kv_heads * dim, from, bias);
      builder.linear("o_proj", hidden, heads * dim, bias);
    };
    attention("self_attn", hidden);
    if (decoder) {
      attention("cross_attn", encoder_hidden);
    }
    builder.count_into(&layer.feed_forward.parameters);
    builder.linear("mlp.gate_proj", width, hidden);
    builder.linear("mlp.up_proj", width, hidden);
    builder.linear("mlp.down_proj", hidden, width);
    builder.count_into(nullptr);
    for (const std::string_view name :
         {"pre_self_attn", "post_self_attn", "pre_feedforward", "post_feedforward"}) {
      builder.norm(fmt::format("{}_layernorm", name), hidden);
    }
    if (decoder) {
      builder.norm("pre_cross_attn_layernorm", hidden);
      builder.norm("post_cross_attn_layernorm", hidden);
    }
  }
  builder.norm("norm", hidden);
  layer.feed_forward.active_parameters = layer.feed_forward.parameters;
  std::vector<Layer> &list = decoder ? architecture.layers : architecture.encoder_layers;
  for (std::int64_t index = 0; index < layers; ++index) {
    const auto position = static_cast<std::size_t>(index);
    const bool sliding =
        position < types.size() ? types[position].starts_with("sliding") : (index + 1) % 2 != 0;
    list.push_back(layer);
    list.back().mixer.window = sliding ? config.size_or("sliding_window", 0) : 0;
  }
}

void read_t5gemma(const Config &config, Architecture &architecture, ReadErrors &errors) {
  Builder builder(architecture, errors);
  architecture.norm = NormKind::rms;
  architecture.position = PositionKind::rotary;
  architecture.head = true;
  architecture.tied_embeddings = config.flag("tie_word_embeddings", true);
  const Config encoder = config.child("encoder", "t5_gemma_module");
  const Config decoder = config.child("decoder", "t5_gemma_module");
  {
    const auto side = builder.in("model.encoder");
    t5gemma_stack(encoder, builder, architecture, false, 0);
  }
  {
    const auto side = builder.in("model.decoder");
    t5gemma_stack(decoder, builder, architecture, true, encoder.positive("hidden_size"));
  }
  if (architecture.tied_embeddings) {
    builder.tied("lm_head.out_proj.weight", {architecture.vocabulary, architecture.hidden},
                 "model.decoder.embed_tokens.weight");
  } else {
    builder.linear("lm_head.out_proj", architecture.vocabulary, architecture.hidden);
  }
}

// A drafter over the caches of its target: it projects the target's states in and out.
void read_gemma4_assistant(const Config &config, Architecture &architecture, ReadErrors &errors) {
  const Config text = config.child("text_config", "gemma4_unified_text");
  const DecoderTraits *traits = find_decoder("gemma4_unified_text");
  if (traits == nullptr) {
    return;
  }
  DecoderTraits own = *traits;
  own.head = {};
  read_decoder(own, text, architecture, errors);
  Builder builder(architecture, errors);
  const std::int64_t hidden = architecture.hidden;
  const std::int64_t target = config.positive("backbone_hidden_size");
  architecture.head = true;
  architecture.tied_embeddings = config.flag("tie_word_embeddings", true);
  builder.linear("pre_projection", hidden, 2 * target);
  builder.linear("post_projection", target, hidden);
  if (config.flag("use_ordered_embeddings")) {
    builder.linear("masked_embedding.centroids", config.positive("num_centroids"), hidden);
    builder.add("masked_embedding.token_ordering", {architecture.vocabulary}, TensorKind::buffer);
  }
  if (architecture.tied_embeddings) {
    builder.tied("lm_head.weight", {architecture.vocabulary, hidden}, "model.embed_tokens.weight");
  } else {
    builder.linear("lm_head", architecture.vocabulary, hidden);
  }
}

// Whisper's encoder and a two-layer projector before a language model.
void read_audio_flamingo(const Config &config, Architecture &architecture, ReadErrors &errors) {
  const Config text = config.child("text_config", "qwen2");
  const Config audio = config.child("audio_config", "audioflamingo3_encoder");
  const DecoderTraits *traits = find_decoder(text.model_type());
  if (traits == nullptr || traits->root != "model.") {
    architecture.reading = Reading::unknown;
    architecture.reading_note =
        fmt::format("its text model of type {} is not one that we read here", text.model_type());
    return;
  }
  DecoderTraits own = *traits;
  own.root = "language_model.model.";
  own.head = "language_model.lm_head";
  own.can_tie = false;
  read_decoder(own, text, architecture, errors);
  Builder builder(architecture, errors);
  const std::int64_t width = audio.positive("hidden_size");
  const std::int64_t layers = layers_of(audio, "num_hidden_layers");
  const std::int64_t heads = audio.positive("num_attention_heads");
  const std::int64_t inner = audio.positive("intermediate_size");
  Layer layer;
  attention_facts(layer, heads, heads, width / heads);
  layer.feed_forward.kind = FeedForwardKind::dense;
  layer.feed_forward.intermediate = inner;
  {
    const auto root = builder.in("audio_tower");
    builder.add("conv1.weight", {width, audio.positive("num_mel_bins"), 3});
    builder.add("conv1.bias", {width});
    builder.add("conv2.weight", {width, width, 3});
    builder.add("conv2.bias", {width});
    builder.embedding("embed_positions", audio.positive("max_source_positions"), width);
    builder.norm("layer_norm", width, true);
    const auto each = builder.over("layers", layers);
    builder.count_into(&layer.mixer.parameters);
    builder.linear("self_attn.k_proj", width, width);
    builder.linear("self_attn.v_proj", width, width, true);
    builder.linear("self_attn.q_proj", width, width, true);
    builder.linear("self_attn.out_proj", width, width, true);
    builder.count_into(&layer.feed_forward.parameters);
    builder.linear("fc1", inner, width, true);
    builder.linear("fc2", width, inner, true);
    builder.count_into(nullptr);
    builder.norm("self_attn_layer_norm", width, true);
    builder.norm("final_layer_norm", width, true);
  }
  layer.feed_forward.active_parameters = layer.feed_forward.parameters;
  architecture.encoder_layers.assign(static_cast<std::size_t>(layers), layer);
  const bool bias = config.flag("projector_bias", true);
  builder.linear("multi_modal_projector.linear_1", architecture.hidden, width, bias);
  builder.linear("multi_modal_projector.linear_2", architecture.hidden, architecture.hidden, bias);
}

// DBRX keeps attention and experts in sub-objects, and all experts of a layer in one matrix.
void read_dbrx(const Config &config, Architecture &architecture, ReadErrors &errors) {
  Builder builder(architecture, errors);
  common_facts(architecture, config, NormKind::layer, PositionKind::rotary);
  architecture.tied_embeddings = false;
  architecture.max_positions = config.maybe("max_seq_len", max_positions_limit).value_or(0);
  const Config attention = config.child("attn_config", "");
  const Config ffn = config.child("ffn_config", "");
  const std::int64_t hidden = architecture.hidden;
  const std::int64_t layers = layers_of(config, "n_layers");
  const std::int64_t heads = config.positive("n_heads");
  const std::int64_t kv_heads = attention.size_or("kv_n_heads", 1);
  const std::int64_t dim = hidden / heads;
  const std::int64_t experts = ffn.size_or("moe_num_experts", 4);
  const std::int64_t width = ffn.size_or("ffn_hidden_size", 3584);
  Layer layer;
  attention_facts(layer, heads, kv_heads, dim);
  FeedForward &ff = layer.feed_forward;
  ff.kind = FeedForwardKind::mixture;
  ff.gated = true;
  ff.experts = experts;
  ff.experts_per_token = ffn.size_or("moe_top_k", 1);
  ff.expert_intermediate = width;
  {
    const auto root = builder.in("transformer");
    builder.embedding("wte", architecture.vocabulary, hidden);
    builder.norm("norm_f", hidden);
    const auto each = builder.over("blocks", layers);
    builder.count_into(&layer.mixer.parameters);
    builder.linear("norm_attn_norm.attn.Wqkv", (heads + 2 * kv_heads) * dim, hidden);
    builder.linear("norm_attn_norm.attn.out_proj", hidden, heads * dim);
    builder.count_into(&ff.parameters);
    for (const std::string_view name : {"w1", "v1", "w2"}) {
      builder.add(fmt::format("ffn.experts.mlp.{}", name), {experts * width, hidden});
    }
    const std::int64_t routed = ff.parameters;
    builder.linear("ffn.router.layer", experts, hidden);
    builder.count_into(nullptr);
    builder.norm("norm_attn_norm.norm_1", hidden);
    builder.norm("norm_attn_norm.norm_2", hidden);
    ff.active_parameters =
        ff.parameters - routed / std::max<std::int64_t>(1, experts) *
                            std::max<std::int64_t>(0, experts - ff.experts_per_token);
  }
  architecture.layers.assign(static_cast<std::size_t>(layers), layer);
  builder.linear("lm_head", architecture.vocabulary, hidden);
}

struct Singular {
  std::string_view model_type;
  void (*read)(const Config &, Architecture &, ReadErrors &);
};

constexpr std::array singulars = {
    Singular{"audioflamingo3", read_audio_flamingo},
    Singular{"dbrx", read_dbrx},
    Singular{"gemma4_unified_assistant", read_gemma4_assistant},
    Singular{"musicflamingo", read_audio_flamingo},
    Singular{"prophetnet", read_prophetnet},
    Singular{"t5gemma", read_t5gemma},
    Singular{"xlm", read_xlm},
};

} // namespace

bool read_singular(const Config &config, Architecture &architecture, ReadErrors &errors) {
  const auto *found = std::ranges::find(singulars, config.model_type(), &Singular::model_type);
  if (found == singulars.end()) {
    return false;
  }
  if (config.model_type() == "prophetnet" && !first_architecture(config).ends_with("ForCausalLM")) {
    return false;
  }
  found->read(config, architecture, errors);
  return true;
}

} // namespace headwater::estimator
