#include "estimator/plan.hpp"
#include "schemas/json.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

struct Case {
  std::string name;
  std::string config;
  std::int64_t kv;    ///< bytes of one sequence of 4096 tokens, 2 bytes an element
  std::int64_t state; ///< recurrent and convolution state, the same
};

constexpr std::int64_t T = 4096;

// kv = layers x 2 (keys and values) x kv heads x head size x 2 bytes x tokens kept, unless it says
// otherwise.
const Case cases[] = {
    {"multi-head: LLaMA-2-7B",
     R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
       "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000})",
     32 * 2 * 32 * 128 * 2 * T, 0},
    {"multi-head without the key: GPT-2",
     R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
       "vocab_size": 50257})",
     12 * 2 * 12 * 64 * 2 * T, 0},
    {"grouped-query: Llama-3.2-1B",
     R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
       "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256})",
     16 * 2 * 8 * 64 * 2 * T, 0},
    {"head size of its own: Qwen3-0.6B",
     R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28,
       "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
       "sliding_window": null, "use_sliding_window": false, "max_window_layers": 28})",
     28 * 2 * 8 * 128 * 2 * T, 0},
    {"multi-query: StarCoder",
     R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576,
       "n_positions": 8192, "multi_query": true, "vocab_size": 49152})",
     40 * 2 * 1 * 128 * 2 * T, 0},
    {"multi-query: falcon-7b",
     R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
       "num_attention_heads": 71, "multi_query": true, "parallel_attn": true, "vocab_size": 65024})",
     32 * 2 * 1 * 64 * 2 * T, 0},
    {"groups under another key: falcon-40b",
     R"({"model_type": "RefinedWeb", "hidden_size": 8192, "n_layer": 60,
       "n_head": 128, "n_head_kv": 8, "vocab_size": 65024})",
     60 * 2 * 8 * 64 * 2 * T, 0},
    {"groups under another key: ChatGLM3",
     R"({"model_type": "chatglm", "hidden_size": 4096, "num_layers": 28,
       "num_attention_heads": 32, "kv_channels": 128, "multi_query_attention": true, "multi_query_group_num": 2,
       "ffn_hidden_size": 13696, "padded_vocab_size": 65024, "add_qkv_bias": true})",
     28 * 2 * 2 * 128 * 2 * T, 0},
    {"window in all layers, shorter than the sequence",
     R"({"model_type": "mistral", "hidden_size": 4096,
       "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
       "vocab_size": 32000, "sliding_window": 1024})",
     32 * 2 * 8 * 128 * 2 * 1024, 0},
    {"window that the flag turns off: Qwen2-7B",
     R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28,
       "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064,
       "sliding_window": 1024, "use_sliding_window": false, "max_window_layers": 28})",
     28 * 2 * 4 * 128 * 2 * T, 0},
    {"window in the layers from max_window_layers on",
     R"({"model_type": "qwen2", "hidden_size": 3584,
       "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
       "vocab_size": 152064, "sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 21})",
     21 * 2 * 4 * 128 * 2 * T + 7 * 2 * 4 * 128 * 2 * 1024, 0},
    {"window in every other layer: gpt-oss-20b",
     R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24,
       "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880,
       "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128, "vocab_size": 201088})",
     12 * 2 * 8 * 64 * 2 * T + 12 * 2 * 8 * 64 * 2 * 128, 0},
    {"window in five layers of six: gemma-3-1b",
     R"({"model_type": "gemma3_text", "hidden_size": 1152,
       "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
       "intermediate_size": 6912, "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6})",
     4 * 2 * 1 * 256 * 2 * T + 22 * 2 * 1 * 256 * 2 * 512, 0},
    {"letters say which layers have a window, the last never has: EXAONE-4.0-32B",
     R"({"model_type": "exaone4",
       "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
       "intermediate_size": 27392, "vocab_size": 102400, "sliding_window": 1024, "sliding_window_pattern": "LLLG"})",
     16 * 2 * 8 * 128 * 2 * T + 48 * 2 * 8 * 128 * 2 * 1024, 0},
    {"chunked in three layers of four: Llama-4-Scout",
     R"({"model_type": "llama4_text", "hidden_size": 5120,
       "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
       "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 16, "num_experts_per_tok": 1,
       "interleave_moe_layer_step": 1, "attention_chunk_size": 2048, "vocab_size": 202048})",
     12 * 2 * 8 * 128 * 2 * T + 36 * 2 * 8 * 128 * 2 * 2048, 0},
    {"latent: DeepSeek-V3, kv_lora_rank + rope size a token",
     R"({"model_type": "deepseek_v3", "hidden_size": 7168,
       "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
       "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
       "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
       "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280})",
     61 * (512 + 64) * 2 * T, 0},
    {"latent with an indexer's keys beside it: DeepSeek-V3.2",
     R"({"model_type": "deepseek_v32", "hidden_size": 7168,
       "num_hidden_layers": 61, "num_attention_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
       "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
       "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
       "index_n_heads": 64, "index_head_dim": 128, "vocab_size": 129280})",
     61 * (512 + 64 + 128) * 2 * T, 0},
    {"a window of one latent, and entries that stand for 4 or 128 tokens before it: DeepSeek-V4",
     R"({"model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 6, "num_attention_heads": 64,
       "head_dim": 512, "qk_rope_head_dim": 64, "q_lora_rank": 1024, "o_lora_rank": 1024, "o_groups": 8,
       "compress_ratios": [0, 0, 4, 128, 4, 128], "sliding_window": 128, "index_n_heads": 64, "index_head_dim": 128,
       "moe_intermediate_size": 2048, "n_routed_experts": 8, "num_experts_per_tok": 6, "hc_mult": 4, "vocab_size": 129280})",
     6 * 512 * 2 * 128 + 2 * (512 + 128) * 2 * (T / 4) + 2 * 512 * 2 * (T / 128), 0},
    {"every other layer reads the cache before it: Hunyuan-A13B",
     R"({"model_type": "hunyuan", "hidden_size": 4096,
       "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "attention_head_dim": 128,
       "intermediate_size": 3072, "num_experts": 64, "moe_topk": [8, 8], "num_shared_expert": [1, 1],
       "use_mixed_mlp_moe": true, "use_cla": true, "cla_share_factor": 2, "use_qk_norm": true, "vocab_size": 128167})",
     16 * 2 * 8 * 128 * 2 * T, 0},
    {"stacks that run several times a token, a cache for each run: HRM-Text",
     R"({"model_type": "hrm_text", "hidden_size": 512,
       "num_layers_per_stack": 4, "H_cycles": 2, "L_cycles": 3, "num_attention_heads": 8, "num_key_value_heads": 8,
       "head_dim": 64, "intermediate_size": 1536, "vocab_size": 65536})",
     (4 * 2 + 4 * 2 * 3) * 2 * 8 * 64 * 2 * T, 0},
    {"a window only in the layers without rotary positions: SmolLM3",
     R"({"model_type": "smollm3", "hidden_size": 2048,
       "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 11008,
       "no_rope_layer_interval": 4, "use_sliding_window": true, "sliding_window": 1024, "vocab_size": 128256})",
     27 * 2 * 4 * 128 * 2 * T + 9 * 2 * 4 * 128 * 2 * 1024, 0},
    {"layers that read another layer's cache: Gemma 3n",
     R"({"model_type": "gemma3n_text", "hidden_size": 2048,
       "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
       "intermediate_size": 16384, "num_kv_shared_layers": 15, "sliding_window": 512, "vocab_size": 262400,
       "vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256, "altup_num_inputs": 4, "laurel_rank": 64})",
     4 * 2 * 2 * 256 * 2 * T + 16 * 2 * 2 * 256 * 2 * 512, 0},
    {"sizes by kind of layer: MiMo-V2-Flash, 9 full and 39 sliding, keys 192 and values 128 wide",
     R"({"model_type": "mimo_v2_flash", "hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 64,
       "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "swa_num_key_value_heads": 8, "sliding_window": 128,
       "hybrid_layer_pattern": [0,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0],
       "moe_layer_freq": [0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],
       "intermediate_size": 16384, "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8,
       "vocab_size": 152576})",
     9 * 4 * (192 + 128) * 2 * T + 39 * 8 * (192 + 128) * 2 * 128, 0},
    {"attention in 6 of 52 layers, 23 Mamba-2: Nemotron-3-Nano",
     R"({"model_type": "nemotron_h", "hidden_size": 2688,
       "num_hidden_layers": 52, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
       "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 1856,
       "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
       "n_routed_experts": 128, "num_experts_per_tok": 6, "n_shared_experts": 1, "moe_intermediate_size": 1856,
       "moe_shared_expert_intermediate_size": 3712, "vocab_size": 131072})",
     6 * 2 * 2 * 128 * 2 * T, 23 * (64 * 64 * 128 + (4096 + 2 * 8 * 128) * 3) * 2},
    {"attention in one layer of four, 36 gated delta nets: Qwen3-Next-80B",
     R"({"model_type": "qwen3_next",
       "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
       "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
       "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 512, "num_experts_per_tok": 10,
       "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "intermediate_size": 5120, "vocab_size": 151936})",
     12 * 2 * 2 * 256 * 2 * T, 36 * (32 * 128 * 128 + (2 * 16 * 128 + 32 * 128) * 3) * 2},
    {"no cache, Mamba-1: falcon-mamba-7b",
     R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64,
       "intermediate_size": 8192, "state_size": 16, "conv_kernel": 4, "time_step_rank": 256, "vocab_size": 65024})",
     0, 64 * (8192 * 16 + 8192 * 3) * 2},
    {"attention in one layer of eight, Mamba-1 else: Jamba-v0.1",
     R"({"model_type": "jamba", "hidden_size": 4096,
       "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
       "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1,
       "num_experts": 16, "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
       "mamba_dt_rank": 256, "vocab_size": 65536})",
     4 * 2 * 8 * 128 * 2 * T, 28 * (8192 * 16 + 8192 * 3) * 2},
    {"attention in 6 of 16 layers, short convolutions else: LFM2-1.2B",
     R"({"model_type": "lfm2", "hidden_size": 2048,
       "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288,
       "full_attn_idxs": [2, 5, 8, 10, 12, 14], "conv_L_cache": 3, "block_auto_adjust_ff_dim": true,
       "block_multiple_of": 256, "block_ffn_dim_multiplier": 1.0, "vocab_size": 65536})",
     6 * 2 * 8 * 64 * 2 * T, 10 * (2048 * 2) * 2},
    {"attention and Mamba-2 side by side in each layer: Falcon-H1",
     R"({"model_type": "falcon_h1", "hidden_size": 4096,
       "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
       "mamba_d_ssm": 1024, "mamba_n_heads": 128, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 256,
       "mamba_d_conv": 4, "vocab_size": 128000})",
     32 * 2 * 8 * 128 * 2 * T, 32 * (1024 * 256 + (1024 + 2 * 256) * 3) * 2},
};

