#!/usr/bin/env python3
"""Times the real jinja2, set up as transformers sets it up. usage: jinja_peer.py TEMPLATE VARIABLES.json
Prints "compile+render MICROSECONDS" and "render MICROSECONDS", each the best of several runs."""
import json, sys, time
import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.ext import Extension, loopcontrols


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    env.globals["raise_exception"] = lambda message: (_ for _ in ()).throw(jinja2.TemplateError(message))
    env.globals["strftime_now"] = lambda form: "01 Jan 1970"
    return env


def best(run, seconds=2.0):
    fastest, stop = float("inf"), time.process_time() + seconds
    while time.process_time() < stop:
        begin = time.process_time()
        run()
        fastest = min(fastest, time.process_time() - begin)
    return fastest * 1e6


text = open(sys.argv[1], encoding="utf-8", newline="").read()
variables = json.load(open(sys.argv[2], encoding="utf-8"))
env = environment()
compiled = env.from_string(text)
print("compile+render", best(lambda: env.from_string(text).render(**variables)))
print("render", best(lambda: compiled.render(**variables)))
