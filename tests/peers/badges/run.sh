#!/usr/bin/env bash
# Our badges beside npm badge-maker's: the same words in each style give the same measures.
#   run.sh [EXPORT_FOLDER]     without one the demo makes it
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/peers/setup.sh

work=$peers_root/badges-export
exported=${1:-}
if [ -z "$exported" ]; then
  exported=$work
  rm -rf "$exported"
  build/release/headwater demo --once --export "$exported" >"$peers_root/badges.log" 2>&1 || {
    printf 'failed: the demo made no export (see %s)\n' "$peers_root/badges.log"
    exit 1
  }
fi
command -v node >/dev/null || skip badge-maker "node is missing"
node_peer badges badge-maker@6.0.0
NODE_PATH=$NODE_FOLDER/node_modules node tests/peers/badges/compare.cjs "$exported"
