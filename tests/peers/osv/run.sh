#!/usr/bin/env bash
# OSV records of the demo before the tools that read such records: the official linter and, with PEERS_SCANNER=1 or once
# it is built, osv-scanner offline and against our own query API.
#   run.sh [EXPORT_FOLDER]     without one the demo makes it
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/peers/setup.sh

work=$peers_root/osv
export GOFLAGS=-mod=mod GOBIN=$work/bin
mkdir -p "$work/bin" "$work/linter"
exported=${1:-}
if [ -z "$exported" ]; then
  exported=$work/export
  rm -rf "$exported"
  build/release/headwater demo --once --export "$exported" >"$work/demo.log" 2>&1 || {
    printf 'failed: the demo made no export (see %s)\n' "$work/demo.log"
    exit 1
  }
fi
records=$work/records
rm -rf "$records"
mkdir -p "$records"
cp "$exported"/osv/x_*.json "$records"/ 2>/dev/null
count=$(find "$records" -name '*.json' | wc -l)
[ "$count" -gt 0 ] || {
  printf 'failed: the export has no records\n'
  exit 1
}

# Every JSON document of the export against the schemas beside the words; 77 = the validator is missing.
official=${HEADWATER_SHARED:-../shared}/schemas/osv-schema.json
status=0
python3 tests/http/validate_documents.py schemas "$exported" "$official" || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || {
  printf 'failed: a document of the export disagrees with its schema\n'
  exit 1
}

command -v go >/dev/null || skip osv-linter "go is missing"
if [ ! -x "$work/bin/osv-linter" ]; then
  # The tool's own go.mod names another module path than its folder, so it is required by that name and replaced.
  cat >"$work/linter/go.mod" <<'MODULE'
module peers/osvlinter

go 1.25.8

require github.com/ossf/osv-schema/linter v0.0.0

replace github.com/ossf/osv-schema/linter => github.com/ossf/osv-schema/tools/osv-linter v0.0.0-20260525004216-afe0bddbf893
MODULE
  try_install osv-linter go -C "$work/linter" build -o "$work/bin/osv-linter" github.com/ossf/osv-schema/linter/cmd/osv
fi
"$work/bin/osv-linter" record lint --collection ALL "$records" || {
  printf 'failed: osv-linter disagrees\n'
  exit 1
}
printf 'passed: osv-linter, all checks, %s records\n' "$count"

if [ ! -x "$work/bin/osv-scanner" ]; then
  if [ "${PEERS_SCANNER:-}" != 1 ]; then
    printf 'SKIPPED: osv-scanner, its build takes minutes: set PEERS_SCANNER=1\n'
    exit 0
  fi
  try_install osv-scanner go install github.com/google/osv-scanner/v2/cmd/osv-scanner@v2.5.1
fi
command -v python3 >/dev/null || skip osv-scanner "python3 is missing"
python3 tests/peers/osv/scan.py "$exported" "$work"
