#include "estimator/memory.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

constexpr double cache_element_bytes = 2;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// 4-bit values and, doubly quantised, 8 bits for each 64 of them and 32 for each 256 of those.
constexpr double qlora_bytes_per_parameter = 0.5 + 0.127 / 8;

Training full_training(const Regime &regime) {
  return regime.pure_bf16 ? Training::pure_bf16 : Training::full;
}

/// Bytes a token that one layer's cache grows by, and what it is called.
struct CacheFacts {
  std::string kind;
  double bytes_per_token = 0;
  std::int64_t kept_tokens = 0; ///< 0: all
  double indexer_bytes = 0;     ///< a token, of all of them
  std::int64_t compress_rate = 0;
  double compressed_bytes = 0; ///< an entry
  double state_bytes = 0;
};

std::string attention_word(const Mixer &mixer) {
  if (mixer.kind == MixerKind::latent_attention)
    return "latent (MLA)";
  if (mixer.kv_heads == mixer.heads)
    return "multi-head";
  return mixer.kv_heads == 1 ? "multi-query" : "grouped-query";
}

std::string state_word(MixerKind kind) {
  switch (kind) {
  case MixerKind::mamba1:
    return "Mamba-1 state";
  case MixerKind::mamba2:
    return "Mamba-2 state";
  case MixerKind::gated_delta:
    return "gated delta net state";
  case MixerKind::linear_attention:
    return "linear attention state";
  case MixerKind::short_convolution:
    return "short convolution state";
  default:
    return "recurrent state";
  }
}

CacheFacts cache_facts(const Mixer &mixer) {
  CacheFacts facts;
  // A layer may keep a recurrent state beside its cache (attention and state space side by side).
  const std::int64_t taps = std::max<std::int64_t>(mixer.conv_kernel - 1, 0);
  facts.state_bytes =
      cache_element_bytes * (real(mixer.state_elements) + real(mixer.conv_channels) * real(taps));
  if (mixer.kind == MixerKind::attention || mixer.kind == MixerKind::latent_attention) {
    facts.kind = attention_word(mixer);
    if (mixer.shares_kv) {
      facts.kind += ", shared with another layer";
      return facts;
    }
    if (mixer.kind == MixerKind::latent_attention) {
      facts.bytes_per_token = cache_element_bytes * real(mixer.kv_lora_rank + mixer.rope_head_dim);
    } else {
      const std::int64_t value = mixer.value_head_dim > 0 ? mixer.value_head_dim : mixer.head_dim;
      facts.bytes_per_token =
          cache_element_bytes * real(mixer.kv_heads) * real(mixer.head_dim + value);
    }
    if (mixer.caches > 1) {
      facts.bytes_per_token *= real(mixer.caches);
      facts.kind += fmt::format(", in {} passes", mixer.caches);
    }
    if (mixer.window > 0) {
      facts.kept_tokens = mixer.window;
      facts.kind += fmt::format(", window of {} tokens", mixer.window);
    } else if (mixer.chunk > 0) {
      facts.kept_tokens = mixer.chunk;
      facts.kind += fmt::format(", chunks of {} tokens", mixer.chunk);
    }
    if (mixer.indexer_width > 0) {
      facts.indexer_bytes = cache_element_bytes * real(mixer.indexer_width);
      facts.kind += ", with an indexer's keys";
    }
    if (mixer.compress_rate > 0) {
      facts.compress_rate = mixer.compress_rate;
      facts.compressed_bytes = cache_element_bytes * real(mixer.compressed_width);
      facts.kind += fmt::format(" and an entry for each {} before", mixer.compress_rate);
    }
    if (facts.state_bytes > 0)
      facts.kind += ", with a recurrent state beside it";
    return facts;
  }
  facts.kind = state_word(mixer.kind);
  return facts;
}

} // namespace

std::string_view to_string(MemoryModel model) {
  return model == MemoryModel::physical ? "physical" : "reference";
}

std::optional<MemoryModel> memory_model_from(std::string_view word) {
  if (word == "reference")
    return MemoryModel::reference;
  if (word == "physical")
    return MemoryModel::physical;
  return std::nullopt;
}

double state_bytes_per_parameter(const Regime &regime, MemoryModel model) {
  const double element = regime.pure_bf16 ? 2 : 4;
  const double moments = regime.adam_8bit ? 2 : 2 * element;
  const double factor = model == MemoryModel::reference ? overhead : 1;
  return factor * (2 * element + moments);
}

