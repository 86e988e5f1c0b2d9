#include "estimator/builder.hpp"
#include "estimator/families.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

/// Encoder-decoders of BART's kind. The defaults are BART's.
struct BartTraits {
  std::string_view model_type;
  std::string_view root = "model.";
  std::string_view encoder = "encoder";
  std::string_view decoder = "decoder";
  std::string_view shared = "model.shared"; ///< embedding of both sides; empty: each has its own
  std::string_view cross = "encoder_attn";
  std::string_view cross_norm = "encoder_attn_layer_norm";
  std::string_view ffn = {}; ///< module around fc1 and fc2
  std::string_view ffn_norm = "final_layer_norm";
  std::string_view head = "lm_head";
  bool embed_norm = true;
  bool final_norm = false;
  bool positions = true; ///< stored position embeddings
  std::int64_t position_offset = 2;
  std::string_view positions_key = "max_position_embeddings";
  std::string_view encoder_positions_key = "max_position_embeddings";
  bool bias = true; ///< of the attention projections, all four
  bool key_bias = true;
  bool logits_bias = true; ///< final_logits_bias buffer of the conditional-generation class
  std::string_view vocabulary_key = "vocab_size";
  bool global_attention = false; ///< Pegasus-X: global tokens and their norm
  bool long_attention = false;   ///< LED: second projections for global tokens
  bool experts = false;          ///< NLLB-MoE
  bool untied_decoder = false;   ///< the decoder alone has a head of its own
  bool layernorm_key = false;    ///< embed_norm only with layernorm_embedding
};

constexpr std::array bart_rows = {
    BartTraits{.model_type = "bart"},
    BartTraits{.model_type = "bigbird_pegasus",
               .position_offset = 0,
               .bias = false,
               .untied_decoder = true},
    BartTraits{
        .model_type = "blenderbot", .embed_norm = false, .final_norm = true, .position_offset = 0},
    BartTraits{.model_type = "blenderbot-small", .position_offset = 0},
    BartTraits{
        .model_type = "fsmt", .shared = "", .head = "", .embed_norm = false, .logits_bias = false},
    BartTraits{.model_type = "led",
               .root = "led.",
               .shared = "led.shared",
               .position_offset = 0,
               .positions_key = "max_decoder_position_embeddings",
               .encoder_positions_key = "max_encoder_position_embeddings",
               .long_attention = true},
    BartTraits{.model_type = "m2m_100",
               .embed_norm = false,
               .final_norm = true,
               .positions = false,
               .logits_bias = false},
    BartTraits{.model_type = "marian", .embed_norm = false, .position_offset = 0},
    BartTraits{.model_type = "mbart", .final_norm = true},
    BartTraits{.model_type = "mvp"},
    BartTraits{.model_type = "nllb-moe",
               .cross = "cross_attention",
               .cross_norm = "cross_attention_layer_norm",
               .ffn = "ffn",
               .ffn_norm = "ff_layer_norm",
               .embed_norm = false,
               .final_norm = true,
               .positions = false,
               .logits_bias = false,
               .experts = true},
    BartTraits{
        .model_type = "pegasus", .embed_norm = false, .final_norm = true, .position_offset = 0},
    BartTraits{.model_type = "pegasus_x",
               .embed_norm = false,
               .final_norm = true,
               .positions = false,
               .bias = false,
               .logits_bias = false,
               .global_attention = true},
    BartTraits{.model_type = "plbart"},
    BartTraits{.model_type = "seamless_m4t",
               .root = "",
               .encoder = "text_encoder",
               .decoder = "text_decoder",
               .shared = "shared",
               .cross = "cross_attention",
               .cross_norm = "cross_attention_layer_norm",
               .ffn = "ffn",
               .ffn_norm = "ffn_layer_norm",
               .embed_norm = false,
               .final_norm = true,
               .positions = false,
               .logits_bias = false},
    BartTraits{.model_type = "seamless_m4t_v2",
               .root = "",
               .encoder = "text_encoder",
               .decoder = "text_decoder",
               .shared = "shared",
               .cross = "cross_attention",
               .cross_norm = "cross_attention_layer_norm",
               .ffn = "ffn",
               .ffn_norm = "ffn_layer_norm",
               .embed_norm = false,
               .final_norm = true,
               .positions = false,
               .logits_bias = false},
    BartTraits{.model_type = "trocr", .head = "output_projection", .layernorm_key = true},
    BartTraits{.model_type = "whisper",
               .head = "proj_out",
               .embed_norm = false,
               .final_norm = true,
               .position_offset = 0,
               .positions_key = "max_target_positions",
               .key_bias = false},
};

