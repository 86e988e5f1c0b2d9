#!/usr/bin/env bash
# What a revision, an idle look and an answer cost as more is stored, on made-up small repos:
#   tests/bench/scale.sh [INGEST_REPOS [STORED_REPOS [WATCHES]]]
# The goals are for 2000 20000 100000, which take some minutes; without arguments less is stored. Ingest goes to a real
# disk; what is only counted in CPU time lies in memory where there is such a folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
disk=$(mktemp -d)
memory=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
trap 'rm -rf "$disk" "$memory"' EXIT
build=${HEADWATER_BENCH_BUILD:-build/release}
ninja -C "$build" bench_scale > /dev/null
"$build/tests/bench/bench_scale" "$disk" "$memory" "${1:-500}" "${2:-2000}" "${3:-20000}"
