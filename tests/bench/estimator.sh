#!/usr/bin/env bash
# Parse, derive and plan of each config, beside transformers building the same configs on the meta device, as a ratio.
set -euo pipefail
cd "$(dirname "$0")/../.."
build="${HEADWATER_BUILD:-build/release}"
configs="${HEADWATER_SHARED:-../shared}/corpus/configs"
[ -d "$configs" ] || configs=tests/data/estimator/configs
[ -d "$configs" ] || { echo "SKIPPED: no folder of configs"; exit 0; }
ninja -C "$build" bench_estimator > /dev/null
ours="$("$build/tests/bench/bench_estimator" "$configs")"
echo "$ours"
python="${HEADWATER_PEER_PYTHON:-python3}"
if ! "$python" -c "import torch, transformers" 2> /dev/null; then
  echo "SKIPPED: transformers and torch, not installed for $python (HEADWATER_PEER_PYTHON names another)"
  exit 0
fi
same="$(mktemp -d)"
trap 'rm -rf "$same"' EXIT
"$python" tests/bench/estimator_peer.py "$configs" < /dev/null 2> /dev/null | tail -n 1 > "$same/peer"
mkdir "$same/configs"
python3 -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))["paths"]))' "$same/peer" \
  | xargs -d '\n' cp -t "$same/configs"
both="$("$build/tests/bench/bench_estimator" "$same/configs")"
OURS="$ours" BOTH="$both" PEER="$(cat "$same/peer")" python3 - <<'PY'
import json
import os
import re


def figure(text, name):
    return float(re.search(name + r" ([\d.]+)", text)[1])


peer = json.loads(os.environ["PEER"])
median_us = figure(os.environ["OURS"], "median_us")
same_us = figure(os.environ["BOTH"], "median_us")
largest_us = figure(os.environ["OURS"], "max_us")
print(f"median {median_us:.1f} us (goal 100), largest {largest_us:.1f} us (goal 1000)")
print(f"transformers: median {peer['median_ms']:.1f} ms over {peer['configs']} configs, imports {peer['imports_ms']:.0f} ms")
print(f"ours over the same {peer['configs']}: median {same_us:.1f} us")
print(f"ratio {peer['median_ms'] * 1000 / same_us:.0f}x (goal 400x)")
PY