struct Side {
  bool decoder = false;
  std::int64_t layers = 0;
  std::int64_t heads = 1;
  std::int64_t width = 0;
  std::int64_t sparse_step = 0;
};

struct Bart {
  const BartTraits &traits;
  const Config &config;
  Builder &builder;
  Architecture &architecture;
  std::int64_t hidden = 0;
  bool bias = true;
};

void attention(Bart &bart, std::string_view module, std::int64_t in) {
  const auto scope = bart.builder.in(module);
  bart.builder.linear("k_proj", bart.hidden, in, bart.bias && bart.traits.key_bias);
  bart.builder.linear("v_proj", bart.hidden, in, bart.bias);
  bart.builder.linear("q_proj", bart.hidden, bart.hidden, bart.bias);
  bart.builder.linear("out_proj", bart.hidden, bart.hidden, bart.bias);
}

void long_attention(Bart &bart) {
  const auto scope = bart.builder.in("self_attn");
  for (const std::string_view name :
       {"query", "key", "value", "query_global", "key_global", "value_global"}) {
    bart.builder.linear(fmt::format("longformer_self_attn.{}", name), bart.hidden, bart.hidden,
                        true);
  }
  bart.builder.linear("output", bart.hidden, bart.hidden, true);
}

// Experts are modules named expert_0, expert_1 and so on.
void switch_experts(Builder &builder, std::int64_t experts, std::int64_t hidden, std::int64_t width,
                    bool bias, std::string_view up, std::string_view down, bool router_bias,
                    Layer &layer) {
  FeedForward &ff = layer.feed_forward;
  ff.kind = FeedForwardKind::mixture;
  ff.experts = experts;
  ff.expert_intermediate = width;
  builder.linear("router.classifier", experts, hidden, router_bias);
  const auto each = builder.over("experts.expert_{}", experts);
  builder.linear(up, width, hidden, bias);
  builder.linear(down, hidden, width, bias);
}

void one_layer(Bart &bart, const Side &side, bool sparse, Layer &layer) {
  Builder &builder = bart.builder;
  const std::int64_t hidden = bart.hidden;
  Mixer &mixer = layer.mixer;
  mixer.kind = MixerKind::attention;
  mixer.heads = side.heads;
  mixer.kv_heads = side.heads;
  mixer.head_dim = hidden / side.heads;
  mixer.value_head_dim = mixer.head_dim;
  builder.count_into(&mixer.parameters);
  if (bart.traits.long_attention && !side.decoder) {
    long_attention(bart);
  } else {
    attention(bart, "self_attn", hidden);
  }
  if (side.decoder) {
    attention(bart, bart.traits.cross, hidden);
  }
  builder.count_into(&layer.feed_forward.parameters);
  {
    const auto scope = builder.in(bart.traits.ffn);
    if (sparse) {
      switch_experts(builder, bart.config.positive("num_experts"), hidden, side.width, true, "fc1",
                     "fc2", bart.config.flag("router_bias"), layer);
      layer.feed_forward.experts_per_token = 2;
    } else {
      layer.feed_forward.kind = FeedForwardKind::dense;
      layer.feed_forward.intermediate = side.width;
      builder.linear("fc1", side.width, hidden, true);
      builder.linear("fc2", hidden, side.width, true);
    }
  }
  builder.count_into(nullptr);
  layer.feed_forward.active_parameters = layer.feed_forward.parameters;
  builder.norm("self_attn_layer_norm", hidden, true);
  if (side.decoder) {
    builder.norm(bart.traits.cross_norm, hidden, true);
  }
  builder.norm(bart.traits.ffn_norm, hidden, true);
  if (bart.traits.global_attention && !side.decoder) {
    builder.norm("global_self_attn_layer_norm", hidden, true);
  }
}

