"""Runs the real executable in a folder of its own, with every path and port given, for the end-to-end tests."""

import http.client
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HEADWATER = os.environ["HEADWATER"]
SHARED = os.environ.get("HEADWATER_SHARED", "")
WAIT_SECONDS = 120


def clean_environment(**extra):
    """The environment without what would reach a real hub or a proxy."""
    kept = {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY") and not k.startswith("HF_")}
    kept.update(extra)
    return kept


def run(*arguments, **extra):
    """One command to its end: (exit code, standard output, standard error)."""
    done = subprocess.run([HEADWATER, *map(str, arguments)], capture_output=True, text=True, timeout=WAIT_SECONDS,
                          env=clean_environment(**extra), check=False)
    return done.returncode, done.stdout, done.stderr


class Folder:
    """A temporary folder that goes with the test."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="hw-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class NotifySocket:
    """What systemd listens on: collects the lines that a service sends."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.seen = []

    def wait_for(self, line, process):
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            if any(line in message.split("\n") for message in self.seen):
                return
            ready, _, _ = select.select([self.socket], [], [], 0.2)
            if ready:
                self.seen.append(self.socket.recv(65536).decode())
            elif process.poll() is not None:
                raise AssertionError(f"ended with {process.returncode} before it said {line}: {process.stderr.read()}")
        raise AssertionError(f"{line} was not said; heard: {self.seen}")

    def port(self):
        """The public listener's port, from the status line of the ready message."""
        found = re.search(r"STATUS=.*http://[^ ]*:(\d+)", "\n".join(self.seen))
        if not found:
            raise AssertionError(f"no address in {self.seen}")
        return int(found.group(1))

    def close(self):
        self.socket.close()


class Program:
    """The executable in the background; its standard output is read a line at a time."""

    def __init__(self, *arguments, **extra):
        self.process = subprocess.Popen([HEADWATER, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=clean_environment(**extra))

    def wait_for_line(self, pattern):
        for line in self.process.stdout:
            found = re.search(pattern, line)
            if found:
                return found
        raise AssertionError(f"no line matched {pattern}: exit {self.process.wait()}: {self.process.stderr.read()}")

    def stop(self, how=signal.SIGTERM):
        """Sends the signal and gives the exit code and standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def get(port, path, **headers):
    """One GET: (status, headers, body bytes)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def get_json(port, path):
    status, _, body = get(port, path)
    if status != 200:
        raise AssertionError(f"{path}: {status} {body[:200]!r}")
    return json.loads(body)


def write_repo(root, name, revisions, facts=None):
    """A recorded repo in the replay hub's folder: `revisions` is a list of {path: text or bytes}."""
    repo = pathlib.Path(root) / "models" / name
    for number, files in enumerate(revisions, 1):
        folder = repo / "revisions" / f"{number:04d}-step"
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
    if facts is not None:
        (repo / "repo.json").write_text(json.dumps(facts))


def write_config(folder, endpoint, repos, **more):
    """A config with every path inside `folder` and free ports; gives its path."""
    lines = ["[hub]", f'endpoint = "{endpoint}"', "[state]", f'folder = "{folder}/state"', "[http]", 'listen = "127.0.0.1:0"',
             'admin_listen = "127.0.0.1:0"', "[control]", f'socket = "{folder}/control.sock"', "[poll]",
             f'interval = "{more.get("interval", "1s")}"', f'confirm = {more.get("confirm", 1)}', 'confirm_span = "0s"', 'history = "all"']
    for repo in repos:
        lines += ["[[watch]]", f'repo = "{repo}"']
    path = pathlib.Path(folder) / "headwater.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def eventually(check, what):
    """Waits until `check()` gives something true, and gives it."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        value = check()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"did not come: {what}")


def main():
    unittest.main(argv=[sys.argv[0], "-v"])
