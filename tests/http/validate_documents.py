#!/usr/bin/env python3
"""Holds every JSON document of an export against its schema.

validate_documents.py SCHEMAS EXPORT [OSV_SCHEMA]
validate_documents.py SCHEMAS --make PROGRAM [OSV_SCHEMA]   the export is written by PROGRAM's export test
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
import jsonschema  # Debian: python3-jsonschema, which tools/packages.tsv lists

# Paths of an export and the schema of what lies there; a path of none of these forms is no JSON of ours.
DOCUMENTS = [
    (r"index\.json", "index"),
    (r"models/[^/]+/[^/]+/index\.json", "repo"),
    (r"models/[^/]+/[^/]+/latest\.json", "latest"),
    (r"models/[^/]+/[^/]+/changes/index\.json", "changes"),
    (r"models/[^/]+/[^/]+/revisions/[0-9a-f]{40}/index\.json", "revision"),
    (r"badges/[^/]+/[^/]+\.json", "badge"),
    (r"control/check-\d+\.json", "check"),
    (r"osv/all\.json", "osv-list"),
    (r"(osv|osv/GIT|v1/vulns)/[^/]+-\d{4}-[0-9a-f]{12}(\.json)?", "osv-record"),
]
OTHERS = [r"openapi\.json", r"healthz", r"(models/[^/]+/[^/]+/)?feed\.json"]


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def validators(folder):
    schemas = {schema["$id"]: schema for schema in map(load, sorted(pathlib.Path(folder).glob("*.schema.json"))) if "$id" in schema}
    made = {}
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        resolver = jsonschema.RefResolver(base_uri=name, referrer=schema, store=schemas)
        made[name.rsplit(":", 1)[1]] = jsonschema.Draft202012Validator(schema, resolver=resolver)
    return made


def validate(folder, made, osv, plan, optional=()):
    wrong, seen = [], {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file():
            continue
        kind = next((kind for form, kind in DOCUMENTS if re.fullmatch(form, name)), None)
        if kind is None:
            if name.endswith(".json") and not any(re.fullmatch(form, name) for form in OTHERS):
                wrong.append(f"{name}: no schema says what this is")
            continue
        document = load(path)
        checks = [made[kind]] + ([osv] if osv and kind == "osv-record" else [])
        for check in checks:
            wrong += [f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in check.iter_errors(document)]
        if isinstance(document, dict) and isinstance(document.get("plan"), dict):
            wrong += [f"{name}: plan/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in plan.iter_errors(document["plan"])]
        seen[kind] = seen.get(kind, 0) + 1
    wrong += [f"no {kind} document was written" for _, kind in DOCUMENTS if kind not in seen and kind not in optional]
    return wrong, seen


def main():
    made = validators(sys.argv[1])
    osv_path = sys.argv[4 if sys.argv[2] == "--make" else 3:]
    osv = jsonschema.Draft202012Validator(load(osv_path[0])) if osv_path and os.path.exists(osv_path[0]) else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[2]
        if folder == "--make":
            folder = temporary
            subprocess.run([sys.argv[3], "--gtest_filter=*ExportsEveryPath*:*ChecksAPin*"], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "HEADWATER_EXPORT_FOLDER": temporary})
        plan = jsonschema.Draft202012Validator(load(pathlib.Path(sys.argv[1]) / "plan.schema.json"))
        # A site's own export has no answers of the control socket in it.
        wrong, seen = validate(folder, made, osv, plan, () if folder == temporary else ("check",))
    for line in wrong[:50]:
        print(line)
    print(f"{sum(seen.values())} documents of {len(seen)} kinds, {len(wrong)} disagreements{'' if osv else ' (without the official OSV schema)'}")
    sys.exit(1 if wrong else 0)


main()
