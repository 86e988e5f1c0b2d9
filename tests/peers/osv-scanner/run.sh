#!/usr/bin/env bash
# The official scanner, offline, over the demo's export. Its build takes minutes.
#   run.sh [EXPORT_FOLDER]     without one the demo makes it
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/peers/setup.sh

work=$peers_root/osv-scanner
mkdir -p "$work/bin"
demo_export "${1:-}"
with_go 1.25.8
if [ ! -x "$work/bin/osv-scanner" ]; then
  GOFLAGS=-mod=mod GOBIN=$work/bin try_install osv-scanner go install github.com/google/osv-scanner/v2/cmd/osv-scanner@v2.5.1
fi
exec python3 tests/peers/osv-scanner/scan.py "$EXPORTED" "$work"
