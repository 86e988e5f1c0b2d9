#include "estimator/structure.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

constexpr std::int64_t lora_rank = 16;
/// Experts a token that the cost formula takes where a config does not say.
constexpr std::int64_t default_experts_per_token = 6;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Values of a LoRA pair beside one matrix.
std::int64_t adapter(std::int64_t in, std::int64_t out) {
  return lora_rank * (in + out);
}

std::int64_t value_dim(const Mixer &mixer) {
  return mixer.value_head_dim > 0 ? mixer.value_head_dim : mixer.head_dim;
}

NodeType attention_type(const Mixer &mixer) {
  if (mixer.kind == MixerKind::latent_attention)
    return NodeType::latent_attention;
  return mixer.kv_heads < mixer.heads ? NodeType::grouped_query_attention
                                      : NodeType::multi_head_attention;
}

NodeType mixer_type(const Mixer &mixer) {
  switch (mixer.kind) {
  case MixerKind::attention:
  case MixerKind::latent_attention:
    return attention_type(mixer);
  case MixerKind::mamba1:
    return NodeType::mamba1;
  case MixerKind::mamba2:
    return NodeType::mamba2;
  case MixerKind::gated_delta:
    return NodeType::gated_delta;
  case MixerKind::linear_attention:
    return NodeType::linear_attention;
  case MixerKind::short_convolution:
    return NodeType::short_convolution;
  case MixerKind::recurrent:
  case MixerKind::none:
    break;
  }
  return NodeType::recurrent;
}

std::string_view mixer_name(NodeType type) {
  switch (type) {
  case NodeType::mamba1:
  case NodeType::mamba2:
    return "Mamba";
  case NodeType::gated_delta:
    return "DeltaNet";
  case NodeType::linear_attention:
    return "LinearAttention";
  case NodeType::short_convolution:
    return "ShortConv";
  case NodeType::recurrent:
    return "Recurrent";
  default:
    return "Attention";
  }
}

/// Attention of any head layout: q, k, v and context in bf16 and the fp32 log-sum-exp of each head
/// are kept; scores are not. Of a causal score matrix half is computed, once for the scores and
/// once for the mix.
void size_attention(Node &node, const Mixer &mixer) {
  const std::int64_t hidden = node.in_width;
  const std::int64_t q = mixer.heads * mixer.head_dim;
  const std::int64_t k = mixer.kv_heads * mixer.head_dim;
  const std::int64_t v = mixer.kv_heads * value_dim(mixer);
  const std::int64_t context = mixer.heads * value_dim(mixer);
  node.heads = mixer.heads;
  node.kv_heads = mixer.kv_heads;
  node.span = mixer.window > 0 ? mixer.window : mixer.chunk;
  node.reference_held = 2 * real(q + k + v + context) + 4 * real(mixer.heads);
  node.macs = real(hidden) * real(q + k + v + context);
  node.macs_per_position = real(q + context) / 2;
  node.adapter_parameters =
      adapter(hidden, q) + adapter(hidden, k) + adapter(hidden, v) + adapter(context, hidden);
  if (mixer.inner > 0) { // a state-space mixer beside the attention
    node.reference_held += 2 * 4 * real(mixer.inner);
    node.macs = real(mixer.parameters);
    node.adapter_parameters += adapter(hidden, 2 * mixer.inner) + adapter(mixer.inner, hidden);
  }
  if (mixer.shares_kv) {
    node.macs -= real(hidden) * real(k + v);
    node.adapter_parameters -= adapter(hidden, k) + adapter(hidden, v);
  }
}

/// Latent attention: besides q, k, v and context of each head, the two compressed rows are kept.
void size_latent_attention(Node &node, const Mixer &mixer) {
  const std::int64_t hidden = node.in_width;
  const std::int64_t q = mixer.heads * mixer.head_dim;
  const std::int64_t nope = q - mixer.heads * mixer.rope_head_dim;
  const std::int64_t v = mixer.heads * value_dim(mixer);
  const std::int64_t compressed = mixer.kv_lora_rank + mixer.rope_head_dim;
  node.heads = mixer.heads;
  node.kv_heads = mixer.heads;
  node.reference_held =
      2 * real(mixer.q_lora_rank + compressed + 2 * q + 2 * v) + 4 * real(mixer.heads);
  node.macs = real(mixer.parameters);
  node.macs_per_position = real(q + v) / 2;
  node.adapter_parameters =
      adapter(hidden, compressed) + adapter(mixer.kv_lora_rank, nope + v) + adapter(v, hidden);
  node.adapter_parameters +=
      mixer.q_lora_rank > 0 ? adapter(hidden, mixer.q_lora_rank) + adapter(mixer.q_lora_rank, q)
                            : adapter(hidden, q);
}

