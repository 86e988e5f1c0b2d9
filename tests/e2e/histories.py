"""Histories of two or more steps, and what must be told of each step: what a diff of two revisions alone cannot show.

A history is (repo, revisions, facts, steps, advisories). `revisions` are descriptions as recorded.py takes them; `facts` is repo.json, with
its events. `steps` has one row for each delta, oldest first: (impact, level, kinds, advisory, words that must be said); a row of None is a
delta that says nothing. `advisories` has one row for each advisory, oldest first: (kinds that it names, state)."""

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
          "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 512, "max_position_embeddings": 1024, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2}
TEMPLATE = ("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")
THINKING = TEMPLATE.replace("<|assistant|>{% endif", "<|assistant|><think>\\n{% endif")
WITH_DATE = TEMPLATE.replace("{% for", "<|system|>Today is a day.<|end|>{% for", 1)
TOKENIZER = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
             "decoder": None, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
CARD = "---\nlicense: {}\n---\n# A model\n"


def model(**changes):
    """A small whole repo; a keyword names a file (dots as __), None leaves the file out."""
    files = {"config.json": CONFIG, "generation_config.json": {"eos_token_id": 2, "temperature": 0.7}, "chat_template.jinja": TEMPLATE,
             "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<|end|>",
                                       "add_bos_token": False},
             "tokenizer.json": TOKENIZER, "README.md": CARD.format("apache-2.0"),
             "model.safetensors": {"$tensors": {"seed": 1, "model.embed_tokens.weight": ["BF16", [512, 256]]}}}
    for name, content in changes.items():
        path = name.replace("___", "/").replace("__", ".")
        if content is None:
            files.pop(path, None)
        else:
            files[path] = content
    return files


def config(**keys):
    return dict(CONFIG, **keys)


def event(after, **change):
    return dict({"after": after}, **change)


PLAIN = model()
MADE_OF_ORIGINAL = CARD.format("apache-2.0\nbase_model: bases/original")
REMOTE = config(auto_map={"AutoModelForCausalLM": "shared-code/blocks--modeling_blocks.Blocks"})

