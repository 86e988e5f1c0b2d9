"""Incidents of public model repositories, and histories of their kinds, through the whole daemon: from recorded revisions to what is published."""

import html
import json
import os
import pathlib
import unittest
import urllib.request

from harness import Folder, NotifySocket, Program, eventually, main, run, write_config
from histories import BASES, HISTORIES, WITH_TOKEN
from recorded import write_history, write_there_and_back

SOURCE = pathlib.Path(os.environ["HEADWATER_SOURCE_DIR"])
LEVELS = ["low", "medium", "high", "critical"]


def all_incidents():
    cases = []
    for path in sorted((SOURCE / "tests" / "data" / "diff").glob("*.json")):
        cases += json.loads(path.read_text())
    return cases


INCIDENTS = all_incidents()


def repo_of(incident):
    return "incidents/" + incident["name"]


class Published:
    """What an export says of each repo."""

    def __init__(self, folder):
        self.folder = folder
        self.records = {}
        for path in sorted((folder / "osv").glob("x_*.json")):
            record = json.loads(path.read_text())
            repo = "/".join(record["affected"][0]["package"]["name"].split("/")[-2:])
            self.records.setdefault(repo, []).append(record)

    def page(self, repo, *more):
        return self.folder.joinpath("models", repo, *more)

    def deltas(self, repo):
        """Oldest first."""
        changes = json.loads(self.page(repo, "changes", "index.json").read_text())["changes"]
        return changes[::-1]

    def advisories(self, repo):
        return self.records.get(repo, [])


def told(delta):
    return "\n".join(f"    {c['impact']} {c['level']} {c['kind']} {c['path']}: {c['explanation']}" for c in delta["changes"])


class Steps(unittest.TestCase):
    maxDiff = None

    def check_step(self, delta, step):
        if step is None:
            self.assertEqual([c["kind"] for c in delta["changes"]], [], told(delta))
            return
        impact, level, kinds, advisory, words = step
        self.assertLessEqual(kinds, {c["kind"] for c in delta["changes"]}, told(delta))
        if impact:
            self.assertEqual(delta["impact"], impact, told(delta))
        if level:
            self.assertEqual(delta["level"], level, told(delta))
        self.assertEqual("advisory_id" in delta, advisory, told(delta))
        for word in words:
            self.assertIn(word, told(delta))


class Incidents(Steps):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        folder = cls.folder.__enter__()
        for incident in INCIDENTS:
            write_there_and_back(folder / "root", repo_of(incident), incident["before"], incident["after"])
        for repo, revisions, facts, _, _ in HISTORIES:
            write_history(folder / "root", repo, [(f"step-{number}", revision) for number, revision in enumerate(revisions)], facts)
        assert len(INCIDENTS) > 100 and HISTORIES, "the incidents are read from tests/data/diff"
        code, _, errors = run("demo", "--once", "--from", folder / "root", "--export", folder / "export")
        assert code == 0, errors
        cls.errors = errors
        cls.published = Published(folder / "export")

    @classmethod
    def tearDownClass(cls):
        cls.folder.__exit__()

    def check_incident(self, incident):
        repo = repo_of(incident)
        deltas = self.published.deltas(repo)
        there = next((delta for delta in deltas if delta["title"] in ("after", "before")), None)
        self.assertIsNotNone(there, "nothing was recorded")
        for expected in incident["expect"]:
            change = next((c for c in there["changes"] if c["kind"] == expected["kind"] and c["path"] == expected.get("path", c["path"])), None)
            self.assertIsNotNone(change, f"{expected['kind']} was not told:\n{told(there)}")
            for words in expected.get("says", []):
                self.assertIn(words, change["explanation"])
            for side in ("before", "after"):
                if side in expected:
                    self.assertEqual(change[side], expected[side])
        if "level" in incident:
            self.assertEqual((there["impact"], there["level"]), (incident["impact"], incident["level"]), told(there))
        self.check_advisory(repo, there, LEVELS.index(there["level"]) >= 1)

    def check_advisory(self, repo, there, advised):
        records = self.published.advisories(repo)
        self.assertEqual("advisory_id" in there, advised, [record["summary"] for record in records])
        self.assertEqual(there["advisory"], advised)
        if not advised:
            return
        self.assertEqual([record["id"] for record in records], [there["advisory_id"]], "what undoes it is no advisory of its own")
        record = records[0]
        facts = record["database_specific"]
        self.assertEqual((facts["impact"], facts["level"]), (there["impact"], there["level"]))
        self.assertLessEqual({c["kind"] for c in there["changes"] if LEVELS.index(c["level"]) >= 1}, set(facts["kinds"]))
        undone = next((delta for delta in self.published.deltas(repo) if delta["title"] == "undone"), None)
        if undone is None:
            return
        self.assertEqual(facts["state"], "reverted", "what was undone is told as undone")
        for entry in record["affected"]:
            self.assertIn({"fixed": undone["to"]}, entry["ranges"][0]["events"])
            self.assertEqual(entry["versions"], [there["to"]])

    def test_each_incident_is_told_with_its_facts_and_its_undoing_closes_it(self):
        for incident in INCIDENTS:
            with self.subTest(incident["name"]):
                self.check_incident(incident)

    def test_heads_are_compared_with_their_base_models(self):
        for repo, expected in BASES.items():
            with self.subTest(repo):
                page = json.loads(self.published.page(repo, "index.json").read_text())
                found = {base["base"]: {change["kind"] for change in base["differences"]} for base in page["base_models"]}
                self.assertEqual(found, {} if expected is None else {"bases/original": expected})
                self.assertEqual("bases/original" in self.published.page(repo, "index.md").read_text(), expected is not None or repo == "bases/original")

    def test_each_step_of_a_history_is_told_as_what_it_is(self):
        for repo, _, facts, steps, advisories in HISTORIES:
            renamed = [e["set"]["id"] for e in facts.get("events", []) if "id" in e.get("set", {})]
            name = renamed[-1] if renamed else repo
            with self.subTest(repo):
                deltas = self.published.deltas(name)
                self.assertEqual(len(deltas), len(steps), "\n".join(f"{d['title']}\n{told(d)}" for d in deltas))
                for delta, step in zip(deltas, steps):
                    with self.subTest(repo, step=delta["title"]):
                        self.check_step(delta, step)
                if advisories is not None:
                    found = [(set(record["database_specific"]["kinds"]), record["database_specific"]["state"])
                             for record in self.published.advisories(name)]
                    self.assertEqual(len(found), len(advisories), found)
                    for kinds, state in advisories:
                        self.assertTrue(any(kinds <= have and state == is_state for have, is_state in found), (kinds, state, found))

    def test_pages_show_every_sentence(self):
        for incident in INCIDENTS:
            repo = repo_of(incident)
            for delta in self.published.deltas(repo):
                text = self.published.page(repo, "revisions", delta["to"], "index.html").read_text()
                # What a sentence quotes between backticks stands there as code.
                page = html.unescape(text.replace("<code>", "`").replace("</code>", "`"))
                for change in delta["changes"]:
                    self.assertTrue(change["explanation"] in page, f"{repo}: {delta['title']}: not shown: {change['explanation']}")

    def test_nothing_is_logged_as_an_error(self):
        self.assertNotIn("error:", self.errors)