/// Any mixer with a fixed state: gate, input, scan output and gated output are kept; one matrix in,
/// one out is adapted.
void size_recurrent(Node &node, const Mixer &mixer) {
  const std::int64_t hidden = node.in_width;
  const std::int64_t inner = mixer.inner > 0 ? mixer.inner : hidden;
  node.heads = mixer.heads;
  node.reference_held = 2 * 4 * real(inner);
  node.macs = real(mixer.parameters);
  std::int64_t projected = std::max<std::int64_t>(mixer.parameters / hidden - inner, 0);
  if (mixer.kind == MixerKind::mamba2) {
    projected = 2 * inner + 2 * mixer.groups * mixer.state_size + mixer.heads;
  } else if (mixer.kind == MixerKind::mamba1) {
    projected = 2 * inner;
  }
  node.adapter_parameters = adapter(hidden, projected) + adapter(inner, hidden);
}

void size_mixer(Node &node, const Mixer &mixer) {
  node.parameters = mixer.parameters;
  if (mixer.kind == MixerKind::attention) {
    size_attention(node, mixer);
  } else if (mixer.kind == MixerKind::latent_attention) {
    size_latent_attention(node, mixer);
  } else {
    size_recurrent(node, mixer);
  }
}

/// Dense: gate, up and product are kept when gated, else both sides of the activation. Mixture: the
/// shared expert and the latent pair only, and nothing of it is adapted; the cost formula takes
/// three full-width matrices an expert.
void size_feed_forward(Node &node, const FeedForward &part) {
  const std::int64_t hidden = node.in_width;
  node.parameters = part.parameters;
  if (part.kind == FeedForwardKind::dense) {
    const std::int64_t width = part.intermediate;
    node.intermediate = width;
    node.reference_held = 2 * real((part.gated ? 3 : 2) * width);
    node.macs = part.gated ? (3 * real(hidden) + 1) * real(width) : 2 * real(hidden) * real(width);
    node.adapter_parameters = (part.gated ? 3 : 2) * adapter(hidden, width);
    return;
  }
  node.intermediate = part.expert_intermediate;
  node.experts = part.experts;
  node.experts_per_token = part.experts_per_token;
  node.reference_held = 2 * real((part.gated ? 3 : 2) * part.shared_intermediate + 2 * part.latent);
  const std::int64_t chosen =
      part.experts_per_token > 0 ? part.experts_per_token : default_experts_per_token;
  node.macs = real(hidden) * real(part.experts) + real(chosen + part.shared_experts) *
                                                      (3 * real(hidden) + 1) *
                                                      real(part.expert_intermediate);
}

/// Draws node after node; keeps which node the next one reads.
class Drawing {
public:
  explicit Drawing(const Architecture &architecture)
      : architecture_(architecture), hidden_(architecture.hidden),
        physical_(physical_traits(architecture)) {
    const std::size_t parts = architecture.layers.size() + architecture.encoder_layers.size() +
                              architecture.mtp_layers.size();
    graph_.nodes.reserve(6 * parts + 16);
    graph_.edges.reserve(8 * parts + 16);
    graph_.context = architecture.max_positions;
    graph_.no_position_by_design = architecture.position == PositionKind::none;
    graph_.tied_head = architecture.head && architecture.tied_embeddings;
    norm_type_ = architecture.norm == NormKind::layer ? NodeType::layer_norm : NodeType::rms_norm;
    const std::string_view norm = norm_type_ == NodeType::layer_norm ? "LayerNorm" : "RMSNorm";
    norm_name_ = norm;
    norm_bytes_ = physical_norm(physical_, hidden_);
    for (const TensorRun &run : architecture.tensors) {
      if (!run.mtp || !run.tied_to.empty())
        continue;
      mtp_embedding_ = mtp_embedding_ || run.name.find("embed_tokens.weight") != std::string::npos;
      mtp_head_ = mtp_head_ || run.name.find("head.weight") != std::string::npos;
    }
  }

