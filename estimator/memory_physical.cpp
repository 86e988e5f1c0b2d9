#include "estimator/memory_physical.hpp"

#include <algorithm>
#include <string_view>

namespace headwater::estimator {
namespace {

constexpr double adapter_rank = 16;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// What tensor names cannot tell, by model type.
struct TypeTraits {
  std::string_view model_type;
  bool rebuilt_query = false;
  bool fused_qkv_view = false;
  bool written_out_gelu = false;
  bool gated_attention = false;
  double scores_per_head = 0;
  bool capped_logits = false;
  bool norm_keeps_fp32 = false;
  bool centred_norm = false;
  bool sigmoid_router = false;
};

constexpr TypeTraits type_traits[] = {
    {.model_type = "cohere", .centred_norm = true},
    {.model_type = "cohere2", .centred_norm = true},
    {.model_type = "deepseek_v3", .sigmoid_router = true},
    {.model_type = "gemma2", .scores_per_head = 8, .capped_logits = true, .norm_keeps_fp32 = true},
    {.model_type = "gemma3_text", .norm_keeps_fp32 = true},
    {.model_type = "gemma3", .norm_keeps_fp32 = true},
    {.model_type = "glm", .rebuilt_query = true},
    {.model_type = "glm4", .rebuilt_query = true},
    {.model_type = "glm4_moe", .rebuilt_query = true, .sigmoid_router = true},
    {.model_type = "gpt_neox", .rebuilt_query = true},
    {.model_type = "gpt2", .written_out_gelu = true},
    {.model_type = "gpt_oss", .scores_per_head = 6},
    {.model_type = "kimi_k2", .sigmoid_router = true},
    {.model_type = "nemotron", .rebuilt_query = true},
    {.model_type = "nemotron_h", .norm_keeps_fp32 = true, .sigmoid_router = true},
    {.model_type = "olmo2", .norm_keeps_fp32 = true},
    {.model_type = "olmo3", .norm_keeps_fp32 = true},
    {.model_type = "phi", .rebuilt_query = true, .written_out_gelu = true},
    {.model_type = "phi3", .rebuilt_query = true, .fused_qkv_view = true},
    {.model_type = "qwen3_next", .gated_attention = true},
    {.model_type = "stablelm", .rebuilt_query = true},
};

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

void set_all(PhysicalBytes &bytes, double per_token) {
  for (HeldBytes &held : bytes.by_training)
    held.per_token += per_token;
}

/// Bytes for the linears that read a norm's output: autocast casts its fp32 value once for each of
/// them, a frozen one keeps nothing but its adapter's copy, a bf16 model keeps one shared value.
void add_readers(PhysicalBytes &bytes, double linears, double adapted, double hidden) {
  bytes[Training::full].per_token += 2 * linears * hidden;
  bytes[Training::lora].per_token += 2 * adapted * hidden + 2 * adapter_rank * adapted;
  bytes[Training::pure_bf16].per_token += linears > 0 ? 2 * hidden : 0;
}

/// Autocast's bf16 copy of each fp32 linear weight.
void add_weight_copies(PhysicalBytes &bytes, std::int64_t weights) {
  bytes[Training::full].fixed += 2 * real(std::max<std::int64_t>(weights, 0));
}

PhysicalBytes attention_bytes(const PhysicalTraits &traits, const Mixer &mixer, double hidden) {
  PhysicalBytes bytes;
  const double q = real(mixer.heads * mixer.head_dim);
  const double kv = real(mixer.kv_heads * mixer.head_dim);
  const double query_heads = real(mixer.heads);
  const double key_heads = real(mixer.kv_heads);
  const double linears = traits.fused_qkv ? 1 : 3;
  add_readers(bytes, linears, linears, hidden);
  if (traits.scores_per_head > 0) {
    set_all(bytes, 8 * q);
    for (HeldBytes &held : bytes.by_training) {
      held.per_token_position += traits.scores_per_head * query_heads;
    }
  } else {
    set_all(bytes, 4 * q + 4 * kv + 4 * query_heads);
  }
  if (traits.rebuilt_query)
    set_all(bytes, 2 * q);
  if (traits.fused_qkv_view)
    set_all(bytes, 2 * q + 2 * kv);
  if (traits.gated_attention)
    set_all(bytes, 8 * q);
  switch (traits.query_key_norm) {
  case QueryKeyNorm::none:
    break;
  case QueryKeyNorm::per_head:
  case QueryKeyNorm::per_head_fp32: {
    const double width = traits.query_key_norm == QueryKeyNorm::per_head ? 6 : 8;
    const double heads = 4 * (query_heads + key_heads);
    bytes[Training::full].per_token += width * (q + kv) + heads;
    bytes[Training::pure_bf16].per_token += width * (q + kv) + heads;
    bytes[Training::lora].per_token += 4 * (q + kv) + heads;
    break;
  }
  case QueryKeyNorm::whole_width:
    bytes[Training::full].per_token += 8 * (q + kv) + 8;
    bytes[Training::pure_bf16].per_token += 8 * (q + kv) + 8;
    bytes[Training::lora].per_token += 4 * (q + kv) + 8;
    break;
  }
  // The output projection reads what attention keeps anyway, unless the query was rebuilt; its
  // adapter keeps a copy of its own.
  if (!traits.rebuilt_query)
    bytes[Training::lora].per_token += 2 * q;
  bytes[Training::lora].per_token += 2 * adapter_rank;
  return bytes;
}

PhysicalBytes latent_attention_bytes(const Mixer &mixer, double hidden) {
  PhysicalBytes bytes;
  const double heads = real(mixer.heads);
  const double nope = real(mixer.head_dim - mixer.rope_head_dim);
  const double core =
      heads * (6 * nope + 4 * real(mixer.rope_head_dim) + 6 * real(mixer.value_head_dim) + 4);
  const double ranks = real(mixer.q_lora_rank + mixer.kv_lora_rank);
  const bool compressed_query = mixer.q_lora_rank > 0;
  add_readers(bytes, 2, 2, hidden);
  set_all(bytes, core + (compressed_query ? 8 : 4));
  bytes[Training::full].per_token += 8 * ranks;
  bytes[Training::pure_bf16].per_token += 8 * ranks;
  bytes[Training::lora].per_token += 6 * ranks + (compressed_query ? 3 : 2) * 2 * adapter_rank;
  return bytes;
}

/// What the fused training kernel keeps: the input projection's output, the output before its norm,
/// and 1/rms of each group; scan states and convolution are computed again.
PhysicalBytes mamba_bytes(const Mixer &mixer, double hidden) {
  PhysicalBytes bytes;
  const double inner = real(mixer.inner);
  const double states = real(std::max<std::int64_t>(mixer.groups, 1) * mixer.state_size);
  add_readers(bytes, 1, 1, hidden);
  set_all(bytes, 6 * inner + 4 * states + 2 * real(mixer.heads) + 4 * real(mixer.groups));
  bytes[Training::lora].per_token += 2 * inner + 2 * adapter_rank;
  return bytes;
}

/// Other fixed-state mixers: convolution in and out, gate, output, its fp32 norm, and the output
/// projection's input.
PhysicalBytes recurrent_bytes(const Mixer &mixer, double hidden) {
  PhysicalBytes bytes;
  const double inner = real(mixer.inner > 0 ? mixer.inner : mixer.heads * mixer.head_dim);
  const double channels = mixer.conv_channels > 0 ? real(mixer.conv_channels) : 3 * inner;
  add_readers(bytes, 2, 2, hidden);
  set_all(bytes, 4 * channels + 12 * inner);
  return bytes;
}

/// An expert's matrices together.
std::int64_t routed_parameters(const FeedForward &part, std::int64_t hidden) {
  const std::int64_t width = part.latent > 0 ? part.latent : hidden;
  return part.experts * (part.gated ? 3 : 2) * width * part.expert_intermediate;
}

void add_mixture(PhysicalBytes &bytes, const PhysicalTraits &traits, const FeedForward &part,
                 double hidden) {
  const double experts = real(part.experts);
  const double chosen = real(part.experts_per_token > 0 ? part.experts_per_token : 1);
  const double expert_width = real(part.expert_intermediate);
  const double expert_input = part.latent > 0 ? real(part.latent) : hidden;
  if (traits.sigmoid_router) {
    bytes[Training::pure_bf16].per_token += 4 * hidden; // scores are computed from an fp32 copy
    set_all(bytes, 3 * experts + 36 * chosen + 26);
  } else {
    set_all(bytes, 4 * experts + 40 * chosen + 4);
  }
  bytes[Training::full].per_token += 2 * hidden;
  // grouped_mm is not cast by autocast: it keeps fp32 inputs of each chosen expert; gate, activated
  // gate, up and product.
  const double kept = part.gated ? 16 : 8;
  bytes[Training::full].per_token += chosen * (8 * expert_input + kept * expert_width);
  bytes[Training::pure_bf16].per_token +=
      chosen * (4 * expert_input + kept / 2 * expert_width) + 2 * hidden;
  bytes[Training::lora].per_token +=
      chosen * (2 * expert_input + (part.gated ? 6 : 2) * expert_width);
  if (part.latent > 0) {
    const double latent = real(part.latent);
    bytes[Training::full].per_token += 2 * hidden + 4 * latent;
    bytes[Training::pure_bf16].per_token += 4 * latent;
    bytes[Training::lora].per_token += 2 * hidden + 4 * latent + 4 * adapter_rank;
  }
  if (part.shared_intermediate > 0) {
    const double readers = part.gated ? 2 : 1;
    bytes[Training::full].per_token += 2 * readers * hidden;
    bytes[Training::lora].per_token += 2 * readers * hidden + 2 * adapter_rank * (readers + 1);
    set_all(bytes, (part.gated ? 8 : 4) * real(part.shared_intermediate));
  }
}

} // namespace

PhysicalTraits physical_traits(const Architecture &architecture) {
  PhysicalTraits traits;
  traits.norm = architecture.norm;
  bool separate_query = false;
  bool separate_gate = false;
  std::string_view layer_prefix;
  for (const TensorRun &run : architecture.tensors) {
    const std::string_view name = run.name;
    const std::size_t hole = name.find("{}.");
    if (run.mtp || hole == std::string_view::npos || run.kind != TensorKind::parameter)
      continue;
    if (layer_prefix.empty())
      layer_prefix = name.substr(0, hole);
    if (name.substr(0, hole) != layer_prefix || !name.ends_with(".weight"))
      continue;
    const std::string_view part = name.substr(hole + 3);
    if (has(part, "q_norm") || has(part, "q_layernorm") || has(part, "query_layernorm")) {
      const bool per_head =
          !architecture.layers.empty() && run.shape.size() == 1 &&
          std::any_of(architecture.layers.begin(), architecture.layers.end(),
                      [&](const Layer &layer) { return layer.mixer.head_dim == run.shape[0]; });
      traits.query_key_norm = per_head ? QueryKeyNorm::per_head : QueryKeyNorm::whole_width;
    } else if (has(part, "pre_feedforward_layernorm") || has(part, "post_mlp_layernorm") ||
               has(part, "post_self_attn_layernorm")) {
      traits.norms_per_part = 2;
    }
    separate_query = separate_query || has(part, "q_proj") || has(part, ".query.");
    traits.fused_qkv = traits.fused_qkv || has(part, "qkv") || has(part, "query_key_value") ||
                       has(part, "c_attn") || has(part, "Wqkv") || has(part, "W_pack");
    separate_gate = separate_gate || has(part, "gate_proj");
    traits.fused_gate_up = traits.fused_gate_up || has(part, "gate_up_proj");
  }
  traits.fused_qkv = traits.fused_qkv && !separate_query;
  traits.fused_gate_up = traits.fused_gate_up && !separate_gate;
  for (const TypeTraits &row : type_traits) {
    if (row.model_type != architecture.model_type)
      continue;
    traits.rebuilt_query = row.rebuilt_query;
    traits.fused_qkv_view = row.fused_qkv_view;
    traits.written_out_gelu = row.written_out_gelu;
    traits.gated_attention = row.gated_attention;
    traits.scores_per_head = row.scores_per_head;
    traits.capped_logits = row.capped_logits;
    traits.norm_keeps_fp32 = row.norm_keeps_fp32;
    traits.centred_norm = row.centred_norm;
    traits.sigmoid_router = row.sigmoid_router;
    if (row.norm_keeps_fp32 && traits.query_key_norm == QueryKeyNorm::per_head) {
      traits.query_key_norm = QueryKeyNorm::per_head_fp32;
    }
  }
  return traits;
}

PhysicalBytes physical_norm(const PhysicalTraits &traits, std::int64_t hidden_size) {
  PhysicalBytes bytes;
  const double hidden = real(hidden_size);
  if (traits.norm == NormKind::none)
    return bytes;
  if (traits.centred_norm) {
    bytes[Training::full].per_token = 12 * hidden + 4;
    bytes[Training::pure_bf16].per_token = 10 * hidden + 4;
    bytes[Training::lora].per_token = 8 * hidden + 4;
  } else if (traits.norm == NormKind::layer) {
    bytes[Training::full].per_token = 4 * hidden + 8;
    bytes[Training::pure_bf16].per_token = 2 * hidden + 4;
    bytes[Training::lora].per_token = 2 * hidden + 4;
  } else {
    bytes[Training::full].per_token = 8 * hidden + 4;
    bytes[Training::pure_bf16].per_token = (traits.norm_keeps_fp32 ? 8 : 6) * hidden + 4;
    bytes[Training::lora].per_token = 4 * hidden + 4;
  }
  if (traits.norms_per_part == 2) {
    // The second norm reads a bf16 output: its normalised value is bf16 unless the family keeps
    // fp32.
    const double kept = traits.norm_keeps_fp32 ? 8 : 6;
    bytes[Training::full].per_token += kept * hidden + 4;
    bytes[Training::pure_bf16].per_token += kept * hidden + 4;
    bytes[Training::lora].per_token += 4 * hidden + 4;
  }
  return bytes;
}

PhysicalBytes physical_final_norm(const PhysicalTraits &traits, std::int64_t hidden) {
  PhysicalTraits single = traits;
  single.norms_per_part = 1;
  PhysicalBytes bytes = physical_norm(single, hidden);
  bytes[Training::lora].per_token = 0;
  return bytes;
}

PhysicalBytes physical_mixer(const PhysicalTraits &traits, const Mixer &mixer,
                             std::int64_t hidden_size) {
  const double hidden = real(hidden_size);
  PhysicalBytes bytes;
  switch (mixer.kind) {
  case MixerKind::none:
    return bytes;
  case MixerKind::attention:
    bytes = attention_bytes(traits, mixer, hidden);
    if (mixer.inner > 0) {
      const PhysicalBytes beside = mamba_bytes(mixer, hidden);
      for (std::size_t i = 0; i < training_kinds; ++i) {
        bytes.by_training[i].per_token += beside.by_training[i].per_token;
      }
    }
    break;
  case MixerKind::latent_attention:
    bytes = latent_attention_bytes(mixer, hidden);
    break;
  case MixerKind::mamba1:
  case MixerKind::mamba2:
    bytes = mamba_bytes(mixer, hidden);
    break;
  default:
    bytes = recurrent_bytes(mixer, hidden);
    break;
  }
  add_weight_copies(bytes, mixer.parameters);
  return bytes;
}

PhysicalBytes physical_feed_forward(const PhysicalTraits &traits, const FeedForward &part,
                                    std::int64_t hidden_size) {
  PhysicalBytes bytes;
  const double hidden = real(hidden_size);
  if (part.kind == FeedForwardKind::dense) {
    const double linears = part.gated && !traits.fused_gate_up ? 2 : 1;
    add_readers(bytes, linears, linears, hidden);
    const double width = real(part.intermediate);
    set_all(bytes, (part.gated ? 8 : traits.written_out_gelu ? 10 : 4) * width);
    bytes[Training::lora].per_token += 2 * adapter_rank;
    add_weight_copies(bytes, part.parameters);
  } else if (part.kind == FeedForwardKind::mixture) {
    add_mixture(bytes, traits, part, hidden);
    add_weight_copies(bytes, part.parameters - routed_parameters(part, hidden_size));
  }
  return bytes;
}

PhysicalBytes physical_rotary(std::int64_t head_dim) {
  PhysicalBytes bytes;
  set_all(bytes, 4 * real(head_dim));
  bytes[Training::full].per_token *= 2;
  return bytes;
}

PhysicalBytes physical_linear(std::int64_t in, std::int64_t out) {
  PhysicalBytes bytes;
  add_readers(bytes, 1, 1, real(in));
  add_weight_copies(bytes, in * out);
  return bytes;
}

PhysicalBytes physical_head(const PhysicalTraits &traits, std::int64_t hidden_size,
                            std::int64_t vocabulary) {
  PhysicalBytes bytes;
  const double hidden = real(hidden_size);
  const double loss =
      (traits.capped_logits ? 6 : 4) * real(vocabulary) + 10 * real(vocabulary) + 16;
  set_all(bytes, loss);
  bytes[Training::full].per_token += 2 * hidden;
  bytes[Training::pure_bf16].per_token += 2 * hidden;
  add_weight_copies(bytes, vocabulary * hidden_size);
  return bytes;
}

} // namespace headwater::estimator
