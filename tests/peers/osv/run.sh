#!/usr/bin/env bash
# OSV records of the demo, and every JSON document of its export, before their schemas and the official linter.
#   run.sh [EXPORT_FOLDER]     without one the demo makes it
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/peers/setup.sh

work=$peers_root/osv
export GOFLAGS=-mod=mod GOBIN=$work/bin
mkdir -p "$work/bin" "$work/linter"
demo_export "${1:-}"
records=$work/records
rm -rf "$records"
mkdir -p "$records"
cp "$EXPORTED"/osv/x_*.json "$records"/ 2>/dev/null
count=$(find "$records" -name '*.json' | wc -l)
[ "$count" -gt 0 ] || {
  printf 'failed: the export has no records\n'
  exit 1
}

# Every JSON document of the export against the schemas beside the words.
official=${HEADWATER_SHARED:-../shared}/schemas/osv-schema.json
"$SYSTEM_PYTHON" tests/http/validate_documents.py schemas "$EXPORTED" "$official" || {
  printf 'failed: a document of the export disagrees with its schema\n'
  exit 1
}

with_go 1.25.8
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
