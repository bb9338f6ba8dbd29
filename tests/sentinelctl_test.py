#!/usr/bin/env python3
"""sentinelctl against a real gateway: what it prints, and the exit code it ends with.

    tests/sentinelctl_test.py SENTINELCTL GATEWAY
"""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
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

    def test_one_incident_is_watched_and_no_other(self):
        incident = self.ask("send", "NVLINK_ERROR", "watched-one").stdout.split()[-1]
        self.ask("send", "NVLINK_ERROR", "watched-not")
        watch = subprocess.Popen([CTL, "--gateway", self.gateway, "incidents", "-w", incident], stdout=subprocess.PIPE, text=True)
        try:
            self.assertIn("watched-one", watch.stdout.readline())
            self.ask("send", "NVLINK_ERROR", "watched-neither")
            self.ask("send", "NVLINK_ERROR", "watched-one", "--state", "resolved")
            self.assertIn("watched-one", watch.stdout.readline())
        finally:
            watch.kill()
            watch.wait()
            watch.stdout.close()
        absent = self.ask("incidents", "-w", "0000000000000000")
        self.assertEqual(absent.returncode, 1)
        self.assertIn("there is no incident", absent.stderr)

    def test_nothing_to_show_says_so(self):
        self.assertEqual(self.ask("agents").stdout, "no agent has been heard of\n")
        self.assertEqual(self.ask("terminals").stdout, "no terminals are configured\n")

    def test_exit_codes_tell_apart_what_went_wrong(self):
        self.assertEqual(self.ask("incidents", "0000000000000000").returncode, 1)
        for wrong in (["send"], ["send", "XID_FATAL"], ["sned"], [], ["send", "A", "b", "--gpu", "-1"], ["send", "A", "--body", "{}"],
                      ["send", "A", "b", "--util", "nan"], ["node", "drain", "节点-7".encode("gbk")]):
            self.assertEqual(self.ask(*wrong).returncode, 2, wrong)
        for address in ("[::1", "1.2.3.4:99999", "http://127.0.0.1:8080"):
            self.assertEqual(run("--gateway", address, "incidents").returncode, 2, address)
        self.assertEqual(self.ask("--certificate", "a.crt", "incidents").returncode, 2)
        nobody = run("--gateway", "unix:/nowhere/g.sock", "incidents")
        self.assertEqual(nobody.returncode, 3)
        self.assertIn("no gateway answers at", nobody.stderr)

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody who may not")
    def test_a_socket_that_one_may_not_use_is_not_called_absent(self):
        os.chmod(self.folder.name, 0o755)
        try:
            refused = self.ask("agents", user=65534, group=65534, extra_groups=[])
        except PermissionError:
            self.skipTest("nobody else can run what is built here")
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("you may not use", refused.stderr)
        self.assertNotIn("Is sentinel-gateway running", refused.stderr)

    def test_what_answers_and_is_no_gateway_is_told_so(self):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                status, body = Other.says
                handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            do_POST = do_GET

            def log_message(handler, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            here = f"127.0.0.1:{server.server_address[1]}"
            for body in (b"null", b"[]", b"7", b"hello"):
                Other.says = 200, body
                for command in (["incidents"], ["send", "XID_FATAL", "h"], ["mute", "hall-1"], ["route", "test", "XID_FATAL", "h"]):
                    asked = run("--gateway", here, *command)
                    self.assertEqual(asked.returncode, 1, (body, command, asked.stdout))
                    self.assertIn("is not a gateway", asked.stderr)
            # JSON, and yet nobody was asked anything: no command counts as done, and nothing as green.
            for body in (b"{}", b'{"ok":true}'):
                Other.says = 200, body
                for command in (["incidents"], ["agents"], ["ack"], ["send", "XID_FATAL", "h"], ["node", "drain", "h"], ["node", "drain", "h*"],
                                ["silence", "add", "--host", "h", "--for", "1h"], ["incidents", "-w"], ["--json", "incidents", "-w"]):
                    asked = run("--gateway", here, *command)
                    self.assertEqual(asked.returncode, 1, (body, command, asked.stdout))
                    self.assertIn("is not a gateway", asked.stderr)
            Other.says = 404, b""
            self.assertIn("answered 404", run("--gateway", here, "incidents").stderr)
            Other.says = 403, b"\x1b[31mred\x07" + b"x" * 10000
            asked = run("--gateway", here, "incidents")
            self.assertNotIn("\x1b", asked.stderr)
            self.assertLess(len(asked.stderr), 4096)
            server.shutdown()

    def test_output_that_is_lost_is_no_success(self):
        with open("/dev/full", "w") as full:
            for command in (["incidents", "--json"], ["agents"], ["completion", "bash"], ["--help"], ["node", "--help"], ["--version"]):
                asked = subprocess.run([CTL, "--gateway", self.gateway, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
                self.assertEqual(asked.returncode, 1, command)
                self.assertIn("cannot be written", asked.stderr)

    def test_what_is_wrong_is_said_in_words(self):
        for wrong, word in ((["sned"], "no command 'sned'"), (["key", "mwe"], "no command 'mwe'"), (["silence", "add", "x"], "--for"),
                            (["send", "A", "b", "--gpu", "-2"], "65535"),
                            (["incidents", "0123"], "no incident '0123'")):
            self.assertIn(word, self.ask(*wrong).stderr, wrong)
        self.assertIn("no URL", run("--gateway", "http://h", "agents").stderr)

    def test_a_configuration_is_checked(self):
        self.assertEqual(run("config", "check", str(self.config)).returncode, 0)
        wrong = self.config.with_name("wrong.toml")
        wrong.write_text("lisen = 1\n")
        refused = run("config", "check", str(wrong))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("wrong.toml:1", refused.stderr)
        text = self.config.read_text()
        for more, word in ((text + '[[senders]]\nname = "a"\nkey_file = "/nowhere.key"\n', "/nowhere.key"),
                           (text.replace("[", '["tls:127.0.0.1:1", ', 1) + '[tls]\ncertificate = "/nowhere.crt"\nkey = "/nowhere.pem"\n', "/nowhere.crt")):
            wrong.write_text(more)
            refused = run("config", "check", str(wrong))
            self.assertEqual(refused.returncode, 1, more)
            self.assertIn(word, refused.stderr)
        for lines, place in (("listen = []\n", ":1:10: listen: "), ('listen = "127.0.0.1"\nagents = ["nohost:80"]\n', ":2:11: agents: "),
                             ('inventory = "/nowhere.toml"\n', ":1:13: inventory: ")):
            wrong.write_text(lines)
            refused = run("config", "check", str(wrong))
            self.assertEqual(refused.returncode, 1, lines)
            self.assertIn(str(wrong) + place, refused.stderr)
            for checked in ([GATEWAY, "--config", str(wrong), "--check"], [GATEWAY, "--config", str(wrong)]):
                said = subprocess.run(checked, capture_output=True, text=True, timeout=20)
                self.assertEqual(said.returncode, 1, lines)
                self.assertIn(str(wrong) + place, said.stderr)
        wrong.write_text(text.replace("[", '["192.0.2.1:1", ', 1))
        warned = run("--json", "config", "check", str(wrong))
        self.assertEqual(warned.returncode, 0, warned.stderr)
        self.assertTrue(any("192.0.2.1:1: it is no address of this host now" in one for one in json.loads(warned.stdout)["warnings"]), warned.stdout)
        keyless = self.config.with_name("keyless.toml")
        keyless.write_text(self.config.read_text() + 'key_file = "/nowhere/hall.key"\n')
        refused = run("config", "check", str(keyless))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("/nowhere/hall.key", refused.stderr)

    def test_every_command_answers_programs_in_json(self):
        folder = self.config.parent
        incident = json.loads(self.ask("--json", "send", "GPU_LOST", "json-1").stdout)["incident"]
        silence = json.loads(self.ask("--json", "silence", "add", "--host", "json-2", "--for", "1h").stdout)["id"]
        for words in (["incidents"], ["incidents", incident], ["terminals"], ["agents"], ["audit"], ["silence", "list"], ["ack", incident],
                      ["route", "test", "GPU_LOST", "json-1"], ["silence", "expire", silence], ["node", "drain", "json-3"],
                      ["node", "undrain", "json-3"], ["config", "check", str(self.config)], ["backup", str(folder / "copy.db"), "--state-dir", str(folder)],
                      ["key", "new", "k1", "--folder", str(folder / "keys")], ["key", "rotate", "k2", "--folder", str(folder / "keys")],
                      ["key", "list", "--folder", str(folder / "keys")], ["key", "revoke", "k1", "--folder", str(folder / "keys")],
                      ["ca", "init", "--folder", str(folder / "ca")],
                      ["ca", "issue", "n1", "--host", "127.0.0.1", "--folder", str(folder / "ca"), "--out", str(folder / "tls")]):
            done = self.ask("--json", *words)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
            self.assertIsInstance(json.loads(done.stdout), dict, words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
