"""Templates, tokenizers, cards and code of the demo's repos. All of it is written for the demo."""
import json


def dump(value):
    return json.dumps(value, indent=2) + "\n"


GITATTRIBUTES = "".join(f"*.{s} filter=lfs diff=lfs merge=lfs -text\n" for s in ("safetensors", "bin", "gguf", "model"))


def card(name, numbers_of, licence, more=""):
    return (f"---\nlicense: {licence}\nlibrary_name: transformers\n---\n# {name}\n\n"
            f"A made-up model for the Headwater demo. Its configuration carries the numbers of {numbers_of}; names, text,\n"
            f"tokens and digests are invented, and of the weights only the headers exist.\n{more}")


def template(bos=True, prompt="<|turn|>assistant\\n", system="", tools=False, order="plain"):
    """A chat template: one turn a message, then the opening of the answer."""
    lines = []
    if bos:
        lines.append("{{- bos_token -}}")
    if system:
        lines.append("{%- if messages[0]['role'] != 'system' -%}\n{{- '<|turn|>system\\n" + system + "<|end|>\\n' -}}\n{%- endif -%}")
    if tools:
        lines.append("{%- if tools -%}\n{{- '<|turn|>tools\\n' -}}\n{%- for tool in tools -%}\n{{- tool | tojson -}}\n{{- '\\n' -}}\n"
                     "{%- endfor -%}\n{{- '<|end|>\\n' -}}\n{%- endif -%}")
    content = "message['content']" if order == "plain" else "(message['content'] | trim)"
    lines.append("{%- for message in messages -%}\n"
                 "{{- '<|turn|>' + message['role'] + '\\n' + " + content + " + '<|end|>\\n' -}}\n{%- endfor -%}")
    lines.append("{%- if add_generation_prompt -%}\n{{- '" + prompt + "' -}}\n{%- endif -%}")
    return "\n".join(lines) + "\n"


# The closing of the first expression lost a brace: no engine can read it.
def broken(text):
    return text.replace("{{- bos_token -}}", "{{- bos_token -}", 1)


FIRST_TEXT_ID = 10  # below are the special tokens of small vocabularies
WORDS = "river water stream bank stone bridge mill reed heron otter current delta source spring flow tide".split()


def bpe(added, pairs=False, extra_words=()):
    """A small byte-level BPE tokenizer.json; `added` is {content: id}."""
    vocab = {c: i for c, i in added.items() if i < FIRST_TEXT_ID}
    vocab.update({chr(c): FIRST_TEXT_ID + c - 33 for c in range(33, 127)})
    following = FIRST_TEXT_ID + 94
    vocab["\u0120"] = following
    merges = []
    for word in list(WORDS) + list(extra_words):
        left = "\u0120"
        for ch in word:
            if left + ch not in vocab:
                following += 1
                vocab[left + ch] = following
                merges.append((left, ch))
            left += ch
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for c, i in sorted(added.items(), key=lambda e: e[1])],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": [list(m) if pairs else " ".join(m) for m in merges]},
    }, indent=1, ensure_ascii=False) + "\n"


def tokenizer_config(added, bos, eos, chat_template=None, cls="PreTrainedTokenizerFast", max_length=131072, **more):
    config = {
        "added_tokens_decoder": {str(i): {"content": c, "lstrip": False, "normalized": False, "rstrip": False,
                                          "single_word": False, "special": True}
                                 for c, i in sorted(added.items(), key=lambda e: e[1])},
        "bos_token": bos, "clean_up_tokenization_spaces": False, "eos_token": eos, "model_max_length": max_length,
        "tokenizer_class": cls, **more}
    if chat_template is not None:
        config["chat_template"] = chat_template
    return dump(config)


def config_code(model, cls):
    return (f'"""Configuration of {model}, for the demo."""\n'
            "from transformers.configuration_utils import PretrainedConfig\n\n\n"
            f"class {cls}(PretrainedConfig):\n    model_type = \"{model}\"\n\n"
            "    def __init__(self, hidden_size=2048, num_hidden_layers=16, **kwargs):\n"
            "        self.hidden_size = hidden_size\n        self.num_hidden_layers = num_hidden_layers\n"
            "        super().__init__(**kwargs)\n")


def model_code(model, cls, config_cls, scale="1.0", comment="", config_module=None):
    return (f'"""Model code of {model}, for the demo."""\n{comment}'
            "import torch\nfrom torch import nn\nfrom transformers.modeling_utils import PreTrainedModel\n\n"
            f"from .{config_module or 'configuration_' + model} import {config_cls}\n\n\n"
            f"class {cls}(PreTrainedModel):\n    config_class = {config_cls}\n\n"
            "    def __init__(self, config):\n        super().__init__(config)\n"
            "        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)\n\n"
            "    def forward(self, input_ids, **kwargs):\n"
            f"        return self.embed(input_ids) * torch.tensor({scale})\n")


def slow_tokenizer_code(cls):
    return (f'"""A tokenizer in Python, for the demo."""\n'
            "from transformers.tokenization_utils import PreTrainedTokenizer\n\n\n"
            f"class {cls}(PreTrainedTokenizer):\n"
            "    vocab_files_names = {\"vocab_file\": \"tiktoken.model\"}\n\n"
            "    def __init__(self, vocab_file, **kwargs):\n"
            "        with open(vocab_file, encoding=\"ascii\") as lines:\n"
            "            self.ranks = [line.split()[0] for line in lines]\n"
            "        super().__init__(**kwargs)\n\n"
            "    @property\n    def vocab_size(self):\n        return len(self.ranks)\n\n"
            "    def get_vocab(self):\n        return {token: i for i, token in enumerate(self.ranks)}\n\n"
            "    def _tokenize(self, text):\n        return list(text)\n")


def tiktoken_lines():
    import base64
    tokens = [bytes([c]) for c in range(256)] + [w.encode() for w in WORDS]
    return "".join(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(tokens))
