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

    def refused(self, program, words, *arguments):
        with self.subTest(program, arguments=arguments):
            ended = run("python3", ROOT / "scripts/lib" / program, "--build", self.folder / "nothing built", *arguments)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertTrue(ended.stderr.endswith(f": {words}\n"), ended.stderr)

    def test_a_report_that_cannot_be_written_is_refused_before_the_runs(self):
        absent = self.folder / "absent" / "report.json"
        for program in ("demo.py", "accept.py", "soak.py"):
            self.refused(program, f"--json {self.folder}: that is a folder", "--json", self.folder)
            self.refused(program, f"--json {absent}: there is no such folder", "--json", absent)

    def test_evidence_goes_into_a_folder_and_over_no_earlier_one(self):
        file = self.folder / "file"
        file.touch()
        for program in ("accept.py", "soak.py"):
            self.refused(program, f"--evidence {file}: that is no folder", "--evidence", file)
        (self.folder / "notes").mkdir()
        self.refused("accept.py", "--short runs one after the other, without --jobs", "--evidence", self.folder, "--short", "--jobs", "2")
        for earlier in ("site-1", "net-oneway-ib"):
            (self.folder / earlier).mkdir()
            self.refused("accept.py", f"--evidence {self.folder}: an earlier run's folders are in it", "--evidence", self.folder)
            (self.folder / earlier).rmdir()

    def test_evidence_may_be_named_from_where_one_stands(self):
        asks = ("import sys; sys.path.insert(0, sys.argv.pop(1)); import accept\n"
                "print(accept.arguments().evidence)")
        ended = run("env", "-C", self.folder, "python3", "-c", asks, ROOT / "scripts/lib", "--evidence", "here", "--build", "none")
        self.assertEqual((ended.stdout, ended.stderr), (f"{self.folder.resolve() / 'here'}\n", ""))

    def test_numbers_that_cannot_be_are_refused(self):
        for ranks in ("-2", "0", "1", "3"):
            self.refused("accept.py", "--ranks must be a multiple of 2", "--ranks", ranks)
        for minutes in ("nan", "inf", "0", "-1"):
            self.refused("soak.py", "--minutes must be more than 0", "--minutes", minutes)
        for program, option in (("demo.py", "--watch"), ("demo.py", "--for"), ("demo.py", "--heal-after"), ("accept.py", "--watch")):
            for length in ("nan", "inf", "-1", "soon"):
                self.refused(program, f"argument {option}: {length!r} is no number of seconds from 0", f"{option}={length}")

    def test_short_has_kinds_of_its_own(self):
        self.refused("accept.py", "--short has kinds of its own; --kinds with --runs 1 is as quick", "--short", "--kinds", "kill")

    def test_what_cannot_work_is_refused_before_anything_is_built(self):
        """`build` and `install_packages` would say so."""
        for door, wrong in (("demo", ["--runs", "0"]), ("demo", ["--replay", "no-such-recording"]), ("accept", ["--kinds", "melt"]),
                            ("soak", ["--minutes", "0"])):
            with self.subTest(door, wrong=wrong):
                asks = (f'source "{ROOT}/scripts/lib/setup.sh"; install_packages() {{ :; }}; build() {{ echo built; }}; '
                        f'enter {door}.py a_target "$@"')
                ended = run("bash", "-euo", "pipefail", "-c", asks, door, *wrong)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
                self.assertIn("error: ", ended.stderr)

    def test_a_reader_that_goes_away_ends_a_demo_without_a_traceback(self):
        talks = ("import sys; sys.path.insert(0, sys.argv.pop(1)); import demo\n"
                 "def talk(options):\n"
                 "  while True: print('a line', flush=True)\n"
                 "demo.run_all = talk; sys.exit(demo.main())")
        with subprocess.Popen(["python3", "-c", talks, str(ROOT / "scripts/lib"), "--event", "--build", "none"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            child.stdout.readline()
            child.stdout.close()
            self.assertEqual(child.stderr.read(), b"")
        self.assertEqual(child.returncode, 128 + 13)


if __name__ == "__main__":
    unittest.main()
