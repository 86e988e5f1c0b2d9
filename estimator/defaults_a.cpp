#include "estimator/defaults_table.hpp"

namespace headwater::estimator {

// clang-format off
const DefaultsRow defaults_first[] = {
    {"afmoe",
     " vocab_size=200192 hidden_size=2048 intermediate_size=6144 moe_intermediate_size=1408 "
     "num_hidden_layers=32 num_dense_layers=1 num_attention_heads=16 head_dim=128 "
     "max_position_embeddings=16384 tie_word_embeddings=false num_experts=64 "
     "num_experts_per_tok=6 num_shared_experts=2 sliding_window=1024 attention_bias=false "},
    {"apertus",
     " vocab_size=131072 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=65536 tie_word_embeddings=false "
     "attention_bias=false "},
    {"apertus1p5_text",
     " vocab_size=266752 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=65536 tie_word_embeddings=false "
     "attention_bias=false "},
    {"arcee",
     " vocab_size=32000 hidden_size=2560 intermediate_size=18432 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=4096 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false "},
    {"aria_text",
     " vocab_size=32000 hidden_size=4096 intermediate_size=4096 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false moe_num_experts=8 moe_topk=2 moe_num_shared_experts=2 "},
    {"audioflamingo3", " projector_bias=true "},
    {"audioflamingo3_encoder",
     " num_mel_bins=128 num_hidden_layers=32 num_attention_heads=20 intermediate_size=5120 "
     "hidden_size=1280 max_source_positions=1500 "},
    {"axk1",
     " vocab_size=163840 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048 "
     "num_hidden_layers=61 num_attention_heads=64 num_key_value_heads=64 n_shared_experts=1 "
     "n_routed_experts=192 kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 "
     "qk_nope_head_dim=128 num_experts_per_tok=8 max_position_embeddings=32768 "
     "tie_word_embeddings=false attention_bias=false first_k_dense_replace=1 "},
    {"axk2",
     " vocab_size=163840 hidden_size=2048 intermediate_size=5120 moe_intermediate_size=512 "
     "num_hidden_layers=48 num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 "
     "n_routed_experts=128 kv_lora_rank=128 q_lora_rank=384 qk_rope_head_dim=32 v_head_dim=64 "
     "qk_nope_head_dim=64 num_experts_per_tok=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false index_head_dim=128 index_n_heads=16 "
     "head_dim=64 gated_norm_rank=16 first_k_dense_replace=1 "},
    {"bailing_hybrid",
     " vocab_size=157184 hidden_size=2560 intermediate_size=6144 moe_intermediate_size=768 "
     "num_hidden_layers=42 num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 "
     "kv_lora_rank=512 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 "
     "num_experts_per_tok=8 first_k_dense_replace=2 max_position_embeddings=262144 "
     "tie_word_embeddings=false attention_bias=false num_local_experts=512 head_dim=128 "
     "layer_group_size=6 linear_num_heads=32 linear_head_dim=128 linear_conv_kernel_dim=4 "},
    {"bamba",
     " vocab_size=128000 tie_word_embeddings=false hidden_size=4096 intermediate_size=14336 "
     "num_hidden_layers=32 num_attention_heads=32 num_key_value_heads=8 "
     "max_position_embeddings=262144 mamba_n_heads=128 mamba_n_groups=1 mamba_d_state=256 "
     "mamba_d_conv=4 mamba_expand=2 mamba_conv_bias=true mamba_proj_bias=false "
     "attention_bias=false mlp_bias=false "},
    {"bart",
     " vocab_size=50265 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 is_decoder=false tie_word_embeddings=true "},
    {"beam",
     " vocab_size=151936 hidden_size=5120 intermediate_size=20480 num_hidden_layers=52 "
     "num_attention_heads=48 num_key_value_heads=8 max_position_embeddings=8192 "
     "tie_word_embeddings=false attention_bias=false sliding_window=512 "
     "moe_intermediate_size=2560 num_experts_per_tok=8 num_experts=256 head_dim=128 "
     "first_k_dense_replace=3 "},
    {"bert",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"bert-generation",
     " vocab_size=50358 hidden_size=1024 num_hidden_layers=24 num_attention_heads=16 "
     "intermediate_size=4096 max_position_embeddings=512 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"big_bird",
     " vocab_size=50358 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=4096 type_vocab_size=2 use_bias=true "
     "block_size=64 is_decoder=false add_cross_attention=false tie_word_embeddings=true "},
    {"bigbird_pegasus",
     " vocab_size=96103 max_position_embeddings=4096 encoder_layers=16 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=16 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 block_size=64 use_bias=false is_decoder=false "
     "tie_word_embeddings=true "},
    {"biogpt",
     " vocab_size=42384 hidden_size=1024 num_hidden_layers=24 num_attention_heads=16 "
     "intermediate_size=4096 max_position_embeddings=1024 tie_word_embeddings=true "},
    {"bitnet",
     " vocab_size=128256 hidden_size=2560 intermediate_size=6912 num_hidden_layers=30 "
     "num_attention_heads=20 num_key_value_heads=5 max_position_embeddings=2048 "
     "tie_word_embeddings=false attention_bias=false "},
    {"blenderbot",
     " vocab_size=8008 max_position_embeddings=128 encoder_layers=2 encoder_ffn_dim=10240 "
     "encoder_attention_heads=32 decoder_layers=24 decoder_ffn_dim=10240 "
     "decoder_attention_heads=32 d_model=2560 is_decoder=false tie_word_embeddings=true "},
    {"blenderbot-small",
     " vocab_size=50265 max_position_embeddings=512 encoder_layers=8 encoder_ffn_dim=2048 "
     "encoder_attention_heads=16 decoder_layers=8 decoder_ffn_dim=2048 decoder_attention_heads=16 "
     "d_model=512 is_decoder=false tie_word_embeddings=true "},
    {"bloom", " vocab_size=250880 hidden_size=64 n_layer=2 n_head=8 tie_word_embeddings=true "},
    {"blt", " vocab_size=260 max_position_embeddings=4096 tie_word_embeddings=false "},
    {"camembert",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"codegen",
     " vocab_size=50400 n_positions=2048 n_ctx=2048 n_embd=4096 n_layer=28 n_head=16 "
     "tie_word_embeddings=false "},
    {"cohere",
     " vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
     "num_attention_heads=64 max_position_embeddings=8192 tie_word_embeddings=true "
     "attention_bias=false use_qk_norm=false "},
    {"cohere2",
     " vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
     "num_attention_heads=64 max_position_embeddings=8192 tie_word_embeddings=true "
     "attention_bias=false sliding_window=4096 "},
    {"cohere2_moe",
     " vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
     "num_attention_heads=64 head_dim=128 max_position_embeddings=8192 tie_word_embeddings=true "
     "attention_bias=false sliding_window=4096 num_experts_per_tok=2 num_experts=8 "
     "num_shared_experts=0 sliding_window_pattern=4 "},
    {"cpmant",
     " vocab_size=30720 hidden_size=4096 num_attention_heads=32 dim_head=128 dim_ff=10240 "
     "num_hidden_layers=48 position_bias_num_buckets=512 prompt_types=32 prompt_length=32 "
     "segment_types=32 tie_word_embeddings=true "},
    {"ctrl",
     " vocab_size=246534 n_positions=256 n_embd=1280 dff=8192 n_layer=48 n_head=16 "
     "tie_word_embeddings=true "},
    {"cwm",
     " vocab_size=128256 hidden_size=6144 intermediate_size=21504 num_hidden_layers=64 "
     "num_attention_heads=48 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false mlp_bias=false head_dim=128 sliding_window=8192 "},
    {"data2vec-text",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"dbrx",
     " d_model=2048 n_heads=16 n_layers=24 max_seq_len=2048 vocab_size=32000 "
     "tie_word_embeddings=false "},
    {"deepseek_v2",
     " vocab_size=102400 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false first_k_dense_replace=0 kv_lora_rank=512 "
     "q_lora_rank=1536 n_routed_experts=64 n_shared_experts=2 qk_nope_head_dim=128 "
     "qk_rope_head_dim=64 v_head_dim=128 moe_intermediate_size=1407 "},
    {"deepseek_v3",
     " vocab_size=129280 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048 "
     "num_hidden_layers=61 num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 "
     "n_routed_experts=256 kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 "
     "qk_nope_head_dim=128 num_experts_per_tok=8 first_k_dense_replace=3 "
     "max_position_embeddings=4096 tie_word_embeddings=false attention_bias=false "},
    {"deepseek_v32",
     " vocab_size=129280 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048 "
     "num_hidden_layers=61 num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 "
     "n_routed_experts=256 kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 "
     "qk_nope_head_dim=128 num_experts_per_tok=8 max_position_embeddings=163840 "
     "tie_word_embeddings=false attention_bias=false index_head_dim=128 index_n_heads=64 "
     "mlp_bias=false head_dim=64 first_k_dense_replace=3 "},
    {"deepseek_v4",
     " vocab_size=129280 hidden_size=4096 moe_intermediate_size=2048 num_hidden_layers=43 "
     "num_attention_heads=64 num_key_value_heads=1 head_dim=512 q_lora_rank=1024 "
     "num_experts_per_tok=6 n_routed_experts=256 n_shared_experts=1 "
     "max_position_embeddings=1048576 hc_mult=4 sliding_window=128 o_groups=8 o_lora_rank=1024 "
     "index_n_heads=64 index_head_dim=128 num_nextn_predict_layers=1 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false qk_rope_head_dim=64 "},
    {"diffllama",
     " vocab_size=32000 hidden_size=2048 intermediate_size=8192 num_hidden_layers=16 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false "},
    {"doge",
     " vocab_size=32768 hidden_size=1024 intermediate_size=2048 num_hidden_layers=32 "
     "tie_word_embeddings=false max_position_embeddings=2048 num_attention_heads=8 "
     "attention_bias=false mlp_bias=false is_moe=false num_experts=16384 num_experts_per_tok=64 "},
    {"dory",
     " vocab_size=131072 hidden_size=2560 intermediate_size=7168 num_hidden_layers=36 "
     "num_attention_heads=16 num_key_value_heads=4 head_dim=256 max_position_embeddings=8192 "
     "tie_word_embeddings=false attention_bias=false mlp_bias=false sliding_window=1024 "},
    {"dots1",
     " vocab_size=152064 hidden_size=4608 intermediate_size=10944 moe_intermediate_size=1408 "
     "num_hidden_layers=62 num_attention_heads=32 num_key_value_heads=32 first_k_dense_replace=0 "
     "max_position_embeddings=2048 tie_word_embeddings=false attention_bias=false "
     "sliding_window=4096 max_window_layers=62 "},
    {"dots3_note_text",
     " vocab_size=152064 hidden_size=5120 intermediate_size=13824 moe_intermediate_size=1536 "
     "num_hidden_layers=46 num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 "
     "n_routed_experts=256 kv_lora_rank=512 q_lora_rank=1024 qk_rope_head_dim=64 v_head_dim=128 "
     "qk_nope_head_dim=128 num_experts_per_tok=8 max_position_embeddings=524288 "
     "tie_word_embeddings=false attention_bias=false index_head_dim=128 index_n_heads=64 "
     "mlp_bias=false head_dim=256 shared_experts_intermediate_size=1536 first_k_dense_replace=1 "},
    {"electra",
     " vocab_size=30522 embedding_size=128 hidden_size=256 num_hidden_layers=12 "
     "num_attention_heads=4 intermediate_size=1024 max_position_embeddings=512 type_vocab_size=2 "
     "is_decoder=false add_cross_attention=false tie_word_embeddings=true "},
    {"emu3", " tie_word_embeddings=false "},
    {"emu3_text_model",
     " hidden_size=4096 vocab_size=184622 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=9216 "
     "tie_word_embeddings=false "},
    {"encoder-decoder", "  "},
    {"ernie",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"ernie4_5",
     " vocab_size=103424 hidden_size=1024 intermediate_size=3072 num_hidden_layers=18 "
     "num_attention_heads=16 num_key_value_heads=2 max_position_embeddings=131072 "
     "tie_word_embeddings=true use_bias=false head_dim=128 "},
    {"ernie4_5_moe",
     " vocab_size=103424 hidden_size=2560 intermediate_size=12288 num_hidden_layers=28 "
     "num_attention_heads=20 num_key_value_heads=4 max_position_embeddings=131072 "
     "tie_word_embeddings=true use_bias=false moe_intermediate_size=1536 moe_k=6 "
     "moe_num_experts=64 moe_num_shared_experts=2 moe_layer_start_index=1 "},
    {"exaone",
     " vocab_size=102400 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=4096 "
     "tie_word_embeddings=false attention_bias=false mlp_bias=false "},
    {"exaone4",
     " vocab_size=102400 hidden_size=4096 intermediate_size=16384 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=32 max_position_embeddings=2048 "
     "tie_word_embeddings=false sliding_window=4096 sliding_window_pattern=4 "},
    {"exaone_moe",
     " vocab_size=102400 hidden_size=4096 intermediate_size=16384 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=32 max_position_embeddings=2048 "
     "tie_word_embeddings=false sliding_window=4096 sliding_window_pattern=4 "
     "first_k_dense_replace=1 moe_intermediate_size=1024 num_experts=64 num_experts_per_tok=8 "
     "num_shared_experts=1 "},
    {"falcon",
     " vocab_size=65024 hidden_size=4544 num_hidden_layers=32 num_attention_heads=71 "
     "new_decoder_architecture=false multi_query=true parallel_attn=true bias=false "
     "max_position_embeddings=2048 tie_word_embeddings=true "},
    {"falcon_h1",
     " vocab_size=128000 tie_word_embeddings=false hidden_size=4096 intermediate_size=14336 "
     "num_hidden_layers=32 num_attention_heads=32 num_key_value_heads=8 "
     "max_position_embeddings=8192 mamba_d_ssm=1024 mamba_n_heads=128 mamba_n_groups=1 "
     "mamba_d_state=256 mamba_d_conv=4 mamba_expand=2 mamba_conv_bias=true mamba_proj_bias=false "
     "mamba_rms_norm=false attention_bias=false mlp_bias=false "},
    {"falcon_mamba",
     " vocab_size=50280 hidden_size=768 state_size=16 num_hidden_layers=32 expand=2 conv_kernel=4 "
     "use_bias=false use_conv_bias=true time_step_rank=auto tie_word_embeddings=true "},
    {"flex_olmo",
     " vocab_size=100352 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=4096 tie_word_embeddings=false "
     "attention_bias=false num_experts_per_tok=5 num_experts=7 "},
    {"flint",
     " vocab_size=150144 hidden_size=2048 intermediate_size=6144 num_hidden_layers=49 "
     "num_attention_heads=32 num_key_value_heads=4 max_position_embeddings=262144 "
     "tie_word_embeddings=false sliding_window=513 decoder_sparse_step=1 "
     "moe_intermediate_size=512 shared_expert_intermediate_size=1024 num_experts_per_tok=6 "
     "num_experts=256 head_dim=128 attention_bias=false mlp_only_layers=0,1 "},
    {"fsmt",
     " src_vocab_size=42024 tgt_vocab_size=42024 d_model=1024 max_position_embeddings=1024 "
     "encoder_ffn_dim=4096 encoder_layers=12 encoder_attention_heads=16 decoder_ffn_dim=4096 "
     "decoder_layers=12 decoder_attention_heads=16 tie_word_embeddings=false "},
    {"fuyu", " tie_word_embeddings=false "},
    {"gemma",
     " vocab_size=256000 hidden_size=3072 intermediate_size=24576 num_hidden_layers=28 "
     "num_attention_heads=16 num_key_value_heads=16 head_dim=256 max_position_embeddings=8192 "
     "tie_word_embeddings=true attention_bias=false "},
    {"gemma2",
     " vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=8192 "
     "tie_word_embeddings=true attention_bias=false sliding_window=4096 "},
    {"gemma3", " tie_word_embeddings=true "},
    {"gemma3_text",
     " vocab_size=262208 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=131072 "
     "tie_word_embeddings=true attention_bias=false sliding_window=4096 "},
    {"gemma3n_text",
     " vocab_size=262400 hidden_size=2048 intermediate_size=16384 num_hidden_layers=35 "
     "num_attention_heads=8 num_key_value_heads=2 head_dim=256 max_position_embeddings=32768 "
     "tie_word_embeddings=true attention_bias=false sliding_window=512 "
     "vocab_size_per_layer_input=262144 hidden_size_per_layer_input=256 altup_num_inputs=4 "
     "num_kv_shared_layers=15 laurel_rank=64 "},
    {"gemma4_text",
     " vocab_size=262144 hidden_size=2304 intermediate_size=9216 num_hidden_layers=30 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=131072 "
     "tie_word_embeddings=true attention_bias=false sliding_window=512 "
     "vocab_size_per_layer_input=262144 hidden_size_per_layer_input=256 attention_k_eq_v=false "
     "num_kv_shared_layers=0 enable_moe_block=false use_double_wide_mlp=false global_head_dim=512 "},
    {"gemma4_unified_assistant",
     " backbone_hidden_size=3840 use_ordered_embeddings=false num_centroids=2048 "
     "tie_word_embeddings=true "},
    {"gemma4_unified_text",
     " vocab_size=262144 hidden_size=2304 intermediate_size=9216 num_hidden_layers=30 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=262144 "
     "tie_word_embeddings=true attention_bias=false sliding_window=1024 attention_k_eq_v=false "
     "num_kv_shared_layers=0 use_double_wide_mlp=false global_head_dim=512 "},
    {"git",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=6 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=1024 tie_word_embeddings=false "},
    {"glm",
     " vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 "
     "num_attention_heads=32 num_key_value_heads=2 head_dim=128 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=true "},
    {"glm4",
     " vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 "
     "num_attention_heads=32 num_key_value_heads=2 head_dim=128 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=true "},
    {"glm4_moe",
     " vocab_size=151552 hidden_size=4096 intermediate_size=10944 num_hidden_layers=46 "
     "num_attention_heads=96 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false moe_intermediate_size=1408 "
     "num_experts_per_tok=8 n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1 "
     "use_qk_norm=false "},
    {"glm4_moe_lite",
     " vocab_size=154880 hidden_size=2048 intermediate_size=10240 moe_intermediate_size=1536 "
     "num_hidden_layers=47 num_attention_heads=20 num_key_value_heads=20 n_shared_experts=1 "
     "n_routed_experts=64 kv_lora_rank=512 q_lora_rank=768 qk_rope_head_dim=64 v_head_dim=256 "
     "qk_nope_head_dim=192 num_experts_per_tok=4 max_position_embeddings=202752 "
     "tie_word_embeddings=false attention_bias=false first_k_dense_replace=1 "},
    {"glm_moe_dsa",
     " vocab_size=154880 hidden_size=6144 intermediate_size=12288 moe_intermediate_size=2048 "
     "num_hidden_layers=78 num_attention_heads=64 num_key_value_heads=64 n_shared_experts=1 "
     "n_routed_experts=256 kv_lora_rank=512 q_lora_rank=2048 qk_rope_head_dim=64 v_head_dim=256 "
     "qk_nope_head_dim=192 num_experts_per_tok=8 max_position_embeddings=202752 "
     "tie_word_embeddings=false attention_bias=false index_head_dim=128 index_n_heads=32 "
     "mlp_bias=false head_dim=64 first_k_dense_replace=3 "},
    {"gpt-sw3",
     " vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"gpt2",
     " vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"gpt_bigcode",
     " vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 multi_query=true "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"gpt_neo",
     " vocab_size=50257 max_position_embeddings=2048 hidden_size=2048 num_layers=24 num_heads=16 "
     "window_size=256 tie_word_embeddings=true "},
    {"gpt_neox",
     " vocab_size=50432 hidden_size=6144 num_hidden_layers=44 num_attention_heads=64 "
     "intermediate_size=24576 max_position_embeddings=2048 tie_word_embeddings=false "
     "use_parallel_residual=true attention_bias=true is_decoder=false "},
    {"gpt_neox_japanese",
     " vocab_size=32000 hidden_size=2560 num_hidden_layers=32 num_attention_heads=32 "
     "intermediate_multiple_size=4 max_position_embeddings=2048 is_decoder=false "
     "tie_word_embeddings=true "},
    {"gpt_oss",
     " num_hidden_layers=36 num_local_experts=128 vocab_size=201088 hidden_size=2880 "
     "intermediate_size=2880 head_dim=64 num_attention_heads=64 num_key_value_heads=8 "
     "sliding_window=128 tie_word_embeddings=false max_position_embeddings=131072 "
     "num_experts_per_tok=4 attention_bias=true "},
    {"gptj",
     " vocab_size=50400 n_positions=2048 n_embd=4096 n_layer=28 n_head=16 "
     "tie_word_embeddings=false "},
    {"granite",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false "},
    {"granite_swa",
     " vocab_size=100352 hidden_size=2560 intermediate_size=8192 num_hidden_layers=24 "
     "num_attention_heads=20 num_key_value_heads=4 max_position_embeddings=8192 "
     "tie_word_embeddings=true attention_bias=false mlp_bias=false sliding_window=128 "},
    {"granitemoe",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false num_local_experts=8 num_experts_per_tok=2 "},
    {"granitemoe_swa",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false num_local_experts=8 num_experts_per_tok=2 shared_intermediate_size=0 "
     "sliding_window=128 "},
    {"granitemoehybrid",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false num_local_experts=8 num_experts_per_tok=2 "
     "shared_intermediate_size=1024 mamba_n_heads=128 mamba_n_groups=1 mamba_d_state=256 "
     "mamba_d_conv=4 mamba_expand=2 mamba_conv_bias=true mamba_proj_bias=false "},
    {"granitemoeshared",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false num_local_experts=8 num_experts_per_tok=2 shared_intermediate_size=0 "},
    {"helium",
     " vocab_size=48000 hidden_size=2560 intermediate_size=7040 num_hidden_layers=24 "
     "num_attention_heads=20 num_key_value_heads=20 head_dim=128 max_position_embeddings=4096 "
     "tie_word_embeddings=false attention_bias=false mlp_bias=false "},
    {"hrm_text",
     " vocab_size=151808 hidden_size=1536 intermediate_size=4096 num_hidden_layers=16 "
     "num_attention_heads=12 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false head_dim=128 num_layers_per_stack=16 "},
    {"hunyuan_v1_dense",
     " vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false "},
    {"hunyuan_v1_moe",
     " vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false num_experts=1 moe_topk=1 "},
    {"hy_v3",
     " vocab_size=120832 hidden_size=4096 intermediate_size=13312 num_hidden_layers=80 "
     "num_attention_heads=64 num_key_value_heads=8 head_dim=128 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false mlp_bias=false num_experts=192 "
     "num_experts_per_tok=8 num_shared_experts=1 moe_intermediate_size=1536 "
     "first_k_dense_replace=1 "},
    {"hy_v4",
     " vocab_size=120832 hidden_size=2816 intermediate_size=6912 moe_intermediate_size=768 "
     "num_hidden_layers=34 num_attention_heads=32 num_key_value_heads=32 head_dim=256 "
     "max_position_embeddings=262144 tie_word_embeddings=false attention_bias=false "
     "n_routed_experts=256 n_shared_experts=1 num_experts_per_tok=8 q_lora_rank=1536 "
     "kv_lora_rank=512 qk_nope_head_dim=192 qk_rope_head_dim=64 v_head_dim=256 index_head_dim=128 "
     "index_n_heads=16 hc_mult=4 first_k_dense_replace=1 "},
    {"hyperclovax",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false "},
    {"inkling2_loop_text",
     " vocab_size=201024 hidden_size=2304 num_hidden_layers=24 num_attention_heads=24 "
     "num_key_value_heads=8 head_dim=128 swa_num_attention_heads=24 swa_num_key_value_heads=8 "
     "swa_head_dim=128 sliding_window_size=1024 d_rel=16 rel_extent=1024 "
     "max_position_embeddings=1048576 conv_kernel_size=4 moe_intermediate_size=1152 "
     "n_routed_experts=128 num_experts_per_tok=8 "},
    {"inkling2_text",
     " vocab_size=201024 hidden_size=4608 num_hidden_layers=48 num_attention_heads=48 "
     "num_key_value_heads=8 head_dim=128 swa_num_attention_heads=48 swa_num_key_value_heads=8 "
     "swa_head_dim=128 sliding_window_size=1024 d_rel=16 rel_extent=1024 "
     "max_position_embeddings=1048576 conv_kernel_size=4 moe_intermediate_size=2304 "
     "n_routed_experts=384 num_experts_per_tok=8 "},
    {"inkling_text",
     " vocab_size=201024 hidden_size=6144 num_hidden_layers=66 num_attention_heads=64 "
     "num_key_value_heads=8 head_dim=128 swa_num_attention_heads=64 swa_num_key_value_heads=16 "
     "swa_head_dim=128 sliding_window_size=512 d_rel=16 rel_extent=1024 "
     "max_position_embeddings=131072 conv_kernel_size=4 intermediate_size=24576 "
     "moe_intermediate_size=3072 n_routed_experts=256 num_experts_per_tok=6 n_shared_experts=2 "},
    {"internlm3",
     " vocab_size=128512 hidden_size=4096 intermediate_size=10240 num_hidden_layers=48 "
     "num_attention_heads=32 num_key_value_heads=2 max_position_embeddings=32768 "
     "tie_word_embeddings=false attention_bias=false mlp_bias=false head_dim=128 "},
    {"iquestcoder",
     " vocab_size=76800 hidden_size=5120 intermediate_size=27648 num_hidden_layers=80 "
     "num_attention_heads=40 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false mlp_bias=false head_dim=128 "},
    {"jais2",
     " vocab_size=150272 hidden_size=3328 intermediate_size=26624 num_hidden_layers=32 "
     "num_attention_heads=26 max_position_embeddings=8192 tie_word_embeddings=false "
     "attention_bias=true mlp_bias=true "},
};
// clang-format on

} // namespace headwater::estimator