class WithToken(Steps):
    """What only a token shows, through `serve`, the control socket and a hub that goes on step by step."""

    def test_each_step_is_told_as_what_it_is(self):
        with Folder() as folder:
            for repo, revisions, facts, _ in WITH_TOKEN:
                write_history(folder / "root", repo, [(f"step-{number}", revision) for number, revision in enumerate(revisions)], facts)
            hub = Program("hub", folder / "root", "--port", "0", "--reveal-every", "3600")
            endpoint = hub.wait_for_line(r"(http://127\.0\.0\.1:\d+)").group(1)
            config = write_config(folder, endpoint, [row[0] for row in WITH_TOKEN])
            notify = NotifySocket(folder)
            with hub, Program("serve", "--config", config, NOTIFY_SOCKET=notify.path, HF_TOKEN="hf_ok") as daemon:
                notify.wait_for("READY=1", daemon.process)
                control = ["--json", "--socket", folder / "control.sock"]

                def told_of(repo, verb, key):
                    code, output, _ = run(verb, repo, *control)
                    return json.loads(output)[key] if code == 0 else []

                seen = {}
                for repo, *_ in WITH_TOKEN:
                    eventually(lambda repo=repo: told_of(repo, "revisions", "revisions"), f"the first revision of {repo}")
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                shown = {"revealed": 0, "of": 1}
                while shown["revealed"] < shown["of"]:
                    request = urllib.request.Request(endpoint + "/_hub/reveal", method="POST")
                    shown = json.loads(opener.open(request).read())
                    repo = shown["repo"]
                    if "twice" not in repo:
                        seen[repo] = seen.get(repo, 0) + 1
                        eventually(lambda: len(told_of(repo, "changes", "changes")) >= seen[repo], f"{seen[repo]} deltas of {repo}")
                for repo, _, _, steps in WITH_TOKEN:
                    with self.subTest(repo):
                        deltas = eventually(lambda repo=repo, n=len(steps): len(told_of(repo, "changes", "changes")) >= n and told_of(repo, "changes", "changes"),
                                            f"all deltas of {repo}")[::-1]
                        self.assertEqual(len(deltas), len(steps))
                        for delta, step in zip(deltas, steps):
                            self.check_step(delta, step)
                self.assertEqual(daemon.stop()[0], 0)
            notify.close()


if __name__ == "__main__":
    main()
