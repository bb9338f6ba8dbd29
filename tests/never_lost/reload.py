#!/usr/bin/env python3
"""SIGHUP: another configuration without a start, and a bad one that changes nothing."""
import signal
import time

from floor import Case, event, run, wait_for

QUICK = "[delivery]\nping_ms = 200\nattempt_timeout_ms = 3000\n"


class Reload(Case):
    def hup(self, gateway):
        gateway.process.send_signal(signal.SIGHUP)

    def test_a_bad_file_keeps_the_old_configuration_and_says_so(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        self.assertEqual(gateway.metric("sentinel_config_last_reload_successful"), 1)
        gateway.write([], "lisen = 3\n")
        self.hup(gateway)
        wait_for("the metric falls", lambda: gateway.metric("sentinel_config_last_reload_successful") == 0)
        self.assertIn("event=config_not_reloaded", gateway.words())
        self.assertIn("gateway.toml:5:1", gateway.words())
        gateway.post(event())
        wait_for("the old lamp is lit", lambda: lamp.taken)
        gateway.write([("hall-1", lamp.port)], QUICK)
        self.hup(gateway)
        wait_for("the metric is back", lambda: gateway.metric("sentinel_config_last_reload_successful") == 1)

    def test_it_keeps_what_waits_what_is_under_way_and_every_window(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        gateway.post(event("XID_FATAL", "told"))
        wait_for("the first is told", lambda: len(lamp.taken) == 1)
        lamp.mode, lamp.pace = "slow", 0.02
        gateway.post(event("XID_FATAL", "under-way"))
        wait_for("it is under way", lambda: len(lamp.heard) == 2)
        gateway.post(event("XID_FATAL", "waits"))
        lamp.mode = "ok"
        self.hup(gateway)
        time.sleep(0.01)
        self.hup(gateway)
        wait_for("all are told", lambda: len(lamp.taken) == 3)
        self.assertEqual(gateway.post(event("XID_FATAL", "told"))["status"], "suppressed")
        time.sleep(1)
        self.assertEqual(len(lamp.heard), 3)
        self.assertEqual(gateway.words().count("event=config_reloaded"), 2)

    def test_a_terminal_that_is_new_is_told_what_burns(self):
        first, second = self.lamp(ours=True), self.lamp(ours=True)
        gateway = self.gateway([("hall-1", first.port)], QUICK).start()
        gateway.post(event())
        wait_for("the first is lit", lambda: first.taken)
        gateway.write([("hall-2", second.port)], QUICK)
        self.hup(gateway)
        wait_for("the second is lit", lambda: second.taken)
        gateway.post(event("GPU_LOST", "n2"))
        wait_for("and told of the next", lambda: len(second.taken) == 2)
        self.assertEqual(len(first.taken), 1)
        self.assertEqual(list(gateway.terminals()), ["hall-2"])

    def test_what_only_a_start_can_change_is_refused_whole(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        gateway.write([], QUICK, state="/tmp")
        self.hup(gateway)
        wait_for("it says so", lambda: "state_dir cannot be changed" in gateway.words())
        self.assertEqual(list(gateway.terminals()), ["hall-1"])


if __name__ == "__main__":
    run(__name__)
