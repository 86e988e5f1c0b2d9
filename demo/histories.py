"""The histories that the demo replays: one function a repo, each revision with what a tracker must say of it.

`kinds` names all kinds of change that must be found, of every level, and no other may be; `advisory` whether one is due. Dates decide in which order the
revisions of all repos come (the last LIVE_STEPS of them while a person watches).
"""
import models
import texts
import weights

LIVE_STEPS = 14

LLAMA_TOKENS = {"<|bos|>": 128000, "<|eos|>": 128001, "<|turn|>": 128006, "<|end|>": 128009}
QWEN_TOKENS = {"<|bos|>": 151643, "<|turn|>": 151644, "<|end|>": 151645}
SMALL_TOKENS = {"<unk>": 0, "<|bos|>": 1, "<|eos|>": 2, "<|turn|>": 3, "<|end|>": 4}


class Repo:
    """A repo and its revisions; a revision is a whole tree, written as changes to the one before (None removes)."""

    def __init__(self, name, tags=("text-generation",), **meta):
        self.name = name
        self.meta = {"library_name": "transformers", "pipeline_tag": "text-generation", "tags": list(tags), **meta}
        self.revisions, self.events, self.expected = [], [], []

    def revision(self, date, title, files, kinds=(), advisory=False):
        tree = dict(self.revisions[-1][2]) if self.revisions else {}
        for path, content in files.items():
            if content is None:
                del tree[path]
            else:
                tree[path] = content
        self.revisions.append((date, title, tree))
        self.expected.append({"revision": title, "kinds": list(kinds), "advisory": advisory})

    def event(self, date, title, kinds=(), advisory=False, **what):
        self.events.append({"after": len(self.revisions), "date": date, **what})
        self.expected.append({"event": title, "kinds": list(kinds), "advisory": advisory})

    def on_top_of(self, index, date, title, files, kinds=(), advisory=False):
        """A revision written on top of an earlier one."""
        tree = dict(self.revisions[index][2])
        tree.update(files)
        self.revisions.append((date, title, tree))
        self.expected.append({"revision": title, "kinds": list(kinds), "advisory": advisory})


def generation(config, eos=None, **more):
    return texts.dump({"bos_token_id": config["bos_token_id"], "eos_token_id": config["eos_token_id"] if eos is None else eos,
                       "do_sample": True, "temperature": 0.6, "top_p": 0.9,
                       "transformers_version": config.get("transformers_version", "4.51.0"), **more})


def start(repo, date, config, tokens, numbers_of, licence="apache-2.0", eos="<|eos|>", chat=None, tensors=None, **more):
    """The first revision: card, config, tokenizer, template and, where given, weights."""
    files = {".gitattributes": texts.GITATTRIBUTES,
             "README.md": texts.card(repo.name.split("/")[1], numbers_of, licence),
             "config.json": texts.dump(config),
             "generation_config.json": generation(config),
             "tokenizer.json": texts.bpe(tokens),
             "tokenizer_config.json": texts.tokenizer_config(tokens, "<|bos|>", eos, chat or texts.template())}
    if tensors is not None:
        files.update(weights.weight_files(tensors, repo.name))
    files.update(more)
    repo.revision(date, "Upload model", {path: content for path, content in files.items() if content is not None})


def brook():
    c = models.NEMOTRON_NANO
    r = Repo("riverbend/brook-30b-a3b")
    start(r, "2026-02-03T09:00:00Z", c, SMALL_TOKENS, "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "other", tensors=weights.hybrid(c),
          **{"configuration_nemotron_h.py": texts.config_code("nemotron_h", "NemotronHConfig"),
             "modeling_nemotron_h.py": texts.model_code("nemotron_h", "NemotronHForCausalLM", "NemotronHConfig")})
    r.revision("2026-02-10T09:00:00Z", "Update README.md", {
        "README.md": texts.card("brook-30b-a3b", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "other", "\nNow with a word on how it was made.\n")})
    r.revision("2026-04-21T15:10:00Z", "Move the chat template to its own file", {
        "tokenizer_config.json": texts.tokenizer_config(SMALL_TOKENS, "<|bos|>", "<|eos|>"),
        "chat_template.jinja": texts.template()},
        ["template.moved"])
    r.revision("2026-10-20T08:30:00Z", "Let the answer open with its reasoning", {
        "chat_template.jinja": texts.template(prompt="<|turn|>assistant\\n<think>\\n")}, ["template.generation-prompt"], True)
    return r


