"""Configurations with the numbers of real models, under names of our own. Only keys that say something are kept."""

INF = float("inf")


def nemotron(**more):
    return {"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "attention_bias": False,
            "attention_dropout": 0.0,
            "auto_map": {"AutoConfig": "configuration_nemotron_h.NemotronHConfig",
                         "AutoModelForCausalLM": "modeling_nemotron_h.NemotronHForCausalLM"},
            "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "chunk_size": 128, "conv_kernel": 4, "expand": 2,
            "head_dim": 128, "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
            "mamba_head_dim": 64, "mamba_hidden_act": "silu", "mamba_proj_bias": False, "mamba_ssm_cache_dtype": "float32",
            "max_position_embeddings": 262144, "mlp_bias": False, "mlp_hidden_act": "relu2", "n_group": 1, "n_groups": 8,
            "n_shared_experts": 1, "norm_eps": 1e-05, "norm_topk_prob": True, "num_attention_heads": 32,
            "num_key_value_heads": 2, "num_logits_to_keep": 1, "partial_rotary_factor": 1.0,
            "rescale_prenorm_residual": True, "residual_in_fp32": False, "rope_theta": 10000, "sliding_window": None,
            "ssm_state_size": 128, "tie_word_embeddings": False, "time_step_floor": 0.0001, "time_step_max": 0.1,
            "time_step_min": 0.001, "topk_group": 1, "use_bias": False, "use_cache": True, "use_conv_bias": True,
            "use_mamba_kernels": True, "vocab_size": 131072, **more}


def qwen3(hidden, inter, layers, heads, tied):
    return {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": hidden,
            "initializer_range": 0.02, "intermediate_size": inter, "max_position_embeddings": 40960,
            "max_window_layers": layers, "num_attention_heads": heads, "num_hidden_layers": layers,
            "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 1000000,
            "sliding_window": None, "tie_word_embeddings": tied, "torch_dtype": "bfloat16",
            "transformers_version": "4.51.0", "use_cache": True, "use_sliding_window": False, "vocab_size": 151936}


LLAMA3_ROPE = {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
               "rope_type": "llama3"}


def llama3(**more):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
            "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": False,
            "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
            "rope_scaling": dict(LLAMA3_ROPE), "rope_theta": 500000.0, "tie_word_embeddings": True,
            "torch_dtype": "bfloat16", "transformers_version": "4.45.0", "use_cache": True, "vocab_size": 128256, **more}


NEMOTRON_NANO = nemotron(
    hidden_size=2688, intermediate_size=1856, moe_intermediate_size=1856, moe_shared_expert_intermediate_size=3712,
    hybrid_override_pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", mamba_num_heads=64,
    n_routed_experts=128, num_experts_per_tok=6, num_hidden_layers=52, routed_scaling_factor=2.5,
    torch_dtype="bfloat16", transformers_version="4.53.2")

NEMOTRON_SUPER = nemotron(
    hidden_size=4096, intermediate_size=2688, moe_intermediate_size=2688, moe_latent_size=1024,
    moe_shared_expert_intermediate_size=5376, moe_shared_expert_overlap=False,
    hybrid_override_pattern="MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
    mamba_num_heads=128, mtp_hybrid_override_pattern="*E", num_nextn_predict_layers=1, n_routed_experts=512,
    num_experts_per_tok=22, num_hidden_layers=88, routed_scaling_factor=5.0, time_step_limit=[0.0, INF],
    dtype="bfloat16", transformers_version="4.57.1")

ILAMA_1B = {**llama3(), "architectures": ["IlamaForCausalLM"], "model_type": "ilama",
            "auto_map": {"AutoConfig": "configuration_ilama.IlamaConfig",
                         "AutoModelForCausalLM": "modeling_ilama.IlamaForCausalLM"}}

LLAMA_1B = llama3()

LLAMA_405B = llama3(head_dim=128, hidden_size=16384, intermediate_size=53248, num_attention_heads=128,
                    num_hidden_layers=126, num_key_value_heads=16, tie_word_embeddings=False,
                    rope_scaling={**LLAMA3_ROPE, "factor": 8.0})

