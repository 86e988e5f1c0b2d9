"""Turns descriptions of revisions into repos that the replay hub serves.

A description is {path: content}; a content is a text, an object (a JSON file), {"$tensors": {"seed"?: n, name: [dtype, shape]}} (a
safetensors file whose bytes depend on the seed) or {"$file": {"size", "id"}} (bytes that only their digest tells). Besides a path there may
be "$referenced": {"org/name": {path: text}}: what a repo that the configs take code from holds at that time."""

import hashlib
import json
import pathlib

DTYPE_BITS = {"F64": 64, "I64": 64, "F32": 32, "I32": 32, "BF16": 16, "F16": 16, "I16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "I8": 8, "U8": 8, "BOOL": 8}


KEPT_WHOLE = 1 << 20


def tensor_file(tensors):
    """What is kept of a safetensors file, and the {"size", "sha256"} of the whole. A small file is kept whole, since one
    that is read to its end is held against its digest; of a large one the head alone is kept."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, value in tensors.items():
        if name == "seed":
            continue
        dtype, shape = value
        size = DTYPE_BITS[dtype] // 8
        for dimension in shape:
            size *= dimension
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    seed = str(tensors.get("seed", 0)).encode()
    if at <= KEPT_WHOLE:
        head += (seed * (at // len(seed) + 1))[:at]
        return head, {"size": len(head), "sha256": hashlib.sha256(head).hexdigest()}
    return head, {"size": len(head) + at, "sha256": hashlib.sha256(head + seed).hexdigest()}


def file_of(content):
    """The bytes that are kept of a file, and its record in repo.json when they are not all of it."""
    if isinstance(content, str):
        return content.encode(), None
    if "$tensors" in content:
        return tensor_file(content["$tensors"])
    if "$file" in content:
        described = content["$file"]
        return b"", {"size": described["size"], "sha256": hashlib.sha256(described["id"].encode()).hexdigest()}
    return json.dumps(content, indent=2).encode(), None


def write_history(root, name, revisions, facts=None):
    """A recorded repo: `revisions` is a list of (title, description), `facts` what repo.json says besides."""
    repo = pathlib.Path(root) / "models" / name
    lfs = {}
    for number, (title, description) in enumerate(revisions):
        folder = repo / "revisions" / f"{number + 1:04d}-{title}"
        folder.mkdir(parents=True)
        for path, content in description.items():
            if path.startswith("$"):
                continue
            data, record = file_of(content)
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            if path in lfs and not record:
                record = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            if record:
                lfs.setdefault(path, []).append(dict(record, **{"from": number}))
    meta = dict(facts or {})
    if lfs:
        meta["lfs"] = lfs
    (repo / "repo.json").write_text(json.dumps(meta))


def write_there_and_back(root, name, before, after):
    """A change and its undoing, with the repos that code is taken from moving along."""
    taken_from = {}
    for description in (before, after, before):
        for code, files in description.get("$referenced", {}).items():
            taken_from.setdefault(code, []).append(files)
    for code, steps in taken_from.items():
        write_history(root, code, [(f"code-{index}", files) for index, files in enumerate(steps)])
    steps = [("before", before)]
    without_code = [{path: content for path, content in side.items() if not path.startswith("$")} for side in (before, after)]
    if without_code[0] != without_code[1]:
        steps += [("after", after), ("undone", before)]
    write_history(root, name, steps)