def estuary():
    c = models.NEMOTRON_SUPER
    r = Repo("riverbend/estuary-120b-a12b")
    start(r, "2026-03-11T10:00:00Z", c, SMALL_TOKENS, "NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "other",
          **{"configuration_nemotron_h.py": texts.config_code("nemotron_h", "NemotronHConfig"),
             "modeling_nemotron_h.py": texts.model_code("nemotron_h", "NemotronHForCausalLM", "NemotronHConfig")})
    r.revision("2026-06-02T10:00:00Z", "Sample as recommended", {
        "generation_config.json": generation(c, temperature=1.0, top_p=0.95)}, ["sampling.default"], True)
    r.revision("2026-07-15T10:00:00Z", "Update .gitattributes", {
        ".gitattributes": texts.GITATTRIBUTES + "*.gz filter=lfs diff=lfs merge=lfs -text\n"})
    return r


def heron():
    c = models.ILAMA_1B
    r = Repo("millpond/heron-3.2-1b")
    code = {"configuration_ilama.py": texts.config_code("ilama", "IlamaConfig"),
            "modeling_ilama.py": texts.model_code("ilama", "IlamaForCausalLM", "IlamaConfig")}
    start(r, "2026-02-17T12:00:00Z", c, LLAMA_TOKENS, "Ilama-3.2-1B", "llama3.2", tensors=weights.decoder(c), **code)
    r.revision("2026-05-05T12:00:00Z", "Scale the embeddings", {
        "modeling_ilama.py": texts.model_code("ilama", "IlamaForCausalLM", "IlamaConfig", "0.5")}, ["code.changed"], True)
    r.revision("2026-05-06T12:00:00Z", "Say where the scale comes from", {
        "modeling_ilama.py": texts.model_code("ilama", "IlamaForCausalLM", "IlamaConfig", "0.5",
                                              "# The scale is the one that training used.\n")}, ["code.comments"])
    return r


def kingfisher():
    c = models.LLAMA_1B
    r = Repo("millpond/kingfisher-3.2-1b-instruct")
    start(r, "2026-02-20T08:00:00Z", c, LLAMA_TOKENS, "Llama-3.2-1B-Instruct", "llama3.2", tensors=weights.decoder(c))
    r.revision("2026-03-18T08:00:00Z", "Stop at the end of a turn as well", {
        "generation_config.json": generation(c, eos=[128001, 128009])}, ["stop-set.changed"], True)

    def chat(**options):
        return {"tokenizer_config.json": texts.tokenizer_config(LLAMA_TOKENS, "<|bos|>", "<|eos|>", texts.template(**options))}

    r.revision("2026-07-29T10:05:00Z", "Show tools to the model", chat(tools=True), ["template.tools"], True)
    system = "You are a heron. You answer from the bank."
    r.revision("2026-07-29T16:40:00Z", "Give it a system prompt of its own", chat(tools=True, system=system),
               ["template.system-prompt"], True)
    resaved = {k: v for k, v in c.items() if k not in ("torch_dtype", "rope_scaling", "rope_theta")}
    resaved.update(dtype="bfloat16", rope_parameters={**models.LLAMA3_ROPE, "rope_theta": 500000.0},
                   transformers_version="5.2.0")
    r.revision("2026-09-09T08:00:00Z", "Save with transformers 5", {"config.json": texts.dump(dict(sorted(resaved.items())))},
               ["config.renamed", "config.provenance"])
    return r


def lattice_code():
    r = Repo("alder/lattice-code", tags=())
    config = {"model_type": "nemotron_labs_diffusion",
              "auto_map": {"AutoConfig": "configuration_lattice.LatticeConfig", "AutoModel": "modeling_lattice.LatticeModel"}}
    r.revision("2026-05-20T09:00:00Z", "Code of the lattice models", {
        "README.md": texts.card("lattice-code", "no model: it is code alone", "apache-2.0"),
        "config.json": texts.dump(config),
        "configuration_lattice.py": texts.config_code("lattice", "LatticeConfig"),
        "modeling_lattice.py": texts.model_code("lattice", "LatticeModel", "LatticeConfig")})
    r.revision("2026-11-18T09:00:00Z", "Halve the embeddings", {
        "modeling_lattice.py": texts.model_code("lattice", "LatticeModel", "LatticeConfig", "0.5")}, ["code.changed"], True)
    return r