TEST(KvCache, IsByWhatTheLayersAre) {
  for (const Case &entry : cases) {
    const Result<Json> config = parse_json(entry.config);
    ASSERT_TRUE(config) << entry.name;
    const Result<Plan> read = plan(*config, {.serve_seq = T});
    ASSERT_TRUE(read) << entry.name << ": " << read.error().message;
    EXPECT_EQ(read->memory->kv_cache_bytes, entry.kv) << entry.name;
    EXPECT_EQ(read->memory->recurrent_state_bytes, entry.state) << entry.name;
  }
}

TEST(KvCache, WindowIsTheMostThatIsKept) {
  const Json config = {{"model_type", "mistral"},  {"hidden_size", 4096},
                       {"num_hidden_layers", 32},  {"num_attention_heads", 32},
                       {"num_key_value_heads", 8}, {"intermediate_size", 14336},
                       {"vocab_size", 32000},      {"sliding_window", 4096}};
  for (const std::int64_t tokens : {std::int64_t{100}, std::int64_t{4096}, std::int64_t{32768}}) {
    const Result<Plan> read = plan(config, {.serve_seq = tokens});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->memory->kv_cache_bytes,
              std::int64_t{32} * 2 * 8 * 128 * 2 * std::min<std::int64_t>(tokens, 4096));
  }
}

} // namespace
} // namespace headwater::estimator
