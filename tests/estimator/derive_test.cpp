#include "estimator/architecture.hpp"
#include "schemas/json.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

struct Published {
  std::string name;
  std::string config;
  Reading reading;
  Counts counts;
};

// Numbers of published models; totals as their safetensors headers say (Super: logical, its files
// are packed).
const Published published[] = {
    {"Nemotron-Labs-Diffusion-8B",
     R"({"model_type": "nemotron_labs_diffusion", "hidden_size": 4096, "num_hidden_layers": 34,
         "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336,
         "vocab_size": 131072, "tie_word_embeddings": false})",
     Reading::transformers_semantics,
     {.total = 8489553920, .mtp = 0, .buffers = 0}},
    {"Ilama-3.2-1B",
     R"({"model_type": "ilama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256,
         "attention_bias": false, "mlp_bias": false, "tie_word_embeddings": true})",
     Reading::transformers_semantics,
     {.total = 1235814400, .mtp = 0, .buffers = 0}},
    {"Nemotron-3-Nano-30B-A3B",
     R"({"model_type": "nemotron_h", "hidden_size": 2688, "num_hidden_layers": 52, "vocab_size": 131072,
         "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
         "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 1856,
         "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
         "n_routed_experts": 128, "num_experts_per_tok": 6, "n_shared_experts": 1, "moe_intermediate_size": 1856,
         "moe_shared_expert_intermediate_size": 3712, "tie_word_embeddings": false})",
     Reading::exact,
     {.total = 31577937344, .mtp = 0, .buffers = 2944}},
    {"Nemotron-3-Super-120B-A12B",
     R"({"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 88, "vocab_size": 131072,
         "hybrid_override_pattern":
           "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
         "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E",
         "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 2688,
         "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
         "n_routed_experts": 512, "num_experts_per_tok": 22, "n_shared_experts": 1, "moe_intermediate_size": 2688,
         "moe_latent_size": 1024, "moe_shared_expert_intermediate_size": 5376, "tie_word_embeddings": false})",
     Reading::exact,
     {.total = 123611012096, .mtp = 2942324736, .buffers = 20480}},
    {"Mistral-7B-v0.1",
     R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "sliding_window": 4096,
         "tie_word_embeddings": false})",
     Reading::exact,
     {.total = 7241732096, .mtp = 0, .buffers = 0}},
    {"Mixtral-8x7B",
     R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "num_local_experts": 8,
         "num_experts_per_tok": 2, "tie_word_embeddings": false})",
     Reading::exact,
     {.total = 46702792704, .mtp = 0, .buffers = 0}},
};

TEST(Derive, CountsArePublishedOnes) {
  for (const Published &model : published) {
    const Result<Json> config = parse_json(model.config);
    ASSERT_TRUE(config) << model.name;
    const Result<Architecture> read = derive(*config);
    ASSERT_TRUE(read) << model.name << ": " << read.error().message;
    EXPECT_EQ(read->reading, model.reading) << model.name;
    EXPECT_EQ(read->counts.total, model.counts.total) << model.name;
    EXPECT_EQ(read->counts.mtp, model.counts.mtp) << model.name;
    EXPECT_EQ(read->counts.buffers, model.counts.buffers) << model.name;
  }
}

// Types without a class in transformers are read from the layout that their repositories publish,
// and say so.
TEST(Derive, LayoutsOfOwnCodeAreNotCalledExact) {
  for (const char *type : {"Klear", "PanguEmbedded", "baichuan", "chatglm", "hunyuan", "internlm2",
                           "minicpm", "orion", "phi-msft", "qwen", "xverse", "minimax_m3"}) {
    const Json config = {
        {"model_type", type},          {"hidden_size", 64},        {"num_hidden_layers", 2},
        {"num_attention_heads", 4},    {"num_key_value_heads", 4}, {"intermediate_size", 96},
        {"moe_intermediate_size", 24}, {"num_experts", 4},         {"vocab_size", 100}};
    const Result<Architecture> read = derive(config);
    ASSERT_TRUE(read) << type << ": " << read.error().message;
    EXPECT_EQ(read->reading, Reading::transformers_semantics) << type;
    EXPECT_FALSE(read->reading_note.empty()) << type;
    EXPECT_GT(read->counts.total, 0) << type;
  }
}

TEST(Derive, UnknownTypeIsNoErrorAndNoGuess) {
  const Result<Architecture> read =
      derive(Json{{"model_type", "nobody-knows"}, {"hidden_size", 64}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reading, Reading::unknown);
  EXPECT_NE(read->reading_note.find("nobody-knows"), std::string::npos);
  EXPECT_TRUE(read->tensors.empty());
  EXPECT_EQ(read->counts.total, 0);
}

} // namespace
} // namespace headwater::estimator
