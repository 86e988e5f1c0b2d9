#!/usr/bin/env python3
"""Times what a script would do: parse two tokenizer.json files and compare their vocabularies and merges as dictionaries.
usage: diff_peer.py BEFORE AFTER. Prints the best of several runs in milliseconds, and what differed."""
import json, sys, time


def compare(before, after):
    with open(before, encoding="utf-8") as file:
        a = json.load(file)["model"]
    with open(after, encoding="utf-8") as file:
        b = json.load(file)["model"]
    old, new = a["vocab"], b["vocab"]
    added = new.keys() - old.keys()
    removed = old.keys() - new.keys()
    moved = [token for token, number in new.items() if token in old and old[token] != number]
    return len(added), len(removed), len(moved), a.get("merges") == b.get("merges")


fastest = float("inf")
for _ in range(5):
    begin = time.process_time()
    found = compare(sys.argv[1], sys.argv[2])
    fastest = min(fastest, time.process_time() - begin)
print(f"{fastest * 1e3:.1f} {found[0]} added, {found[1]} removed, {found[2]} renumbered, merges {'equal' if found[3] else 'differ'}")
