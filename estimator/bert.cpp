#include "estimator/builder.hpp"
#include "estimator/families.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

enum class Head : std::uint8_t {
  predictions, ///< cls.predictions with a transform
  plain,       ///< lm_head.bias and a tied decoder
  dense,       ///< lm_head with a dense layer and a norm
  generator,   ///< ELECTRA's
  rembert,     ///< untied, with its own widths
};

/// BERT-like stacks with a language-model head. The defaults are BERT's.
struct BertTraits {
  std::string_view model_type;
  std::string_view root = "bert";
  Head head = Head::predictions;
  bool embed_norm = true;
  bool token_types = true;
  bool positions = true;
  bool pre_norm = false; ///< norms before the parts, under names of their own
  std::string_view attention_norm = "attention.output.LayerNorm";
  std::string_view output_norm = "output.LayerNorm";
  std::string_view last_norm = {}; ///< after the last layer
  std::string_view embed_width_key = {};
  bool narrow_head = false; ///< the head works in the embedding's width
};

constexpr std::array bert_rows = {
    BertTraits{.model_type = "bert"},
    BertTraits{.model_type = "bert-generation", .head = Head::plain, .token_types = false},
    BertTraits{.model_type = "big_bird"},
    BertTraits{.model_type = "camembert", .root = "roberta", .head = Head::dense},
    BertTraits{.model_type = "data2vec-text", .root = "data2vec_text", .head = Head::dense},
    BertTraits{.model_type = "electra",
               .root = "electra",
               .head = Head::generator,
               .embed_width_key = "embedding_size"},
    BertTraits{.model_type = "ernie", .root = "ernie"},
    BertTraits{.model_type = "megatron-bert",
               .embed_norm = false,
               .attention_norm = "attention.ln",
               .output_norm = "ln",
               .last_norm = "encoder.ln"},
    BertTraits{.model_type = "rembert",
               .root = "rembert",
               .head = Head::rembert,
               .embed_width_key = "input_embedding_size"},
    BertTraits{.model_type = "roberta", .root = "roberta", .head = Head::dense},
    BertTraits{.model_type = "roberta-prelayernorm",
               .root = "roberta_prelayernorm",
               .head = Head::dense,
               .attention_norm = "attention.LayerNorm",
               .output_norm = "intermediate.LayerNorm",
               .last_norm = "LayerNorm"},
    BertTraits{.model_type = "roc_bert", .root = "roc_bert"},
    BertTraits{.model_type = "roformer",
               .root = "roformer",
               .positions = false,
               .embed_width_key = "embedding_size",
               .narrow_head = true},
    BertTraits{.model_type = "xlm-roberta", .root = "roberta", .head = Head::dense},
    BertTraits{.model_type = "xlm-roberta-xl",
               .root = "roberta",
               .head = Head::dense,
               .embed_norm = false,
               .attention_norm = "attention.self_attn_layer_norm",
               .output_norm = "LayerNorm",
               .last_norm = "encoder.LayerNorm"},
    BertTraits{.model_type = "xmod", .root = "roberta", .head = Head::dense},
};

struct Bert {
  const BertTraits &traits;
  const Config &config;
  Builder &builder;
  Architecture &architecture;
  std::int64_t hidden = 0;
  std::int64_t embed = 0;
};

void embeddings(Bert &bert) {
  const Config &config = bert.config;
  Builder &builder = bert.builder;
  {
    const auto scope = builder.in("embeddings");
    builder.embedding("word_embeddings", bert.architecture.vocabulary, bert.embed);
    if (bert.traits.positions) {
      builder.embedding("position_embeddings", config.size("max_position_embeddings"), bert.embed);
    }
    if (bert.traits.token_types) {
      builder.embedding("token_type_embeddings", config.size("type_vocab_size"), bert.embed);
    }
    if (bert.traits.embed_norm) {
      builder.norm("LayerNorm", bert.embed, true);
    }
    if (bert.traits.model_type == "ernie" && config.flag("use_task_id")) {
      builder.embedding("task_type_embeddings", config.size("task_type_vocab_size"), bert.embed);
    }
    if (bert.traits.model_type == "roc_bert") {
      const std::int64_t pronunciation =
          config.flag("enable_pronunciation", true) ? config.size("pronunciation_embed_dim") : 0;
      const std::int64_t shape =
          config.flag("enable_shape", true) ? config.size("shape_embed_dim") : 0;
      if (pronunciation > 0) {
        builder.embedding("pronunciation_embed", config.size("pronunciation_vocab_size"),
                          pronunciation);
      }
      if (shape > 0) {
        builder.embedding("shape_embed", config.size("shape_vocab_size"), shape);
      }
      if (config.flag("concat_input", true)) {
        builder.linear("map_inputs_layer", bert.hidden, bert.hidden + pronunciation + shape, true);
      }
    }
  }
  const bool projects = bert.traits.model_type == "electra" || bert.traits.model_type == "roformer";
  if (projects && bert.embed != bert.hidden) {
    builder.linear("embeddings_project", bert.hidden, bert.embed, true);
  }
  if (bert.traits.model_type == "rembert") {
    builder.linear("encoder.embedding_hidden_mapping_in", bert.hidden, bert.embed, true);
  }
  if (bert.traits.model_type == "roformer") {
    const std::int64_t heads = bert.config.positive("num_attention_heads");
    builder.add("encoder.embed_positions.weight",
                {config.size("max_position_embeddings"), bert.hidden / heads});
  }
}

