#include "estimator/decoder.hpp"

#include "estimator/mtp.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

// A rule is "yes", or keys of which one must be set, separated by |.
bool bias_of(const Config &config, std::string_view rule) {
  if (rule == "yes") {
    return true;
  }
  while (!rule.empty()) {
    const std::size_t bar = rule.find('|');
    if (config.flag(rule.substr(0, bar))) {
      return true;
    }
    rule.remove_prefix(bar == std::string_view::npos ? rule.size() : bar + 1);
  }
  return false;
}

bool norm_bias(NormStyle style) {
  return style == NormStyle::layer;
}

void norm_tensor(Decoder &decoder, std::string_view name, std::int64_t width) {
  if (decoder.traits.norm != NormStyle::none) {
    decoder.builder.norm(name, width, norm_bias(decoder.traits.norm));
  }
}

// A weight as its row stores it.
void projection(Decoder &decoder, std::string_view name, std::int64_t out, std::int64_t in,
                bool bias) {
  Builder &builder = decoder.builder;
  if (!decoder.traits.transposed) {
    builder.linear(name, out, in, bias);
    return;
  }
  builder.linear(name, in, out);
  if (bias) {
    builder.add(std::string(name) + ".bias", {out});
  }
}

// Layers between which queries see all that came before have no rotary positions in some families.
bool has_rotary_positions(const Config &config, std::int64_t index) {
  const std::vector<std::int64_t> listed = config.numbers("no_rope_layers");
  if (static_cast<std::size_t>(index) < listed.size()) {
    return listed[static_cast<std::size_t>(index)] != 0;
  }
  const std::int64_t interval =
      std::max<std::int64_t>(1, config.size_or("no_rope_layer_interval", 4));
  return (index + 1) % interval != 0;
}

// Whether a layer has a window where the config has no list of layer types.
bool slides(const Decoder &decoder, std::int64_t index) {
  const DecoderTraits &traits = decoder.traits;
  switch (traits.window) {
  case Window::never:
    return false;
  case Window::always:
  case Window::flagged:
    return true;
  case Window::qwen:
  case Window::from_layer:
    return index >= decoder.window_from;
  case Window::alternate:
    return index % 2 == 0 && index < decoder.window_from;
  case Window::unrotated:
    return !has_rotary_positions(decoder.config, index);
  case Window::by_types:
    break;
  }
  if (!decoder.window_letters.empty()) {
    const char letter =
        decoder.window_letters[static_cast<std::size_t>(index) % decoder.window_letters.size()];
    return letter == 'L' && index + 1 != decoder.layers;
  }
  const std::int64_t period = decoder.window_period;
  if (period < 1 || index < traits.window_after ||
      (traits.window_ends_full && index + 1 == decoder.layers)) {
    return false;
  }
  return index % period != (traits.window_full < 0 ? period - 1 : traits.window_full);
}

std::int64_t window_of(const Decoder &decoder, std::int64_t index) {
  const Window rule = decoder.traits.window;
  if (rule == Window::never || decoder.window == 0) {
    return 0;
  }
  const std::string_view type = type_of(decoder, index);
  const bool listed = !type.empty() && rule != Window::always && rule != Window::flagged;
  return (listed ? type.starts_with("sliding") : slides(decoder, index)) ? decoder.window : 0;
}

bool is_mixture(const Decoder &decoder, MoeLayers rule, std::int64_t index) {
  switch (rule) {
  case MoeLayers::all:
    return true;
  case MoeLayers::by_types:
    if (static_cast<std::size_t>(index) < decoder.mlp_types.size()) {
      return decoder.mlp_types[static_cast<std::size_t>(index)] == "sparse";
    }
    [[fallthrough]];
  case MoeLayers::after_first:
    return index >= decoder.first_dense && index % decoder.moe_every == 0;
  case MoeLayers::sparse_step:
    return std::ranges::find(decoder.mlp_only, index) == decoder.mlp_only.end() &&
           (index + 1) % decoder.moe_every == 0;
  }
  return true;
}

