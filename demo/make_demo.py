#!/usr/bin/env python3
"""Writes the recorded histories of `headwater demo`. Python's standard library only; the same bytes every time.

    make_demo.py --folder ROOT       a folder for `headwater hub ROOT`
    make_demo.py --archive FILE      the form that is built into the executable
    make_demo.py --expected FILE     what a tracker must say of each step, as JSON

Archive: 8 bytes (little-endian) with the length of what follows inflated, then a zlib stream of entries. An entry is a
line "SIZE<tab>PATH<tab>PATH...\\n" and SIZE bytes: one content, and all the paths that hold it.
"""
import argparse
import json
import os
import re
import struct
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import histories
import weights


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-")


def lfs_records(repo):
    """{path: [{"from", "size", "sha256"}]}: a new record wherever the content of a weight file changes."""
    records = {}
    for index, (_, _, tree) in enumerate(repo.revisions):
        for path, content in tree.items():
            if isinstance(content, weights.Weights):
                listed = records.setdefault(path, [])
                if not listed or listed[-1]["sha256"] != content.sha256:
                    listed.append({"from": index, "size": content.size, "sha256": content.sha256})
    return records


def repo_files(repo):
    """Yields (path, bytes) of one repo's folder."""
    base = f"models/{repo.name}/"
    meta = {**repo.meta, "commits": [{"title": title, "date": date} for date, title, _ in repo.revisions],
            "lfs": lfs_records(repo), "events": repo.events}
    yield base + "repo.json", (json.dumps(meta, indent=1) + "\n").encode()
    for index, (_, title, tree) in enumerate(repo.revisions):
        for path, content in sorted(tree.items()):
            data = content.kept if isinstance(content, weights.Weights) else content.encode()
            yield f"{base}revisions/{index:04d}-{slug(title)}/{path}", data


def write_folder(repos, root):
    for repo in repos:
        for path, data in repo_files(repo):
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as out:
                out.write(data)


def archive(repos):
    contents = {}
    for repo in repos:
        for path, data in repo_files(repo):
            contents.setdefault(data, []).append(path)
    plain = b"".join(("\t".join([str(len(data))] + paths) + "\n").encode() + data for data, paths in contents.items())
    return struct.pack("<Q", len(plain)) + zlib.compress(plain, 9)


def expected(repos):
    return {"live_steps": histories.LIVE_STEPS,
            "revisions": sum(len(repo.revisions) for repo in repos),
            "steps": sum(len(repo.expected) for repo in repos),
            "repos": {repo.name: repo.expected for repo in repos}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder")
    parser.add_argument("--archive")
    parser.add_argument("--expected")
    options = parser.parse_args()
    repos = histories.all_repos()
    if options.folder:
        write_folder(repos, options.folder)
    if options.archive:
        with open(options.archive, "wb") as out:
            out.write(archive(repos))
    if options.expected:
        with open(options.expected, "w", encoding="utf-8") as out:
            out.write(json.dumps(expected(repos), indent=1) + "\n")


if __name__ == "__main__":
    main()