void adapters(Bert &bert) {
  const Config &config = bert.config;
  Builder &builder = bert.builder;
  const std::int64_t width =
      bert.hidden / std::max<std::int64_t>(1, config.size_or("adapter_reduction_factor", 2));
  const auto scope = builder.in("output");
  for (const std::string &language : config.words("languages")) {
    const auto module = builder.in("adapter_modules." + language);
    builder.linear("dense1", width, bert.hidden, true);
    builder.linear("dense2", bert.hidden, width, true);
  }
  if (config.flag("adapter_layer_norm")) {
    builder.norm("adapter_layer_norm", bert.hidden, true);
  }
}

void bert_layer(Bert &bert, bool cross, Layer &layer) {
  Builder &builder = bert.builder;
  const BertTraits &traits = bert.traits;
  const std::int64_t hidden = bert.hidden;
  const std::int64_t width = bert.config.positive("intermediate_size");
  Mixer &mixer = layer.mixer;
  mixer.kind = MixerKind::attention;
  mixer.heads = bert.config.positive("num_attention_heads");
  mixer.kv_heads = mixer.heads;
  mixer.head_dim = hidden / mixer.heads;
  mixer.value_head_dim = mixer.head_dim;
  builder.count_into(&mixer.parameters);
  for (const std::string_view module : {"attention", "crossattention"}) {
    if (module == "crossattention" && !cross) {
      continue;
    }
    const auto scope = builder.in(module);
    for (const std::string_view name : {"self.query", "self.key", "self.value", "output.dense"}) {
      builder.linear(name, hidden, hidden,
                     name == "output.dense" || bert.config.flag("use_bias", true));
    }
    if (module == "crossattention") {
      builder.norm("output.LayerNorm", hidden, true);
    }
  }
  FeedForward &ff = layer.feed_forward;
  builder.count_into(&ff.parameters);
  ff.kind = FeedForwardKind::dense;
  ff.intermediate = width;
  builder.linear("intermediate.dense", width, hidden, true);
  builder.linear("output.dense", hidden, width, true);
  builder.count_into(nullptr);
  ff.active_parameters = ff.parameters;
  builder.norm(traits.attention_norm, hidden, true);
  builder.norm(traits.output_norm, hidden, true);
  if (traits.model_type == "xmod") {
    adapters(bert);
  }
}

void bert_head(Bert &bert, std::string_view outer, const std::string &words, bool tied) {
  Builder &builder = bert.builder;
  const std::int64_t hidden = bert.hidden;
  const std::int64_t vocabulary = bert.architecture.vocabulary;
  const auto output = [&](std::string_view name, std::int64_t width) {
    if (tied) {
      builder.tied(fmt::format("{}.weight", name), {vocabulary, width}, words);
    } else {
      builder.linear(name, vocabulary, width);
    }
  };
  const auto output_bias = [&](std::string_view target) {
    if (tied) {
      builder.tied("decoder.bias", {vocabulary}, fmt::format("{}{}", outer, target));
    } else {
      builder.add("decoder.bias", {vocabulary});
    }
  };
  switch (bert.traits.head) {
  case Head::predictions: {
    const auto scope = builder.in("cls.predictions");
    const std::int64_t width = bert.traits.narrow_head ? bert.embed : hidden;
    builder.linear("transform.dense", width, hidden, true);
    builder.norm("transform.LayerNorm", width, true);
    builder.add("bias", {vocabulary});
    output("decoder", width);
    output_bias("cls.predictions.bias");
    return;
  }
  case Head::plain: {
    const auto scope = builder.in("lm_head");
    builder.add("bias", {vocabulary});
    output("decoder", hidden);
    output_bias("lm_head.bias");
    return;
  }
  case Head::dense: {
    const auto scope = builder.in("lm_head");
    builder.linear("dense", hidden, hidden, true);
    builder.norm("layer_norm", hidden, true);
    builder.add("bias", {vocabulary});
    output("decoder", hidden);
    output_bias("lm_head.bias");
    return;
  }
  case Head::generator:
    builder.linear("generator_predictions.dense", bert.embed, hidden, true);
    builder.norm("generator_predictions.LayerNorm", bert.embed, true);
    output("generator_lm_head", bert.embed);
    builder.add("generator_lm_head.bias", {vocabulary});
    return;
  case Head::rembert: {
    const std::int64_t width = bert.config.positive("output_embedding_size");
    const auto scope = builder.in("cls.predictions");
    builder.linear("dense", width, hidden, true);
    builder.norm("LayerNorm", width, true);
    builder.linear("decoder", vocabulary, width, true);
    return;
  }
  }
}

