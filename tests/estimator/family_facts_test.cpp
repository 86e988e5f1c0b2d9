#include "estimator/plan.hpp"
#include "schemas/json.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

constexpr std::int64_t T = 64;

struct Fact {
  std::string family;
  std::string what;
  std::string config;
  std::int64_t stored; ///< scalars of a saved checkpoint: parameters and buffers, tied once
  std::int64_t kv;     ///< bytes of one sequence of T tokens, 2 bytes an element
  std::int64_t state;  ///< recurrent and convolution state, the same
};

// Small configs of our own. The counts are those of the transformers classes built from them; kv =
// layers x 2 (keys and values) x kv heads x head size x 2 bytes x tokens kept; state = layers x
// (recurrent + convolution elements) x 2 bytes.
// clang-format off
const Fact facts[] = {
    {"llama", "grouped-query, tied head",
     R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "tie_word_embeddings": true})",
     129856, 4 * 2 * 2 * 16 * 2 * T, 0},
    {"mistral", "a window in all layers",
     R"({"model_type": "mistral", "architectures": ["MistralForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "sliding_window": 16})",
     136256, 4 * 2 * 2 * 16 * 2 * 16, 0},
    {"qwen2", "biases of queries, keys and values; a window from layer 2 on",
     R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "use_sliding_window": true,
       "sliding_window": 16, "max_window_layers": 2, "tie_word_embeddings": false})",
     136768, 2 * 2 * 2 * 16 * 2 * T + 2 * 2 * 2 * 16 * 2 * 16, 0},
    {"qwen3", "head norms, a head size of its own",
     R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "head_dim": 32,
       "tie_word_embeddings": false})",
     185664, 4 * 2 * 2 * 32 * 2 * T, 0},
    {"qwen3_moe", "mixtures except in one layer, a window in all",
     R"({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "head_dim": 16, "num_experts": 8, "num_experts_per_tok": 2,
       "moe_intermediate_size": 24, "mlp_only_layers": [1], "decoder_sparse_step": 1,
       "use_sliding_window": true, "sliding_window": 16, "tie_word_embeddings": false})",
     193216, 4 * 2 * 2 * 16 * 2 * 16, 0},
    {"qwen2_moe", "a gated shared expert, a window in every other layer",
     R"({"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
       "shared_expert_intermediate_size": 40, "use_sliding_window": true,
       "sliding_window": 16, "max_window_layers": 3, "decoder_sparse_step": 2,
       "tie_word_embeddings": false})",
     152768, 2 * 2 * 2 * 16 * 2 * 16 + 2 * 2 * 2 * 16 * 2 * T, 0},
    {"smollm3", "a window where there are no rotary positions",
     R"({"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "use_sliding_window": true, "sliding_window": 16, "no_rope_layer_interval": 2,
       "pad_token_id": 0, "tie_word_embeddings": true})",
     129856, 2 * 2 * 2 * 16 * 2 * T + 2 * 2 * 2 * 16 * 2 * 16, 0},
    {"gemma2", "four norms, a window in every other layer",
     R"({"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "head_dim": 16,
       "sliding_window": 16})",
     130368, 2 * 2 * 2 * 16 * 2 * 16 + 2 * 2 * 2 * 16 * 2 * T, 0},
    {"gemma3_text", "a window in two layers of three",
     R"({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "head_dim": 16, "sliding_window": 16, "sliding_window_pattern": 3})",
     130496, 3 * 2 * 2 * 16 * 2 * 16 + 1 * 2 * 2 * 16 * 2 * T, 0},
    {"cohere2", "one norm, a window in three layers of four",
     R"({"model_type": "cohere2", "architectures": ["Cohere2ForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "sliding_window": 16})",
     129600, 3 * 2 * 2 * 16 * 2 * 16 + 1 * 2 * 2 * 16 * 2 * T, 0},
    {"olmo3", "norms after the parts and over whole queries",
     R"({"model_type": "olmo3", "architectures": ["Olmo3ForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "sliding_window": 16,
       "tie_word_embeddings": false})",
     136640, 3 * 2 * 2 * 16 * 2 * 16 + 1 * 2 * 2 * 16 * 2 * T, 0},
    {"cwm", "no window in the first layer of four",
     R"({"model_type": "cwm", "architectures": ["CwmForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "head_dim": 16,
       "sliding_window": 16, "rope_parameters": {"rope_type": "default",
       "rope_theta": 10000.0}})",
     136256, 1 * 2 * 2 * 16 * 2 * T + 3 * 2 * 2 * 16 * 2 * 16, 0},
    {"gpt_oss", "sinks, biased experts",
     R"({"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "head_dim": 16, "sliding_window": 16, "num_local_experts": 4,
       "num_experts_per_tok": 2, "rope_parameters": {"rope_type": "default",
       "rope_theta": 10000.0}})",
     363360, 2 * 2 * 2 * 16 * 2 * 16 + 2 * 2 * 2 * 16 * 2 * T, 0},
    {"phi3", "fused projections",
     R"({"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "pad_token_id": 0,
       "tie_word_embeddings": false})",
     136256, 4 * 2 * 2 * 16 * 2 * T, 0},
    {"gpt2", "learned positions, stored the other way round",
     R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 64,
       "n_layer": 3, "n_head": 4, "n_positions": 128, "vocab_size": 100})",
     164672, 3 * 2 * 4 * 16 * 2 * T, 0},
    {"gpt_bigcode", "one key and value head",
     R"({"model_type": "gpt_bigcode", "architectures": ["GPTBigCodeForCausalLM"],
       "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 128, "vocab_size": 100,
       "multi_query": true})",
     145952, 3 * 2 * 1 * 16 * 2 * T, 0},
    {"falcon", "two norms in parallel",
     R"({"model_type": "falcon", "architectures": ["FalconForCausalLM"], "hidden_size": 64,
       "num_hidden_layers": 3, "num_attention_heads": 4, "num_kv_heads": 2,
       "new_decoder_architecture": true, "vocab_size": 100})",
     142464, 3 * 2 * 2 * 16 * 2 * T, 0},
    {"opt", "two more rows of positions",
     R"({"model_type": "opt", "architectures": ["OPTForCausalLM"], "hidden_size": 64,
       "num_hidden_layers": 3, "num_attention_heads": 4, "ffn_dim": 96,
       "word_embed_proj_dim": 32, "max_position_embeddings": 128, "vocab_size": 100,
       "pad_token_id": 1})",
     103776, 3 * 2 * 4 * 16 * 2 * T, 0},
    {"mixtral", "eight experts",
     R"({"model_type": "mixtral", "architectures": ["MixtralForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "num_local_experts": 8, "num_experts_per_tok": 2, "tie_word_embeddings": false})",
     654400, 4 * 2 * 2 * 16 * 2 * T, 0},
    {"deepseek_v3", "latent attention, dense first layers",
     R"({"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 96,
       "moe_intermediate_size": 24, "n_routed_experts": 8, "n_shared_experts": 1,
       "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1,
       "first_k_dense_replace": 1, "kv_lora_rank": 16, "q_lora_rank": 24,
       "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 12,
       "tie_word_embeddings": false})",
     193784, 4 * (16 + 8) * 2 * T, 0},
    {"deepseek_v32", "latent attention with an indexer",
     R"({"model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 96,
       "moe_intermediate_size": 24, "n_routed_experts": 8, "n_shared_experts": 1,
       "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1,
       "first_k_dense_replace": 1, "kv_lora_rank": 16, "q_lora_rank": 24,
       "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 12, "index_n_heads": 2,
       "index_head_dim": 16, "index_topk": 8, "tie_word_embeddings": false})",
     201592, 4 * (16 + 8 + 16) * 2 * T, 0},
    {"llama4_text", "chunks, a mixture in every other layer",
     R"({"model_type": "llama4_text", "architectures": ["Llama4ForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "head_dim": 16, "intermediate_size_mlp": 128, "num_local_experts": 4,
       "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
       "attention_chunk_size": 16, "tie_word_embeddings": false})",
     296512, 3 * 2 * 2 * 16 * 2 * 16 + 1 * 2 * 2 * 16 * 2 * T, 0},
    {"mamba", "no attention",
     R"({"model_type": "mamba", "architectures": ["MambaForCausalLM"], "hidden_size": 64,
       "num_hidden_layers": 3, "state_size": 8, "conv_kernel": 4, "vocab_size": 100,
       "time_step_rank": 4, "intermediate_size": 128})",
     95360, 0, 3 * (1024 + 384) * 2},
    {"mamba2", "no attention, heads of state",
     R"({"model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"], "hidden_size": 64,
       "num_hidden_layers": 3, "state_size": 8, "conv_kernel": 4, "vocab_size": 100,
       "num_heads": 8, "head_dim": 16, "n_groups": 2, "expand": 2,
       "tie_word_embeddings": false})",
     97320, 0, 3 * (1024 + 480) * 2},
    {"jamba", "attention in one layer of four",
     R"({"model_type": "jamba", "architectures": ["JambaForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "attn_layer_period": 4,
       "attn_layer_offset": 2, "expert_layer_period": 2, "expert_layer_offset": 1,
       "num_experts": 4, "num_experts_per_tok": 2, "mamba_d_state": 8, "mamba_d_conv": 4,
       "mamba_expand": 2, "mamba_dt_rank": 4, "use_mamba_kernels": false,
       "tie_word_embeddings": false})",
     299260, 1 * 2 * 2 * 16 * 2 * T, 3 * (1024 + 384) * 2},
    {"bamba", "attention at listed layers",
     R"({"model_type": "bamba", "architectures": ["BambaForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "attn_layer_indices": [1],
       "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 8,
       "mamba_d_conv": 4, "mamba_expand": 2, "tie_word_embeddings": false})",
     180344, 1 * 2 * 2 * 16 * 2 * T, 3 * (1024 + 432) * 2},
    {"nemotron_h", "one part a layer, by letters",
     R"({"model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "hybrid_override_pattern": "M*-M", "head_dim": 16, "mamba_num_heads": 8,
       "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 8, "conv_kernel": 4})",
     93872, 1 * 2 * 2 * 16 * 2 * T, 2 * (1024 + 480) * 2},
    {"qwen3_next", "gated delta nets in three layers of four",
     R"({"model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
       "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4,
       "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
       "shared_expert_intermediate_size": 24, "tie_word_embeddings": false})",
     150160, 1 * 2 * 2 * 16 * 2 * T, 3 * (256 + 192) * 2},
    {"lfm2", "short convolutions beside attention",
     R"({"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "vocab_size": 100,
       "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 96, "full_attn_idxs": [1, 3],
       "conv_L_cache": 3, "block_auto_adjust_ff_dim": false})",
     138496, 2 * 2 * 2 * 16 * 2 * T, 2 * (0 + 128) * 2},
    {"minimax", "lightning attention in every other layer",
     R"({"model_type": "minimax", "architectures": ["MiniMaxForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "block_size": 32,
       "tie_word_embeddings": false})",
     383688, 2 * 2 * 2 * 16 * 2 * T, 2 * (1024 + 0) * 2},
    {"recurrent_gemma", "linear recurrent units",
     R"({"model_type": "recurrent_gemma", "architectures": ["RecurrentGemmaForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 3,
       "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 96,
       "lru_width": 64, "attention_window_size": 16, "conv1d_width": 4})",
     75360, 1 * 2 * 1 * 16 * 2 * 16, 2 * (64 + 192) * 2},
    {"stablelm", "biased norms and projections",
     R"({"model_type": "stablelm", "architectures": ["StableLmForCausalLM"],
       "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4,
       "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
       "use_qkv_bias": true, "tie_word_embeddings": false})",
     137344, 4 * 2 * 2 * 16 * 2 * T, 0},
    {"bloom", "attention with linear biases",
     R"({"model_type": "bloom", "architectures": ["BloomForCausalLM"], "hidden_size": 64,
       "n_layer": 3, "n_head": 4, "vocab_size": 100})",
     156608, 3 * 2 * 4 * 16 * 2 * T, 0},
    {"t5", "encoder and decoder",
     R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"],
       "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_decoder_layers": 3,
       "num_heads": 4, "vocab_size": 100, "is_encoder_decoder": true})",
     200128, 3 * 2 * 4 * 16 * 2 * T, 0},
    {"bart", "encoder and decoder",
     R"({"model_type": "bart", "architectures": ["BartForConditionalGeneration"],
       "d_model": 64, "encoder_layers": 2, "decoder_layers": 3,
       "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 96,
       "decoder_ffn_dim": 96, "max_position_embeddings": 128, "vocab_size": 100,
       "is_encoder_decoder": true, "pad_token_id": 1, "bos_token_id": 0,
       "eos_token_id": 2, "decoder_start_token_id": 2})",
     220420, 3 * 2 * 4 * 16 * 2 * T, 0},
};
// clang-format on