DIFFUSION_8B = {"architectures": ["NemotronLabsDiffusionModel"], "model_type": "nemotron_labs_diffusion",
                "auto_map": {"AutoConfig": "configuration_nemotron_labs_diffusion.NemotronLabsDiffusionConfig",
                             "AutoModel": "modeling_nemotron_labs_diffusion.NemotronLabsDiffusionModel"},
                "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu",
                "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 262144, "mlp_bias": False,
                "num_attention_heads": 32, "num_hidden_layers": 34, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
                "rope_theta": 1000000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "vocab_size": 131072}

QWEN3_06B = qwen3(1024, 3072, 28, 16, True)
QWEN3_17B = qwen3(2048, 6144, 28, 16, True)
QWEN3_8B = qwen3(4096, 12288, 36, 32, False)

MIXTRAL_8X7B = {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "attention_dropout": 0.0,
                "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096,
                "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768,
                "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
                "num_local_experts": 8, "output_router_logits": False, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
                "router_aux_loss_coef": 0.02, "sliding_window": None, "tie_word_embeddings": False,
                "torch_dtype": "bfloat16", "transformers_version": "4.36.0", "use_cache": True, "vocab_size": 32000}

MISTRAL_12B = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "attention_dropout": 0.0,
               "bos_token_id": 1, "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
               "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 1024000,
               "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
               "rope_theta": 1000000.0, "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
               "transformers_version": "4.43.0", "use_cache": True, "vocab_size": 131072}

LLAMA2_7B = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "bos_token_id": 1, "eos_token_id": 2,
             "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 11008,
             "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
             "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": None,
             "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.31.0", "use_cache": True,
             "vocab_size": 32000}

PHI2_OLD = {"architectures": ["PhiForCausalLM"], "model_type": "phi-msft",
            "auto_map": {"AutoConfig": "configuration_phi.PhiConfig", "AutoModelForCausalLM": "modeling_phi.PhiForCausalLM"},
            "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0, "initializer_range": 0.02,
            "layer_norm_epsilon": 1e-05, "n_embd": 2560, "n_head": 32, "n_head_kv": None, "n_inner": None, "n_layer": 32,
            "n_positions": 2048, "resid_pdrop": 0.1, "rotary_dim": 32, "tie_word_embeddings": False,
            "torch_dtype": "float16", "transformers_version": "4.35.2", "vocab_size": 51200}

PHI2_NEW = {"architectures": ["PhiForCausalLM"], "model_type": "phi", "attention_dropout": 0.0, "bos_token_id": 50256,
            "eos_token_id": 50256, "embd_pdrop": 0.0, "hidden_act": "gelu_new", "hidden_size": 2560,
            "initializer_range": 0.02, "intermediate_size": 10240, "layer_norm_eps": 1e-05,
            "max_position_embeddings": 2048, "num_attention_heads": 32, "num_hidden_layers": 32,
            "num_key_value_heads": 32, "partial_rotary_factor": 0.4, "qk_layernorm": False, "resid_pdrop": 0.1,
            "rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "float16",
            "transformers_version": "4.37.0", "use_cache": True, "vocab_size": 51200}


def phi3_rope(name, stretch):
    """48 factors a list; the numbers of the demo are a smooth curve of our own."""
    long = [round(1.0 + stretch * (i / 47) ** 2 * 63, 4) for i in range(48)]
    short = [round(1.0 + stretch * i / 47 * 1.8, 4) for i in range(48)]
    return {"long_factor": long, "short_factor": short, "type": name}


PHI3_MINI = {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "attention_bias": False, "attention_dropout": 0.0,
             "bos_token_id": 1, "eos_token_id": 32000, "embd_pdrop": 0.0, "hidden_act": "silu", "hidden_size": 3072,
             "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072,
             "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
             "original_max_position_embeddings": 4096, "pad_token_id": 32000, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05,
             "rope_scaling": phi3_rope("su", 0.9), "rope_theta": 10000.0, "sliding_window": 262144,
             "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": True,
             "vocab_size": 32064}

MINILM = {"architectures": ["BertModel"], "model_type": "bert", "attention_probs_dropout_prob": 0.1,
          "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 384, "initializer_range": 0.02,
          "intermediate_size": 1536, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "num_attention_heads": 12,
          "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute",
          "transformers_version": "4.17.0", "type_vocab_size": 2, "use_cache": True, "vocab_size": 250037}