void stack(Bart &bart, const Side &side) {
  Builder &builder = bart.builder;
  const BartTraits &traits = bart.traits;
  const auto scope = builder.in(side.decoder ? traits.decoder : traits.encoder);
  if (traits.positions) {
    const std::string_view key = side.decoder ? traits.positions_key : traits.encoder_positions_key;
    builder.embedding("embed_positions", bart.config.size(key) + traits.position_offset,
                      bart.hidden);
  }
  if (traits.embed_norm &&
      (!traits.layernorm_key || bart.config.flag("layernorm_embedding", true))) {
    builder.norm("layernorm_embedding", bart.hidden, true);
  }
  if (traits.global_attention && !side.decoder) {
    builder.embedding("embed_global", bart.config.size("num_global_tokens"), bart.hidden);
  }
  std::array<std::vector<std::int64_t>, 2> groups;
  for (std::int64_t index = 0; index < side.layers; ++index) {
    const bool sparse =
        traits.experts && side.sparse_step > 0 && (index + 1) % side.sparse_step == 0;
    groups[sparse ? 1 : 0].push_back(index);
  }
  std::array<Layer, 2> facts;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (!groups[group].empty()) {
      const auto layers = builder.over("layers", groups[group]);
      one_layer(bart, side, group == 1, facts[group]);
    }
  }
  std::vector<Layer> &list =
      side.decoder ? bart.architecture.layers : bart.architecture.encoder_layers;
  for (std::int64_t index = 0; index < side.layers; ++index) {
    list.push_back(
        facts[!groups[1].empty() && std::ranges::binary_search(groups[1], index) ? 1 : 0]);
  }
  if (traits.final_norm) {
    builder.norm("layer_norm", bart.hidden, true);
  }
}

Side read_side(const Config &config, bool decoder) {
  Side side;
  side.decoder = decoder;
  side.layers = decoder ? config.positive("decoder_layers") : config.positive("encoder_layers");
  side.heads = decoder ? config.positive("decoder_attention_heads")
                       : config.positive("encoder_attention_heads");
  side.width = decoder ? config.positive("decoder_ffn_dim") : config.positive("encoder_ffn_dim");
  side.sparse_step = config.size_or(decoder ? "decoder_sparse_step" : "encoder_sparse_step", 0);
  if (side.layers > max_layers) {
    config.reject(decoder ? "decoder_layers" : "encoder_layers",
                  "layers are over the limit of 10000");
    side.layers = 1;
  }
  return side;
}

} // namespace

bool read_bart(const Config &config, Architecture &architecture, ReadErrors &errors) {
  const auto *traits = std::ranges::find(bart_rows, config.model_type(), &BartTraits::model_type);
  if (traits == bart_rows.end()) {
    return false;
  }
  const std::string_view built = first_architecture(config);
  const bool decoder_only = built.ends_with("ForCausalLM");
  if (traits->model_type == "whisper" && !decoder_only) {
    return false; // the audio encoder is not a text stack
  }
  Builder builder(architecture, errors);
  Bart bart{*traits, config, builder, architecture, config.positive("hidden_size")};
  const std::int64_t hidden = bart.hidden;
  bart.bias = traits->bias || config.flag("use_bias");
  architecture.hidden = hidden;
  architecture.norm = NormKind::layer;
  architecture.position = traits->positions ? PositionKind::learned : PositionKind::sinusoidal;
  architecture.max_positions = config.maybe(traits->positions_key, max_positions_limit).value_or(0);
  architecture.head = true;
  const Side decoder = read_side(config, true);
  const bool tied =
      config.flag("tie_word_embeddings", true) && !(decoder_only && traits->untied_decoder);
  if (traits->model_type == "fsmt") {
    architecture.vocabulary = config.positive("tgt_vocab_size");
  } else {
    architecture.vocabulary =
        decoder_only ? config.size_or("decoder_vocab_size", config.positive("vocab_size"))
                     : config.positive("vocab_size");
  }
  const std::int64_t vocabulary = architecture.vocabulary;
  const std::string own = fmt::format("{}{}.embed_tokens.weight", traits->root, traits->decoder);
  const std::string shared = decoder_only ? own : std::string(traits->shared) + ".weight";
  if (decoder_only) {
    builder.embedding(own.substr(0, own.size() - 7), vocabulary, hidden);
  } else if (!traits->shared.empty()) {
    builder.embedding(traits->shared, vocabulary, hidden);
    for (const std::string_view side : {traits->encoder, traits->decoder}) {
      const std::string name = fmt::format("{}{}.embed_tokens", traits->root, side);
      if (tied) {
        builder.tied(name + ".weight", {vocabulary, hidden}, shared);
      } else {
        builder.embedding(name, vocabulary, hidden);
      }
    }
  } else {
    builder.embedding("model.decoder.embed_tokens", vocabulary, hidden);
    if (tied) {
      builder.tied("model.encoder.embed_tokens.weight", {vocabulary, hidden}, own);
    } else {
      builder.embedding("model.encoder.embed_tokens", config.positive("src_vocab_size"), hidden);
    }
    if (tied) {
      builder.tied("model.decoder.output_projection.weight", {vocabulary, hidden}, own);
    } else {
      builder.linear("model.decoder.output_projection", vocabulary, hidden);
    }
  }
  {
    const auto root = builder.in(traits->root);
    if (!decoder_only) {
      stack(bart, read_side(config, false));
    }
    stack(bart, decoder);
  }
  if (!traits->head.empty()) {
    if (tied) {
      architecture.tied_embeddings = true;
      builder.tied(std::string(traits->head) + ".weight", {vocabulary, hidden}, shared);
    } else {
      builder.linear(traits->head, vocabulary, hidden);
    }
  }
  if (traits->logits_bias && !decoder_only) {
    builder.add("final_logits_bias", {1, vocabulary}, TensorKind::buffer);
  }
  return true;
}

