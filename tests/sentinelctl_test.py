#!/usr/bin/env python3
"""sentinelctl against a real gateway: what it prints, and the exit code it ends with.

    tests/sentinelctl_test.py SENTINELCTL GATEWAY
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

CTL, GATEWAY = sys.argv[1:3]


def run(*arguments, **options):
    return subprocess.run([CTL, *arguments], capture_output=True, text=True, timeout=20, **options)


class Sentinelctl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.gateway = f"unix:{folder}/g.sock"
        cls.config = folder / "gateway.toml"
        cls.config.write_text(f'listen = ["{cls.gateway}"]\nagents = ["unix:{folder}/a.sock"]\nstate_dir = "{folder}"\n')
        cls.process = subprocess.Popen([GATEWAY, "--config", cls.config], stderr=subprocess.DEVNULL)
        for _ in range(200):
            if run("--gateway", cls.gateway, "agents").returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("the gateway does not answer")

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait(10)
        cls.folder.cleanup()

    def ask(self, *arguments, **options):
        return run("--gateway", self.gateway, *arguments, **options)

    def test_an_event_becomes_an_incident_that_is_shown(self):
        sent = self.ask("send", "XID_FATAL", "gpu-worker-08", "--rack", "A03", "--gpu", "3")
        self.assertEqual(sent.returncode, 0, sent.stderr)
        self.assertRegex(sent.stdout, r"^accepted, incident [0-9a-f]{16}\n$")
        incident = sent.stdout.split()[-1]
        again = self.ask("send", "XID_FATAL", "gpu-worker-08", "--rack", "A03", "--gpu", "3")
        self.assertEqual(again.stdout, f"suppressed, incident {incident}\n")
        listed = self.ask("incidents").stdout
        self.assertIn(incident, listed)
        self.assertIn("A03 gpu-worker-08 gpu 3", listed)
        self.assertIn("第 3 号卡", self.ask("incidents", incident).stdout)
        whole = json.loads(self.ask("--json", "incidents", incident).stdout)
        self.assertEqual(whole["count"], 2)
        over = self.ask("send", "XID_FATAL", "gpu-worker-08", "--rack", "A03", "--gpu", "3", "--state", "resolved")
        self.assertEqual(over.returncode, 0, over.stderr)
        self.assertNotIn(incident, self.ask("incidents").stdout)
        self.assertIn(incident, self.ask("incidents", "--all").stdout)

    def test_a_body_is_taken_as_it_is(self):
        body = '{"node_host":"n1","event_type":"OPTICS_HOT","event_id":"ctl-1"}'
        self.assertEqual(self.ask("send", "--body", "-", input=body).returncode, 0)
        self.assertTrue(self.ask("send", "--body", body).stdout.startswith("suppressed"))
        refused = self.ask("send", "--body", "{}")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("400", refused.stderr)

    def test_watching_tells_changes_as_they_come(self):
        watch = subprocess.Popen([CTL, "--gateway", self.gateway, "incidents", "-w"], stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(0.3)
            self.ask("send", "NVLINK_ERROR", "watched-host")
            lines = iter(watch.stdout.readline, "")
            self.assertTrue(any("watched-host" in line and "P1 open" in line for line in lines))
        finally:
            watch.kill()
            watch.wait()
            watch.stdout.close()

    def test_nothing_to_show_says_so(self):
        self.assertEqual(self.ask("agents").stdout, "no agent has been heard of\n")
        self.assertEqual(self.ask("terminals").stdout, "no terminals are configured\n")

    def test_exit_codes_tell_apart_what_went_wrong(self):
        self.assertEqual(self.ask("incidents", "0000000000000000").returncode, 1)
        for wrong in (["send"], ["send", "XID_FATAL"], ["sned"], [], ["send", "A", "b", "--gpu", "-1"], ["send", "A", "--body", "{}"]):
            self.assertEqual(self.ask(*wrong).returncode, 2, wrong)
        nobody = run("--gateway", "unix:/nowhere/g.sock", "incidents")
        self.assertEqual(nobody.returncode, 3)
        self.assertIn("no gateway answers at", nobody.stderr)

    def test_a_configuration_is_checked(self):
        self.assertEqual(run("config", "check", str(self.config)).returncode, 0)
        wrong = self.config.with_name("wrong.toml")
        wrong.write_text("lisen = 1\n")
        refused = run("config", "check", str(wrong))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("wrong.toml:1", refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
