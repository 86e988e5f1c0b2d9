#!/usr/bin/env python3
"""Renders templates with the real transformers beside ours and counts where both agree.

usage: render.py RENDER_LINES PROBES.json TEMPLATE...
RENDER_LINES is the program jinja_render_lines of the build. Prints the differences and "n of n"; exit 1 when there are any.
Needs: transformers, jinja2 (PyPI); no torch.
"""
import datetime, json, os, subprocess, sys
import jinja2
from transformers.utils import chat_template_utils as u

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


def real(text, variables):
    row = {}
    try:
        row["output"] = u._compile_jinja_template(text).render(**dict(variables, strftime_now=lambda f: NOW.strftime(f)))
    except jinja2.TemplateError as e:
        row.update(error=type(e).__name__, message=str(e.message or ""))
        if getattr(e, "lineno", None):
            row["line"] = e.lineno
    except Exception as e:
        row.update(error=type(e).__name__, message=str(e))
    return row


def main():
    ours = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    probes = json.load(open(sys.argv[2], encoding="utf-8"))
    total = same = 0
    for path in sys.argv[3:]:
        text = open(path, encoding="utf-8", newline="").read()
        for probe in probes:
            ours.stdin.write(json.dumps({"template": text, "variables": probe["variables"]}) + "\n")
            ours.stdin.flush()
            got = json.loads(ours.stdout.readline())
            got.pop("spans", None)
            want = real(text, probe["variables"])
            total += 1
            if got == want:
                same += 1
            else:
                print(os.path.basename(path), probe["id"], "\n  transformers", want, "\n  ours        ", got)
    ours.stdin.close()
    print(f"{same} of {total} renderings as transformers {sys.modules['transformers'].__version__} has them")
    sys.exit(same != total or total == 0)


main()
