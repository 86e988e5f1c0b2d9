#include "estimator/defaults_table.hpp"

namespace headwater::estimator {

// clang-format off
const DefaultsRow defaults_second[] = {
    {"jamba",
     " vocab_size=65536 tie_word_embeddings=false hidden_size=4096 intermediate_size=14336 "
     "num_hidden_layers=32 num_attention_heads=32 num_key_value_heads=8 "
     "max_position_embeddings=262144 num_experts_per_tok=2 num_experts=16 expert_layer_period=2 "
     "expert_layer_offset=1 attn_layer_period=8 attn_layer_offset=4 mamba_d_state=16 "
     "mamba_d_conv=4 mamba_expand=2 mamba_dt_rank=auto mamba_conv_bias=true mamba_proj_bias=false "},
    {"jetmoe",
     " vocab_size=32000 hidden_size=2048 num_hidden_layers=12 num_key_value_heads=16 "
     "kv_channels=128 intermediate_size=5632 max_position_embeddings=4096 num_local_experts=8 "
     "num_experts_per_tok=2 tie_word_embeddings=true num_attention_heads=32 "},
    {"kimi_linear",
     " vocab_size=163840 hidden_size=2304 intermediate_size=9216 moe_intermediate_size=1024 "
     "num_hidden_layers=27 num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 "
     "kv_lora_rank=512 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 "
     "num_experts_per_tok=8 max_position_embeddings=1048576 tie_word_embeddings=false "
     "attention_bias=false num_local_experts=256 linear_head_dim=128 linear_num_heads=32 "
     "linear_conv_kernel_dim=4 first_k_dense_replace=1 "},
    {"kolibri1",
     " vocab_size=128000 hidden_size=2560 num_hidden_layers=50 num_attention_heads=48 "
     "num_key_value_heads=4 max_position_embeddings=262144 tie_word_embeddings=false "
     "sliding_window=513 moe_intermediate_size=512 num_experts_per_tok=6 num_experts=384 "
     "head_dim=128 shared_expert_intermediate_size=512 "},
    {"laguna",
     " vocab_size=100352 hidden_size=2048 intermediate_size=8192 num_hidden_layers=40 "
     "num_attention_heads=48 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false sliding_window=512 moe_intermediate_size=512 "
     "shared_expert_intermediate_size=512 num_experts_per_tok=8 num_experts=256 head_dim=128 "
     "attention_bias=false first_k_dense_replace=1 "},
    {"lara_mini",
     " vocab_size=151936 hidden_size=1024 num_hidden_layers=34 num_attention_heads=16 "
     "num_key_value_heads=4 max_position_embeddings=131072 tie_word_embeddings=true "
     "attention_bias=false head_dim=128 linear_conv_kernel_dim=4 linear_key_head_dim=128 "
     "linear_value_head_dim=128 linear_num_key_heads=8 linear_num_value_heads=16 "
     "moe_intermediate_size=512 shared_expert_intermediate_size=512 num_experts_per_tok=4 "
     "num_experts=128 sliding_window=512 "},
    {"led",
     " vocab_size=50265 max_encoder_position_embeddings=16384 "
     "max_decoder_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 tie_word_embeddings=true "},
    {"lfm2",
     " vocab_size=65536 hidden_size=2560 intermediate_size=12288 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=128000 "
     "tie_word_embeddings=true conv_bias=false conv_L_cache=3 block_multiple_of=256 "
     "block_auto_adjust_ff_dim=true "},
    {"lfm2_moe",
     " vocab_size=65536 hidden_size=2048 intermediate_size=7168 moe_intermediate_size=1792 "
     "num_hidden_layers=32 tie_word_embeddings=true max_position_embeddings=128000 "
     "num_attention_heads=32 num_key_value_heads=8 conv_bias=false conv_L_cache=3 "
     "num_dense_layers=2 num_experts_per_tok=4 num_experts=32 "},
    {"lfm3",
     " vocab_size=128000 hidden_size=2048 intermediate_size=7680 num_hidden_layers=24 "
     "num_attention_heads=16 num_key_value_heads=4 max_position_embeddings=128000 "
     "tie_word_embeddings=true conv_bias=false conv_L_cache=7 head_dim=128 sliding_window=256 "
     "attention_bias=false "},
    {"llama",
     " vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false "},
    {"llama4_text",
     " vocab_size=202048 hidden_size=5120 intermediate_size=8192 intermediate_size_mlp=16384 "
     "num_hidden_layers=48 num_attention_heads=40 num_key_value_heads=8 head_dim=128 "
     "max_position_embeddings=131072 tie_word_embeddings=false num_experts_per_tok=1 "
     "num_local_experts=16 interleave_moe_layer_step=1 use_qk_norm=true no_rope_layer_interval=4 "
     "attention_chunk_size=8192 attention_bias=false "},
    {"longcat_flash",
     " vocab_size=131072 hidden_size=6144 num_layers=28 num_attention_heads=64 "
     "max_position_embeddings=131072 tie_word_embeddings=false attention_bias=false "
     "ffn_hidden_size=12288 q_lora_rank=1536 kv_lora_rank=512 qk_nope_head_dim=128 "
     "qk_rope_head_dim=64 head_dim=64 v_head_dim=128 moe_topk=12 n_routed_experts=512 "
     "zero_expert_num=256 expert_ffn_hidden_size=2048 "},
    {"longt5",
     " vocab_size=32128 d_model=512 d_kv=64 d_ff=2048 num_layers=6 num_heads=8 "
     "relative_attention_num_buckets=32 feed_forward_proj=relu encoder_attention_type=local "
     "is_decoder=false tie_word_embeddings=true "},
    {"m2m_100",
     " vocab_size=128112 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 tie_word_embeddings=true "},
    {"mamba",
     " vocab_size=50280 hidden_size=768 state_size=16 num_hidden_layers=32 expand=2 conv_kernel=4 "
     "use_bias=false use_conv_bias=true time_step_rank=auto tie_word_embeddings=true "},
    {"mamba2",
     " num_heads=128 head_dim=64 vocab_size=32768 hidden_size=4096 state_size=128 "
     "num_hidden_layers=64 expand=2 conv_kernel=4 n_groups=8 use_bias=false use_conv_bias=true "
     "time_step_rank=auto tie_word_embeddings=false "},
    {"marian",
     " vocab_size=58101 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 is_decoder=false tie_word_embeddings=true "},
    {"mbart",
     " vocab_size=50265 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 is_decoder=false tie_word_embeddings=true "},
    {"megatron-bert",
     " vocab_size=29056 hidden_size=1024 num_hidden_layers=24 num_attention_heads=16 "
     "intermediate_size=4096 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"mellum",
     " vocab_size=98304 hidden_size=2304 intermediate_size=7168 num_hidden_layers=28 "
     "num_attention_heads=32 num_key_value_heads=4 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false sliding_window=1024 "
     "moe_intermediate_size=896 num_experts_per_tok=8 num_experts=64 head_dim=128 "},
    {"mimo_v2_flash",
     " vocab_size=152576 hidden_size=4096 intermediate_size=16384 num_hidden_layers=48 "
     "num_attention_heads=64 num_key_value_heads=4 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false moe_intermediate_size=2048 "
     "num_experts_per_tok=8 n_routed_experts=256 head_dim=192 v_head_dim=128 sliding_window=129 "
     "first_k_dense_replace=1 "},
    {"minicpm3",
     " vocab_size=73448 hidden_size=2560 intermediate_size=6400 num_hidden_layers=62 "
     "num_attention_heads=40 num_key_value_heads=40 max_position_embeddings=32768 "
     "tie_word_embeddings=true attention_bias=false mlp_bias=false kv_lora_rank=256 "
     "q_lora_rank=768 qk_nope_head_dim=64 qk_rope_head_dim=32 v_head_dim=64 "},
    {"minimax",
     " vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false num_experts_per_tok=2 num_local_experts=8 block_size=256 "},
    {"minimax_m2",
     " vocab_size=200064 hidden_size=3072 intermediate_size=1536 num_hidden_layers=62 "
     "num_attention_heads=48 num_key_value_heads=8 head_dim=128 max_position_embeddings=196608 "
     "tie_word_embeddings=false num_experts_per_tok=8 num_local_experts=256 "},
    {"minimax_m3_vl_text",
     " vocab_size=200064 hidden_size=6144 intermediate_size=3072 num_hidden_layers=60 "
     "num_attention_heads=64 num_key_value_heads=4 head_dim=128 max_position_embeddings=524288 "
     "tie_word_embeddings=false num_experts_per_tok=4 num_local_experts=128 "
     "shared_intermediate_size=3072 index_n_heads=4 index_head_dim=128 "},
    {"ministral",
     " vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false sliding_window=4096 "},
    {"ministral3",
     " vocab_size=131072 hidden_size=4096 intermediate_size=14336 num_hidden_layers=34 "
     "num_attention_heads=32 num_key_value_heads=8 head_dim=128 max_position_embeddings=262144 "
     "tie_word_embeddings=false "},
    {"mistral",
     " vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false sliding_window=4096 "},
    {"mistral4",
     " vocab_size=131072 hidden_size=4096 intermediate_size=12288 moe_intermediate_size=2048 "
     "num_hidden_layers=36 num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 "
     "n_routed_experts=128 kv_lora_rank=256 q_lora_rank=1024 qk_rope_head_dim=64 v_head_dim=128 "
     "qk_nope_head_dim=64 num_experts_per_tok=4 first_k_dense_replace=0 "
     "max_position_embeddings=1048576 tie_word_embeddings=false attention_bias=false "},
    {"mixtral",
     " vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false num_experts_per_tok=2 num_local_experts=8 "},
    {"modernbert-decoder",
     " vocab_size=50368 hidden_size=768 intermediate_size=1152 num_hidden_layers=22 "
     "num_attention_heads=12 max_position_embeddings=8192 norm_bias=false attention_bias=false "
     "mlp_bias=false decoder_bias=true classifier_bias=false tie_word_embeddings=true "},
    {"moshi",
     " vocab_size=32000 hidden_size=4096 num_hidden_layers=32 num_attention_heads=32 "
     "max_position_embeddings=3000 sliding_window=3000 ffn_dim=22528 tie_word_embeddings=false "},
    {"mpt",
     " d_model=2048 n_heads=16 n_layers=24 expansion_ratio=4 max_seq_len=2048 vocab_size=50368 "
     "tie_word_embeddings=true "},
    {"mt5",
     " vocab_size=250112 d_model=512 d_kv=64 d_ff=1024 num_layers=8 num_heads=6 "
     "relative_attention_num_buckets=32 feed_forward_proj=gated-gelu tie_word_embeddings=true "
     "is_decoder=false "},
    {"musicflamingo", " projector_bias=true "},
    {"mvp",
     " vocab_size=50267 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 prompt_length=100 is_decoder=false "
     "tie_word_embeddings=true "},
    {"nanochat",
     " vocab_size=50304 hidden_size=768 intermediate_size=8192 num_hidden_layers=12 "
     "num_attention_heads=6 max_position_embeddings=2048 attention_bias=false "
     "tie_word_embeddings=false "},
    {"nemotron",
     " vocab_size=256000 hidden_size=6144 intermediate_size=24576 num_hidden_layers=32 "
     "num_attention_heads=48 max_position_embeddings=4096 tie_word_embeddings=false "
     "attention_bias=false mlp_bias=false "},
    {"nemotron_h",
     " vocab_size=131072 hidden_size=4096 tie_word_embeddings=false num_attention_heads=32 "
     "num_key_value_heads=8 head_dim=128 max_position_embeddings=4096 attention_bias=false "
     "intermediate_size=21504 mlp_bias=false ssm_state_size=128 mamba_num_heads=128 "
     "mamba_head_dim=64 n_groups=8 conv_kernel=4 expand=2 use_conv_bias=true "
     "mamba_proj_bias=false n_routed_experts=8 n_shared_experts=1 moe_intermediate_size=7688 "
     "moe_shared_expert_intermediate_size=7688 num_experts_per_tok=2 num_nextn_predict_layers=0 "
     "use_bias=false "},
    {"nllb-moe",
     " vocab_size=128112 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 router_bias=false num_experts=128 "
     "encoder_sparse_step=4 decoder_sparse_step=4 tie_word_embeddings=true "},
    {"olmo",
     " vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false "},
    {"olmo2",
     " vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false "},
    {"olmo3",
     " vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "attention_bias=false sliding_window=4096 "},
    {"olmo_hybrid",
     " vocab_size=100352 hidden_size=3840 intermediate_size=11008 num_hidden_layers=32 "
     "num_attention_heads=30 max_position_embeddings=65536 tie_word_embeddings=false "
     "attention_bias=false linear_conv_kernel_dim=4 linear_num_key_heads=30 "
     "linear_num_value_heads=30 linear_key_head_dim=96 linear_value_head_dim=192 "},
    {"olmoe",
     " vocab_size=50304 hidden_size=2048 intermediate_size=2048 num_hidden_layers=16 "
     "num_attention_heads=16 max_position_embeddings=4096 tie_word_embeddings=false "
     "attention_bias=false num_experts_per_tok=8 num_experts=64 "},
    {"openai-gpt", " vocab_size=40478 n_positions=512 n_embd=768 n_layer=12 n_head=12 tie_word_embeddings=true "},
    {"opt",
     " vocab_size=50272 hidden_size=768 num_hidden_layers=12 ffn_dim=3072 "
     "max_position_embeddings=2048 do_layer_norm_before=true num_attention_heads=12 "
     "enable_bias=true tie_word_embeddings=true "},
    {"pegasus",
     " vocab_size=50265 max_position_embeddings=1024 encoder_layers=12 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=12 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 is_decoder=false tie_word_embeddings=true "},
    {"pegasus_x",
     " vocab_size=96103 max_position_embeddings=16384 encoder_layers=16 encoder_ffn_dim=4096 "
     "encoder_attention_heads=16 decoder_layers=16 decoder_ffn_dim=4096 "
     "decoder_attention_heads=16 d_model=1024 num_global_tokens=32 block_size=512 "
     "tie_word_embeddings=true "},
    {"persimmon",
     " vocab_size=262144 hidden_size=4096 intermediate_size=16384 num_hidden_layers=36 "
     "num_attention_heads=64 max_position_embeddings=16384 tie_word_embeddings=false "
     "qk_layernorm=true "},
    {"phi",
     " vocab_size=51200 hidden_size=2048 intermediate_size=8192 num_hidden_layers=24 "
     "num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false "
     "qk_layernorm=false "},
    {"phi3",
     " vocab_size=32064 hidden_size=3072 intermediate_size=8192 num_hidden_layers=32 "
     "num_attention_heads=32 max_position_embeddings=4096 tie_word_embeddings=false "},
    {"phi4_multimodal",
     " vocab_size=200064 hidden_size=3072 intermediate_size=8192 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false "},
    {"phimoe",
     " vocab_size=32064 hidden_size=4096 intermediate_size=6400 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 "
     "tie_word_embeddings=false num_experts_per_tok=2 num_local_experts=16 attention_bias=false "
     "lm_head_bias=false "},
    {"plbart",
     " vocab_size=50005 max_position_embeddings=1024 encoder_layers=6 encoder_ffn_dim=3072 "
     "encoder_attention_heads=12 decoder_layers=6 decoder_ffn_dim=3072 decoder_attention_heads=12 "
     "d_model=768 is_decoder=false tie_word_embeddings=true "},
    {"prophetnet",
     " vocab_size=30522 hidden_size=1024 encoder_ffn_dim=4096 decoder_ffn_dim=4096 "
     "num_decoder_layers=12 num_decoder_attention_heads=16 max_position_embeddings=512 "
     "add_cross_attention=true ngram=2 num_buckets=32 is_decoder=false tie_word_embeddings=true "},
    {"qwen2",
     " vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=32 max_position_embeddings=32768 "
     "tie_word_embeddings=false use_sliding_window=false sliding_window=4096 max_window_layers=28 "},
    {"qwen2_moe",
     " vocab_size=151936 hidden_size=2048 intermediate_size=5632 num_hidden_layers=24 "
     "num_attention_heads=16 num_key_value_heads=16 max_position_embeddings=32768 "
     "tie_word_embeddings=false use_sliding_window=false sliding_window=4096 max_window_layers=28 "
     "decoder_sparse_step=1 moe_intermediate_size=1408 shared_expert_intermediate_size=5632 "
     "num_experts_per_tok=4 num_experts=60 qkv_bias=true "},
    {"qwen3",
     " vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=32 head_dim=128 max_position_embeddings=32768 "
     "tie_word_embeddings=false attention_bias=false use_sliding_window=false sliding_window=4096 "
     "max_window_layers=28 "},
    {"qwen3_5_moe", " tie_word_embeddings=false "},
    {"qwen3_5_moe_text",
     " vocab_size=248320 hidden_size=2048 num_hidden_layers=40 num_attention_heads=16 "
     "num_key_value_heads=2 max_position_embeddings=32768 tie_word_embeddings=false "
     "attention_bias=false head_dim=256 linear_conv_kernel_dim=4 linear_key_head_dim=128 "
     "linear_value_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=32 "
     "moe_intermediate_size=512 shared_expert_intermediate_size=512 num_experts_per_tok=8 "
     "num_experts=256 "},
    {"qwen3_5_text",
     " vocab_size=248320 hidden_size=4096 intermediate_size=12288 num_hidden_layers=32 "
     "num_attention_heads=16 num_key_value_heads=4 max_position_embeddings=32768 "
     "tie_word_embeddings=false attention_bias=false head_dim=256 linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=32 "},
    {"qwen3_moe",
     " vocab_size=151936 hidden_size=2048 intermediate_size=6144 num_hidden_layers=24 "
     "num_attention_heads=32 num_key_value_heads=4 max_position_embeddings=32768 "
     "tie_word_embeddings=false attention_bias=false use_sliding_window=false sliding_window=4096 "
     "decoder_sparse_step=1 moe_intermediate_size=768 num_experts_per_tok=8 num_experts=128 "},
    {"qwen3_next",
     " vocab_size=151936 hidden_size=2048 intermediate_size=5632 num_hidden_layers=48 "
     "num_attention_heads=16 num_key_value_heads=2 max_position_embeddings=32768 "
     "tie_word_embeddings=false attention_bias=false head_dim=256 linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=32 decoder_sparse_step=1 moe_intermediate_size=512 "
     "shared_expert_intermediate_size=512 num_experts_per_tok=10 num_experts=512 "},
    {"recurrent_gemma",
     " num_hidden_layers=26 vocab_size=256000 hidden_size=2560 intermediate_size=7680 "
     "num_attention_heads=10 attention_window_size=2048 conv1d_width=4 "
     "block_types=recurrent,recurrent,attention attention_bias=false tie_word_embeddings=true "},
    {"rembert",
     " vocab_size=250300 hidden_size=1152 num_hidden_layers=32 num_attention_heads=18 "
     "input_embedding_size=256 output_embedding_size=1664 intermediate_size=4608 "
     "max_position_embeddings=512 type_vocab_size=2 is_decoder=false add_cross_attention=false "
     "tie_word_embeddings=false "},
    {"roberta",
     " vocab_size=50265 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"roberta-prelayernorm",
     " vocab_size=50265 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"roc_bert",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 "
     "enable_pronunciation=true enable_shape=true pronunciation_embed_dim=768 "
     "pronunciation_vocab_size=910 shape_embed_dim=512 shape_vocab_size=24858 concat_input=true "
     "is_decoder=false add_cross_attention=false tie_word_embeddings=true "},
    {"roformer",
     " vocab_size=50000 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=1536 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"rwkv", " vocab_size=50277 hidden_size=4096 num_hidden_layers=32 tie_word_embeddings=false "},
    {"sarvam_mla",
     " vocab_size=262144 hidden_size=4096 intermediate_size=16384 moe_intermediate_size=2048 "
     "num_hidden_layers=32 num_attention_heads=64 n_shared_experts=1 n_routed_experts=128 "
     "kv_lora_rank=512 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 "
     "num_experts_per_tok=8 first_k_dense_replace=1 max_position_embeddings=4096 "
     "tie_word_embeddings=false attention_bias=false "},
    {"sarvam_moe",
     " vocab_size=262144 hidden_size=4096 intermediate_size=8192 num_hidden_layers=19 "
     "num_attention_heads=64 num_key_value_heads=4 max_position_embeddings=131072 "
     "tie_word_embeddings=false attention_bias=false moe_intermediate_size=1024 "
     "num_experts_per_tok=6 n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1 "
     "use_qk_norm=true head_dim=64 "},
    {"seamless_m4t",
     " vocab_size=256102 hidden_size=1024 max_position_embeddings=1024 encoder_layers=24 "
     "encoder_ffn_dim=8192 encoder_attention_heads=16 decoder_layers=24 decoder_ffn_dim=8192 "
     "decoder_attention_heads=16 max_source_positions=4096 tie_word_embeddings=true "},
    {"seamless_m4t_v2",
     " vocab_size=256102 hidden_size=1024 max_position_embeddings=4096 encoder_layers=24 "
     "encoder_ffn_dim=8192 encoder_attention_heads=16 decoder_layers=24 decoder_ffn_dim=8192 "
     "decoder_attention_heads=16 tie_word_embeddings=true "},
    {"seed_oss",
     " vocab_size=155136 hidden_size=4096 intermediate_size=27648 num_hidden_layers=64 "
     "num_attention_heads=80 num_key_value_heads=8 max_position_embeddings=524288 "
     "tie_word_embeddings=false attention_bias=true attention_out_bias=false mlp_bias=false "
     "head_dim=128 "},
    {"smollm3",
     " vocab_size=128256 hidden_size=2048 intermediate_size=11008 num_hidden_layers=36 "
     "num_attention_heads=16 num_key_value_heads=4 max_position_embeddings=32768 "
     "use_sliding_window=false no_rope_layer_interval=4 attention_bias=false mlp_bias=false "
     "tie_word_embeddings=true "},
    {"solar_open",
     " vocab_size=196608 hidden_size=4096 num_hidden_layers=48 num_attention_heads=64 "
     "num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false "
     "attention_bias=false moe_intermediate_size=1280 num_experts_per_tok=8 n_shared_experts=1 "
     "n_routed_experts=128 head_dim=128 "},
    {"stablelm",
     " vocab_size=50304 intermediate_size=6912 hidden_size=2560 num_hidden_layers=32 "
     "num_attention_heads=32 num_key_value_heads=32 max_position_embeddings=4096 "
     "tie_word_embeddings=false use_qkv_bias=false qk_layernorm=false use_parallel_residual=false "},
    {"starcoder2",
     " vocab_size=49152 hidden_size=3072 intermediate_size=12288 num_hidden_layers=30 "
     "num_attention_heads=24 num_key_value_heads=2 max_position_embeddings=4096 use_bias=true "
     "tie_word_embeddings=true "},
    {"switch_transformers",
     " vocab_size=32128 d_model=768 d_kv=64 d_ff=2048 num_layers=12 num_sparse_encoder_layers=3 "
     "num_decoder_layers=12 num_sparse_decoder_layers=3 num_heads=12 num_experts=8 "
     "router_bias=false relative_attention_num_buckets=32 tie_word_embeddings=true "
     "is_decoder=false add_cross_attention=false "},
    {"t5",
     " vocab_size=32128 d_model=512 d_kv=64 d_ff=2048 num_layers=6 num_heads=8 "
     "relative_attention_num_buckets=32 feed_forward_proj=relu is_decoder=false "},
    {"t5_gemma_module",
     " hidden_size=2304 vocab_size=256000 intermediate_size=9216 num_hidden_layers=26 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=8192 "
     "sliding_window=4096 tie_word_embeddings=true attention_bias=false "},
    {"t5gemma", " tie_word_embeddings=true vocab_size=256000 "},
    {"trocr",
     " vocab_size=50265 d_model=1024 decoder_layers=12 decoder_attention_heads=16 "
     "decoder_ffn_dim=4096 max_position_embeddings=512 layernorm_embedding=true is_decoder=false "
     "tie_word_embeddings=true "},
    {"umt5",
     " vocab_size=250112 d_model=512 d_kv=64 d_ff=1024 num_layers=8 num_heads=6 "
     "relative_attention_num_buckets=32 feed_forward_proj=gated-gelu is_decoder=false "},
    {"vaultgemma",
     " vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=8192 "
     "tie_word_embeddings=true attention_bias=false sliding_window=4096 "},
    {"whisper",
     " vocab_size=51865 num_mel_bins=80 encoder_layers=4 encoder_attention_heads=6 "
     "decoder_layers=4 decoder_attention_heads=6 decoder_ffn_dim=1536 encoder_ffn_dim=1536 "
     "d_model=384 max_source_positions=1500 max_target_positions=448 tie_word_embeddings=true "},
    {"xglm",
     " vocab_size=256008 max_position_embeddings=2048 d_model=1024 ffn_dim=4096 num_layers=24 "
     "attention_heads=16 add_cross_attention=false tie_word_embeddings=true "},
    {"xlm",
     " vocab_size=30145 emb_dim=2048 n_layers=12 n_heads=16 n_langs=1 use_lang_emb=true "
     "max_position_embeddings=512 tie_word_embeddings=true "},
    {"xlm-roberta",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"xlm-roberta-xl",
     " vocab_size=250880 hidden_size=2560 num_hidden_layers=36 num_attention_heads=32 "
     "intermediate_size=10240 max_position_embeddings=514 type_vocab_size=1 is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"xlnet", " vocab_size=32000 d_model=1024 n_layer=24 n_head=16 d_inner=4096 tie_word_embeddings=true "},
    {"xlstm",
     " vocab_size=50304 hidden_size=4096 num_hidden_layers=32 num_heads=8 use_bias=false "
     "tie_word_embeddings=false ffn_round_up_to_multiple_of=64 num_blocks=32 "},
    {"xmod",
     " vocab_size=30522 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
     "intermediate_size=3072 max_position_embeddings=512 type_vocab_size=2 "
     "adapter_reduction_factor=2 adapter_layer_norm=false languages=en_XX is_decoder=false "
     "add_cross_attention=false tie_word_embeddings=true "},
    {"youtu",
     " vocab_size=128256 hidden_size=2048 intermediate_size=6144 num_hidden_layers=32 "
     "num_attention_heads=16 num_key_value_heads=16 kv_lora_rank=512 q_lora_rank=1536 "
     "qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 max_position_embeddings=131072 "
     "tie_word_embeddings=true attention_bias=false "},
    {"zamba",
     " vocab_size=32000 tie_word_embeddings=true hidden_size=3712 intermediate_size=14848 "
     "num_hidden_layers=76 num_attention_heads=16 num_key_value_heads=16 n_mamba_heads=2 "
     "max_position_embeddings=4096 attn_layer_period=6 attn_layer_offset=4 mamba_d_state=16 "
     "mamba_d_conv=4 mamba_expand=2 mamba_dt_rank=auto mamba_conv_bias=true mamba_proj_bias=false "},
    {"zamba2",
     " vocab_size=32000 max_position_embeddings=4096 hidden_size=2560 num_hidden_layers=54 "
     "mamba_d_state=64 mamba_d_conv=4 mamba_expand=2 mamba_ngroups=1 n_mamba_heads=8 "
     "use_conv_bias=true add_bias_linear=false num_attention_heads=32 num_mem_blocks=1 "
     "use_shared_attention_adapter=false adapter_rank=128 tie_word_embeddings=true "
     "hybrid_layer_ids=6,12,18,24,30,36,42,47,51 "},
    {"zaya",
     " vocab_size=262272 hidden_size=2048 num_hidden_layers=40 num_attention_heads=8 "
     "num_key_value_heads=2 max_position_embeddings=131072 tie_word_embeddings=true "
     "moe_intermediate_size=2048 num_experts_per_tok=1 num_experts=16 head_dim=128 "
     "attention_bias=false lm_head_bias=false router_hidden_size=256 cca_time0=2 cca_time1=2 "},
};
// clang-format on

} // namespace headwater::estimator