void read_stack(Bert &bert, std::string_view outer, bool head, bool pooler) {
  const Config &config = bert.config;
  Builder &builder = bert.builder;
  const BertTraits &traits = bert.traits;
  bert.hidden = config.positive("hidden_size");
  bert.embed = traits.embed_width_key.empty()
                   ? bert.hidden
                   : std::max<std::int64_t>(1, config.size_or(traits.embed_width_key, bert.hidden));
  const std::int64_t layers = config.positive("num_hidden_layers");
  Architecture &architecture = bert.architecture;
  architecture.hidden = bert.hidden;
  architecture.vocabulary = config.positive("vocab_size");
  architecture.max_positions =
      config.maybe("max_position_embeddings", max_positions_limit).value_or(0);
  architecture.norm = NormKind::layer;
  architecture.position = traits.positions ? PositionKind::learned : PositionKind::rotary;
  if (layers > max_layers) {
    config.reject("num_hidden_layers", "layers are over the limit of 10000");
    return;
  }
  const auto around = builder.in(outer);
  const std::string_view root = head ? traits.root : std::string_view{};
  {
    const auto scope = builder.in(root);
    embeddings(bert);
    Layer facts;
    {
      const auto each = builder.over("encoder.layer", layers);
      const bool cross = config.flag("is_decoder") && config.flag("add_cross_attention");
      bert_layer(bert, cross, facts);
    }
    (head ? architecture.layers : architecture.encoder_layers)
        .assign(static_cast<std::size_t>(layers), facts);
    if (!traits.last_norm.empty()) {
      builder.norm(traits.last_norm, bert.hidden, true);
    } else if (traits.model_type == "xmod" && config.flag("pre_norm")) {
      builder.norm("encoder.LayerNorm", bert.hidden, true);
    }
    if (traits.model_type == "big_bird") {
      builder.linear("pooler", bert.hidden, bert.hidden, true);
    } else if (pooler) {
      builder.linear("pooler.dense", bert.hidden, bert.hidden, true);
    }
  }
  if (head) {
    architecture.head = true;
    const bool tied = config.flag("tie_word_embeddings", true) && traits.head != Head::rembert;
    architecture.tied_embeddings = tied;
    bert_head(bert, builder.prefix(),
              fmt::format("{}{}.embeddings.word_embeddings.weight", builder.prefix(), traits.root),
              tied);
  }
}

} // namespace

bool read_bert(const Config &config, Architecture &architecture, ReadErrors &errors) {
  Builder builder(architecture, errors);
  if (config.model_type() == "encoder-decoder") {
    for (const std::string_view side : {"encoder", "decoder"}) {
      const Config part = config.child(side, "");
      const auto *traits = std::ranges::find(bert_rows, part.model_type(), &BertTraits::model_type);
      if (traits == bert_rows.end()) {
        architecture.reading = Reading::unknown;
        architecture.reading_note =
            fmt::format("its {} of model type {} is not one that we read", side, part.model_type());
        architecture.tensors.clear();
        return true;
      }
      Bert bert{*traits, part, builder, architecture};
      read_stack(bert, side, side == "decoder", side == "encoder");
    }
    return true;
  }
  const auto *traits = std::ranges::find(bert_rows, config.model_type(), &BertTraits::model_type);
  const std::string_view built = first_architecture(config);
  if (traits == bert_rows.end() ||
      !(built.ends_with("ForCausalLM") || built.ends_with("LMHeadModel") ||
        built.ends_with("Decoder") || built.ends_with("ForMaskedLM"))) {
    return false;
  }
  Bert bert{*traits, config, builder, architecture};
  read_stack(bert, {}, true, false);
  return true;
}

} // namespace headwater::estimator
