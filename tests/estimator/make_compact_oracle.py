#!/usr/bin/env python3
"""Writes tests/data/estimator/oracle.tsv from the shared oracle: what a contributor without the shared material tests the estimator by.

    make_compact_oracle.py SHARED [OUT]

A line a config: its name in the oracle, the scalars of a saved checkpoint (parameters and buffers, tied once), the first 16
hex digits of the SHA-256 of all tensors ("name shape" or "name shape buffer", a line each, sorted), and the config as keys
and values. For each model type of the estimator's tables there are the type's default config in full (or the smallest one
there is), its name alone (all else is the library's default), and each variant as what it states besides.
Lines that begin with # tell what no line stands for, and why.
"""
import collections
import csv
import gzip
import hashlib
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ESTIMATOR = HERE.parent.parent / "estimator"
OUT = HERE.parent / "data" / "estimator" / "oracle.tsv"

# Keys that no tensor's name or shape depends on, in any model type: prose, names of people and folders, tokens, training
# and sampling settings, what is printed. Labels are kept as their count.
NOT_STRUCTURE = re.compile(
    r"^_|dropout|layerdrop|_token_ids?$|_token_index$|^(dtype|torch_dtype|transformers_version|auto_map|problem_type|"
    r"id2label|label2id|return_dict|output_attentions|output_hidden_states|use_cache|initializer_\w+|init_std|std_init|"
    r"chunk_size_feed_forward|finetuning_task|task_specific_params|(max|min)_length|num_beams|early_stopping|"
    r"length_penalty|no_repeat_ngram_size|prefix|forced_\w+|begin_suppress_tokens|suppress_tokens|\w*_?eps|\w*epsilon|"
    r"(rms_)?norm_eps|\w*_coef|rope_(theta|scaling|parameters|local_base_freq)|\w*hidden_act|\w*activation(_function)?|"
    r"quantization_config|routed_scaling_factor|norm_topk_prob|topk_method|scoring_func|attn_implementation|"
    r"\w*logit_softcapping|logits?_scal\w+|pretraining_tp|language|license|author|tokenizer_class|unk_index|"
    r"\w*_multiplier|time_step_\w+|mask_time_\w+|mask_feature_\w+|apply_spec_augment|gradient_checkpointing|seed)$")


def structure(value):
    """The config's keys that tensors may depend on."""
    if isinstance(value, dict):
        kept = {key: structure(inner) for key, inner in value.items() if not NOT_STRUCTURE.search(key)}
        if "id2label" in value and isinstance(value["id2label"], dict) and len(value["id2label"]) != 2:
            kept["num_labels"] = len(value["id2label"])
        return kept
    return [structure(inner) for inner in value] if isinstance(value, list) else value


def expanded(name):
    """`experts.{0..7}.w` is eight names."""
    found = re.search(r"\{(\d+)\.\.(\d+)\}", name)
    if not found:
        return [name]
    return [whole for index in range(int(found[1]), int(found[2]) + 1)
            for whole in expanded(f"{name[:found.start()]}{index}{name[found.end():]}")]


def tensors(path):
    """name -> shape and, for a buffer, that word; what is tied is not stored."""
    stored = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            name, shape, _, kind = line.rstrip("\n").split("\t")[:4]
            if name != "name" and kind != "tied":
                stored.update((one, shape + (" buffer" if kind == "buffer" else "")) for one in expanded(name))
    return stored


def total_and_digest(stored):
    """Scalars of a checkpoint, and the digest of its list as the test writes ours."""
    total = sum(math.prod(int(size) for size in shape.split()[0].split(",")) if shape.split(" ")[0] else 1
                for shape in stored.values())
    lines = "".join(sorted(f"{name} {shape}\n" for name, shape in stored.items()))
    return total, hashlib.sha256(lines.encode()).hexdigest()[:16]


def without_identity_experts(config, stored):
    """longcat_flash: transformers gives the experts that pass their input through matrices that no published file holds."""
    def of_identity(name):
        found = re.search(r"\.experts\.(\d+)\.", name)
        return found and int(found[1]) >= config["n_routed_experts"]
    return {name: shape for name, shape in stored.items() if not of_identity(name)}


def with_own_convolutions(_, stored):
    """olmo_hybrid: the oracle cuts the fused convolution in equal thirds; each part is as wide as the projection before it."""
    def shape_of(name, shape):
        if not name.endswith("_conv1d.weight"):
            return shape
        width = stored[name.replace("_conv1d", "_proj")].split(",")[0]
        return ",".join([width, *shape.split(",")[1:]])
    return {name: shape_of(name, shape) for name, shape in stored.items()}


def table_types():
    """Every model type that a row of the estimator's tables names."""
    types = set()
    for path in ESTIMATOR.glob("*.cpp"):
        text = path.read_text()
        types.update(re.findall(r'Traits\{\s*\.model_type = "([^"]+)"', text))
        types.update(re.findall(r'\b(?:Alias|Singular|Wrapper)\{"([^"]+)"', text))
    return types


# Where the oracle's list is known to be another than published files', and what mends it.
CORRECTED = {"longcat_flash": without_identity_experts, "olmo_hybrid": with_own_convolutions}
# Configs that no line stands for.
PADS_LESS = "its vocabulary is less than the unpadded one, which it can't pad: an error with us"
LEFT_OUT = {"hrm_text--flags": "the oracle cuts the biases of the fused projections, and their weights not",
            "inkling2_loop_text--dims": PADS_LESS, "inkling2_text--dims": PADS_LESS}
