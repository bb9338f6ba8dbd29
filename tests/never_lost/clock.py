#!/usr/bin/env python3
"""The time of a host is set by an hour, forwards and backwards, under a daemon that runs.

A preloaded library (clock_shim.c) moves the civil clock of one process; the monotonic one goes on, as it does on a real host.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import time
import unittest

from floor import Case, Terminal, event, run, wait_for

HOUR = 3600
# By night the step of an hour may end it, and what is open is then told once more.
NO_NIGHT = '[voice]\nquiet_from = "08:00"\nquiet_until = "08:00"\n'
QUICK = "[delivery]\nping_ms = 300\nunreachable_ms = 2000\n" + NO_NIGHT
BLIND_AFTER = 15.0


@unittest.skipIf(shutil.which("cc") is None, "there is no C compiler to make the clock shim with")
class Clock(Case):
    def setUp(self):
        super().setUp()
        shim = self.folder / "clock_shim.so"
        source = pathlib.Path(__file__).with_name("clock_shim.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(source), "-ldl"], check=True)
        self.file = self.folder / "ahead"
        self.set(0)
        preload = f"{shim}:{os.environ['LD_PRELOAD']}" if os.environ.get("LD_PRELOAD") else str(shim)
        self.shimmed = {"LD_PRELOAD": preload, "CLOCK_SHIM_FILE": str(self.file)}

    def set(self, seconds):
        # In place: a file that is mapped must never be shorter than its map.
        with open(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0) as f:
            f.write(struct.pack("q", seconds))

    def site(self, gateway_env=None, terminal_env=None):
        gateway = self.gateway([], QUICK, env=gateway_env)
        terminal = self.keep(Terminal(self.folder, gateway_port=gateway.port, env=terminal_env)).start()
        gateway.write([("hall-1", terminal.port)], QUICK)
        gateway.start()
        wait_for("they know each other", lambda: gateway.terminals()["hall-1"]["kind"] == "sentinel")
        return gateway, terminal

    def shown(self, gateway, terminal, host, within):
        posted = time.monotonic()
        answer = gateway.post(event("XID_FATAL", host))
        self.assertEqual(answer["http"], 200)
        wait_for(f"{host} is shown", lambda: any(m["incident"] == answer["incident"] for m in terminal.history()))
        self.assertLess(time.monotonic() - posted, within)

    def step_under_way(self, gateway, terminal):
        self.shown(gateway, terminal, "before", 1.0)
        for number, ahead in enumerate((HOUR, -HOUR, 0)):
            self.set(ahead)
            self.shown(gateway, terminal, f"step-{number}", 4.0)
            # Nothing is over and nothing rings again because somebody set the time.
            self.assertEqual(gateway.post(event("XID_FATAL", "before"))["status"], "suppressed")
            self.assertEqual(gateway.incident(host="before")["state"], "open")
        self.assertEqual(len(terminal.history()), 4)

    def test_the_gateways_clock_steps_and_alarms_go_on(self):
        gateway, terminal = self.site(gateway_env=self.shimmed)
        self.step_under_way(gateway, terminal)

    def test_the_terminals_clock_steps_and_alarms_go_on(self):
        gateway, terminal = self.site(terminal_env=self.shimmed)
        self.step_under_way(gateway, terminal)

    def test_a_gateway_in_another_hour_is_heard_from(self):
        gateway, terminal = self.site(gateway_env=self.shimmed)
        self.set(HOUR)
        end = time.monotonic() + BLIND_AFTER + 2
        while time.monotonic() < end:
            self.assertFalse(terminal.status()["blind"])
            time.sleep(0.5)
        self.assertTrue(gateway.terminals()["hall-1"]["reachable"])

    def test_a_start_in_another_hour_loses_nothing_and_repeats_nothing(self):
        gateway, terminal = self.site(gateway_env=self.shimmed)
        for ahead in (HOUR, -HOUR):
            host = f"kept{ahead}"
            self.shown(gateway, terminal, host, 4.0)
            gateway.kill()
            self.set(ahead)
            gateway.start()
            self.assertEqual(gateway.incident(host=host)["state"], "open")
            self.shown(gateway, terminal, f"next{ahead}", 4.0)
        time.sleep(1)
        told = [m["incident"] for m in terminal.history()]
        self.assertEqual(len(told), len(set(told)))


if __name__ == "__main__":
    run(__name__)
