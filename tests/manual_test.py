#!/usr/bin/env python3
"""Manual pages and completions: what they offer is what the programs take.

    tests/manual_test.py BUILD_DIR
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

APPS = pathlib.Path(sys.argv[1]) / "apps"
ROOT = pathlib.Path(__file__).parent.parent
INSTALLED = {"docs/man/sentinel-agent.8": ("sentinel-agent", "--man"), "docs/man/sentinel-gateway.8": ("sentinel-gateway", "--man"),
             "docs/man/sentinel-terminal.8": ("sentinel-terminal", "--man"), "docs/man/sentinel-ring.1": ("sentinel-ring", "--man"),
             "docs/man/sentinelctl.1": ("sentinelctl", "--man"), "packaging/completions/sentinelctl.bash": ("sentinelctl", "completion", "bash"),
             "packaging/completions/_sentinelctl": ("sentinelctl", "completion", "zsh")}
PROGRAMS = ("sentinel-agent", "sentinel-gateway", "sentinel-ring", "sentinel-terminal", "sentinelctl")


def output(program, *arguments):
    done = subprocess.run([APPS / program / program, *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, (program, arguments, done.returncode, done.stderr)
    return done.stdout


def commands(*before):
    """The subcommands that --help lists, each with its path; nested ones too."""
    listed = output("sentinelctl", *before, "--help").partition("Subcommands:")[2]
    for name in re.findall(r"^  ([a-z_]+) ", listed, re.M):
        yield (*before, name)
        yield from commands(*before, name)


def options(*command):
    """Those of one command, as --help tells them."""
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", "\n".join(
        line.split("   ")[0] for line in output("sentinelctl", *command, "--help").splitlines() if line.startswith("  -"))))


class Manual(unittest.TestCase):
    def test_what_is_installed_is_what_the_programs_say(self):
        for path, words in INSTALLED.items():
            self.assertEqual((ROOT / path).read_text(encoding="utf-8"), output(*words), f"{path} is not what scripts/manual writes")

    def test_every_program_has_a_page_that_is_well_formed(self):
        for program in PROGRAMS:
            page = output(program, "--man")
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(f".SH {section}\n", page, program)
            for line in page.splitlines():
                self.assertRegex(line, r"^(\.(TH|SH|SS|PP|TP)\b.*|[^.'].*|)$", program)
            if shutil.which("man"):
                with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
                    file.write(page)
                    file.flush()
                    shown = subprocess.run(["man", "--warnings", "-l", file.name], capture_output=True, text=True, env={
                        "MANPAGER": "cat", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANWIDTH": "120"})
                    self.assertEqual((shown.returncode, shown.stderr), (0, ""), program)
                    self.assertIn(program, shown.stdout)

    def test_a_page_tells_of_every_option_and_exit_code_that_help_tells_of(self):
        for program in PROGRAMS:
            page, helped = output(program, "--man").replace("\\-", "-"), output(program, "--help")
            for option in re.findall(r"^  (?:-\w,)?(--[a-z-]+)", helped, re.M):
                self.assertIn(option, page, program)
            for code, words in re.findall(r"^  (\d)  (.+)$", helped, re.M):
                self.assertIn(f"\\fB{code}\\fR\n{words}", page, program)

    def test_the_page_of_sentinelctl_tells_of_every_command_and_its_options(self):
        page = output("sentinelctl", "--man").replace("\\-", "-")
        found = list(commands())
        self.assertGreater(len(found), 15)
        for command in found:
            if any(other[:-1] == command for other in found):
                continue
            self.assertIn(f".SS sentinelctl {' '.join(command)}", page)
            for option in options(*command) - {"-h", "--help"}:
                self.assertIn(option, page, command)

    def test_the_exit_codes_are_those_of_the_documentation(self):
        documented = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
        for program, heading in (("sentinelctl", "sentinelctl"), ("sentinel-gateway", "daemons"), ("sentinel-agent", "daemons")):
            section = documented.partition(f"### Exit codes of {heading}")[2].partition("\n#")[0]
            self.assertEqual(re.findall(r"^  (\d)  (.+)$", output(program, "--help"), re.M), re.findall(r"^\| (\d) \| (.+) \|$", section, re.M))


class Completion(unittest.TestCase):
    def offered(self, *words):
        """What bash offers for the last of these words."""
        script = output("sentinelctl", "completion", "bash")
        line = " ".join(f"'{word}'" for word in ("sentinelctl", *words))
        tried = f"compopt() {{ echo COMPOPT \"$@\"; }}\n{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n_sentinelctl\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "--norc", "-c", tried], capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return set(done.stdout.split())

    def test_bash_offers_every_command_and_every_option_of_it(self):
        found = list(commands())
        tops = {command[0] for command in found if len(command) == 1}
        self.assertEqual(self.offered(""), tops)
        for command in found:
            below = {other[-1] for other in found if other[:-1] == command}
            if below:
                self.assertEqual(self.offered(*command, ""), below)
            expected = {option for option in options(*command) if option not in ("-h", "--help")}
            self.assertLessEqual(expected, self.offered(*command, "-"), command)

    def test_bash_offers_the_words_of_a_closed_set(self):
        self.assertEqual(self.offered("test", ""), {"lamp", "speech"})
        self.assertEqual(self.offered("node", "drain", "n1", "--as", "c"), {"cordoned"})
        self.assertEqual(self.offered("send", "--state", ""), {"firing", "resolved"})
        self.assertEqual(self.offered("--json", "completion", "z"), {"zsh"})
        self.assertIn("COMPOPT", self.offered("backup", "x", "--config", ""))

    def test_zsh_has_a_function_for_every_command(self):
        script = output("sentinelctl", "completion", "zsh")
        self.assertTrue(script.startswith("#compdef sentinelctl\n"))
        for command in commands():
            function = script.partition("_sentinelctl_" + "_".join(command) + "() {\n")[2].partition("\n}\n")[0]
            self.assertTrue(function, command)
            for option in options(*command) - {"-h", "--help"}:
                self.assertIn(f"'{option}[", function, command)
        if shutil.which("zsh"):
            self.assertEqual(subprocess.run(["zsh", "-n"], input=script, text=True, capture_output=True).stderr, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