// What all layers share, read once.
void prepare(Decoder &decoder) {
  const DecoderTraits &traits = decoder.traits;
  const Config &config = decoder.config;
  const Json *per_layer = config.find("per_layer_config");
  decoder.per_layer =
      per_layer != nullptr && per_layer->is_object() && !per_layer->empty() ? per_layer : nullptr;
  LayerSpec &spec = decoder.dense_spec;
  spec.mixer = traits.latent ? MixerKind::latent_attention : MixerKind::attention;
  if (!traits.attention.empty()) {
    spec.heads = config.positive("num_attention_heads");
    spec.kv_heads =
        traits.multi_head_only ? spec.heads : config.size_or("num_key_value_heads", spec.heads);
    spec.head_dim = config.size_or("head_dim", decoder.hidden / spec.heads);
    spec.value_dim = spec.head_dim;
    if (spec.kv_heads < 1) {
      config.reject("num_key_value_heads", "is not positive");
    }
    if (spec.head_dim < 1) {
      config.reject(config.has("head_dim") ? "head_dim" : "num_attention_heads",
                    "leaves no width for a head");
    }
  }
  if (!traits.per_layer_width || !config.has("intermediate_size") ||
      config.find("intermediate_size")->is_number()) {
    spec.width = config.size_or("intermediate_size", traits.mlp_multiple * decoder.hidden);
  }
  if (traits.window != Window::never) {
    const std::string_view twice = traits.window_twice_key;
    decoder.window = !config.has(traits.window_key) && !twice.empty() && config.has(twice)
                         ? config.size(twice) / 2
                         : config.size_or(traits.window_key, 0);
    decoder.window_period = traits.window_period;
    if (!traits.window_period_key.empty()) {
      const Json *pattern = config.find(traits.window_period_key);
      if (pattern != nullptr && pattern->is_string()) {
        decoder.window_letters = config.text(traits.window_period_key);
      } else {
        decoder.window_period = config.size_or(traits.window_period_key, traits.window_period);
      }
    }
    decoder.window_from = config.size_or("max_window_layers", 28);
    const bool asked = traits.window == Window::qwen || traits.window == Window::flagged ||
                       traits.window == Window::alternate || traits.window == Window::unrotated;
    if (asked && !config.flag("use_sliding_window")) {
      decoder.window = 0;
    }
    if (!decoder.types.empty() && std::ssize(decoder.types) < decoder.layers) {
      config.reject("layer_types",
                    fmt::format("has fewer entries than num_hidden_layers, {}", decoder.layers));
    }
  }
  if (traits.moe == nullptr) {
    return;
  }
  const MoeTraits &moe = *traits.moe;
  decoder.mixture_spec = spec;
  decoder.mixture_spec.experts = config.size_or(moe.experts_key, 0);
  if (decoder.mixture_spec.experts < 1) {
    return;
  }
  decoder.mixture_spec.feed_forward = FeedForwardKind::mixture;
  decoder.mixture_spec.width = config.size(moe.width_key);
  if (moe.layers == MoeLayers::by_types) {
    decoder.mlp_types = config.words("mlp_layer_types");
  }
  if (moe.layers == MoeLayers::sparse_step) {
    decoder.mlp_only = config.numbers("mlp_only_layers");
    decoder.moe_every = std::max<std::int64_t>(1, config.size_or("decoder_sparse_step", 1));
  } else if (moe.layers != MoeLayers::all) {
    decoder.first_dense = config.size_or("first_k_dense_replace", 0);
    const Json *every = config.find("moe_layer_freq");
    if (every != nullptr && every->is_array() && decoder.mlp_types.empty()) {
      for (const std::int64_t sparse : config.numbers("moe_layer_freq")) {
        decoder.mlp_types.emplace_back(sparse == 0 ? "dense" : "sparse");
      }
    } else if (every != nullptr && !every->is_array()) {
      decoder.moe_every = std::max<std::int64_t>(1, config.size("moe_layer_freq"));
    }
  }
}

// What the config says, or else the length of its pattern.
std::int64_t count_layers(const DecoderTraits &traits, const Config &config) {
  if (!config.has(traits.layer_count_key)) {
    for (const std::string_view key : {traits.pattern_key, std::string_view("layer_types")}) {
      const Json *pattern = config.find(key);
      if (pattern != nullptr && (pattern->is_string() || pattern->is_array())) {
        return pattern->is_string() ? std::ssize(pattern->get_ref<const std::string &>())
                                    : std::ssize(*pattern);
      }
    }
  }
  return config.positive(traits.layer_count_key);
}

