// The physical forms against what autograd was measured to keep: bytes a token of one layer, by
// model type, in the dimensions of the measurement. Every layer here is written by hand, so that
// the forms and not the reading of a config are held.

#include "estimator/memory_physical.hpp"
#include "estimator/structure.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace headwater::estimator {
namespace {

struct Dimensions {
  std::int64_t h, I, nq, nkv, hd;
  std::int64_t q() const { return nq * hd; }
  std::int64_t kv() const { return nkv * hd; }
};

constexpr Dimensions sizes[] = {
    {2048, 8192, 32, 8, 64}, {1152, 6912, 4, 1, 256}, {512, 1536, 8, 8, 64}};

struct Form {
  std::string model_type;
  std::vector<std::string> names; ///< weights of a layer, from which traits are read
  NormKind norm = NormKind::rms;
  bool gated = true;
  std::int64_t (*full)(const Dimensions &);
  std::int64_t (*lora)(const Dimensions &); ///< null: not measured
  std::int64_t (*bf16)(const Dimensions &);
};

const std::vector<std::string> separate = {"q_proj", "k_proj", "gate_proj", "input_layernorm"};
const std::vector<std::string> normed = {"q_proj", "q_norm", "k_norm", "gate_proj",
                                         "input_layernorm"};
const std::vector<std::string> sandwich = {
    "q_proj", "q_norm", "gate_proj", "pre_feedforward_layernorm", "post_feedforward_layernorm"};
const std::vector<std::string> fused = {"qkv_proj", "gate_up_proj", "input_layernorm"};
const std::vector<std::string> plain_up = {"q_proj", "up_proj", "input_layernorm"};
const std::vector<std::string> neox = {"query_key_value", "dense_h_to_4h", "input_layernorm"};

std::vector<Form> forms() {
  using D = Dimensions;
  return {
      {"llama", separate, NormKind::rms, true,
       [](const D &d) { return 26 * d.h + 8 * d.I + 4 * d.q() + 4 * d.kv() + 4 * d.nq + 8; },
       [](const D &d) { return 18 * d.h + 8 * d.I + 6 * d.q() + 4 * d.kv() + 4 * d.nq + 232; },
       [](const D &d) { return 16 * d.h + 8 * d.I + 4 * d.q() + 4 * d.kv() + 4 * d.nq + 8; }},
      {"qwen3", normed, NormKind::rms, true,
       [](const D &d) {
         return 26 * d.h + 8 * d.I + 10 * d.q() + 10 * d.kv() + 8 * d.nq + 4 * d.nkv + 8;
       },
       [](const D &d) {
         return 18 * d.h + 8 * d.I + 10 * d.q() + 8 * d.kv() + 8 * d.nq + 4 * d.nkv + 232;
       },
       [](const D &d) {
         return 16 * d.h + 8 * d.I + 10 * d.q() + 10 * d.kv() + 8 * d.nq + 4 * d.nkv + 8;
       }},
      {"gemma3_text", sandwich, NormKind::rms, true,
       [](const D &d) {
         return 42 * d.h + 8 * d.I + 12 * d.q() + 12 * d.kv() + 8 * d.nq + 4 * d.nkv + 16;
       },
       [](const D &d) {
         return 26 * d.h + 8 * d.I + 10 * d.q() + 8 * d.kv() + 8 * d.nq + 4 * d.nkv + 240;
       },
       [](const D &d) {
         return 36 * d.h + 8 * d.I + 12 * d.q() + 12 * d.kv() + 8 * d.nq + 4 * d.nkv + 16;
       }},
      {"phi3", fused, NormKind::rms, true,
       [](const D &d) { return 20 * d.h + 8 * d.I + 8 * d.q() + 6 * d.kv() + 4 * d.nq + 8; },
       [](const D &d) { return 12 * d.h + 8 * d.I + 8 * d.q() + 6 * d.kv() + 4 * d.nq + 136; },
       [](const D &d) { return 16 * d.h + 8 * d.I + 8 * d.q() + 6 * d.kv() + 4 * d.nq + 8; }},
      {"starcoder2", plain_up, NormKind::layer, false,
       [](const D &d) { return 16 * d.h + 4 * d.I + 4 * d.q() + 4 * d.kv() + 4 * d.nq + 16; },
       [](const D &d) { return 12 * d.h + 4 * d.I + 6 * d.q() + 4 * d.kv() + 4 * d.nq + 200; },
       nullptr},
      {"nemotron", plain_up, NormKind::layer, false,
       [](const D &d) { return 16 * d.h + 4 * d.I + 6 * d.q() + 4 * d.kv() + 4 * d.nq + 16; },
       nullptr, nullptr},
      {"gpt_neox", neox, NormKind::layer, false,
       [](const D &d) { return 12 * d.h + 4 * d.I + 6 * d.q() + 4 * d.kv() + 4 * d.nq + 16; },
       nullptr, nullptr},
  };
}

/// Bytes a token and parts of one layer.
double layer_bytes(const PhysicalTraits &traits, const Layer &layer, std::int64_t hidden,
                   Training training) {
  double bytes = physical_mixer(traits, layer.mixer, hidden)[training].per_token +
                 physical_feed_forward(traits, layer.feed_forward, hidden)[training].per_token;
  if (layer.mixer.kind != MixerKind::none)
    bytes += physical_norm(traits, hidden)[training].per_token;
  if (layer.feed_forward.kind != FeedForwardKind::none) {
    bytes += physical_norm(traits, hidden)[training].per_token;
  }
  return bytes;
}

Architecture with_tensors(const std::string &model_type, NormKind norm, const Layer &layer,
                          std::int64_t hidden, const std::vector<std::string> &names) {
  Architecture architecture;
  architecture.model_type = model_type;
  architecture.norm = norm;
  architecture.hidden = hidden;
  architecture.layers = {layer};
  for (const std::string &name : names) {
    const bool head_norm = name == "q_norm" || name == "k_norm";
    const std::int64_t width = head_norm ? layer.mixer.head_dim : hidden;
    architecture.tensors.push_back(
        {.name = "model.layers.{}." + name + ".weight", .axes = {{0}}, .shape = {width}});
  }
  return architecture;
}

TEST(PhysicalForms, DenseLayersAreExactAsMeasured) {
  for (const Form &form : forms()) {
    for (const Dimensions &d : sizes) {
      Layer layer;
      layer.mixer = {
          .kind = MixerKind::attention, .heads = d.nq, .kv_heads = d.nkv, .head_dim = d.hd};
      layer.feed_forward = {
          .kind = FeedForwardKind::dense, .gated = form.gated, .intermediate = d.I};
      const PhysicalTraits traits =
          physical_traits(with_tensors(form.model_type, form.norm, layer, d.h, form.names));
      const auto expect = [&](Training training, std::int64_t (*bytes)(const Dimensions &)) {
        if (bytes == nullptr)
          return;
        EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, d.h, training), static_cast<double>(bytes(d)))
            << form.model_type << " h " << d.h << " training " << static_cast<int>(training);
      };
      expect(Training::full, form.full);
      expect(Training::lora, form.lora);
      expect(Training::pure_bf16, form.bf16);
    }
  }
}

