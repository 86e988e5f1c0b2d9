"""Tensor lists of the demo's models, and safetensors files of which only the header is kept.

A tensor list is [(name, dtype, shape)], in the order in which the architecture's own modules hold them.
"""
import hashlib
import json
import struct

BITS = {"F32": 32, "BF16": 16, "F16": 16}
SHARD_BYTES = 5_000_000_000


def elements(shape):
    n = 1
    for x in shape:
        n *= x
    return n


def total(tensors):
    return sum(elements(shape) for _, _, shape in tensors)


def decoder(c, dtype="BF16"):
    """llama, mistral, ministral3, qwen3 and mixtral: one decoder stack, differing in norms and feed-forward."""
    h, inter = c["hidden_size"], c["intermediate_size"]
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    d = c.get("head_dim", h // heads)
    out = [("model.embed_tokens.weight", dtype, [c["vocab_size"], h])]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        out += [(p + "self_attn.q_proj.weight", dtype, [heads * d, h]), (p + "self_attn.k_proj.weight", dtype, [kv * d, h]),
                (p + "self_attn.v_proj.weight", dtype, [kv * d, h]), (p + "self_attn.o_proj.weight", dtype, [h, heads * d])]
        if c["model_type"] == "qwen3":
            out += [(p + "self_attn.q_norm.weight", dtype, [d]), (p + "self_attn.k_norm.weight", dtype, [d])]
        if c["model_type"] == "mixtral":
            out.append((p + "block_sparse_moe.gate.weight", dtype, [c["num_local_experts"], h]))
            for e in range(c["num_local_experts"]):
                q = f"{p}block_sparse_moe.experts.{e}."
                out += [(q + "w1.weight", dtype, [inter, h]), (q + "w2.weight", dtype, [h, inter]),
                        (q + "w3.weight", dtype, [inter, h])]
        else:
            out += [(p + "mlp.gate_proj.weight", dtype, [inter, h]), (p + "mlp.up_proj.weight", dtype, [inter, h]),
                    (p + "mlp.down_proj.weight", dtype, [h, inter])]
        out += [(p + "input_layernorm.weight", dtype, [h]), (p + "post_attention_layernorm.weight", dtype, [h])]
    out.append(("model.norm.weight", dtype, [h]))
    if not c.get("tie_word_embeddings"):
        out.append(("lm_head.weight", dtype, [c["vocab_size"], h]))
    return out


def hybrid(c, dtype="BF16"):
    """nemotron_h: M = state space, * = attention, E = experts, - = feed-forward, one a layer."""
    h, d = c["hidden_size"], c["head_dim"]
    inner = c["mamba_num_heads"] * c["mamba_head_dim"]
    conv = inner + 2 * c["n_groups"] * c["ssm_state_size"]
    out = [("backbone.embeddings.weight", dtype, [c["vocab_size"], h])]
    for i, kind in enumerate(c["hybrid_override_pattern"]):
        p = f"backbone.layers.{i}."
        m = p + "mixer."
        out.append((p + "norm.weight", dtype, [h]))
        if kind == "M":
            out += [(m + "A_log", dtype, [c["mamba_num_heads"]]), (m + "D", dtype, [c["mamba_num_heads"]]),
                    (m + "conv1d.bias", dtype, [conv]), (m + "conv1d.weight", dtype, [conv, 1, c["conv_kernel"]]),
                    (m + "dt_bias", dtype, [c["mamba_num_heads"]]),
                    (m + "in_proj.weight", dtype, [inner + conv + c["mamba_num_heads"], h]),
                    (m + "norm.weight", dtype, [inner]), (m + "out_proj.weight", dtype, [h, inner])]
        elif kind == "*":
            heads, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
            out += [(m + "q_proj.weight", dtype, [heads, h]), (m + "k_proj.weight", dtype, [kv, h]),
                    (m + "v_proj.weight", dtype, [kv, h]), (m + "o_proj.weight", dtype, [h, heads])]
        else:
            inter, shared = c["moe_intermediate_size"], c["moe_shared_expert_intermediate_size"]
            out += [(m + "gate.weight", dtype, [c["n_routed_experts"], h]),
                    (m + "gate.e_score_correction_bias", "F32", [c["n_routed_experts"]])]
            for e in range(c["n_routed_experts"]):
                out += [(f"{m}experts.{e}.up_proj.weight", dtype, [inter, h]),
                        (f"{m}experts.{e}.down_proj.weight", dtype, [h, inter])]
            out += [(m + "shared_experts.up_proj.weight", dtype, [shared, h]),
                    (m + "shared_experts.down_proj.weight", dtype, [h, shared])]
    return out + [("backbone.norm_f.weight", dtype, [h]), ("lm_head.weight", dtype, [c["vocab_size"], h])]


def phi_old(c, dtype="F16"):
    """The layout that phi-2 was first published in: fused attention under transformer.h."""
    h, v = c["hidden_size"], c["vocab_size"]
    out = [("transformer.embd.wte.weight", dtype, [v, h])]
    for i in range(c["num_hidden_layers"]):
        p = f"transformer.h.{i}."
        out += [(p + "ln.weight", dtype, [h]), (p + "ln.bias", dtype, [h]),
                (p + "mixer.Wqkv.weight", dtype, [3 * h, h]), (p + "mixer.Wqkv.bias", dtype, [3 * h]),
                (p + "mixer.out_proj.weight", dtype, [h, h]), (p + "mixer.out_proj.bias", dtype, [h]),
                (p + "mlp.fc1.weight", dtype, [4 * h, h]), (p + "mlp.fc1.bias", dtype, [4 * h]),
                (p + "mlp.fc2.weight", dtype, [h, 4 * h]), (p + "mlp.fc2.bias", dtype, [h])]
    return out + [("lm_head.ln.weight", dtype, [h]), ("lm_head.ln.bias", dtype, [h]),
                  ("lm_head.linear.weight", dtype, [v, h]), ("lm_head.linear.bias", dtype, [v])]


def phi_new(c, dtype="F16"):
    """The same parameters as transformers' own phi names them."""
    h, v = c["hidden_size"], c["vocab_size"]
    out = [("model.embed_tokens.weight", dtype, [v, h])]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        out += [(p + "input_layernorm.weight", dtype, [h]), (p + "input_layernorm.bias", dtype, [h])]
        for q in ("q_proj", "k_proj", "v_proj", "dense"):
            out += [(f"{p}self_attn.{q}.weight", dtype, [h, h]), (f"{p}self_attn.{q}.bias", dtype, [h])]
        out += [(p + "mlp.fc1.weight", dtype, [4 * h, h]), (p + "mlp.fc1.bias", dtype, [4 * h]),
                (p + "mlp.fc2.weight", dtype, [h, 4 * h]), (p + "mlp.fc2.bias", dtype, [h])]
    return out + [("model.final_layernorm.weight", dtype, [h]), ("model.final_layernorm.bias", dtype, [h]),
                  ("lm_head.weight", dtype, [v, h]), ("lm_head.bias", dtype, [v])]


def phi3(c, dtype="BF16"):
    """phi3: fused query-key-value and fused gate-up."""
    h, inter, v = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    out = [("model.embed_tokens.weight", dtype, [v, h])]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        out += [(p + "self_attn.qkv_proj.weight", dtype, [3 * h, h]), (p + "self_attn.o_proj.weight", dtype, [h, h]),
                (p + "mlp.gate_up_proj.weight", dtype, [2 * inter, h]), (p + "mlp.down_proj.weight", dtype, [h, inter]),
                (p + "input_layernorm.weight", dtype, [h]), (p + "post_attention_layernorm.weight", dtype, [h])]
    return out + [("model.norm.weight", dtype, [h]), ("lm_head.weight", dtype, [v, h])]


def bert(c, dtype="F32"):
    """The bert encoder with its pooler."""
    h, inter = c["hidden_size"], c["intermediate_size"]
    out = [("embeddings.word_embeddings.weight", dtype, [c["vocab_size"], h]),
           ("embeddings.position_embeddings.weight", dtype, [c["max_position_embeddings"], h]),
           ("embeddings.token_type_embeddings.weight", dtype, [c["type_vocab_size"], h])]

    def norm(p):
        return [(p + ".weight", dtype, [h]), (p + ".bias", dtype, [h])]

    out += norm("embeddings.LayerNorm")
    for i in range(c["num_hidden_layers"]):
        p = f"encoder.layer.{i}."
        for q in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            out += [(f"{p}{q}.weight", dtype, [h, h]), (f"{p}{q}.bias", dtype, [h])]
        out += norm(p + "attention.output.LayerNorm")
        out += [(p + "intermediate.dense.weight", dtype, [inter, h]), (p + "intermediate.dense.bias", dtype, [inter]),
                (p + "output.dense.weight", dtype, [h, inter]), (p + "output.dense.bias", dtype, [h])]
        out += norm(p + "output.LayerNorm")
    return out + [("pooler.dense.weight", dtype, [h, h]), ("pooler.dense.bias", dtype, [h])]


class Weights:
    """A safetensors file: the bytes of its header, its true size and a made-up but fixed digest of its content."""

    def __init__(self, tensors, version):
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for name, dtype, shape in tensors:
            size = elements(shape) * BITS[dtype] // 8
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
        self.names = [name for name, _, _ in tensors]
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        self.kept = struct.pack("<Q", len(text)) + text
        self.size = len(self.kept) + offset
        self.sha256 = hashlib.sha256(b"demo weights " + version.encode() + b"\0" + self.kept).hexdigest()


def weight_files(tensors, version, shard_bytes=SHARD_BYTES):
    """One model.safetensors, or shards of at most `shard_bytes` with their index."""
    shards, size = [[]], 0
    for tensor in tensors:
        n = elements(tensor[2]) * BITS[tensor[1]] // 8
        if size + n > shard_bytes and shards[-1]:
            shards.append([])
            size = 0
        shards[-1].append(tensor)
        size += n
    if len(shards) == 1:
        return {"model.safetensors": Weights(tensors, version)}
    files, places = {}, {}
    for i, shard in enumerate(shards):
        name = f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors"
        files[name] = Weights(shard, version + str(i))
        places.update({tensor[0]: name for tensor in shard})
    files["model.safetensors.index.json"] = index_text(tensors, places)
    return files


def index_text(tensors, places):
    size = sum(elements(shape) * BITS[dtype] // 8 for _, dtype, shape in tensors)
    return json.dumps({"metadata": {"total_size": size}, "weight_map": dict(sorted(places.items()))}, indent=1) + "\n"