  Graph draw() {
    Node &input = append(NodeType::input, "Input");
    input.width = 0;
    link_from_none();
    draw_embedding();
    for (std::size_t i = 0; i < architecture_.encoder_layers.size(); ++i) {
      draw_layer(architecture_.encoder_layers[i], fmt::format("Encoder_{}", i + 1));
    }
    for (std::size_t i = 0; i < architecture_.layers.size(); ++i) {
      draw_layer(architecture_.layers[i], fmt::to_string(i + 1));
    }
    const std::vector<std::uint32_t> predictions = draw_mtp();
    draw_end();
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      tip_ = predictions[i];
      const std::int64_t width = graph_.nodes[tip_].width;
      Node &output = append(NodeType::output, fmt::format("MTP_{}_Output", i + 1));
      output.in_width = width;
      output.width = width;
    }
    settle();
    return std::move(graph_);
  }

private:
  /// A node that reads the last one and has the hidden width.
  Node &append(NodeType type, std::string name) {
    Node &node = graph_.nodes.emplace_back();
    node.type = type;
    node.name = std::move(name);
    node.in_width = hidden_;
    node.width = hidden_;
    const std::uint32_t self = index();
    if (self > 0)
      graph_.edges.emplace_back(tip_, self);
    tip_ = self;
    return node;
  }

  std::uint32_t index() const { return static_cast<std::uint32_t>(graph_.nodes.size() - 1); }

  void link_from_none() { tip_ = index(); }

  Node &norm(std::string name) {
    Node &node = append(norm_type_, std::move(name));
    if (architecture_.norm != NormKind::none) {
      node.parameters = norm_type_ == NodeType::layer_norm ? 2 * hidden_ : hidden_;
    }
    node.reference_held = 2 * real(hidden_);
    node.macs = 2 * real(hidden_);
    node.physical = norm_bytes_;
    return node;
  }

  /// The sum of the last node and the residual stream `from`.
  void add(std::string name, std::uint32_t from) {
    Node &node = append(NodeType::add, std::move(name));
    node.reference_held = 2 * real(hidden_);
    graph_.edges.emplace_back(from, index());
  }

  void draw_embedding() {
    Node &node = append(NodeType::embedding, "Embedding");
    node.vocabulary = architecture_.vocabulary;
    node.parameters = architecture_.counts.embedding;
    node.reference_held = 2 * real(hidden_);
    const std::int64_t positions =
        architecture_.counts.embedding - architecture_.vocabulary * hidden_;
    switch (architecture_.position) {
    case PositionKind::learned:
      if (positions > 0)
        graph_.nodes.back().parameters -= positions;
      append(NodeType::learned_position, "Positional_Embedding").reference_held = 4 * real(hidden_);
      if (positions > 0)
        graph_.nodes.back().parameters = positions;
      break;
    case PositionKind::sinusoidal:
      append(NodeType::sinusoidal_position, "Positional_Embedding").reference_held =
          2 * real(hidden_);
      break;
    case PositionKind::rotary:
      append(NodeType::rope, "RoPE").physical = physical_rotary(rotary_head_dim());
      break;
    case PositionKind::alibi:
      append(NodeType::alibi, "ALiBi");
      break;
    case PositionKind::relative:
      append(NodeType::relative_bias, "Relative_Bias");
      break;
    case PositionKind::none:
      break;
    }
  }

  std::int64_t rotary_head_dim() const {
    for (const Layer &layer : architecture_.layers) {
      const Mixer &mixer = layer.mixer;
      if (mixer.kind == MixerKind::latent_attention)
        return mixer.rope_head_dim;
      if (mixer.kind == MixerKind::attention)
        return mixer.head_dim;
    }
    return 0;
  }

  void draw_mixer(const Mixer &mixer, const std::string &suffix) {
    const std::uint32_t residual = tip_;
    norm(norm_name_ + "_" + suffix + "_1");
    const NodeType type = mixer_type(mixer);
    Node &node = append(type, std::string(mixer_name(type)) + "_" + suffix);
    size_mixer(node, mixer);
    node.physical = physical_mixer(physical_, mixer, hidden_);
    add("Add_" + suffix + "_attn", residual);
  }

  void draw_feed_forward(const FeedForward &part, const std::string &suffix) {
    const std::uint32_t residual = tip_;
    norm(norm_name_ + "_" + suffix + "_2");
    const bool dense = part.kind == FeedForwardKind::dense;
    NodeType type = part.gated ? NodeType::swiglu : NodeType::feed_forward;
    if (!dense)
      type = part.shared_experts > 0 ? NodeType::shared_expert_moe : NodeType::moe;
    Node &node = append(type, (dense ? "FFN_" : "MoE_") + suffix);
    size_feed_forward(node, part);
    node.physical = physical_feed_forward(physical_, part, hidden_);
    add("Add_" + suffix + "_ffn", residual);
  }

  void draw_layer(const Layer &layer, const std::string &suffix) {
    if (layer.mixer.kind != MixerKind::none)
      draw_mixer(layer.mixer, suffix);
    if (layer.feed_forward.kind != FeedForwardKind::none) {
      draw_feed_forward(layer.feed_forward, suffix);
    }
  }

  /// One module for each prediction: a mixer opens the next where the module at hand has one.
  std::vector<std::uint32_t> draw_mtp() {
    std::vector<std::uint32_t> ends;
    const std::uint32_t trunk = tip_;
    const std::vector<Layer> &layers = architecture_.mtp_layers;
    for (std::size_t i = 0; i < layers.size();) {
      const std::string prefix = fmt::format("MTP_{}", ends.size() + 1);
      tip_ = trunk;
      norm(prefix + "_HiddenNorm");
      const std::uint32_t hidden_norm = tip_;
      tip_ = embedding_index;
      if (mtp_embedding_) {
        tip_ = input_index;
        Node &copy = append(NodeType::embedding, prefix + "_Embedding");
        copy.vocabulary = architecture_.vocabulary;
        copy.parameters = architecture_.vocabulary * hidden_;
        copy.reference_held = 2 * real(hidden_);
      }
      norm(prefix + "_EmbeddingNorm");
      Node &concat = append(NodeType::concat, prefix + "_Concat");
      concat.width = 2 * hidden_;
      concat.reference_held = 2 * real(2 * hidden_);
      graph_.edges.emplace_back(hidden_norm, index());
      Node &projection = append(NodeType::linear, prefix + "_Projection");
      projection.in_width = 2 * hidden_;
      projection.parameters = 2 * hidden_ * hidden_;
      projection.reference_held = 2 * real(hidden_);
      projection.macs = real(2 * hidden_ * hidden_);
      projection.adapter_parameters = adapter(2 * hidden_, hidden_);
      projection.physical = physical_linear(2 * hidden_, hidden_);
      bool mixed = false;
      for (; i < layers.size() && !(mixed && layers[i].mixer.kind != MixerKind::none); ++i) {
        mixed = mixed || layers[i].mixer.kind != MixerKind::none;
        draw_layer(layers[i], prefix);
      }
      norm(prefix + "_Norm");
      if (mtp_head_)
        append_head(prefix + "_Head");
      ends.push_back(tip_);
    }
    tip_ = trunk;
    return ends;
  }

  void append_head(std::string name) {
    Node &head = append(NodeType::linear, std::move(name));
    head.width = architecture_.vocabulary;
    head.parameters = architecture_.vocabulary * hidden_;
    head.reference_held = 10 * real(architecture_.vocabulary);
    head.macs = real(architecture_.vocabulary * hidden_);
  }

  /// The final norm always; a head of its own only where it is not tied. The reference model keeps
  /// nothing for the final norm of a tied model, whose head it does not see.
  void draw_end() {
    if (architecture_.norm != NormKind::none) {
      Node &node = norm("Final_" + norm_name_);
      if (graph_.tied_head)
        node.reference_held = 0;
      node.physical = physical_final_norm(physical_, hidden_);
    }
    if (architecture_.head && !architecture_.tied_embeddings) {
      append_head("LM_Head");
    }
    const std::int64_t width = graph_.nodes.back().width;
    Node &output = append(NodeType::output, "Output");
    output.in_width = width;
    output.width = width;
    if (architecture_.head) {
      output.physical = physical_head(physical_, hidden_, architecture_.vocabulary);
    }
  }

  /// Puts parameters that no drawn part has (norms inside a layer beyond the two, per-layer scales,
  /// ...) where they belong: in equal parts to the norms of the layers, the rest to the last of
  /// them.
  void settle() {
    std::int64_t drawn = 0;
    std::int64_t norms = 0;
    Node *last = nullptr;
    for (Node &node : graph_.nodes) {
      drawn += node.parameters;
      if (is_norm(node.type)) {
        ++norms;
        last = &node;
      }
    }
    const std::int64_t missing = architecture_.counts.total - drawn;
    if (missing == 0 || last == nullptr)
      return;
    for (Node &node : graph_.nodes) {
      if (is_norm(node.type))
        node.parameters += missing / norms;
    }
    last->parameters += missing % norms;
  }

  static constexpr std::uint32_t input_index = 0;
  static constexpr std::uint32_t embedding_index = 1;

  const Architecture &architecture_;
  std::int64_t hidden_;
  PhysicalTraits physical_;
  PhysicalBytes norm_bytes_;
  bool mtp_embedding_ = false; ///< prediction layers store an embedding and a head of their own
  bool mtp_head_ = false;
  NodeType norm_type_ = NodeType::rms_norm;
  std::string norm_name_;
  Graph graph_;
  std::uint32_t tip_ = 0;
};

} // namespace