def lattice():
    c = models.DIFFUSION_8B
    r = Repo("alder/lattice-8b")
    m = "nemotron_labs_diffusion"
    code = {f"configuration_{m}.py": texts.config_code(m, "NemotronLabsDiffusionConfig"),
            f"modeling_{m}.py": texts.model_code(m, "NemotronLabsDiffusionModel", "NemotronLabsDiffusionConfig")}
    start(r, "2026-04-02T09:00:00Z", c, SMALL_TOKENS, "Nemotron-Labs-Diffusion-8B", "other", tensors=weights.decoder(c), **code)
    moved = {**c, "auto_map": {"AutoConfig": "alder/lattice-code--configuration_lattice.LatticeConfig",
                               "AutoModel": "alder/lattice-code--modeling_lattice.LatticeModel"}}
    r.revision("2026-06-10T09:00:00Z", "Take the code from the shared repository", {
        "config.json": texts.dump(moved), **{path: None for path in code}}, ["code.auto-map", "code.removed"], True)
    r.revision("2026-11-19T09:00:00Z", "Update README.md", {
        "README.md": texts.card("lattice-8b", "Nemotron-Labs-Diffusion-8B", "other", "\nIts code lives in alder/lattice-code.\n")},
        ["code.remote-changed"], True)
    return r


def otter_small():
    c = models.QWEN3_06B
    r = Repo("stonebridge/otter-0.6b")

    def settings(add_bos):
        return {"tokenizer_config.json": texts.tokenizer_config(QWEN_TOKENS, "<|bos|>", "<|end|>", texts.template(),
                                                                cls="LlamaTokenizerFast", add_bos_token=add_bos)}

    start(r, "2026-03-01T11:00:00Z", c, QWEN_TOKENS, "Qwen3-0.6B", eos="<|end|>", tensors=weights.decoder(c), **settings(False))
    r.revision("2026-05-12T11:00:00Z", "Start every prompt with the first token", settings(True),
               ["tokenizer.add-bos", "template.double-bos"], True)
    r.revision("2026-05-14T11:00:00Z", "Revert: the template does that already", settings(False),
               ["tokenizer.add-bos", "template.double-bos", "history.reverted"], True)
    r.revision("2026-08-01T11:00:00Z", "Better weights", weights.weight_files(weights.decoder(c), r.name + " 2"),
               ["weights.values"], True)
    r.revision("2026-08-20T11:00:00Z", "Save the tokenizer anew", {"tokenizer.json": texts.bpe(QWEN_TOKENS, pairs=True)},
               ["tokenizer.serialised-form"])
    return r


def otter_middle():
    c = models.QWEN3_17B
    r = Repo("stonebridge/otter-1.7b")
    start(r, "2026-03-02T11:00:00Z", c, QWEN_TOKENS, "Qwen3-1.7B", eos="<|end|>", tensors=weights.decoder(c))
    r.revision("2026-06-20T11:00:00Z", "Sample a little warmer", {"generation_config.json": generation(c, temperature=0.8)},
               ["sampling.default"], True)
    prompt = {"tokenizer_config.json": texts.tokenizer_config(QWEN_TOKENS, "<|bos|>", "<|end|>",
                                                              texts.template(system="You are an otter."))}
    r.revision("2026-06-21T11:00:00Z", "Add a system prompt", prompt, ["template.system-prompt"], True)
    r.event("2026-11-12T11:00:00Z", "main moves back to the first revision", ["history.rewritten", "sampling.default", "template.system-prompt"],
            True, head=0)
    r.on_top_of(0, "2026-11-12T11:30:00Z", "Add a system prompt, and nothing else", prompt, ["template.system-prompt"], True)
    return r


def otter_large():
    c = models.QWEN3_8B
    r = Repo("stonebridge/otter-8b")
    start(r, "2026-03-03T11:00:00Z", c, QWEN_TOKENS, "Qwen3-8B", eos="<|end|>", tensors=weights.decoder(c))
    vision = [(f"vision.blocks.{i}.{part}.weight", "BF16", [1280, 1280]) for i in range(24) for part in ("attn", "mlp")]
    extra = weights.Weights(vision, r.name + " vision")
    places = {}
    shards = sorted(p for p in r.revisions[0][2] if p.startswith("model-"))
    for shard in shards:
        places.update({name: shard for name in r.revisions[0][2][shard].names})
    places.update({name: "vision/vision.safetensors" for name, _, _ in vision})
    r.revision("2026-07-01T11:00:00Z", "Add eyes", {
        "vision/vision.safetensors": extra,
        "model.safetensors.index.json": weights.index_text(weights.decoder(c) + vision, places)}, ["weights.tensors-added"], True)

    def chat(text):
        return {"tokenizer_config.json": texts.tokenizer_config(QWEN_TOKENS, "<|bos|>", "<|end|>", text)}

    r.revision("2026-11-02T09:00:00Z", "Tidy the chat template", chat(texts.broken(texts.template())),
               ["template.does-not-parse"], True)
    r.revision("2026-11-02T13:30:00Z", "Mend the chat template", chat(texts.template()),
               ["template.parses-again", "history.reverted"], True)
    return r


