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
peer="$("$python" tests/bench/estimator_peer.py "$configs" 2> /dev/null)"
OURS="$ours" PEER="$peer" python3 - <<'PY'
import json
import os
import re

ours = os.environ["OURS"]
peer = json.loads(os.environ["PEER"])
median_us = float(re.search(r"median_us ([\d.]+)", ours)[1])
largest_us = float(re.search(r"max_us ([\d.]+)", ours)[1])
print(f"median {median_us:.1f} us (goal 100), largest {largest_us:.1f} us (goal 1000)")
print(f"transformers: median {peer['median_ms']:.1f} ms over {peer['configs']} configs, imports {peer['imports_ms']:.0f} ms")
print(f"ratio {peer['median_ms'] * 1000 / median_us:.0f}x (goal 400x)")
PY
