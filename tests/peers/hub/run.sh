#!/usr/bin/env bash
# The unmodified Python client of the hub against `headwater hub`.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/peers/setup.sh
python_peer huggingface-hub huggingface_hub==2.4.0
exec "$PY" tests/peers/hub/run.py --headwater build/release/headwater
