#include "estimator/mtp.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

/// How a family stores its prediction layers.
enum class Form : std::uint8_t {
  extra_layer,       ///< one more layer of the stack, with its own projection and norms
  extra_layer_whole, ///< the same, with copies of the embedding and the head
  apart,             ///< under mtp., with shared projection and norms
  letters,           ///< under mtp., a pattern of single-part layers
};

struct Row {
  std::string_view model_type;
  Form form;
  std::string_view count_key;
  std::int64_t otherwise; ///< layers when the config does not say
};

constexpr std::array rows = {
    Row{"bailing_hybrid", Form::extra_layer, "num_nextn_predict_layers", 0},
    Row{"deepseek_v3", Form::extra_layer_whole, "num_nextn_predict_layers", 0},
    Row{"deepseek_v32", Form::extra_layer_whole, "num_nextn_predict_layers", 0},
    Row{"deepseek_v4", Form::apart, "num_nextn_predict_layers", 0},
    Row{"glm4_moe", Form::extra_layer_whole, "num_nextn_predict_layers", 0},
    Row{"glm4_moe_lite", Form::extra_layer, "num_nextn_predict_layers", 0},
    Row{"glm_moe_dsa", Form::extra_layer, "num_nextn_predict_layers", 0},
    Row{"nemotron_h", Form::letters, "num_nextn_predict_layers", 0},
    Row{"qwen3_5_moe_text", Form::apart, "mtp_num_hidden_layers", 0},
    Row{"qwen3_5_text", Form::apart, "mtp_num_hidden_layers", 0},
    Row{"qwen3_next", Form::apart, "mtp_num_hidden_layers", 1},
};

// Layers of the family's own kind, each a run of one.
void emit_one(Decoder &decoder, const LayerSpec &spec) {
  Layer &layer = decoder.architecture.mtp_layers.emplace_back();
  std::int64_t routed = 0;
  decoder.layer = &layer;
  decoder.experts = &routed;
  emit_layer(decoder, spec);
  FeedForward &ff = layer.feed_forward;
  ff.active_parameters = ff.parameters;
  if (ff.experts > 0 && ff.experts_per_token > 0 && ff.experts_per_token < ff.experts) {
    ff.active_parameters -= routed / ff.experts * (ff.experts - ff.experts_per_token);
  }
}

void extra_layers(Decoder &decoder, std::int64_t count, bool whole) {
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  const auto root = builder.in(decoder.traits.root);
  for (std::int64_t index = decoder.layers; index < decoder.layers + count; ++index) {
    const std::array<std::int64_t, 1> here = {index};
    const auto layer = builder.over(decoder.traits.layers, here);
    builder.norm("enorm", hidden);
    builder.norm("hnorm", hidden);
    builder.linear("eh_proj", hidden, 2 * hidden);
    emit_one(decoder, plan_layer(decoder, index));
    builder.norm("shared_head.norm", hidden);
    if (whole) {
      builder.linear("embed_tokens", decoder.architecture.vocabulary, hidden);
      builder.linear("shared_head.head", decoder.architecture.vocabulary, hidden);
    }
  }
}

void apart_layers(Decoder &decoder, std::int64_t count) {
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  const auto root = builder.in("mtp");
  builder.linear("fc", hidden, 2 * hidden);
  builder.norm("norm", hidden);
  builder.norm("pre_fc_norm_embedding", hidden);
  builder.norm("pre_fc_norm_hidden", hidden);
  LayerSpec spec = plan_layer(decoder, decoder.layers - 1);
  if (spec.mixer == MixerKind::gated_delta) {
    spec.mixer = MixerKind::attention;
  }
  for (std::int64_t index = 0; index < count; ++index) {
    const std::array<std::int64_t, 1> here = {index};
    const auto layer = builder.over("layers", here);
    emit_one(decoder, spec);
  }
}

void letter_layers(Decoder &decoder, std::int64_t count) {
  Builder &builder = decoder.builder;
  const std::int64_t hidden = decoder.hidden;
  std::string letters = decoder.config.text("mtp_hybrid_override_pattern");
  for (const std::string &type : decoder.config.words("mtp_layers_block_type")) {
    letters += type == "moe"                                   ? 'E'
               : type == "mamba" || type == "linear_attention" ? 'M'
               : type == "mlp"                                 ? '-'
                                                               : '*';
  }
  if (letters.empty()) {
    letters = "*E";
  }
  letters.resize(std::min<std::size_t>(letters.size(), 64));
  const auto root = builder.in("mtp");
  std::int64_t position = 0;
  for (std::int64_t step = 0; step < count; ++step) {
    for (std::size_t letter = 0; letter < letters.size(); ++letter, ++position) {
      const std::array<std::int64_t, 1> here = {position};
      const auto layer = builder.over("layers", here);
      if (letter == 0) {
        builder.norm("enorm", hidden);
        builder.norm("hnorm", hidden);
        builder.linear("eh_proj", hidden, 2 * hidden);
      }
      LayerSpec spec = decoder.dense_spec;
      spec.variant = letters[letter];
      decoder.traits.plan(decoder, -1, spec);
      emit_one(decoder, spec);
      if (letter + 1 == letters.size()) {
        builder.norm("final_layernorm", hidden);
      }
    }
  }
}

} // namespace

void add_mtp_layers(Decoder &decoder) {
  const auto *row = std::ranges::find(rows, decoder.config.model_type(), &Row::model_type);
  if (row == rows.end()) {
    return;
  }
  const std::int64_t count = decoder.config.size_or(row->count_key, row->otherwise);
  if (count < 1) {
    return;
  }
  if (count > 64) {
    decoder.config.reject(row->count_key, "prediction layers are over the limit of 64");
    return;
  }
  decoder.builder.set_mtp(true);
  switch (row->form) {
  case Form::extra_layer:
  case Form::extra_layer_whole:
    extra_layers(decoder, count, row->form == Form::extra_layer_whole);
    break;
  case Form::apart:
    apart_layers(decoder, count);
    break;
  case Form::letters:
    letter_layers(decoder, count);
    break;
  }
  decoder.builder.set_mtp(false);
}

} // namespace headwater::estimator
