#!/usr/bin/env python3
"""The unmodified Python client of the hub against `headwater hub`: run with a Python that has huggingface_hub.

    PY tests/peers/hub/run.py --headwater build/release/headwater

Serves a fixture of its own, from one origin and from two, and lets the client read it with nothing but HF_ENDPOINT set.
One line a step; ends 0 when all of them gave what was expected. Where the shared drivers lie beside the checkout
(HEADWATER_SHARED or ../shared), hub/drive.py is run as well.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMMITS = 120  # more than one page
LONG_HEADER_TENSORS = 1500  # a header of more than the 100,001 bytes that the client asks for first


def safetensors(tensors):
    """A whole little file: header and zeros."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors.items():
        size = 2
        for n in shape:
            size *= n
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(offset)


def write_repo(root, name, revisions, meta=None):
    """A revision is the files that change, over those before it."""
    base, tree = os.path.join(root, "models", name), {}
    for index, (title, files) in enumerate(revisions):
        tree = {**tree, **files}
        for path, content in tree.items():
            full = os.path.join(base, "revisions", f"{index:04d}-{title}", path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as out:
                out.write(content if isinstance(content, bytes) else content.encode())
    if meta is not None:
        with open(os.path.join(base, "repo.json"), "w", encoding="utf-8") as out:
            json.dump(meta, out)


def write_fixture(root):
    config = json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32})
    write_repo(root, "lake/pike", [
        ("Begin", {".gitattributes": "*.safetensors filter=lfs\n"}),
        ("Add the model", {"config.json": config, "README.md": "---\nlicense: mit\n---\n# pike\n", "empty.txt": "",
                           "model.safetensors": safetensors({"a": [4, 4], "b": [3]}), "extra/notes/one.txt": "one\n"}),
        ("Set the angle", {"config.json": json.dumps({"model_type": "llama", "rope_theta": 5e5})}),
    ], {"tags": ["fish"], "pipeline_tag": "text-generation", "library_name": "transformers", "renamed_from": ["lake/luce"],
        "branches": {"still": 1}, "git_tags": {"first": 1}, "prs": {"7": 1}})
    many = {f"layers.{i}.some.rather.long.name.of.a.tensor.weight": [2] for i in range(LONG_HEADER_TENSORS)}
    shards = {"model-00001-of-00002.safetensors": many, "model-00002-of-00002.safetensors": {"head.weight": [5, 5]}}
    write_repo(root, "lake/shoal", [("Add the shards", {
        "config.json": config,
        "model.safetensors.index.json": json.dumps({"metadata": {"total_size": 4 * LONG_HEADER_TENSORS + 50},
                                                    "weight_map": {n: f for f, t in shards.items() for n in t}}),
        **{name: safetensors(tensors) for name, tensors in shards.items()}})])
    write_repo(root, "lake/locked", [("Begin", {"config.json": config})], {"gated": "manual"})
    write_repo(root, "lake/busy", [(f"Step {i}", {"f.txt": str(i)}) for i in range(COMMITS)])
    # Only the header is kept: the rest reads as zeros.
    kept = safetensors({"w": [1000]})
    write_repo(root, "lake/hollow", [("Begin", {"model.safetensors": kept[:-2000]})],
               {"lfs": {"model.safetensors": {"size": len(kept), "sha256": "5" * 64}}})


class Steps:
    """Runs steps one after the other and counts those that did not give what was expected."""

    def __init__(self):
        self.failed = self.count = 0

    def give(self, label, call, expected):
        try:
            got = call()
        except Exception as error:  # whatever the client raises is the answer of this step
            got = type(error).__name__
        self.count += 1
        self.failed += got != expected
        print(f"{'ok  ' if got == expected else 'FAIL'} {label}" + ("" if got == expected else f": {got!r}, not {expected!r}"))