HISTORIES = [
    # Gates, both ways and between each other.
    ("gates/closes-and-opens", [PLAIN], {"events": [event(1, set={"gated": "auto"}), event(1, set={"gated": False})]},
     [("access", "high", {"access.gated"}, True, ["asked for"]), ("access", "low", {"access.ungated"}, False, [])],
     [({"access.gated"}, "restored")]),
    ("gates/by-hand-then-automatic-then-open", [PLAIN],
     {"events": [event(1, set={"gated": "manual"}), event(1, set={"gated": "auto"}), event(1, set={"gated": False})]},
     [("access", "high", {"access.gated"}, True, []), ("access", "low", {"access.gate-automatic"}, False, []),
      ("access", "low", {"access.ungated"}, False, [])],
     [({"access.gated"}, "restored")]),
    ("gates/grows-stricter", [PLAIN], {"events": [event(1, set={"gated": "auto"}), event(1, set={"gated": "manual"})]},
     [("access", "high", {"access.gated"}, True, []), ("access", "medium", {"access.gate-manual"}, True, ["a person decides"])],
     None),
    ("gates/commits-behind-the-gate-are-read-once-it-opens",
     [PLAIN, model(chat_template__jinja=THINKING), model(chat_template__jinja=THINKING, README__md="# More\n")],
     {"events": [event(1, set={"gated": "auto"}), event(3, set={"gated": False})]},
     [("access", "high", {"access.gated"}, True, []), ("behaviour", "high", {"template.generation-prompt"}, True, ["<think>"]),
      ("access", "high", {"licence.withdrawn"}, True, []), ("access", "low", {"access.ungated"}, False, [])],
     [({"access.gated"}, "restored"), ({"template.generation-prompt"}, "open"), ({"licence.withdrawn"}, "open")]),
    # Removed, private, disabled: and back.
    ("gone/for-good", [PLAIN, model(README__md=CARD.format("apache-2.0") + "More.\n")], {"events": [event(2, gone=True)]},
     [None, ("access", "critical", {"access.gone"}, True, ["gone"])], [({"access.gone"}, "open")]),
    ("gone/and-back", [PLAIN], {"events": [event(1, gone=True), event(1, gone=False)]},
     [("access", "critical", {"access.gone"}, True, []), ("access", "low", {"access.restored"}, False, ["back"])],
     [({"access.gone"}, "restored")]),
    ("gone/and-back-with-a-commit", [PLAIN, model(chat_template__jinja=THINKING)], {"events": [event(1, gone=True), event(2, gone=False)]},
     [("access", "critical", {"access.gone"}, True, []), ("access", "low", {"access.restored"}, False, []),
      ("behaviour", "high", {"template.generation-prompt"}, True, [])],
     [({"access.gone"}, "restored"), ({"template.generation-prompt"}, "open")]),
    ("gone/made-private", [PLAIN], {"events": [event(1, set={"private": True}), event(1, set={"private": False})]},
     [("access", "critical", {"access.gone"}, True, []), ("access", "low", {"access.restored"}, False, [])],
     [({"access.gone"}, "restored")]),
    ("gone/a-fourth", [PLAIN], {"events": [event(1, gone=True)]},
     [("access", "critical", {"access.gone"}, True, [])], [({"access.gone"}, "open")]),
    ("gone/disabled-and-enabled", [PLAIN], {"events": [event(1, set={"disabled": True}), event(1, set={"disabled": False})]},
     [("access", "critical", {"access.disabled"}, True, ["cannot be downloaded"]), ("access", "low", {"access.enabled"}, False, [])],
     [({"access.disabled"}, "restored")]),
    ("gone/gated-and-disabled-at-once", [PLAIN], {"events": [event(1, set={"disabled": True, "gated": "manual"})]},
     [("access", "critical", {"access.disabled", "access.gated"}, True, [])], [({"access.disabled", "access.gated"}, "open")]),
    # Names.
    ("names/first", [PLAIN, model(chat_template__jinja=THINKING)], {"events": [event(1, set={"id": "names/second"})]},
     [("access", "medium", {"access.renamed"}, True, ["names/second"]), ("behaviour", "high", {"template.generation-prompt"}, True, [])],
     [({"access.renamed"}, "open"), ({"template.generation-prompt"}, "open")]),
    ("names/taken-over", [PLAIN, model(chat_template__jinja=THINKING)],
     {"events": [event(1, set={"_id": "66aa66aa66aa66aa66aa66aa"})]},
     [("security", "high", {"access.replaced"}, True, ["Another repository took"]), ("behaviour", "high", {"template.generation-prompt"}, True, [])],
     [({"access.replaced"}, "open"), ({"template.generation-prompt"}, "open")]),
    # History.
    ("history/moved-back", [PLAIN, model(chat_template__jinja=THINKING), model(README__md=CARD.format("apache-2.0") + "More.\n")],
     {"events": [event(2, head=0)]},
     [("behaviour", "high", {"template.generation-prompt"}, True, []),
      ("security", "high", {"history.rewritten"}, True, ["no longer on it"]), None],
     [({"template.generation-prompt"}, "reverted"), ({"history.rewritten"}, "superseded")]),
    ("history/moved-back-and-forth", [PLAIN, model(chat_template__jinja=THINKING)], {"events": [event(2, head=0), event(2, head=1)]},
     [("behaviour", "high", {"template.generation-prompt"}, True, []),
      ("security", "high", {"history.rewritten"}, True, [])],
     [({"template.generation-prompt"}, "open"), ({"history.rewritten"}, "superseded")]),
    ("history/rewritten-with-another-change", [PLAIN, model(chat_template__jinja=THINKING), model(chat_template__jinja=WITH_DATE)],
     {"events": [event(2, head=0)]},
     [("behaviour", "high", {"template.generation-prompt"}, True, []),
      ("security", "high", {"history.rewritten"}, True, []), ("behaviour", "high", {"template.system-prompt"}, True, [])],
     None),
    # Reverts.
    ("reverts/after-superseding",
     [PLAIN, model(chat_template__jinja=THINKING), model(chat_template__jinja=WITH_DATE), PLAIN], {},
     [("behaviour", "high", {"template.generation-prompt"}, True, []), ("behaviour", "high", {"template.system-prompt"}, True, []),
      ("behaviour", "high", {"history.reverted"}, False, ["earlier revision"])],
     [({"template.generation-prompt"}, "superseded"), ({"template.system-prompt"}, "reverted")]),
    ("reverts/one-of-two-subjects",
     [PLAIN, model(chat_template__jinja=THINKING, generation_config__json={"eos_token_id": [2, 7], "temperature": 0.7}),
      model(generation_config__json={"eos_token_id": [2, 7], "temperature": 0.7}), PLAIN], {},
     [("behaviour", "high", {"template.generation-prompt", "stop-set.changed"}, True, ["<think>"]),
      ("behaviour", "high", {"template.generation-prompt"}, False, []),
      ("behaviour", "high", {"stop-set.changed", "history.reverted"}, False, [])],
     [({"template.generation-prompt", "stop-set.changed"}, "reverted")]),
    ("reverts/one-subject-reverted-the-other-changed-again",
     [PLAIN, model(chat_template__jinja=THINKING, generation_config__json={"eos_token_id": [2, 7], "temperature": 0.7}),
      model(generation_config__json={"eos_token_id": [2, 9], "temperature": 0.7})], {},
     [("behaviour", "high", {"template.generation-prompt", "stop-set.changed"}, True, []),
      ("behaviour", "high", {"template.generation-prompt", "stop-set.changed"}, True, [])],
     [({"template.generation-prompt", "stop-set.changed"}, "superseded"), ({"stop-set.changed"}, "open")]),
    ("reverts/begin-of-text-flipped-twice",
     [model(tokenizer_config__json={"tokenizer_class": "T", "bos_token": "<s>", "add_bos_token": flag},
            chat_template__jinja="{{ bos_token }}" + TEMPLATE) for flag in (True, False, True)], {},
     [("behaviour", "high", {"tokenizer.add-bos"}, True, []), ("behaviour", "high", {"tokenizer.add-bos", "history.reverted"}, False, [])],
     [({"tokenizer.add-bos"}, "reverted")]),
    ("reverts/tokenizer-swapped-and-back",
     [model(tokenizer__json=None, tiktoken__model="YQ== 0\nYg== 1\n", tokenization_own__py="import tiktoken\n",
            tokenizer_config__json={"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}),
      model(tokenizer_config__json={"tokenizer_class": "PreTrainedTokenizerFast"}),
      model(tokenizer__json=None, tiktoken__model="YQ== 0\nYg== 1\n", tokenization_own__py="import tiktoken\n",
            tokenizer_config__json={"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}})], {},
     [("breaking", "high", {"tokenizer.replaced"}, True, []), (None, "high", {"history.reverted"}, False, ["equals"])],
     [({"tokenizer.replaced"}, "reverted")]),
    ("reverts/a-broken-config-is-mended", [PLAIN, model(config__json="{\"model_type\": \"llama\","), PLAIN], {},
     [("breaking", "critical", {"config.malformed"}, True, []), (None, None, {"history.reverted"}, False, [])],
     [({"config.malformed"}, "reverted")]),
    # Licence on the card.
    ("licences/stricter-and-back", [model(README__md=CARD.format(name)) for name in ("mit", "cc-by-nc-sa-4.0", "mit")], {},
     [("access", "high", {"licence.stricter"}, True, ["Commercial use"]), ("access", "medium", {"licence.looser"}, False, [])],
     [({"licence.stricter"}, "reverted")]),
    ("licences/looser", [model(README__md=CARD.format(name)) for name in ("cc-by-nc-4.0", "apache-2.0")], {},
     [("access", "medium", {"licence.looser"}, True, [])], [({"licence.looser"}, "open")]),
    # Code of another repo.
    ("shared-code/blocks", [{"modeling_blocks.py": "import torch\n"}, {"modeling_blocks.py": "import torch\nimport subprocess\n"}], {},
     [("security", None, set(), True, [])], None),
    ("shared-code/first-dependant", [model(config__json=REMOTE)], {},
     [("security", "high", {"code.remote-changed"}, True, ["shared-code/blocks", "modeling_blocks.py"])], [({"code.remote-changed"}, "open")]),
    ("shared-code/second-dependant", [model(config__json=REMOTE)], {},
     [("security", "high", {"code.remote-changed"}, True, [])], [({"code.remote-changed"}, "open")]),
    # A base model and what says that it was made of it: compared on the page, see BASES.
    ("bases/original", [PLAIN, model(chat_template__jinja=THINKING)], {},
     [("behaviour", "high", {"template.generation-prompt"}, True, [])], None),
    ("bases/mirror", [model(README__md=MADE_OF_ORIGINAL)], {}, [], []),
    ("bases/follows", [model(README__md=MADE_OF_ORIGINAL), model(README__md=MADE_OF_ORIGINAL, chat_template__jinja=THINKING)], {},
     [("behaviour", "high", {"template.generation-prompt"}, True, [])], None),
    ("bases/merge", [model(README__md=MADE_OF_ORIGINAL, chat_template__jinja=THINKING, generation_config__json={"eos_token_id": 1, "temperature": 0.7})],
     {}, [], []),
    ("bases/of-something-unknown", [model(README__md=CARD.format("mit\nbase_model: nobody/knows-it"))], {}, [], []),
    # What nobody needs to be told.
    ("quiet/readme-only", [PLAIN, model(README__md=CARD.format("apache-2.0") + "Cites a paper.\n")], {}, [None], []),
    ("quiet/likes-and-downloads", [PLAIN], {"events": [event(1, set={"likes": 7, "downloads": 900}), event(1, set={"likes": 8})]}, [], []),
    ("quiet/pull-requests-move", [PLAIN, model(README__md=CARD.format("apache-2.0") + "More.\n")],
     {"prs": {"1": 0}, "events": [event(2, set={"prs": {"1": 1}}), event(2, set={"prs": {"1": 0, "2": 1}})]}, [None], []),
    ("quiet/tags-and-branches-come", [PLAIN], {"events": [event(1, set={"git_tags": {"v1": 0}, "branches": {"next": 0}, "tags": ["chat"]})]}, [], []),
    ("quiet/a-discussion-opens", [PLAIN], {"events": [event(1, set={"discussions": [{"num": 1, "title": "Broken?", "status": "open"}]})]}, [], []),
]

# The kinds by which a head differs from the base model that its card names, where that is followed too.
BASES = {"bases/mirror": {"template.base-differs"}, "bases/follows": set(), "bases/merge": {"stop-set.base-differs"},
         "bases/of-something-unknown": None, "bases/original": None}

# With a token: what is private stays readable, what is removed answers 404, and commits behind a gate are read at once.
WITH_TOKEN = [
    ("seen/private", [PLAIN], {"events": [event(1, set={"private": True}), event(1, set={"private": False})]},
     [("access", "critical", {"access.private"}, True, []), ("access", "low", {"access.public"}, False, [])]),
    ("seen/removed", [PLAIN], {"events": [event(1, gone=True)]}, [("access", "critical", {"access.gone"}, True, [])]),
    ("seen/gated", [PLAIN, model(chat_template__jinja=THINKING)], {"events": [event(1, set={"gated": "manual"})]},
     [("access", "high", {"access.gated"}, True, []), ("behaviour", "high", {"template.generation-prompt"}, True, [])]),
    ("seen/twice-in-one-poll", [PLAIN, model(chat_template__jinja=THINKING), model(chat_template__jinja=WITH_DATE)], {},
     [("behaviour", "high", {"template.generation-prompt"}, True, []), ("behaviour", "high", {"template.system-prompt"}, True, [])]),
]