struct Group {
  LayerSpec spec;
  std::vector<std::int64_t> indices;
};

void count_totals(Layer &layer, std::int64_t routed) {
  FeedForward &ff = layer.feed_forward;
  ff.active_parameters = ff.parameters;
  if (ff.experts > 0 && ff.experts_per_token > 0 && ff.experts_per_token < ff.experts) {
    ff.active_parameters -= routed / ff.experts * (ff.experts - ff.experts_per_token);
  }
}

} // namespace

bool LayerSpec::same_sizes(const LayerSpec &other) const {
  return mixer == other.mixer && heads == other.heads && kv_heads == other.kv_heads &&
         head_dim == other.head_dim && value_dim == other.value_dim && window == other.window &&
         chunk == other.chunk && shares_kv == other.shares_kv &&
         feed_forward == other.feed_forward && width == other.width && experts == other.experts &&
         variant == other.variant;
}

bool LayerSpec::equal_keys(const LayerSpec &other) const {
  return *own_keys == *other.own_keys;
}

std::string_view word(std::string_view list, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t space = list.find(' ');
    if (space == std::string_view::npos) {
      return {};
    }
    list.remove_prefix(space + 1);
  }
  return list.substr(0, list.find(' '));
}

std::size_t word_count(std::string_view list) {
  return list.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(list, ' ')) + 1;
}

void attention_block(Decoder &decoder, const LayerSpec &spec) {
  const DecoderTraits &traits = decoder.traits;
  Builder &builder = decoder.builder;
  const std::int64_t q = spec.heads * spec.head_dim;
  const std::int64_t k = spec.kv_heads * spec.head_dim;
  const std::int64_t v = spec.kv_heads * spec.value_dim;
  const bool qkv_bias = bias_of(decoder.config, traits.qkv_bias);
  const bool out_bias = bias_of(decoder.config, traits.out_bias);
  const auto scope = builder.in(traits.attention);
  if (word_count(traits.projections) == 2) {
    projection(decoder, word(traits.projections, 0), q + k + v + (traits.gated_query ? q : 0),
               decoder.hidden, qkv_bias);
    projection(decoder, word(traits.projections, 1), decoder.hidden, spec.heads * spec.value_dim,
               out_bias);
  } else {
    projection(decoder, word(traits.projections, 0), traits.gated_query ? 2 * q : q, decoder.hidden,
               qkv_bias);
    if (!spec.shares_kv) {
      projection(decoder, word(traits.projections, 1), k, decoder.hidden, qkv_bias);
      projection(decoder, word(traits.projections, 2), v, decoder.hidden, qkv_bias);
    }
    projection(decoder, word(traits.projections, 3), decoder.hidden, spec.heads * spec.value_dim,
               out_bias);
  }
  if (traits.qk != QkNorm::none && (traits.qk_key.empty() || decoder.config.flag(traits.qk_key))) {
    const bool flat = traits.qk == QkNorm::flat;
    builder.norm(word(traits.qk_names, 0), flat ? q : spec.head_dim);
    if (!spec.shares_kv) {
      builder.norm(word(traits.qk_names, 1), flat ? k : spec.head_dim);
    }
  }
  if (traits.attention_extra != nullptr) {
    traits.attention_extra(decoder, spec);
  }
}

void latent_attention_block(Decoder &decoder, const LayerSpec &spec) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  Mixer &mixer = decoder.layer->mixer;
  const std::int64_t rope = config.size("qk_rope_head_dim");
  const std::int64_t nope = config.size("qk_nope_head_dim");
  const std::int64_t value = config.size_or("v_head_dim", decoder.hidden / spec.heads);
  const std::int64_t kv_rank = config.size("kv_lora_rank");
  const std::int64_t q_rank = config.size_or("q_lora_rank", 0);
  const std::int64_t q = spec.heads * (nope + rope + (decoder.traits.gated_query ? value : 0));
  const bool bias = bias_of(config, decoder.traits.qkv_bias);
  mixer.kv_lora_rank = kv_rank;
  mixer.q_lora_rank = q_rank;
  mixer.rope_head_dim = rope;
  mixer.head_dim = nope + rope;
  mixer.value_head_dim = value;
  const auto scope = builder.in(decoder.traits.attention);
  if (q_rank == 0) {
    builder.linear("q_proj", q, decoder.hidden);
  } else {
    builder.linear("q_a_proj", q_rank, decoder.hidden, bias);
    builder.norm("q_a_layernorm", q_rank);
    builder.linear("q_b_proj", q, decoder.traits.gated_query ? 2 * q_rank : q_rank);
  }
  builder.linear("kv_a_proj_with_mqa", kv_rank + rope, decoder.hidden, bias);
  builder.norm("kv_a_layernorm", kv_rank);
  builder.linear("kv_b_proj", spec.heads * (nope + value), kv_rank);
  builder.linear("o_proj", decoder.hidden, spec.heads * value, bias);
  if (decoder.traits.attention_extra != nullptr) {
    decoder.traits.attention_extra(decoder, spec);
  }
}

