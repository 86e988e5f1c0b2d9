#!/usr/bin/env bash
# The demo from its start to its last advisory: seconds, peak memory, and both beside their goals (3 s, 64 MB).
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 - "$PWD/build/release/headwater" <<'PY'
import json
import resource
import subprocess
import sys
import time

best = None
for _ in range(3):
    begin = time.monotonic()
    done = subprocess.run([sys.argv[1], "demo", "--once", "--json"], capture_output=True, text=True, check=True)
    seconds = time.monotonic() - begin
    best = min(best or seconds, seconds)
table = json.loads(done.stdout)
peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
revisions = sum(repo["revisions"] for repo in table["repos"])
advisories = sum(repo["advisories"] for repo in table["repos"])
print(f"demo --once: {revisions} revisions, {advisories} advisories in {best:.2f} s ({best / 3:.2f} of the goal of 3 s), "
      f"peak {peak_mb:.1f} MB ({peak_mb / 64:.2f} of the goal of 64 MB)")
PY