TEST(FamilyFacts, CountsCachesAndStatesOfSmallConfigs) {
  for (const Fact &fact : facts) {
    const Result<Json> config = parse_json(fact.config);
    ASSERT_TRUE(config) << fact.family;
    const Result<Architecture> read = derive(*config);
    ASSERT_TRUE(read) << fact.family << ": " << read.error().message;
    EXPECT_EQ(read->reading, Reading::exact) << fact.family;
    const Counts &counts = read->counts;
    EXPECT_EQ(counts.total - counts.mtp + counts.buffers, fact.stored)
        << fact.family << ", " << fact.what;
    const Result<Plan> planned = plan(*config, {.serve_seq = T});
    ASSERT_TRUE(planned) << fact.family << ": " << planned.error().message;
    EXPECT_EQ(planned->memory->kv_cache_bytes, fact.kv) << fact.family << ", " << fact.what;
    EXPECT_EQ(planned->memory->recurrent_state_bytes, fact.state)
        << fact.family << ", " << fact.what;
  }
}

struct Plain {
  std::string model_type;
  std::int64_t stored;
};

// Plain decoders, each built with 2 layers, hidden 64, 4 heads of 16, 2 of them for keys and
// values, intermediate 96 and vocabulary 100, untied. Llama's: 2 x 100 x 64 + 2 x (2 x 64 x 64 + 2
// x 64 x 32 + 3 x 64 x 96 + 2 x 64) + 64. A newcomer is one row of the decoders' table and one line
// here.
// clang-format off
const Plain plain[] = {
    {"PanguEmbedded", 74560},
    {"apertus", 62344},
    {"arcee", 62272},
    {"baichuan", 82752},
    {"ernie4_5", 74560},
    {"exaone", 74560},
    {"gemma", 74560},
    {"glm", 74816},
    {"granite", 74560},
    {"internlm2", 74560},
    {"internlm3", 74560},
    {"llama", 74560},
    {"mimo", 74816},
    {"mistral", 74560},
    {"nemotron", 62592},
    {"olmo", 74240},
    {"olmo2", 74752},
    {"orion", 74880},
    {"phi3", 74560},
    {"qwen2", 74816},
    {"qwen3", 74624},
    {"seed_oss", 74816},
    {"smollm3", 74560},
    {"starcoder2", 63296},
    {"xverse", 74560},
};
// clang-format on