void dense_block(Decoder &decoder, std::int64_t width) {
  const DecoderTraits &traits = decoder.traits;
  FeedForward &ff = decoder.layer->feed_forward;
  const bool bias = bias_of(decoder.config, traits.mlp_bias);
  ff.kind = FeedForwardKind::dense;
  ff.intermediate = width;
  ff.gated = traits.fused_gate || word_count(traits.mlp_names) == 3;
  const auto scope = decoder.builder.in(traits.mlp);
  if (word_count(traits.mlp_names) == 3) {
    projection(decoder, word(traits.mlp_names, 0), width, decoder.hidden, bias);
    projection(decoder, word(traits.mlp_names, 1), width, decoder.hidden, bias);
    projection(decoder, word(traits.mlp_names, 2), decoder.hidden, width, bias);
  } else {
    projection(decoder, word(traits.mlp_names, 0), traits.fused_gate ? 2 * width : width,
               decoder.hidden, bias);
    projection(decoder, word(traits.mlp_names, 1), decoder.hidden, width, bias);
  }
}

void mixture_block(Decoder &decoder, const LayerSpec &spec, const MoeTraits &moe) {
  const Config &config = decoder.config;
  Builder &builder = decoder.builder;
  FeedForward &ff = decoder.layer->feed_forward;
  const std::int64_t hidden = decoder.hidden;
  const bool three = word_count(moe.names) == 3;
  ff.kind = FeedForwardKind::mixture;
  ff.gated = three || moe.style != ExpertStyle::single;
  ff.experts = spec.experts;
  ff.experts_per_token = config.first_of("num_experts_per_tok").value_or(0);
  ff.expert_intermediate = spec.width;
  const auto scope = builder.in(moe.module);
  if (!moe.router.empty()) {
    builder.linear(moe.router, spec.experts, hidden);
  }
  const bool corrected = moe.correction_key.empty() ? config.flag("use_expert_bias", true)
                                                    : config.flag(moe.correction_key);
  if (!moe.correction.empty() && corrected) {
    builder.add(moe.correction, {spec.experts},
                moe.correction_is_weight ? TensorKind::parameter : TensorKind::buffer);
  }
  builder.count_into(&ff.parameters, decoder.experts);
  const std::string_view down = word(moe.names, three ? 2 : 1);
  if (moe.style == ExpertStyle::single) {
    const auto experts = builder.over("experts", spec.experts);
    builder.linear(word(moe.names, 0), spec.width, hidden);
    if (three) {
      builder.linear(word(moe.names, 1), spec.width, hidden);
    }
    builder.linear(down, hidden, spec.width);
  } else if (moe.style == ExpertStyle::fused_out_in) {
    builder.add(word(moe.names, 0), {spec.experts, 2 * spec.width, hidden});
    builder.add(down, {spec.experts, hidden, spec.width});
  } else {
    builder.add(word(moe.names, 0), {spec.experts, hidden, 2 * spec.width});
    builder.add(down, {spec.experts, spec.width, hidden});
  }
  builder.count_into(&ff.parameters);
  if (!moe.shared.empty() && (moe.shared_key.empty() || config.flag(moe.shared_key))) {
    const std::int64_t shared =
        moe.shared_width.empty() ? config.first_of("num_shared_experts").value_or(0) : 1;
    const std::int64_t width =
        moe.shared_width.empty()
            ? shared * spec.width
            : (moe.shared_width_each ? config.size_or("num_shared_experts", 1) : 1) *
                  config.size_or(moe.shared_width, 0);
    if (shared > 0 && width > 0) {
      ff.shared_experts = shared;
      ff.shared_intermediate = width;
      const bool bias = bias_of(config, decoder.traits.mlp_bias);
      const auto inner = builder.in(moe.shared);
      if (word_count(moe.shared_names) == 3) {
        builder.linear(word(moe.shared_names, 0), width, hidden, bias);
        builder.linear(word(moe.shared_names, 1), width, hidden, bias);
        builder.linear(word(moe.shared_names, 2), hidden, width, bias);
      } else {
        builder.linear(word(moe.shared_names, 0), ff.gated ? 2 * width : width, hidden, bias);
        builder.linear(word(moe.shared_names, 1), hidden, width, bias);
      }
    }
    if (!moe.shared_gate.empty()) {
      builder.linear(moe.shared_gate, 1, hidden);
    }
  }
}

