"""The daemon as systemd runs it: ready after the first listen, reload, a clean end, and all routes of a watched repo."""

import json
import signal
import unittest

from harness import Folder, NotifySocket, Program, eventually, get, get_json, main, run, write_config, write_repo

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
         "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
STOP_ONE = {"eos_token_id": 2}
STOP_TWO = {"eos_token_id": [2, 7]}


def history():
    first = {"config.json": json.dumps(LLAMA), "generation_config.json": json.dumps(STOP_ONE), "README.md": "# Tiny\n"}
    second = dict(first, **{"generation_config.json": json.dumps(STOP_TWO)})
    third = dict(second, **{"README.md": "# Tiny, explained\n"})
    return [first, second, third]


def advisories_of(control):
    """What `advisories` tells, without the addresses: a free port is another one after each start."""
    rows = json.loads(run("advisories", "--json", *control)[1])["advisories"]
    return [{key: value for key, value in row.items() if key != "url"} for row in rows]


class Service(unittest.TestCase):
    def start(self, folder, root):
        hub = Program("hub", root, "--port", "0")
        endpoint = hub.wait_for_line(r"(http://127\.0\.0\.1:\d+)").group(1)
        config = write_config(folder, endpoint, ["acme/tiny"])
        notify = NotifySocket(folder)
        daemon = Program("serve", "--config", config, NOTIFY_SOCKET=notify.path)
        notify.wait_for("READY=1", daemon.process)
        return hub, daemon, notify, config

    def test_from_revisions_to_advisory_badge_and_a_clean_end(self):
        with Folder() as folder:
            write_repo(folder / "root", "acme/tiny", history())
            hub, daemon, notify, config = self.start(folder, folder / "root")
            with hub, daemon:
                control = ["--socket", folder / "control.sock"]
                port = notify.port()

                def advisories():
                    return json.loads(run("advisories", "--json", *control)[1])["advisories"]

                found = eventually(advisories, "an advisory about the stop set")
                self.assertEqual(len(found), 1, "the README edit is told, and is no advisory")
                record = get_json(port, f"/osv/{found[0]['id']}.json")
                self.assertEqual(record["id"], found[0]["id"])
                self.assertEqual(record["affected"][0]["package"]["ecosystem"], "GIT")
                eventually(lambda: len(json.loads(run("revisions", "acme/tiny", "--json", *control)[1])["revisions"]) == 3, "three revisions")
                badge = get_json(port, "/badges/acme/tiny.json")
                self.assertEqual(badge["schemaVersion"], 1)
                for path in ("/", "/models/acme/tiny/", "/models/acme/tiny/index.md", "/models/acme/tiny/index.json", "/index.json", "/healthz",
                             "/badges/acme/tiny.svg", "/osv/all.json", "/models/acme/tiny/changes/"):
                    self.assertEqual(get(port, path)[0], 200, path)
                self.assertEqual(get(port, "/models/acme/other/")[0], 404)

                revisions = json.loads(run("revisions", "acme/tiny", "--json", *control)[1])["revisions"]
                oldest = revisions[-1]["sha"]
                self.assertNotIn(oldest, record["affected"][0]["versions"])
                code, output, _ = run("check", f"acme/tiny@{oldest}", "--json", *control)
                self.assertEqual(code, 1, output)
                self.assertEqual(run("check", f"acme/tiny@{'0' * 40}", *control)[0], 3, "a revision never read is not fine")

                code, _, _ = run("watch", "add", "acme/second", *control)
                self.assertEqual(code, 0)
                self.assertIn("acme/second", run("watch", "list", *control)[1])

                config.write_text(config.read_text() + '[[watch]]\nrepo = "acme/third"\n')
                daemon.process.send_signal(signal.SIGHUP)
                eventually(lambda: "acme/third" in run("watch", "list", *control)[1], "the watch of the reloaded config")
                self.assertIn("acme/second", run("watch", "list", *control)[1], "a reload keeps what `watch add` wrote")

                code, errors = daemon.stop()
                self.assertEqual(code, 0, errors)
                hub.stop()
            notify.close()

    def test_the_same_database_serves_the_same_records_after_a_restart(self):
        with Folder() as folder:
            write_repo(folder / "root", "acme/tiny", history())
            hub, daemon, notify, config = self.start(folder, folder / "root")
            control = ["--socket", folder / "control.sock"]
            with hub:
                with daemon:
                    eventually(lambda: json.loads(run("advisories", "--json", *control)[1])["advisories"], "an advisory")
                    eventually(lambda: len(json.loads(run("revisions", "acme/tiny", "--json", *control)[1])["revisions"]) == 3, "three revisions")
                    before = advisories_of(control)
                    self.assertEqual(daemon.stop()[0], 0)
                notify.seen.clear()
                with Program("serve", "--config", config, NOTIFY_SOCKET=notify.path) as again:
                    notify.wait_for("READY=1", again.process)
                    self.assertEqual(advisories_of(control), before)
                    self.assertEqual(again.stop()[0], 0)
            notify.close()


if __name__ == "__main__":
    main()