std::string describe(const Regime &regime, MemoryModel model) {
  std::string text = regime.pure_bf16
                         ? "Full fine-tune: weights and gradients in bf16"
                         : "Full fine-tune: fp32 master weights and gradients, bf16 autocast";
  text += regime.adam_8bit ? ", AdamW moments in 8 bits" : ", AdamW moments as wide as the weights";
  text += fmt::format("; {:.4g} B a parameter", state_bytes_per_parameter(regime, model));
  if (model == MemoryModel::reference)
    text += " with the x 1.2 overhead in it";
  text += regime.checkpointing ? "; gradient checkpointing (counted by the physical model)"
                               : "; no gradient checkpointing";
  text += regime.qlora ? ". LoRA: rank 16 on a 4-bit frozen base (QLoRA)."
                       : ". LoRA: rank 16 on a bf16 frozen base.";
  text += " Serving: bf16 weights and caches.";
  return text;
}

double activation_bytes(const Node &node, std::int64_t seq, Training training, MemoryModel model) {
  const double tokens = real(seq);
  if (model == MemoryModel::reference)
    return overhead * tokens * node.reference_held;
  const HeldBytes &held = node.physical[training];
  const double positions = node.span > 0 ? real(std::min(node.span, seq)) : tokens;
  return tokens * (held.per_token + positions * held.per_token_position);
}

namespace {

/// Activations of one sequence. With checkpointing each part leaves its fp32 (bf16 where the stream
/// is) input and is computed again one at a time, so the largest layer, a norm, its part and the
/// sum, adds to it.
double sample_bytes(const Graph &graph, std::int64_t seq, Training training, const Regime &regime,
                    MemoryModel model) {
  double sum = 0;
  double kept = 0;
  double largest = 0;
  double layer = 0;
  for (const Node &node : graph.nodes) {
    const double bytes = activation_bytes(node, seq, training, model);
    sum += bytes;
    if (node.type == NodeType::output) {
      kept += bytes;
      continue;
    }
    layer += bytes;
    if (node.type == NodeType::add) {
      kept += real(seq) * real(node.width) * (training == Training::full ? 2 : 1);
      largest = std::max(largest, layer);
      layer = 0;
    }
  }
  if (!regime.checkpointing || model == MemoryModel::reference)
    return sum;
  return std::min(sum, kept + largest);
}

} // namespace

Need full_fine_tune(const Graph &graph, std::int64_t seq, const Regime &regime, MemoryModel model) {
  const Training training = full_training(regime);
  Need need;
  std::int64_t parameters = 0;
  for (const Node &node : graph.nodes) {
    parameters += node.parameters;
    if (model == MemoryModel::physical)
      need.fixed += node.physical[training].fixed;
  }
  need.fixed += state_bytes_per_parameter(regime, model) * real(parameters);
  need.per_sample = sample_bytes(graph, seq, training, regime, model);
  return need;
}

LoraNeed lora(const Graph &graph, std::int64_t seq, const Regime &regime, MemoryModel model) {
  std::int64_t parameters = 0;
  double adapters = 0;
  for (const Node &node : graph.nodes) {
    parameters += node.parameters;
    adapters += real(node.adapter_parameters);
  }
  LoraNeed need;
  need.base = (regime.qlora ? qlora_bytes_per_parameter : 2) * real(parameters);
  need.adapters = state_bytes_per_parameter({}, model) * adapters;
  need.per_sample = sample_bytes(graph, seq, Training::lora, regime, model);
  return need;
}

ServeNeed serve(const Architecture &architecture, std::int64_t seq) {
  ServeNeed need;
  need.weights = 2 * real(architecture.counts.total);
  for (const Layer &layer : architecture.layers) {
    if (layer.mixer.kind == MixerKind::none)
      continue;
    const CacheFacts facts = cache_facts(layer.mixer);
    const double tokens = real(facts.kept_tokens > 0 ? std::min(facts.kept_tokens, seq) : seq);
    const double entries = facts.compress_rate > 0 ? real(seq / facts.compress_rate) : 0;
    const double cached = facts.bytes_per_token * tokens + facts.indexer_bytes * real(seq) +
                          facts.compressed_bytes * entries;
    const double bytes = cached + facts.state_bytes;
    need.kv_cache += cached;
    need.recurrent_state += facts.state_bytes;
    auto row = std::find_if(need.caches.begin(), need.caches.end(),
                            [&](const ServeCache &cache) { return cache.kind == facts.kind; });
    if (row == need.caches.end()) {
      need.caches.push_back({.kind = facts.kind});
      row = need.caches.end() - 1;
    }
    row->layers += 1;
    row->bytes_per_token += facts.bytes_per_token + facts.indexer_bytes;
    row->bytes += bytes;
  }
  return need;
}

} // namespace headwater::estimator
