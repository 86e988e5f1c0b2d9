"""kill -9 at random instants loses nothing and doubles nothing.

Runs the demo with a fixed clock to its end once, undisturbed, and then again and again with the process killed at
random instants and started anew on the same state until it ends by itself. What it publishes then must be, byte for
byte, what the undisturbed run published.

HEADWATER_KILLS     how many kills (6)
HEADWATER_KILL_SEED seed of the instants (20261101; printed)
HEADWATER_KILL_FROM another replay folder than the built-in histories
"""

import filecmp
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import unittest

import harness

KILLS = int(os.environ.get("HEADWATER_KILLS", "6"))
SEED = int(os.environ.get("HEADWATER_KILL_SEED", "20261101"))
FROM = os.environ.get("HEADWATER_KILL_FROM", "")
CLOCK = "2026-11-01T00:00:00Z"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(state, export, port):
    command = [harness.HEADWATER, "demo", "--once", "--state", str(state), "--export", str(export), "--clock", CLOCK,
               "--port", str(port)]
    if FROM:
        command += ["--from", FROM]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=harness.clean_environment())


def finish(process):
    output, _ = process.communicate(timeout=600)
    return process.returncode, output


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


def first_difference(left, right):
    """Where two files part, with a little of what each has there."""
    a, b = left.read_bytes(), right.read_bytes()
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    begin = max(0, at - 60)
    return f"{a[begin:at + 40]!r} became {b[begin:at + 40]!r}"


def differences(expected, got):
    """Lines that say how two exports differ; none when they are equal."""
    left, right = files_of(expected), files_of(got)
    lines = [f"only undisturbed: {name}" for name in sorted(set(left) - set(right))]
    lines += [f"only after kills: {name}" for name in sorted(set(right) - set(left))]
    for name in sorted(set(left) & set(right)):
        if not filecmp.cmp(pathlib.Path(expected) / name, pathlib.Path(got) / name, shallow=False):
            lines.append(f"differs: {name}: {first_difference(pathlib.Path(expected) / name, pathlib.Path(got) / name)}")
    return lines


class Kill9(unittest.TestCase):
    def test_the_export_is_that_of_an_undisturbed_run(self):
        print(f"seed {SEED}, {KILLS} kills", file=sys.stderr, flush=True)
        instants = random.Random(SEED)
        port = free_port()
        with harness.Folder() as folder:
            begin = time.monotonic()
            code, output = finish(start(folder / "calm", folder / "calm-export", port))
            self.assertEqual(code, 0, output)
            seconds = time.monotonic() - begin
            self.assertTrue(files_of(folder / "calm-export"))

            kills, life = 0, 0
            while kills < KILLS:
                life += 1
                state = folder / f"killed-{life}"
                run = 0
                while True:
                    run += 1
                    export = folder / f"killed-{life}-export-{run}"
                    process = start(state, export, port)
                    ended = False
                    if kills < KILLS:
                        try:
                            process.wait(timeout=instants.uniform(0, seconds))
                            ended = True
                        except subprocess.TimeoutExpired:
                            process.send_signal(signal.SIGKILL)
                            process.communicate()
                            kills += 1
                            continue
                    code, output = finish(process)
                    self.assertEqual(code, 0, f"seed {SEED}, life {life}, run {run}, ended {ended}: {output}")
                    break
                lines = differences(folder / "calm-export", export)
                self.assertEqual(lines, [], f"seed {SEED}, {kills} kills in {life} lives:\n" + "\n".join(lines[:20]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
