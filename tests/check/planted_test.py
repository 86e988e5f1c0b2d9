"""Each gate of tools/check passes on a small tree that keeps the rules, and fails with a sentence that names the place
on the same tree with one violation. planted_test.py CHECKOUT"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]

CLEAN = {
    "CMakeLists.txt": "project(headwater VERSION 3.1.4 LANGUAGES CXX)\nfind_package(Threads REQUIRED)\n",
    "CONTRIBUTING.md": "| room | holds | may include |\n| --- | --- | --- |\n"
                       "| `schemas/` | words | nothing of ours |\n"
                       "| `demo/` | histories | `schemas/` |\n"
                       "| `store/` | what was seen | `schemas/` |\n"
                       "| `feeds/` | renderers | `schemas/`, `store/records.hpp` |\n"
                       "| `daemon/net/` | HTTP | `schemas/` |\n"
                       "| `daemon/cli/` | verbs | all above |\n",
    "README.md": "| `g++` | the compiler |\n| `libssl-dev` or `libssl3-dev` | TLS |\n",
    "tools/packages.tsv": "# purpose package found brings\n"
                          "build\tg++\tcommand:g++\tthe compiler\n"
                          "build\tlibssl-dev|libssl3-dev\tcmake:OpenSSL\tTLS\n",
    "schemas/word.hpp": "#pragma once\n\nint word();\n",
    "store/records.hpp": '#pragma once\n\n#include "schemas/word.hpp"\n',
    "feeds/page.cpp": '#include "schemas/word.hpp"\n#include "store/records.hpp"\n\nint page() { return word(); }\n',
    "daemon/net/client.cpp": "int client() { return 1; }\n",
    "daemon/cli/verb.cpp": '#include "feeds/page.hpp"\n\nint verb() { return 2; }\n',
    "build.sh": "#!/usr/bin/env bash\nset -eu\nsay() { printf '%s\\n' \"$1\"; }\nsay \"$(g++ --version | head -n 1)\"\n",
}

# (gate, file, its text, what the sentence must name)
PLANTED = [
    ("format", "feeds/page.cpp", "int   page( ) {return 1 ;}\n", "feeds/page.cpp"),
    ("arrows", "schemas/word.cpp", '#include "store/records.hpp"\n', "schemas/word.cpp:1"),
    ("arrows", "store/store.cpp", '#include "daemon/net/client.hpp"\n', "store/store.cpp:1"),
    ("arrows", "feeds/page.cpp", '#include "store/store.hpp"\n', "feeds/page.cpp:1"),
    ("arrows", "demo/demo.cpp", '#include "daemon/cli/verb.hpp"\n', "demo/demo.cpp:1"),
    ("arrows", "novel/new.cpp", '#include "schemas/word.hpp"\n', "novel/"),
    ("version", "daemon/cli/verb.cpp", 'const char *version = "3.1.4";\n', "daemon/cli/verb.cpp:1"),
    ("version", "systemd/unit.service", "[Unit]\nDescription=Headwater 3.1.4\n", "systemd/unit.service:2"),
    ("length", "feeds/page.cpp", "// a line\n" * 701, "feeds/page.cpp"),
    ("length", "tools/long", "#!/usr/bin/env bash\n" + "true\n" * 701, "tools/long"),
    ("coroutines", "daemon/net/client.cpp", "auto x = co_await get(Request{1});\n", "daemon/net/client.cpp:1"),
    ("coroutines", "daemon/net/client.cpp", "\nauto x = co_await get(a ? b : c);\n", "daemon/net/client.cpp:2"),
    ("packages", "build.sh", "#!/bin/sh\nninja -C build\n", "ninja"),
    ("packages", "build.sh", "#!/bin/sh\nif true; then x=$(jq . file); fi\n", "jq"),
    ("packages", "store/CMakeLists.txt", "find_package(SQLite3 REQUIRED)\n", "store/CMakeLists.txt"),
    ("packages", "README.md", "| `g++` | the compiler |\n", "libssl-dev"),
    ("packages", "tools/packages.tsv", "build\tg++\tcommand:g++\n", "columns"),
    ("scripts", "build.sh", "#!/usr/bin/env bash\nrm -rf $1/x\n", "build.sh"),
    ("docs", "docs/changes.md", "# Something else\n", "docs/changes.md"),
]

# Gates whose program is no part of what ./test installs; ./test --check installs it.
NEEDS = {"format": "clang-format-19", "scripts": "shellcheck"}


class PlantedTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="headwater-planted-"))
        self.addCleanup(shutil.rmtree, self.root)
        for path, text in CLEAN.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def check(self, gate):
        return subprocess.run([CHECKOUT / "tools" / "check", "--root", self.root, gate], capture_output=True, text=True)

    def test_a_tree_that_keeps_the_rules_passes(self):
        for gate in sorted({gate for gate, _, _, _ in PLANTED} - {"docs"}):
            if gate in NEEDS and not shutil.which(NEEDS[gate]):
                continue
            with self.subTest(gate):
                done = self.check(gate)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_violation_is_named(self):
        for gate, path, text, named in PLANTED:
            if gate in NEEDS and not shutil.which(NEEDS[gate]):
                print(f"SKIPPED: {gate}, {NEEDS[gate]} is not installed (./test --check installs it)")
                continue
            with self.subTest(f"{gate}: {path}"):
                before = (self.root / path).read_text(encoding="utf-8") if (self.root / path).exists() else None
                self.write(path, text)
                done = self.check(gate)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(named, done.stdout + done.stderr)
                if before is None:
                    (self.root / path).unlink()
                else:
                    self.write(path, before)

    def test_an_unknown_gate_is_a_usage_error(self):
        done = self.check("colour")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no gate 'colour'", done.stderr)


if __name__ == "__main__":
    unittest.main()