std::string_view type_of(const Decoder &decoder, std::int64_t index) {
  const auto position = static_cast<std::size_t>(index * decoder.parts);
  return position < decoder.types.size() ? std::string_view(decoder.types[position])
                                         : std::string_view{};
}

namespace {

// per_layer_config: {"05": {"head_dim": 512}} says what one layer has in place of the common keys.
void override_layer(Decoder &decoder, std::int64_t index, LayerSpec &spec) {
  auto found = decoder.per_layer->find(fmt::format("{:02}", index));
  if (found == decoder.per_layer->end()) {
    found = decoder.per_layer->find(std::to_string(index));
  }
  if (found == decoder.per_layer->end() || !found->is_object()) {
    return;
  }
  const Config own(*found, {}, fmt::format("per_layer_config.{}.", index), decoder.config.errors());
  spec.heads = own.size_or("num_attention_heads", spec.heads);
  spec.kv_heads = own.size_or("num_key_value_heads", spec.kv_heads);
  if (own.has("head_dim")) {
    spec.head_dim = own.positive("head_dim");
    spec.value_dim = spec.head_dim;
  }
  spec.own_keys = &*found;
}

} // namespace

LayerSpec plan_layer(Decoder &decoder, std::int64_t index) {
  const DecoderTraits &traits = decoder.traits;
  const bool mixture = traits.moe != nullptr && decoder.mixture_spec.experts > 0 &&
                       is_mixture(decoder, traits.moe->layers, index);
  LayerSpec spec = mixture ? decoder.mixture_spec : decoder.dense_spec;
  spec.window = window_of(decoder, index);
  if (decoder.per_layer != nullptr) {
    override_layer(decoder, index, spec);
  }
  if (traits.plan != nullptr) {
    traits.plan(decoder, index, spec);
  }
  return spec;
}

void emit_layer(Decoder &decoder, const LayerSpec &spec) {
  const DecoderTraits &traits = decoder.traits;
  Builder &builder = decoder.builder;
  Layer &layer = *decoder.layer;
  Mixer &mixer = layer.mixer;
  mixer.kind = spec.mixer;
  if (spec.mixer == MixerKind::attention || spec.mixer == MixerKind::latent_attention) {
    mixer.heads = spec.heads;
    mixer.kv_heads = spec.kv_heads;
    mixer.head_dim = spec.head_dim;
    mixer.value_head_dim = spec.value_dim;
    mixer.window = spec.window;
    mixer.chunk = spec.chunk;
    mixer.shares_kv = spec.shares_kv;
  }
  builder.count_into(&mixer.parameters);
  if (spec.mixer == MixerKind::attention) {
    attention_block(decoder, spec);
  } else if (spec.mixer == MixerKind::latent_attention) {
    latent_attention_block(decoder, spec);
  } else if (spec.mixer != MixerKind::none) {
    traits.mixer(decoder, spec);
  }
  builder.count_into(&layer.feed_forward.parameters);
  if (traits.feed_forward != nullptr) {
    traits.feed_forward(decoder, spec);
  } else if (spec.feed_forward == FeedForwardKind::mixture) {
    mixture_block(decoder, spec, *traits.moe);
  } else if (spec.feed_forward == FeedForwardKind::dense) {
    if (spec.width < 1) {
      decoder.config.reject("intermediate_size", "and needed");
    }
    dense_block(decoder, spec.width);
  }
  builder.count_into(nullptr);
  const bool weighted = traits.norm_key.empty() || decoder.config.flag(traits.norm_key, true);
  for (std::size_t index = 0; weighted && index < word_count(traits.norms); ++index) {
    norm_tensor(decoder, word(traits.norms, index), decoder.hidden);
  }
  if (traits.layer_extra != nullptr) {
    traits.layer_extra(decoder, spec);
  }
}

