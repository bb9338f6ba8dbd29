#!/usr/bin/env python3
"""What an operator does: acknowledge, mute, test, silence, drain, back up, with a real gateway and a real terminal.

    tests/operator_test.py BUILD_DIR
"""
import json
import os
import sqlite3
import sys
import time
import unittest

from small_site import SmallSite, other_user_can_be_tried, programs_of

PROGRAMS = programs_of(sys.argv[1])
NOBODY = 65534


class Operator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = SmallSite(PROGRAMS)

    @classmethod
    def tearDownClass(cls):
        cls.site.stop()

    def tearDown(self):
        for incident in self.incidents():
            self.site.ctl("send", incident["event_type"], incident["culprit"]["host"], "--state", "resolved")
        self.site.ctl("unmute", "hall-1")
        self.site.until(lambda: self.site.lamp()["state"] == "idle", "the lamp burns on")

    def run_ctl(self, *arguments, **options):
        done = self.site.ctl(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def incidents(self):
        return self.site.ask("GET", "/api/v1/incidents?state=open").json()["incidents"]

    def burn(self, host, event_type="XID_FATAL"):
        incident = json.loads(self.run_ctl("--json", "send", event_type, host))["incident"]
        self.site.until(lambda: incident in [o["incident"] for o in self.site.lamp()["open"]], "the lamp is not lit")
        return incident

    def audit(self):
        return json.loads(self.run_ctl("audit", "--json"))["audit"]

    def test_an_incident_is_acknowledged_from_a_desk(self):
        incident = self.burn("desk-1")
        self.assertEqual(self.site.lamp()["light"]["mode"], "flash")
        self.assertEqual(self.run_ctl("ack", incident, "--by", "alice"), f"acknowledged 1 of {incident}\n")
        self.site.until(lambda: self.site.lamp()["light"]["mode"] == "steady", "the light is not steady")
        who = f"uid {os.geteuid()} (alice)"
        shown = json.loads(self.run_ctl("incidents", incident, "--json"))
        self.assertEqual((shown["state"], shown["acknowledged"]["by"]), ("acknowledged", who))
        line = next(line for line in self.audit() if line["subject"] == incident)
        self.assertEqual((line["action"], line["by"]), ("acknowledge", who))
        self.assertRegex(line["from"], rf"^unix uid={os.geteuid()} pid=\d+$")
        self.assertIsNone(self.site.lamp()["muted_until_at"])  # a desk is not the floor
        self.assertIn("acknowledge", self.run_ctl("audit"))

    def test_all_of_a_terminal_or_all_there_are(self):
        first, second = self.burn("desk-2"), self.burn("desk-3")
        done = json.loads(self.run_ctl("ack", "--terminal", "hall-1", "--json"))
        self.assertEqual((done["acknowledged"], sorted(done["incidents"])), (2, sorted((first, second))))
        third = self.burn("desk-4")
        done = json.loads(self.run_ctl("ack", "--json"))
        self.assertEqual(done["acknowledged"], 1)
        self.assertIn(third, done["incidents"])

    def test_what_is_not_open_is_not_acknowledged(self):
        incident = self.burn("desk-5")
        refused = self.site.ctl("ack", incident, "0000000000000000")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("nothing was done", refused.stderr)
        self.assertEqual(self.incidents()[0]["state"], "open")
        self.assertEqual(self.site.ctl("ack", "--terminal", "hall-9").returncode, 1)
        self.assertEqual(self.site.ctl("ack", incident, "--terminal", "hall-1").returncode, 2)

    def test_a_terminal_is_muted_and_unmuted_at_once(self):
        said = self.run_ctl("mute", "hall-1", "--for", "2m")
        self.assertIn("hall-1 is muted until", said)
        self.site.until(lambda: self.site.lamp()["muted_until_at"] is not None, "the terminal knows of no mute")
        self.assertIn("hall-1", self.run_ctl("terminals"))
        self.assertEqual(self.run_ctl("unmute", "hall-1"), "hall-1 is not muted any more\n")
        self.site.until(lambda: self.site.lamp()["muted_until_at"] is None, "the terminal is muted yet")
        self.assertEqual([line["action"] for line in self.audit()[:2]], ["unmute", "mute"])

    def test_the_mute_of_a_pressed_button_ends_by_command(self):
        self.burn("desk-6")
        self.assertTrue(self.site.press()["acknowledged"])
        muted = lambda: self.site.ask("GET", "/api/v1/terminals").json()["terminals"][0]["muted_until_at"]
        self.site.until(lambda: muted() is not None, "the gateway knows of no mute")
        self.run_ctl("unmute", "hall-1")
        self.site.until(lambda: self.site.lamp()["muted_until_at"] is None, "the terminal is muted yet")
        time.sleep(0.3)
        self.assertIsNone(muted())

    def test_what_cannot_be_muted_is_refused(self):
        self.assertEqual(self.site.ctl("mute", "hall-9").returncode, 1)
        too_long = self.site.ctl("mute", "hall-1", "--for", "2h")
        self.assertEqual(too_long.returncode, 1)
        self.assertIn("for_ms", too_long.stderr)
        self.assertEqual(self.site.ctl("mute", "hall-1", "--for", "soon").returncode, 2)

    def test_a_lamp_is_tested_and_goes_out_by_itself(self):
        before, incidents = len(self.site.lamp()["history"]), self.run_ctl("incidents", "--all")
        self.assertRegex(self.run_ctl("test", "lamp", "--terminal", "hall-1"), r"^hall-1 has taken the test of its lamp after \d+ ms\n$")
        lit = self.site.lamp()
        self.assertEqual((lit["state"], lit["light"]["color"], lit["light"]["mode"]), ("alarm", "#FFA500", "breath"))
        self.assertIn("TEST", lit["text"])
        again = self.site.ctl("test", "lamp", "--terminal", "hall-1")
        self.assertEqual(again.returncode, 1)
        self.assertIn("has not ended yet", again.stderr)
        self.site.until(lambda: self.site.lamp()["state"] == "idle", "the test goes on")
        messages = self.site.lamp()["history"][before:]
        self.assertEqual([m["audio_mode"] for m in messages], ["off", "off"])
        self.assertTrue(all(m["incident"].startswith("test-") for m in messages))
        self.assertEqual(self.run_ctl("incidents", "--all"), incidents)
        self.assertEqual(self.audit()[0]["action"], "test")

    def test_a_voice_is_tested_without_any_light(self):
        self.run_ctl("test", "speech", "--terminal", "hall-1")
        lamp = self.site.lamp()
        self.assertEqual(lamp["state"], "idle")
        self.assertEqual((lamp["history"][-1]["audio_mode"], lamp["history"][-1]["light_mode"]), ("once", "off"))
        self.assertIn("语音测试", lamp["history"][-1]["text"])
        self.run_ctl("mute", "hall-1")
        self.site.until(lambda: self.site.lamp()["muted_until_at"] is not None, "the terminal knows of no mute")
        self.assertIn("says nothing", self.run_ctl("test", "speech", "--terminal", "hall-1"))

    def test_a_gateway_that_dies_in_a_test_leaves_no_lamp_burning(self):
        self.run_ctl("test", "lamp", "--terminal", "hall-1")
        self.site.kill_gateway()
        self.assertEqual(self.site.lamp()["state"], "alarm")
        self.site.start_gateway()
        self.site.until(lambda: self.site.lamp()["state"] == "idle", "the lamp burns on")

    def test_what_is_silenced_does_not_ring_until_that_ends(self):
        made = self.run_ctl("silence", "add", "--host", "quiet-*", "--for", "1h", "--comment", "optics", "--by", "li")
        self.assertRegex(made, r"^silence [0-9a-f]{16} for host=quiet-\*, until ")
        silence = made.split()[1]
        self.assertIn("optics", self.run_ctl("silence", "list"))
        explained = self.run_ctl("route", "test", "XID_FATAL", "quiet-7")
        self.assertIn(f"silence {silence}", explained)
        self.run_ctl("send", "XID_FATAL", "quiet-7")
        time.sleep(0.3)
        self.assertEqual(self.site.lamp()["state"], "idle")
        self.assertEqual(self.incidents()[0]["quiet"], {"reason": "silence", "by": silence})
        self.assertEqual(self.run_ctl("silence", "expire", silence), f"silence {silence} is over\n")
        self.site.until(lambda: self.site.lamp()["state"] == "alarm", "it does not ring")
        self.assertEqual(self.site.ctl("silence", "expire", silence).returncode, 1)
        self.assertEqual(self.site.ctl("silence", "add", "--for", "1h").returncode, 2)

    def test_a_drained_node_does_not_ring(self):
        self.assertEqual(self.run_ctl("node", "drain", "sick-1", "--as", "cordoned"), "sick-1 is cordoned\n")
        self.run_ctl("send", "XID_FATAL", "sick-1")
        time.sleep(0.3)
        self.assertEqual(self.site.lamp()["state"], "idle")
        self.assertEqual(self.run_ctl("node", "undrain", "sick-1"), "sick-1 is in-service\n")
        self.site.until(lambda: self.site.lamp()["state"] == "alarm", "it does not ring")
        self.assertEqual(self.site.ctl("node", "undrain", "sick-1").returncode, 1)

    def test_a_host_that_cannot_be_drained_costs_no_other_its_turn(self):
        self.burn("odd-\x1b[31m")  # whoever posts events may call a host so
        self.burn("odd-2")
        done = self.site.ctl("node", "drain", "odd-*")
        self.assertEqual((done.returncode, done.stdout), (1, "odd-2 is drained\n"))
        self.assertIn("odd-?[31m: answered 400", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(self.run_ctl("node", "undrain", "odd-*"), "odd-2 is in-service\n")

    def test_a_pattern_drains_the_nodes_that_are_known_each_by_its_own_name(self):
        for host in ("row-1", "row-2", "other-1"):
            self.run_ctl("send", "LINK_FLAP", host)
        self.assertEqual(self.run_ctl("node", "drain", "row-?"), "row-1 is drained\nrow-2 is drained\n")
        self.assertEqual(self.run_ctl("node", "undrain", "row-1"), "row-1 is in-service\n")
        self.assertEqual(json.loads(self.run_ctl("--json", "node", "undrain", "row-*")), {"nodes": [{"host": "row-2", "state": "in-service"}]})
        for words, said in ((("node", "drain", "nowhere-*"), "no host that the gateway has heard of fits 'nowhere-*'"),
                            (("node", "undrain", "row-*"), "no host that is out of service fits 'row-*'")):
            refused = self.site.ctl(*words)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(said, refused.stderr)

    def test_an_event_is_explained_and_nothing_is_changed_by_asking(self):
        told = json.loads(self.run_ctl("route", "test", "XID_FATAL", "asked-1", "--gpu", "3", "--json"))
        self.assertEqual((told["severity"], told["incident"], told["suppressed"]), ("P0", None, False))
        self.assertEqual([(t["name"], t["light"], t["voice"]) for t in told["terminals"]], [("hall-1", True, True)])
        self.assertIn("asked-1", told["identity"])
        self.assertEqual(told["debounce_ms"], 120000)
        self.assertEqual(self.incidents(), [])
        words = self.run_ctl("route", "test", "XID_FATAL", "asked-1", "--gpu", "3")
        for part in ("XID_FATAL", "P0, ", "hall-1", "第 3 号卡", "debounce"):
            self.assertIn(part, words)
        self.assertEqual(self.site.ctl("route", "test", "--body", "{}").returncode, 1)

    def test_the_store_is_backed_up_while_the_gateway_writes(self):
        self.run_ctl("send", "OPTICS_HOT", "kept-1")
        copy = self.site.folder / "copy.db"
        said = self.run_ctl("backup", str(copy), "--config", str(self.site.config))
        self.assertIn("opened and checked", said)
        with sqlite3.connect(copy) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertGreaterEqual(database.execute("SELECT count(*) FROM events WHERE host = 'kept-1'").fetchone()[0], 1)
        self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
        again = self.site.ctl("backup", str(copy), "--state-dir", str(self.site.state))
        self.assertEqual(again.returncode, 1)
        self.assertIn("exists already", again.stderr)
        copy.unlink()


class Absent(unittest.TestCase):
    def test_a_terminal_that_is_not_there_fails_its_test(self):
        site = SmallSite(PROGRAMS, terminal=False)
        try:
            begun = time.monotonic()
            failed = site.ctl("test", "lamp", "--terminal", "hall-1")
            self.assertEqual(failed.returncode, 1)
            self.assertIn("has not answered within 10 s", failed.stderr)
            self.assertLess(time.monotonic() - begun, 15)
            self.assertEqual(site.ctl("test", "speech", "--terminal", "hall-9").returncode, 1)
        finally:
            site.stop()


class Roles(unittest.TestCase):
    def test_over_tcp_from_this_host_one_may_acknowledge_but_has_to_say_who_one_is(self):
        site = SmallSite(PROGRAMS, terminal=False)
        try:
            self.assertEqual(site.ctl("mute", "hall-1", "--by", "alice", tcp=True).returncode, 0)
            line = site.ask("GET", "/api/v1/audit").json()["audit"][0]
            self.assertEqual((line["by"], line["from"]), ("alice (unproven)", "127.0.0.1"))
            nobody = site.ask("POST", "/api/v1/mute", {"terminal": "hall-1"}, tcp=True)
            self.assertEqual(nobody.status, 400)
            self.assertIn(b"say who does it", nobody.body)
            refused = site.ctl("silence", "add", "--host", "x", "--for", "1h", tcp=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("this needs the role admin", refused.stderr)
            browser = site.ask("POST", "/api/v1/mute", {"terminal": "hall-1", "by": "x"}, tcp=True, headers={"Origin": "http://evil.example"})
            self.assertEqual(browser.status, 403)
        finally:
            site.stop()

    def test_a_place_without_a_role_is_refused_and_told_why(self):
        site = SmallSite(PROGRAMS, access='[access]\nloopback = "none"\n', terminal=False)
        try:
            refused = site.ctl("incidents", tcp=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("this needs the role view", refused.stderr)
            self.assertEqual(site.ask("GET", "/metrics", tcp=True).status, 200)
            self.assertEqual(site.ctl("send", "OPTICS_HOT", "n1", tcp=True).returncode, 0)  # senders are no callers
        finally:
            site.stop()

    @unittest.skipUnless(other_user_can_be_tried(), "only root can be somebody else")
    def test_users_and_groups_have_the_roles_they_are_given(self):
        groups = '[[access.users]]\ngroup = "27"\nrole = "ack"\n[[access.users]]\nuser = "4711"\nrole = "admin"\n'
        site = SmallSite(PROGRAMS, access=groups, terminal=False)
        try:
            os.chmod(site.socket, 0o666)
            somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            try:
                site.ctl("--version", **somebody)
            except PermissionError:
                self.skipTest("nobody else can run what is built here")
            self.assertEqual(site.ctl("incidents", **somebody).returncode, 0)
            refused = site.ctl("mute", "hall-1", **somebody)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"you are uid {NOBODY} and have the role view", refused.stderr)
            member = dict(somebody, extra_groups=[27])
            self.assertEqual(site.ctl("mute", "hall-1", **member).returncode, 0)
            self.assertEqual(site.ctl("node", "drain", "n1", **member).returncode, 1)
            self.assertEqual(site.ctl("node", "drain", "n1", **dict(somebody, user=4711)).returncode, 0)
        finally:
            site.stop()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
