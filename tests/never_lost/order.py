#!/usr/bin/env python3
"""A P0 is the next thing a lamp hears, whatever waits before it."""
import json
import time

from floor import Case, event, run, wait_for

WARNINGS = 300
QUICK = "[delivery]\nping_ms = 200\n"


class Order(Case):
    def test_a_p0_passes_a_line_full_of_warnings(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        wait_for("the lamp is known", lambda: lamp.pings)
        lamp.mode = "busy"
        lamp.retry_after = 1
        for number in range(WARNINGS):
            gateway.post(event("NVLINK_ERROR", f"warned-{number}"))
        gateway.post(event("NCCL_TIMEOUT", "burning"))
        self.assertEqual(lamp.taken, [])
        lamp.mode = "ok"
        wait_for("everything is told", lambda: len(lamp.taken) == WARNINGS + 1, limit=60)
        self.assertIn("burning", json.loads(lamp.taken[0][1])["text"])

    def test_a_dead_lamp_a_dead_webhook_and_a_hanging_one_delay_no_other_lamp(self):
        good, dead, hook = self.lamp(ours=True), self.lamp(ours=True), self.lamp()
        dead.close()
        hook.mode = "hang"
        secret = self.folder / "hook.secret"
        secret.touch(0o600)
        secret.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
        hooks = "".join(f'[[webhook]]\nname = "{name}"\nurl = "http://127.0.0.1:{port}/in"\nsecret_file = "{secret}"\n'
                        for name, port in (("hanging", hook.port), ("dead", dead.port)))
        gateway = self.gateway([("hall-1", good.port), ("hall-2", dead.port)], hooks + QUICK).start()
        wait_for("the lamp is known", lambda: good.pings)
        gateway.post(event("NVLINK_ERROR", "first"))
        wait_for("the first is told", lambda: good.taken)
        slowest = 0.0
        for number in range(20):
            posted = time.monotonic()
            gateway.post(event("XID_FATAL", f"n{number}"))
            wait_for("the lamp is lit", lambda: len(good.taken) >= number + 2)
            slowest = max(slowest, good.taken[-1][2] - posted)
        self.assertLess(slowest, 0.5)
        wait_for("the webhook has been tried", lambda: hook.heard)


if __name__ == "__main__":
    run(__name__)
