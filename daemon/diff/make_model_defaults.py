#!/usr/bin/env python3
"""Writes model_defaults.tsv: what each model type's config class takes for keys that a config.json leaves out.

Run with the transformers library installed (any environment; torch is not needed):

    python make_model_defaults.py > model_defaults.tsv

Columns, tab-separated: model type; default values (JSON); configs inside it and their model types, "*" in front where a
stated model_type decides instead (JSON); other names of keys (JSON). A default that the class works out from other keys is
left out: it is no constant. The row "*" holds for all types that say nothing else.
"""

import dataclasses
import json
import logging
import math
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from transformers import AutoConfig  # noqa: E402
from transformers.configuration_utils import PreTrainedConfig  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES  # noqa: E402

NOT_OF_THE_TYPE = {"architectures", "model_type", "transformers_version", "id2label", "label2id", "_name_or_path", "problem_type",
                   "dtype", "auto_map", "_attn_implementation"}
LONGEST_LIST = 16


def is_plain(value):
    if isinstance(value, (list, tuple)):
        return len(value) <= LONGEST_LIST and all(is_plain(item) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return value is None or isinstance(value, (bool, int, float, str))


def as_list(value):
    return list(value) if isinstance(value, tuple) else value


def default_of(field):
    if field.default is not dataclasses.MISSING:
        return as_list(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return as_list(field.default_factory())
    return dataclasses.MISSING


def built(cls):
    """The class' own example as a dict; nothing where the defaults alone do not make one."""
    try:
        return cls().to_dict()
    except Exception:
        return {}


def values_of(cls, example):
    values = {}
    for field in dataclasses.fields(cls):
        value = default_of(field)
        if field.name in NOT_OF_THE_TYPE or value is dataclasses.MISSING or not is_plain(value):
            continue
        if field.name in example and as_list(example[field.name]) != value:
            continue
        values[field.name] = value
    if isinstance(example.get("rope_parameters"), dict):
        values["rope_parameters"] = example["rope_parameters"]
    return values


def without(values, common):
    return {key: value for key, value in values.items() if key not in common or common[key] != value}


def add(cls, rows):
    model_type = getattr(cls, "model_type", "")
    if not model_type or model_type in rows:
        return
    example = built(cls)
    parts = {}
    for key, inner in (getattr(cls, "sub_configs", None) or {}).items():
        stated = example.get(key)
        inner_type = stated.get("model_type", "") if isinstance(stated, dict) else getattr(inner, "model_type", "")
        if inner_type:
            parts[key] = ("*" if inner is AutoConfig else "") + inner_type
    rows[model_type] = (values_of(cls, example), parts, dict(getattr(cls, "attribute_map", None) or {}))
    for inner in (getattr(cls, "sub_configs", None) or {}).values():
        if isinstance(inner, type) and issubclass(inner, PreTrainedConfig):
            add(inner, rows)


def main():
    rows = {}
    for model_type in CONFIG_MAPPING_NAMES:
        try:
            add(CONFIG_MAPPING[model_type], rows)
        except Exception as error:
            print(f"{model_type}: {error}", file=sys.stderr)
    common = values_of(PreTrainedConfig, {})
    for model_type, (values, parts, names) in sorted({**rows, "*": (common, {}, {})}.items()):
        columns = [values if model_type == "*" else without(values, common), parts, names]
        print("\t".join([model_type] + [json.dumps(column, separators=(",", ":"), sort_keys=True) for column in columns]))


if __name__ == "__main__":
    main()