TEST(FamilyFacts, PlainDecodersAreARowEach) {
  Json config = {{"vocab_size", 100},        {"hidden_size", 64},
                 {"num_hidden_layers", 2},   {"num_attention_heads", 4},
                 {"num_key_value_heads", 2}, {"head_dim", 16},
                 {"intermediate_size", 96},  {"tie_word_embeddings", false}};
  for (const Plain &entry : plain) {
    config["model_type"] = entry.model_type;
    const Result<Architecture> read = derive(config);
    ASSERT_TRUE(read) << entry.model_type << ": " << read.error().message;
    EXPECT_EQ(read->counts.total + read->counts.buffers, entry.stored) << entry.model_type;
  }
}

struct Spelling {
  std::string name;
  std::string config;
  std::string other; ///< the same model in other words
};

// One model, said in two ways.
const Spelling spellings[] = {
    {"an absent list of layer types is the family's own pattern",
     R"({"model_type": "gemma2", "num_hidden_layers": 4, "sliding_window": 16})",
     R"({"model_type": "gemma2", "num_hidden_layers": 4, "sliding_window": 16, "layer_types":
        ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})"},
    {"a null key is read under its other name",
     R"({"model_type": "llama", "num_hidden_layers": 3, "num_key_value_heads": null})",
     R"({"model_type": "llama", "n_layer": 3, "num_attention_heads": 32, "num_kv_heads": 32})"},
    {"a flag that is null does not hold",
     R"({"model_type": "qwen2", "num_hidden_layers": 2, "use_sliding_window": null, "sliding_window": 8})",
     R"({"model_type": "qwen2", "num_hidden_layers": 2, "use_sliding_window": false})"},
    {"experts under any of their names",
     R"({"model_type": "deepseek_v3", "num_hidden_layers": 4, "num_experts": 16})",
     R"({"model_type": "deepseek_v3", "num_hidden_layers": 4, "n_routed_experts": 16})"},
    {"the period of full attention has a key of its own",
     R"({"model_type": "afmoe", "num_hidden_layers": 4, "global_attn_every_n_layers": 2})",
     R"({"model_type": "afmoe", "num_hidden_layers": 4, "layer_types":
        ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})"},
    {"letters of a hybrid, and words",
     R"({"model_type": "kimi_linear", "num_hidden_layers": 4, "linear_attn_config":
        {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4}})",
     R"({"model_type": "kimi_linear", "num_hidden_layers": 4, "layer_types":
        ["linear_attention", "linear_attention", "linear_attention", "full_attention"]})"},
};

TEST(FamilyFacts, TheSameModelInOtherWordsIsTheSamePlan) {
  for (const Spelling &entry : spellings) {
    const Result<Json> config = parse_json(entry.config);
    const Result<Json> other = parse_json(entry.other);
    ASSERT_TRUE(config && other) << entry.name;
    const Result<Plan> first = plan(*config, {.serve_seq = T});
    const Result<Plan> second = plan(*other, {.serve_seq = T});
    ASSERT_TRUE(first) << entry.name << ": " << first.error().message;
    ASSERT_TRUE(second) << entry.name << ": " << second.error().message;
    EXPECT_EQ(first->parameters->total, second->parameters->total) << entry.name;
    EXPECT_EQ(first->memory->kv_cache_bytes, second->memory->kv_cache_bytes) << entry.name;
    EXPECT_EQ(first->memory->recurrent_state_bytes, second->memory->recurrent_state_bytes)
        << entry.name;
  }
}

} // namespace
} // namespace headwater::estimator