std::string_view label(NodeType type) {
  switch (type) {
  case NodeType::input:
    return "Input";
  case NodeType::output:
    return "Output";
  case NodeType::embedding:
    return "Embedding";
  case NodeType::learned_position:
    return "Learned Pos Embed";
  case NodeType::sinusoidal_position:
    return "Sinusoidal Pos Embed";
  case NodeType::rope:
    return "RoPE";
  case NodeType::alibi:
    return "ALiBi";
  case NodeType::relative_bias:
    return "Relative Bias";
  case NodeType::rms_norm:
    return "RMSNorm";
  case NodeType::layer_norm:
    return "LayerNorm";
  case NodeType::batch_norm:
    return "BatchNorm";
  case NodeType::group_norm:
    return "GroupNorm";
  case NodeType::self_attention:
    return "Self Attention";
  case NodeType::multi_head_attention:
    return "Multi-Head Attention";
  case NodeType::grouped_query_attention:
    return "Grouped Query Attn";
  case NodeType::causal_attention:
    return "Causal Attention";
  case NodeType::latent_attention:
    return "Multi-Head Latent Attn";
  case NodeType::cross_attention:
    return "Cross Attention";
  case NodeType::mamba1:
    return "Mamba-1";
  case NodeType::mamba2:
    return "Mamba-2 (SSD)";
  case NodeType::gated_delta:
    return "Gated DeltaNet";
  case NodeType::linear_attention:
    return "Linear Attention";
  case NodeType::short_convolution:
    return "Short Convolution";
  case NodeType::recurrent:
    return "Recurrent";
  case NodeType::linear:
    return "Linear";
  case NodeType::convolution:
    return "Convolution";
  case NodeType::swiglu:
    return "SwiGLU";
  case NodeType::feed_forward:
    return "Feed Forward";
  case NodeType::shared_expert_moe:
    return "Shared-Expert MoE";
  case NodeType::moe:
    return "MoE Layer";
  case NodeType::add:
    return "Add";
  case NodeType::concat:
    return "Concatenate";
  case NodeType::dropout:
    return "Dropout";
  case NodeType::relu:
    return "ReLU";
  case NodeType::gelu:
    return "GELU";
  case NodeType::sigmoid:
    return "Sigmoid";
  case NodeType::tanh:
    return "Tanh";
  case NodeType::softmax:
    return "Softmax";
  case NodeType::flatten:
    return "Flatten";
  case NodeType::other:
    break;
  }
  return "Other";
}

bool is_norm(NodeType type) {
  return type == NodeType::rms_norm || type == NodeType::layer_norm ||
         type == NodeType::batch_norm || type == NodeType::group_norm;
}

bool is_attention(NodeType type) {
  return type == NodeType::self_attention || type == NodeType::multi_head_attention ||
         type == NodeType::grouped_query_attention || type == NodeType::causal_attention ||
         type == NodeType::latent_attention;
}

bool is_position(NodeType type) {
  return type == NodeType::learned_position || type == NodeType::sinusoidal_position ||
         type == NodeType::rope || type == NodeType::alibi || type == NodeType::relative_bias;
}

bool is_activation(NodeType type) {
  return type == NodeType::relu || type == NodeType::gelu || type == NodeType::sigmoid ||
         type == NodeType::tanh || type == NodeType::softmax;
}

Graph draw(const Architecture &architecture) {
  return Drawing(architecture).draw();
}

std::int64_t layer_count(const Graph &graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node &node) {
    return node.type != NodeType::input && node.type != NodeType::output;
  });
}

} // namespace headwater::estimator
