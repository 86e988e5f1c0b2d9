#!/usr/bin/env bash
# A tokenizer.json of some 8 MB against an edited copy beside Python's json and dictionaries, and two manifests of
# 200,000 tensors, in one run. The tokenizer is one of the shared corpus where that is there, else one that is made here.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shared=${HEADWATER_SHARED:-../shared}
python3 - "$work" "$shared/corpus/tokenizers/deepseek-v3-npm/tokenizer.json.gz" <<'PY'
import gzip, json, os, random, sys
work, source = sys.argv[1:]
if os.path.exists(source):
    tokenizer = json.load(gzip.open(source, "rt", encoding="utf-8"))
    print("tokenizer: deepseek-v3-npm of the shared corpus")
else:
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = list(letters)
    merges = []
    seen = set(words)
    while len(words) < 128000:
        pair = [words[draw.randrange(min(len(words), 20000))] for _ in range(2)]
        if len(pair[0] + pair[1]) < 20 and pair[0] + pair[1] not in seen:
            seen.add(pair[0] + pair[1])
            words.append(pair[0] + pair[1])
            merges.append(" ".join(pair))
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "ByteLevel"},
                 "model": {"type": "BPE", "vocab": {word: i for i, word in enumerate(words)}, "merges": merges}}
    print("tokenizer: made here, 128,000 words")
def write(name):
    with open(f"{work}/{name}.json", "w", encoding="utf-8") as file:
        json.dump(tokenizer, file, ensure_ascii=False, indent=2)
    return os.path.getsize(f"{work}/{name}.json")
size = write("before")
vocabulary = tokenizer["model"]["vocab"]
names = list(vocabulary)
one, other = names[len(names) // 3], names[len(names) // 2]
vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
del vocabulary[names[-7]]
vocabulary["an entirely new token"] = max(vocabulary.values()) + 1
merges = tokenizer["model"]["merges"]
merges[1000], merges[1001] = merges[1001], merges[1000]
write("after")
print(f"{size / 1e6:.1f} MB; edited: two ids swapped, one token gone, one new, two merges swapped")
PY
# As systemd/headwater.service runs the daemon; Python runs with the same.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
export DIFF_BENCH_BEFORE=$work/before.json DIFF_BENCH_AFTER=$work/after.json
build=${HEADWATER_BENCH_BUILD:-build/release}
ninja -C "$build" bench_diff > /dev/null
for name in tokenizer manifests; do
  "$build/tests/bench/bench_diff" --benchmark_filter="^$name\$" --benchmark_format=json --benchmark_repetitions=3 2> /dev/null > "$work/$name.out"
done
python3 tests/bench/diff_peer.py "$work/before.json" "$work/after.json" > "$work/python"
python3 - "$work" <<'PY'
import json, sys
work = sys.argv[1]
def ours(name):
    runs = [run for run in json.load(open(f"{work}/{name}.out"))["benchmarks"] if run.get("run_type") == "iteration"]
    return min(run["cpu_time"] for run in runs), max(run["peak_mb"] for run in runs), int(runs[0]["changes"])
time, peak, changes = ours("tokenizer")
python, found = open(f"{work}/python").read().strip().split(" ", 1)
print(f"tokenizer: ours {time:.1f} ms, {changes} changes told, peak {peak:.0f} MB (goal under 100); "
      f"Python's json and dictionaries {float(python):.1f} ms ({found}) = {float(python) / time:.1f}x ours (goal 10x)")
time, peak, changes = ours("manifests")
print(f"manifests of 200,000 tensors: {time:.1f} ms (goal under 200), {changes} changes told, peak {peak:.0f} MB")
PY