void read_decoder(const DecoderTraits &traits, const Config &config, Architecture &architecture,
                  ReadErrors &errors) {
  Builder builder(architecture, errors);
  Decoder decoder{traits, config, builder, architecture};
  decoder.hidden = config.positive("hidden_size");
  decoder.types = config.words("layer_types");
  if (traits.parts_per_layer > 1 &&
      std::ranges::find(decoder.types, "mlp") != decoder.types.end()) {
    decoder.parts = traits.parts_per_layer;
  }
  decoder.layers = count_layers(traits, config) / decoder.parts;
  if (decoder.layers < 1) {
    config.reject(traits.layer_count_key, "leaves no layer");
    return;
  }
  architecture.hidden = decoder.hidden;
  architecture.vocabulary = config.positive("vocab_size");
  architecture.max_positions =
      config.maybe("max_position_embeddings", max_positions_limit).value_or(0);
  architecture.norm = traits.norm == NormStyle::none  ? NormKind::none
                      : traits.norm == NormStyle::rms ? NormKind::rms
                                                      : NormKind::layer;
  architecture.position = traits.position;
  architecture.head = !traits.head.empty();
  architecture.tied_embeddings = traits.can_tie && config.flag("tie_word_embeddings", true);
  if (decoder.layers > max_layers) {
    config.reject("num_hidden_layers", "layers are over the limit of 10000");
    return;
  }
  prepare(decoder);
  const std::int64_t embed_width = traits.embed_width_key.empty()
                                       ? decoder.hidden
                                       : config.size_or(traits.embed_width_key, decoder.hidden);

  {
    const auto root = builder.in(traits.root);
    const std::int64_t extra =
        traits.embed_rows == nullptr ? traits.embed_extra_rows : traits.embed_rows(config);
    builder.embedding(traits.embed, architecture.vocabulary + extra, embed_width);
    if (!traits.positions.empty()) {
      builder.embedding(traits.positions,
                        config.size("max_position_embeddings") + traits.position_offset,
                        decoder.hidden);
    }
    std::vector<Group> groups;
    std::vector<std::size_t> group_of;
    group_of.reserve(static_cast<std::size_t>(decoder.layers));
    for (std::int64_t index = 0; index < decoder.layers && !errors.first; ++index) {
      const LayerSpec spec = plan_layer(decoder, index);
      const auto found = std::ranges::find(groups, spec, &Group::spec);
      group_of.push_back(static_cast<std::size_t>(found - groups.begin()));
      if (found == groups.end()) {
        groups.push_back({spec, {}});
      }
      groups[group_of.back()].indices.push_back(index);
    }
    std::vector<Layer> facts(groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group) {
      std::int64_t routed = 0;
      decoder.layer = &facts[group];
      decoder.experts = &routed;
      const auto scope = builder.over(traits.layers, groups[group].indices);
      emit_layer(decoder, groups[group].spec);
      count_totals(facts[group], routed);
    }
    architecture.layers.reserve(group_of.size());
    for (const std::size_t group : group_of) {
      architecture.layers.push_back(facts[group]);
    }
    if (!traits.final_norm.empty()) {
      norm_tensor(decoder, traits.final_norm, decoder.hidden);
    }
  }
  if (!traits.head.empty()) {
    if (architecture.tied_embeddings) {
      builder.tied(std::string(traits.head) + ".weight", {architecture.vocabulary, embed_width},
                   fmt::format("{}{}.weight", traits.root, traits.embed));
    } else {
      builder.linear(traits.head, architecture.vocabulary, embed_width);
    }
    if (traits.head_bias) {
      builder.add(std::string(traits.head) + ".bias", {architecture.vocabulary});
    }
  }
  if (traits.model_extra != nullptr) {
    traits.model_extra(decoder);
  }
  add_mtp_layers(decoder);
}

} // namespace headwater::estimator
