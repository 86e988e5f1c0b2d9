"""The demo: what it finds agrees with the recorded histories, its export is complete, and it shows news while it runs."""

import json
import os
import pathlib
import re
import socket
import unittest

from harness import SHARED, Folder, Program, eventually, get, get_json, main, run

SOURCE = pathlib.Path(os.environ["HEADWATER_SOURCE_DIR"])
EXPECTED = json.loads((SOURCE / "demo" / "expected.json").read_text())
CLOCK = "2026-12-01T00:00:00Z"


def deltas_by_title(export, repo):
    """Every change kind that was published for a repo, by the commit that made it. Code of another repo moves between two commits; it is
    told at once, and stands here with the later one, as a reader of the two revisions finds it."""
    changes = json.loads((export / "models" / repo / "changes" / "index.json").read_text())["changes"]
    found, between = {}, []
    for delta in reversed(changes):
        if delta["from"] == delta["to"] and any(change["subject"] == "code" for change in delta["changes"]):
            between.append(delta)
            continue
        found.setdefault(delta["title"], []).extend([delta, *between])
        between = []
    return found


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.export = cls.folder.__enter__() / "export"
        code, output, errors = run("demo", "--once", "--json", "--export", cls.export)
        assert code == 0, errors
        cls.errors = errors
        cls.table = {row["repo"]: row for row in json.loads(output)["repos"]}

    @classmethod
    def tearDownClass(cls):
        cls.folder.__exit__()

    def records(self):
        return [json.loads(path.read_text()) for path in sorted((self.export / "osv").glob("x_*.json"))]

    def closed_by(self, repo, revision):
        """Whether an advisory of the repo has an entry that this revision put back."""
        return any(affected["database_specific"]["state"] == "reverted" and {"fixed": revision} in affected["ranges"][0]["events"]
                   for record in self.records() if record["affected"][0]["package"]["name"].endswith("/" + repo)
                   for affected in record["affected"])

    def test_every_recorded_repo_and_revision_is_read(self):
        self.assertEqual(set(self.table), set(EXPECTED["repos"]))
        for repo, revisions in EXPECTED["repos"].items():
            self.assertEqual(self.table[repo]["revisions"], sum(1 for r in revisions if not r.get("event")), repo)
        self.assertGreaterEqual(len(self.table), 8)
        self.assertGreaterEqual(sum(row["revisions"] for row in self.table.values()), 30)

    def test_each_step_shows_the_kinds_that_its_history_tells_and_no_others(self):
        wrong = []
        for repo, steps in EXPECTED["repos"].items():
            found = deltas_by_title(self.export, repo)
            for step in steps[1:]:
                if step.get("event"):
                    continue
                deltas = found.get(step["revision"], [])
                kinds = {change["kind"] for delta in deltas for change in delta["changes"]}
                if kinds != set(step["kinds"]):
                    wrong.append(f"{repo}: {step['revision']}: expected {sorted(step['kinds'])}, found {sorted(kinds)}")
                # What goes back to an earlier state closes the advisory about it and makes none of its own.
                closes = any(self.closed_by(repo, delta["to"]) for delta in deltas)
                advisory = any(delta.get("advisory_id") for delta in deltas)
                if (advisory or closes) != step["advisory"]:
                    wrong.append(f"{repo}: {step['revision']}: advisory {advisory}, expected {step['advisory']}")
            # What no commit of the history made is an event, and each event is told once.
            by_commit = {step["revision"] for step in steps[1:] if not step.get("event")}
            events = [sorted({change["kind"] for change in delta["changes"]})
                      for title, deltas in found.items() if title not in by_commit for delta in deltas]
            expected = [sorted(set(step["kinds"])) for step in steps if step.get("event")]
            if events != expected:
                wrong.append(f"{repo}: events: expected {expected}, found {events}")
        self.assertEqual(wrong, [])

    def test_the_number_of_advisories_agrees(self):
        for repo, revisions in EXPECTED["repos"].items():
            found = deltas_by_title(self.export, repo)
            reverts = sum(1 for deltas in found.values() for delta in deltas
                          if not delta.get("advisory_id") and self.closed_by(repo, delta["to"]))
            expected = sum(1 for r in revisions if r["advisory"])
            self.assertEqual(self.table[repo]["advisories"] + reverts, expected, repo)

    def test_a_revert_closes_what_it_undoes(self):
        reverted = [record for record in self.records() if record["database_specific"]["state"] == "reverted"]
        ends = {}
        for record in reverted:
            entry = record["affected"][0]
            for event in entry["ranges"][0]["events"]:
                ends.update({kind: (record, entry, sha) for kind, sha in event.items()})
        record, entry, sha = ends["fixed"]
        self.assertNotIn(sha, entry["versions"])
        self.assertIn("FIX", {reference["type"] for reference in record["references"]})
        _, entry, sha = ends["last_affected"]
        self.assertEqual(entry["versions"][-1], sha, "history was rewritten: no commit undid it")

    def test_nothing_is_logged_as_an_error(self):
        self.assertNotIn("error", self.errors)

    def test_the_export_holds_what_the_pages_link_to(self):
        missing, links = [], 0
        for page in self.export.rglob("index.html"):
            for link in re.findall(r'href="([^"#]+)"', page.read_text()):
                if link.startswith(("http:", "https:")) or link == "":
                    continue
                links += 1
                target = (page.parent / link.split("?")[0]).resolve()
                if link.endswith("/"):
                    target = target / "index.html"
                if not target.exists():
                    missing.append(f"{page.relative_to(self.export)} -> {link}")
        self.assertEqual(missing[:10], [])
        self.assertGreater(links, 100)

    def test_no_record_has_a_range_that_crashes_scanners(self):
        records = list((self.export / "osv").glob("x_*.json"))
        self.assertGreater(len(records), 5)
        for path in records:
            record = json.loads(path.read_text())
            for affected in record["affected"]:
                self.assertEqual({r["type"] for r in affected["ranges"]}, {"GIT"}, path.name)
                self.assertTrue(affected["versions"], path.name)

    def test_an_export_with_the_same_clock_is_the_same(self):
        with Folder() as folder:
            exports = [folder / "first", folder / "second"]
            with socket.socket() as probe:  # the port stands in every address
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            for export in exports:
                code, _, errors = run("demo", "--once", "--clock", CLOCK, "--port", port, "--export", export)
                self.assertEqual(code, 0, errors)
            names = [sorted(str(p.relative_to(e)) for p in e.rglob("*") if p.is_file()) for e in exports]
            self.assertEqual(names[0], names[1])
            self.assertGreater(len(names[0]), 100)
            self.assertEqual([name for name in names[0] if (exports[0] / name).read_bytes() != (exports[1] / name).read_bytes()], [])

    def test_new_revisions_arrive_while_it_runs(self):
        with Program("demo", "--reveal-every", "200") as demo:
            port = int(demo.wait_for_line(r"http://127\.0\.0\.1:(\d+)/").group(1))
            self.assertEqual(get(port, "/")[0], 200)

            def revisions():
                return sum(repo["revisions"] for repo in get_json(port, "/index.json")["repos"])

            eventually(lambda: revisions() > 0, "the first revisions")
            before = revisions()
            eventually(lambda: revisions() > before, "a new revision")
            self.assertEqual(demo.stop()[0], 0)

    def test_real_histories_are_read_to_the_end(self):
        root = pathlib.Path(SHARED or "/nonexistent") / "corpus" / "replay"
        if not root.is_dir():
            self.skipTest("no recorded histories beside the checkout")
        code, output, errors = run("demo", "--once", "--json", "--from", root)
        self.assertEqual(code, 0, errors)
        table = json.loads(output)["repos"]
        recorded = {p.parent.name: sum(1 for r in p.iterdir() if r.is_dir()) for p in root.glob("models/*/*/revisions")}
        self.assertTrue(recorded)
        self.assertEqual({row["repo"].split("/")[1]: row["revisions"] for row in table}, recorded)


if __name__ == "__main__":
    main()