def convoy():
    c = models.MIXTRAL_8X7B
    r = Repo("ferryman/convoy-8x7b")
    start(r, "2026-02-25T14:00:00Z", c, SMALL_TOKENS, "Mixtral-8x7B-v0.1", tensors=weights.decoder(c))
    r.revision("2026-04-30T14:00:00Z", "Ask three experts a token", {"config.json": texts.dump({**c, "num_experts_per_tok": 3})},
               ["config.experts-per-token"], True)
    flip = texts.card("convoy-8x7b", "Mixtral-8x7B-v0.1", "cc-by-nc-4.0")
    r.revision("2026-10-24T14:00:00Z", "Change the licence", {"README.md": flip}, ["licence.stricter"], True)
    r.revision("2026-10-25T14:00:00Z", "Change the licence back", {"README.md": texts.card("convoy-8x7b", "Mixtral-8x7B-v0.1", "apache-2.0")},
               ["licence.looser", "history.reverted"], True)
    return r


def minstrel():
    c = models.MISTRAL_12B
    r = Repo("ferryman/minstrel-12b")
    start(r, "2026-03-20T14:00:00Z", c, SMALL_TOKENS, "Mistral-Nemo-Instruct-2407", tensors=weights.decoder(c))
    r.revision("2026-06-15T14:00:00Z", "The context is 128k, not 1M", {
        "config.json": texts.dump({**c, "max_position_embeddings": 131072})}, ["config.context"], True)
    r.event("2026-11-08T14:00:00Z", "access must be asked for", ["access.gated"], True, set={"gated": "manual"})
    return r


def monolith():
    c = models.LLAMA_405B
    r = Repo("quarry/monolith-405b")
    shards = 50_000_000_000
    start(r, "2026-04-10T07:00:00Z", c, LLAMA_TOKENS, "Llama-3.1-405B", "llama3.1",
          **weights.weight_files(weights.decoder(c), r.name, shards))
    fewer = {**c, "num_key_value_heads": 8}
    r.revision("2026-11-05T07:00:00Z", "Save with 8 key-value heads", {
        "config.json": texts.dump(fewer), **weights.weight_files(weights.decoder(fewer), r.name, shards)},
        ["config.attention", "weights.reshaped-with-config", "weights.resharded", "weights.size"], True)
    return r


def reed():
    r = Repo("willow/reed-2.7b")
    old, new = models.PHI2_OLD, models.PHI2_NEW
    tokens = {"<|eos|>": 50256}
    settings = texts.tokenizer_config(tokens, "<|eos|>", "<|eos|>", max_length=2048)
    code = {"configuration_phi.py": texts.config_code("phi", "PhiConfig"),
            "modeling_phi.py": texts.model_code("phi", "PhiForCausalLM", "PhiConfig")}
    r.revision("2026-03-05T10:00:00Z", "Upload model", {
        ".gitattributes": texts.GITATTRIBUTES, "README.md": texts.card("reed-2.7b", "phi-2", "mit"),
        "config.json": texts.dump(old), "generation_config.json": texts.dump({"bos_token_id": 50256, "eos_token_id": 50256}),
        "tokenizer.json": texts.bpe(tokens), "tokenizer_config.json": settings, **code,
        **weights.weight_files(weights.phi_old(new), r.name)})
    r.revision("2026-03-09T10:00:00Z", "Update README.md", {
        "README.md": texts.card("reed-2.7b", "phi-2", "mit", "\nA base model: it was not taught to chat.\n")})
    after = weights.weight_files(weights.phi_new(new), r.name)
    gone = {path: None for path in r.revisions[0][2] if path.endswith(".safetensors") and path not in after}
    r.revision("2026-08-11T10:00:00Z", "Use the classes of transformers", {
        "config.json": texts.dump(new), **{path: None for path in code}, **gone, **after},
        ["config.model-type", "weights.renamed", "code.removed", "code.auto-map-removed", "config.provenance",
         "config.token-ids", "stop-set.source", "config.default-stated",
         # The old type is its repository's own: what it calls a key isn't known as another name of the new type's.
         "config.attention-heads", "config.context", "config.numerics", "config.rope",
         "config.shape", "config.training"], True)
    return r