namespace {

/// Encoder-decoders of T5's kind.
struct T5Traits {
  std::string_view model_type;
  bool bias_everywhere = false; ///< each layer has its own relative bias
  bool experts = false;
  bool long_encoder = false; ///< local or transient-global attention in the encoder
};

constexpr std::array t5_rows = {
    T5Traits{.model_type = "longt5", .long_encoder = true},         T5Traits{.model_type = "mt5"},
    T5Traits{.model_type = "switch_transformers", .experts = true}, T5Traits{.model_type = "t5"},
    T5Traits{.model_type = "umt5", .bias_everywhere = true},
};

struct T5 {
  const T5Traits &traits;
  const Config &config;
  Builder &builder;
  std::int64_t hidden = 0;
  std::int64_t heads = 1;
  std::int64_t dim = 0;
  std::int64_t width = 0;
  bool gated = false;
};

void t5_attention(T5 &t5, std::string_view module, bool relative, bool global) {
  Builder &builder = t5.builder;
  const auto scope = builder.in(module);
  const std::int64_t inner = t5.heads * t5.dim;
  for (const std::string_view name : {"q", "k", "v"}) {
    builder.linear(name, inner, t5.hidden);
  }
  builder.linear("o", t5.hidden, inner);
  const std::int64_t buckets = t5.config.size_or("relative_attention_num_buckets", 32);
  if (relative) {
    builder.linear("relative_attention_bias", buckets, t5.heads);
  }
  if (global) {
    if (relative) {
      builder.linear("global_relative_attention_bias", buckets, t5.heads);
    }
    builder.norm("global_input_layer_norm", t5.hidden);
  }
}

void t5_layer(T5 &t5, bool decoder, bool first, bool sparse, Layer &layer) {
  Builder &builder = t5.builder;
  Mixer &mixer = layer.mixer;
  mixer.kind = MixerKind::attention;
  mixer.heads = t5.heads;
  mixer.kv_heads = t5.heads;
  mixer.head_dim = t5.dim;
  mixer.value_head_dim = t5.dim;
  builder.count_into(&mixer.parameters);
  const bool relative = first || t5.traits.bias_everywhere;
  std::string_view module = "SelfAttention";
  bool global = false;
  if (t5.traits.long_encoder && !decoder) {
    global = t5.config.text("encoder_attention_type", "local") != "local";
    module = global ? "TransientGlobalSelfAttention" : "LocalSelfAttention";
  }
  {
    const auto part = builder.in("layer.0");
    t5_attention(t5, module, relative, global);
    builder.norm("layer_norm", t5.hidden);
  }
  if (decoder) {
    const auto part = builder.in("layer.1");
    t5_attention(t5, "EncDecAttention", false, false);
    builder.norm("layer_norm", t5.hidden);
  }
  builder.count_into(&layer.feed_forward.parameters);
  const auto part = builder.in(decoder ? "layer.2" : "layer.1");
  builder.norm("layer_norm", t5.hidden);
  const auto scope = builder.in(t5.traits.experts ? "mlp" : "DenseReluDense");
  FeedForward &ff = layer.feed_forward;
  if (sparse) {
    switch_experts(builder, t5.config.positive("num_experts"), t5.hidden, t5.width, false, "wi",
                   "wo", t5.config.flag("router_bias"), layer);
    ff.experts_per_token = 1;
  } else {
    ff.kind = FeedForwardKind::dense;
    ff.gated = t5.gated;
    ff.intermediate = t5.width;
    if (t5.gated) {
      builder.linear("wi_0", t5.width, t5.hidden);
      builder.linear("wi_1", t5.width, t5.hidden);
    } else {
      builder.linear("wi", t5.width, t5.hidden);
    }
    builder.linear("wo", t5.hidden, t5.width);
  }
  builder.count_into(nullptr);
  ff.active_parameters = ff.parameters;
}

void t5_stack(T5 &t5, bool decoder, std::vector<Layer> &list) {
  const std::int64_t layers =
      decoder ? t5.config.size_or("num_decoder_layers", t5.config.positive("num_layers"))
              : t5.config.positive("num_layers");
  if (layers > max_layers || layers < 1) {
    t5.config.reject(decoder ? "num_decoder_layers" : "num_layers",
                     "is no usable number of layers");
    return;
  }
  std::int64_t step = 0;
  if (t5.traits.experts) {
    const std::int64_t sparse =
        t5.config.size_or(decoder ? "num_sparse_decoder_layers" : "num_sparse_encoder_layers", 0);
    step = t5.config.size_or(decoder ? "decoder_sparse_step" : "encoder_sparse_step",
                             sparse > 0 ? layers / sparse : 0);
  }
  const auto scope = t5.builder.in(decoder ? "decoder" : "encoder");
  std::array<std::vector<std::int64_t>, 4> groups;
  std::array<Layer, 4> facts;
  const auto group_of = [&](std::int64_t index) {
    const bool sparse = step > 0 && (step == 1 || index % step == 1);
    return (index == 0 ? 1U : 0U) + (sparse ? 2U : 0U);
  };
  for (std::int64_t index = 0; index < layers; ++index) {
    groups[group_of(index)].push_back(index);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (!groups[group].empty()) {
      const auto blocks = t5.builder.over("block", groups[group]);
      t5_layer(t5, decoder, (group & 1U) != 0, (group & 2U) != 0, facts[group]);
    }
  }
  for (std::int64_t index = 0; index < layers; ++index) {
    list.push_back(facts[group_of(index)]);
  }
  t5.builder.norm("final_layer_norm", t5.hidden);
}

} // namespace