TEST(PhysicalForms, HeldOutMeasurementsAreMet) {
  // llama at h 2048 and qwen3 at h 1024: measured 129,160 and 82,088 bytes a token.
  Layer layer;
  layer.mixer = {.kind = MixerKind::attention, .heads = 32, .kv_heads = 8, .head_dim = 64};
  layer.feed_forward = {.kind = FeedForwardKind::dense, .gated = true, .intermediate = 8192};
  PhysicalTraits traits =
      physical_traits(with_tensors("llama", NormKind::rms, layer, 2048, separate));
  EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, 2048, Training::full), 129'160);
  layer.mixer = {.kind = MixerKind::attention, .heads = 16, .kv_heads = 8, .head_dim = 128};
  layer.feed_forward.intermediate = 3072;
  traits = physical_traits(with_tensors("qwen3", NormKind::rms, layer, 1024, normed));
  EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, 1024, Training::full), 82'088);
}

TEST(PhysicalForms, MixturesHoldTheirRoutedExperts) {
  // Mixtral at h 1024, measured 103,612 bytes a token.
  Layer layer;
  layer.mixer = {.kind = MixerKind::attention, .heads = 16, .kv_heads = 4, .head_dim = 64};
  layer.feed_forward = {.kind = FeedForwardKind::mixture,
                        .gated = true,
                        .experts = 8,
                        .experts_per_token = 2,
                        .expert_intermediate = 1792};
  const PhysicalTraits traits = physical_traits(
      with_tensors("mixtral", NormKind::rms, layer, 1024, {"q_proj", "input_layernorm"}));
  EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, 1024, Training::full), 103'612);
  const double h = 1024;
  EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, 1024, Training::lora),
                   14 * h + 6 * h + 4 * 256 + 4 * 16 + 2 * 2 * h + 6 * 2 * 1792 + 4 * 8 + 40 * 2 +
                       140);
  EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, 1024, Training::pure_bf16),
                   16 * h + 4 * h + 4 * 256 + 4 * 16 + 4 * 2 * h + 8 * 2 * 1792 + 4 * 8 + 40 * 2 +
                       12);
}