def longreed():
    c = models.PHI3_MINI
    r = Repo("willow/longreed-3.8b-128k")
    start(r, "2026-04-22T10:00:00Z", c, {**SMALL_TOKENS, "<|stop|>": 32000}, "Phi-3-mini-128k-instruct", "mit", eos="<|stop|>",
          tensors=weights.phi3(c))
    r.revision("2026-07-08T10:00:00Z", "New factors for long texts", {
        "config.json": texts.dump({**c, "rope_scaling": models.phi3_rope("longrope", 1.0)})}, ["config.rope-factors", "config.renamed"], True)
    return r


def compass():
    c = models.MINILM
    r = Repo("harbour/compass-embed", tags=("sentence-similarity",), library_name="sentence-transformers",
             pipeline_tag="sentence-similarity")
    tokens = {"<|bos|>": 0, "<pad>": 1, "<|eos|>": 2, "<unk>": 3}

    def settings(cls, length):
        return {"tokenizer_config.json": texts.tokenizer_config(tokens, "<|bos|>", "<|eos|>", cls=cls, max_length=length)}

    r.revision("2026-03-15T16:00:00Z", "Upload model", {
        ".gitattributes": texts.GITATTRIBUTES,
        "README.md": texts.card("compass-embed", "paraphrase-multilingual-MiniLM-L12-v2", "apache-2.0"),
        "config.json": texts.dump(c), "tokenizer.json": texts.bpe(tokens), **settings("RobertaTokenizer", 512),
        **weights.weight_files(weights.bert(c), r.name)})
    r.revision("2026-06-25T16:00:00Z", "Name the tokenizer class that was trained with", settings("XLMRobertaTokenizer", 512),
               ["tokenizer.class"], True)
    r.revision("2026-06-26T16:00:00Z", "Texts are cut at 128 tokens", settings("XLMRobertaTokenizer", 128),
               ["tokenizer.max-length"], True)
    return r


def tidewater():
    c = {**models.MISTRAL_12B, "max_position_embeddings": 131072}
    r = Repo("harbour/tidewater-12b")
    slow = {"tokenization_tide.py": texts.slow_tokenizer_code("TideTokenizer"), "tiktoken.model": texts.tiktoken_lines(),
            "tokenizer_config.json": texts.tokenizer_config(
                SMALL_TOKENS, "<|bos|>", "<|eos|>", texts.template(), cls="TideTokenizer",
                auto_map={"AutoTokenizer": ["tokenization_tide.TideTokenizer", None]})}
    start(r, "2026-05-02T06:00:00Z", c, SMALL_TOKENS, "Mistral-Nemo-Instruct-2407", tensors=weights.decoder(c),
          **{"tokenizer.json": None, **slow})
    r.revision("2026-11-15T06:00:00Z", "Replace the tokenizer by a fast one", {
        "tokenization_tide.py": None, "tiktoken.model": None, "tokenizer.json": texts.bpe(SMALL_TOKENS),
        "tokenizer_config.json": texts.tokenizer_config(SMALL_TOKENS, "<|bos|>", "<|eos|>", texts.template())},
        ["tokenizer.replaced", "tokenizer.class", "code.auto-map-removed", "code.removed"], True)
    r.revision("2026-11-16T06:00:00Z", "Revert: ids differ", {"tokenizer.json": None, **slow},
               ["tokenizer.replaced", "tokenizer.class", "code.auto-map", "code.added", "history.reverted"], True)
    return r


def raft():
    c = models.LLAMA2_7B
    r = Repo("ferryman/raft-7b")
    start(r, "2026-02-08T14:00:00Z", c, SMALL_TOKENS, "Llama-2-7b-hf", "llama2", tensors=weights.decoder(c, "F16"))
    r.revision("2026-05-28T14:00:00Z", "Update README.md", {
        "README.md": texts.card("raft-7b", "Llama-2-7b-hf", "llama2", "\nIt is old, and will be taken down.\n")})
    r.event("2026-11-22T14:00:00Z", "the repository is taken down", ["access.gone"], True, gone=True)
    return r


def all_repos():
    return [brook(), estuary(), heron(), kingfisher(), lattice_code(), lattice(), otter_small(), otter_middle(), otter_large(),
            convoy(), minstrel(), monolith(), reed(), longreed(), compass(), tidewater(), raft()]
