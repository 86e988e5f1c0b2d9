"""What a person sees after a mistake: one line that names the thing and the mend, and the documented exit code."""

import os
import socket
import sqlite3
import unittest

from harness import Folder, NotifySocket, Program, eventually, main, run, write_config, write_repo

CONFIG_JSON = '{"model_type": "llama", "hidden_size": 64}'


def one_line(test, errors, *parts):
    lines = [line for line in errors.strip().split("\n") if line]
    test.assertEqual(len(lines), 1, errors)
    for part in parts:
        test.assertIn(part, lines[0])


class BadInput(unittest.TestCase):
    def serve(self, text):
        with Folder() as folder:
            (folder / "c.toml").write_text(text)
            return run("serve", "--config", folder / "c.toml")

    def test_malformed_config_names_the_line(self):
        code, _, errors = self.serve("[hub\n")
        self.assertEqual(code, 2)
        one_line(self, errors, "c.toml:1", "not TOML")

    def test_unknown_key_names_the_nearest(self):
        code, _, errors = self.serve('[hub]\nendpiont = "http://x"\n')
        self.assertEqual(code, 2)
        one_line(self, errors, "c.toml:2", "hub.endpiont", "did you mean hub.endpoint")

    def test_missing_config_file_is_named(self):
        code, _, errors = run("serve", "--config", "/nonexistent/headwater.toml")
        self.assertEqual(code, 2)
        one_line(self, errors, "/nonexistent/headwater.toml")

    def test_port_in_use_names_the_address(self):
        with Folder() as folder, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            config = write_config(folder, "http://127.0.0.1:9", [])
            config.write_text(config.read_text().replace('listen = "127.0.0.1:0"', f'listen = "127.0.0.1:{port}"', 1))
            code, _, errors = run("serve", "--config", config)
        self.assertIn(code, (2, 3))
        one_line(self, errors, f"127.0.0.1:{port}", "in use")

    def test_unwritable_state_folder_is_named(self):
        with Folder() as folder:
            (folder / "state").write_text("a file stands where the folder should be")
            config = write_config(folder, "http://127.0.0.1:9", [])
            code, _, errors = run("serve", "--config", config)
        self.assertIn(code, (2, 3))
        one_line(self, errors, "state")

    def test_database_of_a_newer_version_is_refused_and_kept(self):
        with Folder() as folder:
            (folder / "state").mkdir()
            path = folder / "state" / "headwater.db"
            database = sqlite3.connect(path)
            database.execute("PRAGMA user_version = 9999")
            database.execute("CREATE TABLE treasure (x)")
            database.commit()
            database.close()
            before = path.read_bytes()
            code, _, errors = run("serve", "--config", write_config(folder, "http://127.0.0.1:9", []))
            self.assertEqual(path.read_bytes(), before)
        self.assertIn(code, (2, 3))
        one_line(self, errors, "headwater.db", "newer")

    def test_unknown_verb_and_unknown_option_are_usage_errors(self):
        for arguments in (["fly"], ["demo", "--fast"], ["plan"]):
            code, output, errors = run(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertEqual(output, "")
            self.assertNotEqual(errors, "")

    def test_a_verb_without_a_daemon_names_the_socket(self):
        code, _, errors = run("status", "--socket", "/nonexistent/control.sock")
        self.assertEqual(code, 3)
        one_line(self, errors, "/nonexistent/control.sock", "headwater serve")

    def test_a_repo_that_does_not_exist_and_a_gated_one_say_what_to_do(self):
        with Folder() as folder:
            root = folder / "root"
            write_repo(root, "acme/open", [{"config.json": CONFIG_JSON}])
            write_repo(root, "acme/gated", [{"config.json": CONFIG_JSON}], {"gated": "manual"})
            with Program("hub", root, "--port", "0") as hub:
                endpoint = hub.wait_for_line(r"(http://127\.0\.0\.1:\d+)").group(1)
                config = write_config(folder, endpoint, ["acme/open", "acme/gated", "acme/missing"])
                notify = NotifySocket(folder)
                with Program("serve", "--config", config, NOTIFY_SOCKET=notify.path) as daemon:
                    notify.wait_for("READY=1", daemon.process)
                    control = ["--socket", folder / "control.sock"]

                    def settled():
                        code, output, _ = run("status", *control)
                        self.assertEqual(code, 0)
                        ready = "acme/open" in output and "token" in output and "does not exist" in output
                        return output if ready else None

                    eventually(settled, "a status that explains all three")
                    self.assertEqual(daemon.stop()[0], 0)
                notify.close()

    def test_plan_of_a_bad_config_names_the_key(self):
        with Folder() as folder:
            path = folder / "config.json"
            path.write_text('{"model_type": "llama", "hidden_size": -4, "num_hidden_layers": 2}')
            code, _, errors = run("plan", path)
        self.assertEqual(code, 2)
        self.assertIn("hidden_size", errors)
        self.assertIn("-4", errors)


if __name__ == "__main__":
    os.umask(0o077)
    main()
