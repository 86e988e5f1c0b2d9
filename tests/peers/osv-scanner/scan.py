#!/usr/bin/env python3
"""osv-scanner over an export: each revision that a record lists is reported with exactly the live records that list it,
and a revision that none lists with none. scan.py EXPORT WORK"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

export, work = map(pathlib.Path, sys.argv[1:3])
expected = {}
for path in (export / "osv" / "GIT").glob("*.json"):
    record = json.loads(path.read_text(encoding="utf-8"))
    for entry in record["affected"]:
        for version in entry["versions"]:
            found = expected.setdefault((entry["package"]["name"], version), set())
            if "withdrawn" not in record:
                found.add(record["id"])
if not any(expected.values()):
    sys.exit("failed: the export has no live record, so that any scanner agrees")
for name in {name for name, _ in expected}:
    expected[(name, "0123456789abcdef0123456789abcdef01234567")] = set()

# A database folder of its own: the scanner's holds the public records. Both layouts, as versions differ in its name.
database = work / "database"
shutil.rmtree(database, ignore_errors=True)
for layout in ("osv-scanner", "osv-scalibr"):
    (database / layout / "GIT").mkdir(parents=True)
    shutil.copy(export / "osv" / "GIT" / "all.zip", database / layout / "GIT" / "all.zip")
packages = [{"package": {"name": name, "version": version, "ecosystem": "GIT"}} for name, version in sorted(expected)]
lock = work / "osv-scanner-custom.json"
lock.write_text(json.dumps({"results": [{"packages": packages}]}), encoding="utf-8")

run = subprocess.run(
    [work / "bin" / "osv-scanner", "scan", "source", "--offline", "-L", f"osv-scanner:{lock}", "--format", "json"],
    env={**os.environ, "OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY": str(database)}, capture_output=True, text=True, timeout=300)
if run.returncode not in (0, 1):
    sys.exit(f"failed: osv-scanner ended {run.returncode}: {run.stderr[-500:]}")
reported = {key: set() for key in expected}
for result in json.loads(run.stdout)["results"]:
    for package in result["packages"]:
        key = (package["package"]["name"], package["package"]["version"])
        reported.setdefault(key, set()).update(item["id"] for item in package.get("vulnerabilities", []))
wrong = [key for key in expected if expected[key] != reported[key]] + [key for key in reported if key not in expected]
for name, version in wrong[:20]:
    print(f"{name}@{version}: expected {sorted(expected.get((name, version), []))}, reported {sorted(reported[(name, version)])}")
if wrong:
    sys.exit(f"failed: osv-scanner differs on {len(wrong)} of {len(expected)} revisions")
print(f"passed: osv-scanner offline, {len(expected)} revisions as the records say")