# Why a row of a table has no line.
NO_CLASS = "built by its repositories' own code: no class of transformers to build it with"
# Types whose default config can't be said by their name alone, and those whose variants can't be said by what they state
# besides it: parts and patterns that are never guessed, keys whose default follows from others.
NEVER_BY_NAME = {"encoder-decoder", "nemotron_h", "zamba", "zamba2"}
NEVER_BY_DIFFERENCE = {"encoder-decoder", "hrm_text", "marian", "nemotron_h", "switch_transformers", "xlstm", "zamba"}


def read_rows(shared):
    """The oracle's rows that the estimator speaks for: text-generating classes, and text models of the corpus."""
    with open(shared / "oracle" / "params.tsv") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            corpus = row["source"] == "corpus"
            notes = row["notes"]
            generating = "kind:CAUSAL_LM" in notes or "kind:SEQ_TO_SEQ_CAUSAL_LM" in notes
            text = corpus and re.search(r"(ForCausalLM|LMHeadModel|^(T5|Bart|M2M100)ForConditionalGeneration)$", row["class"])
            if (generating or text) and "INCOMPLETE-CONFIG" not in notes:
                path = pathlib.Path(row["config_file"])
                row["path"] = shared / path if corpus else shared / "oracle" / path
                row["list"] = shared / "oracle" / "tensors" / f"{'corpus--' if corpus else ''}{path.stem}.tsv.gz"
                row["name"] = path.stem
                yield row


def compact(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def differing(config, default):
    """What a config states besides its type's default; None where it can't be said that way."""
    stated = {key: value for key, value in config.items() if default.get(key, ()) != value}
    if set(default) - set(config) or None in stated.values():
        return None
    return {"architectures": config["architectures"], "model_type": config["model_type"], **stated}


def lines_of_type(model_type, rows):
    """(name, total, digest, config) of each config that stands for a type."""
    made = [row for row in rows if row["source"] != "corpus"]
    default = next((row for row in made if row["source"] == "default"), None)
    if default is None:
        rows = sorted(rows, key=lambda row: (int(row["total_params"]), row["name"]))[:1]
    else:
        rows = sorted(made, key=lambda row: row["name"])
    whole = {**structure(json.loads(default["path"].read_text())), "model_type": model_type} if default else None
    named = default is not None and "fixups" not in default["notes"]
    for row in rows:
        if row["name"] in LEFT_OUT:
            continue
        config = {**structure(json.loads(row["path"].read_text())), "model_type": model_type}
        found = total_and_digest(CORRECTED.get(model_type, lambda _, stored: stored)(config, tensors(row["list"])))
        if found[0] != int(row["total_params"]) and model_type not in CORRECTED:
            sys.exit(f"{row['name']}: the list holds {found[0]} scalars, params.tsv says {row['total_params']}")
        if row is default and named and model_type not in NEVER_BY_NAME:
            yield row["name"] + " by name", *found, {key: config[key] for key in ("architectures", "model_type")}
        if row is default or not named or model_type in NEVER_BY_DIFFERENCE:
            yield row["name"], *found, config
        else:
            yield row["name"], *found, differing(config, whole) or config


def wrapped_types():
    """Types whose text part is an object of its own, and that part's type."""
    return dict(re.findall(r'Wrapper\{"([^"]+)", "([^"]+)"', (ESTIMATOR / "families.cpp").read_text()))


def aliases():
    """Types that are read as another one, and that one."""
    return dict(re.findall(r'Alias\{"([^"]+)", "([^"]+)"', (ESTIMATOR / "families.cpp").read_text()))


def main():
    shared = pathlib.Path(sys.argv[1])
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    by_type = collections.defaultdict(list)
    for row in read_rows(shared):
        by_type[row["model_type"]].append(row)
    lines, without = [], []
    inner = {**wrapped_types(), **aliases()}
    wrapped = wrapped_types()
    for model_type in sorted(table_types() | {"encoder-decoder"}):
        made = list(lines_of_type(model_type, by_type.get(model_type, [])))
        if not made and model_type in inner:
            # A checkpoint of the text part alone: its class reads text_config, nothing else. An alias: the same keys.
            for name, total, found, config in lines_of_type(inner[model_type], by_type[inner[model_type]]):
                if "--" not in name and " " not in name:
                    said = {"text_config": config} if model_type in wrapped else config
                    made.append((f"{model_type} of {name}", total, found,
                                 {**said, "architectures": config["architectures"], "model_type": model_type}))
        lines += made
        if not made:
            without.append(model_type)
    text = "".join(f"{name}\t{total}\t{found}\t{compact(config)}\n" for name, total, found, config in lines)
    text += "".join(f"#left out\t{name}\t{reason}\n" for name, reason in LEFT_OUT.items())
    text += "".join(f"#without\t{model_type}\t{NO_CLASS}\n" for model_type in without)
    out.write_text(text)
    print(f"{out}: {len(lines)} configs, {len(text)} bytes; no config for: {' '.join(without)}")


if __name__ == "__main__":
    main()