TEST(PhysicalForms, LatentAttentionIsExactAsMeasured) {
  // deepseek_v3 dense layer at h 2048: measured 137,296 bytes a token.
  Layer layer;
  layer.mixer = {.kind = MixerKind::latent_attention,
                 .heads = 16,
                 .kv_heads = 16,
                 .head_dim = 128 + 64,
                 .value_head_dim = 128,
                 .kv_lora_rank = 512,
                 .q_lora_rank = 768,
                 .rope_head_dim = 64};
  layer.feed_forward = {.kind = FeedForwardKind::dense, .gated = true, .intermediate = 6144};
  const PhysicalTraits traits = physical_traits(
      with_tensors("deepseek_v3", NormKind::rms, layer, 2048, {"q_a_proj", "gate_proj"}));
  EXPECT_DOUBLE_EQ(layer_bytes(traits, layer, 2048, Training::full), 137'296);
}

TEST(PhysicalForms, HybridLayersOfOnePartAreExactAsMeasured) {
  const std::int64_t h = 2048;
  Layer attention;
  attention.mixer = {.kind = MixerKind::attention, .heads = 16, .kv_heads = 8, .head_dim = 128};
  const PhysicalTraits traits = physical_traits(
      with_tensors("nemotron_h", NormKind::rms, attention, h, {"q_proj", "norm", "up_proj"}));
  EXPECT_DOUBLE_EQ(layer_bytes(traits, attention, h, Training::full),
                   14 * 2048 + 4 * 2048 + 4 * 1024 + 4 * 16 + 4);
  EXPECT_DOUBLE_EQ(layer_bytes(traits, attention, h, Training::pure_bf16),
                   10 * 2048 + 4 * 2048 + 4 * 1024 + 4 * 16 + 4);
  Layer dense;
  dense.feed_forward = {.kind = FeedForwardKind::dense, .intermediate = 5632};
  EXPECT_DOUBLE_EQ(layer_bytes(traits, dense, h, Training::full), 43'012);
  Layer mixture;
  mixture.feed_forward = {.kind = FeedForwardKind::mixture,
                          .experts = 64,
                          .experts_per_token = 6,
                          .expert_intermediate = 768,
                          .shared_experts = 1,
                          .shared_intermediate = 1536};
  EXPECT_DOUBLE_EQ(layer_bytes(traits, mixture, h, Training::full),
                   12 * 2048 + 4 * 1536 + 8 * 6 * 2048 + 8 * 6 * 768 + 3 * 64 + 36 * 6 + 30);
  EXPECT_DOUBLE_EQ(layer_bytes(traits, mixture, h, Training::lora),
                   6 * 2048 + 4 * 1536 + 2 * 6 * 2048 + 2 * 6 * 768 + 3 * 64 + 36 * 6 + 94);
}

} // namespace
} // namespace headwater::estimator
