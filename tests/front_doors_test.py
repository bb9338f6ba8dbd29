#!/usr/bin/env python3
"""scripts/* and bench/run as they are misused: what cannot work is refused in words, before anything is installed, built or started."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOORS = ("scripts/demo", "scripts/accept", "scripts/soak", "scripts/test", "scripts/package", "bench/run")


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


class FrontDoors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="front doors ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_each_explains_itself_through_a_link_from_anywhere(self):
        for door in DOORS:
            with self.subTest(door):
                link = self.folder / door.replace("/", " ")
                link.symlink_to(ROOT / door)
                ended = run(link, "--help")
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertIn(door, ended.stdout)

    def test_bench_takes_whole_seconds_only(self):
        for seconds in ("abc", "0", "-1", "1.5"):
            with self.subTest(seconds):
                ended = run(ROOT / "bench/run", seconds)
                self.assertEqual(ended.returncode, 1)
                self.assertEqual(ended.stderr, "error: SECONDS is a whole number from 1; bench/run --help tells what there is\n")


if __name__ == "__main__":
    unittest.main()
