#!/usr/bin/env bash
# Parsing and rendering a chat template beside jinja2 and @huggingface/jinja, on one conversation of ten turns and one
# template, in one run, in processor time. Without python's jinja2 or the npm package that peer is left out.
# JINJA_BENCH_TEMPLATE, JINJA_BENCH_VARIABLES: other files; JINJA_PYTHON, JINJA_NODE_FOLDER: where the peers are.
set -euo pipefail
cd "$(dirname "$0")/../.."
export JINJA_BENCH_TEMPLATE=${JINJA_BENCH_TEMPLATE:-tests/data/jinja/bench.jinja}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${JINJA_BENCH_VARIABLES:-}" ]; then
  python3 - schemas/probes.json > "$work/variables.json" <<'PY'
import json, sys
probes = {probe["id"]: probe["variables"] for probe in json.load(open(sys.argv[1]))}
json.dump(dict(probes["tools"], **probes["long"]), sys.stdout)
PY
  export JINJA_BENCH_VARIABLES=$work/variables.json
fi
build=${HEADWATER_BENCH_BUILD:-build/release}
ninja -C "$build" bench_jinja > /dev/null
"$build/tests/bench/bench_jinja" --benchmark_format=csv --benchmark_repetitions=5 2> /dev/null > "$work/ours.csv"
# A peer that cannot be installed is left out of the ratios, which say so.
(
  . tests/peers/setup.sh
  python_peer jinja2 jinja2==3.1.6
  "${JINJA_PYTHON:-$PY}" tests/bench/jinja_peer.py "$JINJA_BENCH_TEMPLATE" "$JINJA_BENCH_VARIABLES" > "$work/jinja2" 2> /dev/null
) || rm -f "$work/jinja2"
(
  . tests/peers/setup.sh
  node_peer huggingface-jinja @huggingface/jinja@0.5.13
  node tests/bench/jinja_peer.mjs "$(realpath "$NODE_FOLDER")" "$JINJA_BENCH_TEMPLATE" "$JINJA_BENCH_VARIABLES" > "$work/npm" 2> /dev/null
) || rm -f "$work/npm"
python3 - "$work" <<'PY'
import csv, os, sys
work = sys.argv[1]
ours = {}
for row in csv.reader(open(f"{work}/ours.csv")):
    if len(row) > 3 and row[0] in ("parse_and_render", "render_alone", "hostile"):
        ours[row[0]] = min(float(row[3]), ours.get(row[0], float("inf")))
def peer(name):
    path = f"{work}/{name}"
    return {line.split()[0]: float(line.split()[1]) for line in open(path)} if os.path.exists(path) else {}
print(f"ours: parse and render {ours['parse_and_render']:.1f} us, render alone {ours['render_alone']:.1f} us, "
      f"an endless template stopped after {ours['hostile']:.1f} ms (goal 50)")
for name, goals in (("jinja2", (50, 5)), ("npm", (None, None))):
    times = peer(name)
    if not times:
        print(f"{name}: not here, left out")
        continue
    both = times["compile+render"] / ours["parse_and_render"]
    alone = times["render"] / ours["render_alone"]
    goal = f" (goals {goals[0]}x and {goals[1]}x)" if goals[0] else ""
    print(f"{name}: compile and render {times['compile+render']:.1f} us = {both:.1f}x ours, render alone {times['render']:.1f} us = {alone:.1f}x ours{goal}")
PY