bool read_t5(const Config &config, Architecture &architecture, ReadErrors &errors) {
  const auto *traits = std::ranges::find(t5_rows, config.model_type(), &T5Traits::model_type);
  if (traits == t5_rows.end()) {
    return false;
  }
  Builder builder(architecture, errors);
  T5 t5{*traits, config, builder};
  t5.hidden = config.positive("d_model");
  t5.heads = config.positive("num_heads");
  t5.dim = config.positive("d_kv");
  t5.width = config.positive("d_ff");
  t5.gated = config.has("is_gated_act")
                 ? config.flag("is_gated_act")
                 : config.text("feed_forward_proj", "relu").starts_with("gated-");
  architecture.hidden = t5.hidden;
  architecture.vocabulary = config.positive("vocab_size");
  architecture.norm = NormKind::rms;
  architecture.position = PositionKind::relative;
  architecture.head = true;
  architecture.tied_embeddings = config.flag("tie_word_embeddings", true);
  if (!architecture.tied_embeddings && !traits->experts) {
    architecture.reading_note = "published files hold the head that tie_word_embeddings false asks "
                                "for; transformers ties it all the same";
  }
  builder.embedding("shared", architecture.vocabulary, t5.hidden);
  for (const std::string_view side : {"encoder", "decoder"}) {
    const std::string name = fmt::format("{}.embed_tokens", side);
    if (traits->experts && !architecture.tied_embeddings) {
      builder.embedding(name, architecture.vocabulary, t5.hidden);
    } else {
      builder.tied(name + ".weight", {architecture.vocabulary, t5.hidden}, "shared.weight");
    }
  }
  t5_stack(t5, false, architecture.encoder_layers);
  t5_stack(t5, true, architecture.layers);
  if (architecture.tied_embeddings) {
    builder.tied("lm_head.weight", {architecture.vocabulary, t5.hidden}, "shared.weight");
  } else {
    builder.linear("lm_head", architecture.vocabulary, t5.hidden);
  }
  return true;
}

} // namespace headwater::estimator
