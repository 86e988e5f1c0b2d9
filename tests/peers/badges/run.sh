#!/usr/bin/env bash
# Our badges beside npm badge-maker's: the same words in each style give the same measures.
#   run.sh [EXPORT_FOLDER]     without one the demo makes it
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/peers/setup.sh

demo_export "${1:-}"
node_peer badges badge-maker@6.0.0
NODE_PATH=$NODE_FOLDER/node_modules node tests/peers/badges/compare.cjs "$EXPORTED"