def read_text(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def client_steps(cache):
    from huggingface_hub import HfApi, get_safetensors_metadata, hf_hub_download, snapshot_download

    api, steps = HfApi(), Steps()
    info = api.model_info("lake/pike", files_metadata=True)
    commits = api.list_repo_commits("lake/pike")
    first = next(c.commit_id for c in commits if c.title == "Add the model")
    weights = safetensors({"a": [4, 4], "b": [3]})

    steps.give("model_info: facts", lambda: (info.id, info.gated, info.private, info.pipeline_tag, info.card_data.license),
               ("lake/pike", False, False, "text-generation", "mit"))
    steps.give("model_info: siblings with sizes", lambda: {s.rfilename: s.size for s in info.siblings}["model.safetensors"],
               len(weights))
    steps.give("model_info: parameters", lambda: info.safetensors.total, 19)
    steps.give("model_info: a renamed repo", lambda: api.model_info("lake/luce").id, "lake/pike")
    steps.give("model_info: by tag", lambda: api.model_info("lake/pike", revision="first").sha, first)
    steps.give("model_info: chosen fields", lambda: api.model_info("lake/pike", expand=["sha"]).sha, info.sha)
    steps.give("model_info: no such revision", lambda: api.model_info("lake/pike", revision="nope"), "RevisionNotFoundError")
    steps.give("model_info: no such repo", lambda: HfApi(token="hf_ok").model_info("lake/nope"), "RepositoryNotFoundError")
    steps.give("list_models", lambda: sorted(m.id for m in api.list_models(author="lake", limit=2)) != [], True)
    steps.give("list_repo_commits: newest first", lambda: [c.title for c in commits],
               ["Set the angle", "Add the model", "Begin"])
    steps.give("list_repo_commits: all pages", lambda: len(api.list_repo_commits("lake/busy")), COMMITS)
    steps.give("list_repo_commits: gated", lambda: api.list_repo_commits("lake/locked"), "GatedRepoError")
    steps.give("list_repo_refs", lambda: (lambda r: ([b.name for b in r.branches], [t.name for t in r.tags],
                                                     [p.name for p in r.pull_requests]))(
        api.list_repo_refs("lake/pike", include_pull_requests=True)), (["main", "still"], ["first"], ["7"]))
    steps.give("list_repo_tree: recursive", lambda: sorted(e.path for e in api.list_repo_tree("lake/pike", recursive=True)),
               [".gitattributes", "README.md", "config.json", "empty.txt", "extra", "extra/notes", "extra/notes/one.txt",
                "model.safetensors"])
    steps.give("list_repo_tree: of a folder, with last commits",
               lambda: [e.last_commit.title for e in api.list_repo_tree("lake/pike", "extra/notes", expand=True)],
               ["Add the model"])
    steps.give("list_repo_tree: no such folder", lambda: list(api.list_repo_tree("lake/pike", "nope")),
               "RemoteEntryNotFoundError")
    steps.give("get_paths_info", lambda: [e.path for e in api.get_paths_info("lake/pike", ["config.json", "nope"])],
               ["config.json"])
    steps.give("hf_hub_download: a small file of a pull request",
               lambda: json.loads(read_text(hf_hub_download("lake/pike", "config.json", revision="refs/pr/7",
                                                            cache_dir=cache)))["hidden_size"], 32)
    steps.give("hf_hub_download: an LFS file",
               lambda: open(hf_hub_download("lake/pike", "model.safetensors", cache_dir=cache), "rb").read() == weights, True)
    steps.give("hf_hub_download: an LFS file, with a token",
               lambda: os.path.getsize(hf_hub_download("lake/pike", "model.safetensors", cache_dir=cache + "-token",
                                                       token="hf_ok")), len(weights))
    steps.give("hf_hub_download: an empty file",
               lambda: os.path.getsize(hf_hub_download("lake/pike", "empty.txt", cache_dir=cache)), 0)
    steps.give("hf_hub_download: no such file", lambda: hf_hub_download("lake/pike", "nope", cache_dir=cache),
               "RemoteEntryNotFoundError")
    steps.give("hf_hub_download: gated", lambda: hf_hub_download("lake/locked", "config.json", cache_dir=cache),
               "GatedRepoError")
    steps.give("hf_hub_download: gated, with access",
               lambda: os.path.basename(hf_hub_download("lake/locked", "config.json", cache_dir=cache, token="hf_ok")),
               "config.json")
    steps.give("hf_hub_download: beyond what is kept, zeros",
               lambda: open(hf_hub_download("lake/hollow", "model.safetensors", cache_dir=cache), "rb").read()
               == safetensors({"w": [1000]}), True)
    steps.give("snapshot_download", lambda: sorted(os.listdir(snapshot_download("lake/pike", cache_dir=cache + "-all"))),
               [".gitattributes", "README.md", "config.json", "empty.txt", "extra", "model.safetensors"])
    steps.give("get_safetensors_metadata: one file",
               lambda: get_safetensors_metadata("lake/pike").parameter_count, {"BF16": 19})
    steps.give("get_safetensors_metadata: shards, a long header",
               lambda: get_safetensors_metadata("lake/shoal").parameter_count, {"BF16": 2 * LONG_HEADER_TENSORS + 25})
    steps.give("whoami", lambda: HfApi(token="hf_ok").whoami()["name"], "ok")
    print(f"{steps.count - steps.failed} of {steps.count} steps")
    return 1 if steps.failed else 0


class Hub:
    """`headwater hub` on a free port, stopped at the end of the block."""

    def __init__(self, headwater, folder, *options):
        self.command = [headwater, "hub", folder, "--port", "0", *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        if len(line) < 2 or line[0] != "hub":
            self.process.kill()
            raise SystemExit(f"FAIL {' '.join(self.command)} did not start")
        self.address = line[1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.status = self.process.wait(timeout=20)
        self.process.stdout.close()


def client_environment(address, home):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING_FACE_"))
            and k.lower() not in ("http_proxy", "https_proxy", "all_proxy")}
    return {**kept, "HF_ENDPOINT": address, "HF_HOME": home, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HUB_CONTROL": "/_hub"}


def run_own_steps(headwater, work):
    fixture, failed = os.path.join(work, "fixture"), False
    write_fixture(fixture)
    for label, options in (("one origin", []), ("files from a second origin", ["--cdn-port", "0"])):
        print(f"-- {label}", flush=True)
        home = os.path.join(work, label.replace(" ", "-"))
        with Hub(headwater, fixture, *options) as hub:
            command = [sys.executable, os.path.abspath(__file__), "--steps", os.path.join(home, "cache")]
            failed |= subprocess.run(command, env=client_environment(hub.address, home), check=False).returncode != 0
        if hub.status != 0:
            print(f"FAIL the hub ended with {hub.status} on SIGTERM")
            failed = True
    return failed


def run_shared_driver(headwater, work):
    shared = os.environ.get("HEADWATER_SHARED") or os.path.join(HERE, "../../../../shared")
    driver = os.path.join(shared, "hub", "drive.py")
    if not os.path.exists(driver):
        return False
    print("-- the shared driver", flush=True)
    fixture = os.path.join(work, "shared-fixture")
    subprocess.run([sys.executable, os.path.join(shared, "hub", "mkfx.py"), fixture], check=True)
    with Hub(headwater, fixture, "--cdn-port", "0") as hub:
        result = subprocess.run([sys.executable, driver], env=client_environment(hub.address, os.path.join(work, "driver")),
                                stdout=subprocess.PIPE, text=True, check=False)
    print("\n".join(line for line in result.stdout.splitlines() if line.startswith("FAIL") or " passed, " in line))
    return result.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headwater", help="the executable under test")
    parser.add_argument("--steps", metavar="CACHE", help="run the client's steps against HF_ENDPOINT (used by this script)")
    options = parser.parse_args()
    if options.steps:
        return client_steps(options.steps)
    if not options.headwater:
        parser.error("--headwater is needed")
    with tempfile.TemporaryDirectory(prefix="headwater-peer-hub-") as work:
        own = run_own_steps(os.path.abspath(options.headwater), work)
        driven = run_shared_driver(os.path.abspath(options.headwater), work)
    return 1 if own or driven else 0


if __name__ == "__main__":
    sys.exit(main())
