#!/usr/bin/env python3
"""Each end notices by itself that the other is gone."""
import time

from floor import Case, event, run, wait_for

QUICK = "[delivery]\nping_ms = 300\nunreachable_ms = 1500\n"
BLIND_AFTER = 15.0


class DeadMan(Case):
    def test_a_terminal_breathes_white_when_its_gateway_is_gone_and_stops_when_it_is_back(self):
        gateway = self.gateway([], QUICK)
        terminal = self.terminal(gateway_port=gateway.port)
        gateway.write([("hall-1", terminal.port)], QUICK)
        gateway.start()
        wait_for("the gateway is heard", lambda: terminal.status()["gateway"]["heard_ms_ago"] is not None)
        self.assertFalse(terminal.status()["blind"])
        gateway.kill()
        gone = time.monotonic()
        wait_for("it is blind", lambda: terminal.status()["blind"], limit=BLIND_AFTER + 5)
        self.assertAlmostEqual(time.monotonic() - gone, BLIND_AFTER, delta=1.5)
        wait_for("it breathes white", lambda: (terminal.status()["light"]["color"], terminal.status()["light"]["mode"]) ==
                 ("#FFFFFF", "breath"))
        gateway.start()
        wait_for("it sees again", lambda: not terminal.status()["blind"])

    def test_the_gateway_says_which_terminal_is_gone_and_takes_it_back_when_it_answers(self):
        gateway = self.gateway([], QUICK)
        hall = self.terminal(gateway_port=gateway.port)
        office = self.terminal(gateway_port=gateway.port, name="office")
        gateway.write([("hall-1", hall.port), ("office", office.port)], QUICK)
        gateway.start()
        wait_for("both are known", lambda: all(t["reachable"] for t in gateway.terminals().values()))
        hall.kill()
        wait_for("it is missed", lambda: gateway.incident(event_type="TERMINAL_UNREACHABLE", state="open"))
        wait_for("the other says so", lambda: any("hall-1" in m["text"] for m in office.history()))
        gateway.post(event("XID_FATAL", "n7"))
        hall.start()
        wait_for("it is back", lambda: gateway.incident(event_type="TERMINAL_UNREACHABLE")["state"] == "closed")
        burning = gateway.incident(host="n7")["id"]
        wait_for("it shows what burns", lambda: burning in {one["incident"] for one in hall.status()["open"]})


if __name__ == "__main__":
    run(__name__)
