#!/usr/bin/env bash
# The real transformers (without torch) renders templates beside ours, for each probe conversation: those of the shared
# corpus where there is one, else those of tests/data/jinja.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/peers/setup.sh
python_peer transformers transformers==5.24.0 jinja2==3.1.6
ninja -C build/release jinja_render_lines >/dev/null
shared=${HEADWATER_SHARED:-../shared}
templates=(tests/data/jinja/*.jinja)
[ -d "$shared/corpus/templates" ] && templates+=("$shared"/corpus/templates/*.jinja)
"$PY" tests/peers/jinja/render.py build/release/tests/jinja/jinja_render_lines schemas/probes.json "${templates[@]}" 2>/dev/null
echo "passed: transformers 5.24.0 renders what we render"
