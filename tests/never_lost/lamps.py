#!/usr/bin/env python3
"""Lamps that hang, are busy, answer slowly, forget, or die: nothing is lost, and nothing is told twice under another name."""
import time

from floor import Case, event, run, wait_for

QUICK = "[delivery]\nattempt_timeout_ms = 500\nping_ms = 200\nunreachable_ms = 1000\nunconfirmed_first_ms = 700\nunconfirmed_then_ms = 1500\n"


def kinds(gateway, kind):
    wait_for(f"the gateway knows the lamp as {kind}", lambda: all(t["kind"] == kind for t in gateway.terminals().values()))


class Lamps(Case):
    def test_one_that_hangs_after_accept_costs_an_attempt_and_not_the_alarm(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        kinds(gateway, "sentinel")
        lamp.mode = "hang"
        gateway.post(event())
        wait_for("three attempts, each with its own deadline", lambda: len(lamp.heard) >= 3)
        lamp.mode = "ok"
        wait_for("the lamp is lit", lambda: lamp.taken)
        self.assertEqual(len({message for message, _, _ in lamp.heard}), 1)
        self.assertEqual(lamp.forged, 0)

    def test_one_that_never_reads_costs_an_attempt_and_not_the_alarm(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        kinds(gateway, "sentinel")
        lamp.mode = "deaf"
        gateway.post(event())
        wait_for("attempts", lambda: len(lamp.held) >= 2)
        lamp.mode = "ok"
        wait_for("the lamp is lit", lambda: lamp.taken)

    def test_one_that_is_busy_is_left_in_peace_as_long_as_it_asks(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        kinds(gateway, "sentinel")
        lamp.mode, lamp.retry_after = "busy", 2
        gateway.post(event("NVLINK_ERROR"))
        wait_for("an attempt", lambda: lamp.heard)
        lamp.mode = "ok"
        wait_for("the lamp is lit", lambda: lamp.taken)
        self.assertGreaterEqual(lamp.taken[0][2] - lamp.heard[0][2], 1.9)
        self.assertEqual(len(lamp.heard), 2)

    def test_one_that_answers_byte_by_byte_holds_up_no_other(self):
        slow, good = self.lamp(ours=True), self.lamp(ours=True)
        gateway = self.gateway([("hall-1", slow.port), ("hall-2", good.port)], QUICK).start()
        kinds(gateway, "sentinel")
        slow.mode = "slow"
        for number in range(5):
            posted = time.monotonic()
            gateway.post(event("XID_FATAL", f"n{number}"))
            wait_for("the good lamp is lit", lambda: len(good.taken) == number + 1)
            self.assertLess(good.taken[-1][2] - posted, 0.5)
        slow.mode = "ok"
        wait_for("the slow one has it all", lambda: len({m for m, _, _ in slow.taken}) == 5)
        self.assertEqual(len(good.taken), 5)

    def test_one_that_reboots_and_forgets_is_told_again_under_the_same_names(self):
        lamp = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", lamp.port)], QUICK).start()
        gateway.post(event())
        gateway.post(event("NVLINK_ERROR", "n2"))
        wait_for("both are shown", lambda: len(lamp.taken) == 2)
        before = {message for message, _, _ in lamp.taken}
        lamp.boot_id = "two"
        wait_for("both are shown again", lambda: len(lamp.taken) == 4)
        self.assertEqual({message for message, _, _ in lamp.taken[2:]}, before)
        # The worst first: a terminal of ours keeps the loudest light by itself.
        self.assertEqual(lamp.taken[2][0], lamp.taken[0][0])

    def test_a_terminal_killed_at_any_moment_shows_everything_that_burns(self):
        gateway = self.gateway([], QUICK)
        terminal = self.terminal(gateway_port=gateway.port)
        gateway.write([("hall-1", terminal.port)], QUICK)
        gateway.start()
        hosts = []
        for number in range(12):
            hosts.append(f"n{number}")
            self.assertEqual(gateway.post(event("XID_FATAL" if number % 2 else "NCCL_TIMEOUT", hosts[-1]))["http"], 200)
            if number % 3 == 1:
                terminal.kill()
                terminal.start()
        wanted = {one["id"] for one in gateway.incidents() if one["event_type"] != "TERMINAL_UNREACHABLE"}
        self.assertEqual(len(wanted), len(hosts))
        wait_for("all of it is shown", lambda: wanted <= {one["incident"] for one in terminal.status()["open"]})
        told = {}
        for one in terminal.history():
            told.setdefault(one["incident"], set()).add(one["message_id"])
        self.assertEqual([ids for incident, ids in told.items() if len(ids) > 1 and incident in wanted], [])

    def test_a_plain_lamp_that_may_have_obeyed_is_told_three_times_and_then_another(self):
        hall, office = self.lamp(), self.lamp()
        route = '[[routes]]\nrack = "A03"\nterminals = ["hall-1"]\n'
        gateway = self.gateway([("hall-1", hall.port), ("office", office.port)], route + QUICK).start()
        kinds(gateway, "plain")
        hall.mode = "hang"
        gateway.post(event())
        wait_for("the other lamp is lit", lambda: office.taken)
        self.assertEqual(len(hall.heard), 3)
        first, second, third = (when for _, _, when in hall.heard)
        self.assertAlmostEqual(second - first, 0.5 + 0.7, delta=0.4)
        self.assertAlmostEqual(third - second, 0.5 + 1.5, delta=0.4)
        time.sleep(2)
        self.assertEqual(len(hall.heard), 3)  # it is not shouted at without end
        one = gateway.incident(host="n1")
        self.assertEqual([n["reason"] for n in one["notifications"] if n["terminal"] == "office"], ["fallback"])
        self.assertEqual(gateway.metric('sentinel_notifications_total{state="failed",terminal="hall-1"}'), 1)
        self.assertEqual(gateway.metric('sentinel_notifications_total{state="failed",terminal="office"}'), 0)

    def test_one_that_answers_pings_and_takes_no_alarm_is_as_good_as_gone(self):
        hall, office = self.lamp(ours=True), self.lamp(ours=True)
        routes = '[[routes]]\nrack = "A03"\nterminals = ["hall-1"]\n[[routes]]\nrack = "B01"\nterminals = ["office"]\n'
        quick = "[delivery]\nping_ms = 300\nunreachable_ms = 1500\n"
        gateway = self.gateway([("hall-1", hall.port), ("office", office.port)], routes + quick).start()
        wait_for("it is known", lambda: gateway.terminals()["hall-1"]["kind"] == "sentinel")
        for mode in ("refuse", "busy"):
            hall.mode, hall.retry_after = mode, 3
            gateway.post(event("XID_FATAL", mode))
            wait_for("the other stands in", lambda: any(mode in text for text in office.texts()))
            self.assertFalse(gateway.terminals()["hall-1"]["reachable"])
            wait_for("an incident of it", lambda: gateway.incident(event_type="TERMINAL_UNREACHABLE", state="open"))
            hall.mode = "ok"
            wait_for("it is back", lambda: gateway.terminals()["hall-1"]["reachable"], 40)
            wait_for("that is over", lambda: not gateway.incident(event_type="TERMINAL_UNREACHABLE", state="open"))

    def test_one_that_is_gone_is_an_alarm_on_the_others_which_take_over(self):
        hall, office = self.lamp(ours=True), self.lamp(ours=True)
        route = '[[routes]]\nrack = "A03"\nterminals = ["hall-1"]\n'
        gateway = self.gateway([("hall-1", hall.port), ("office", office.port)], route + QUICK).start()
        kinds(gateway, "sentinel")
        hall.close()
        gateway.post(event())
        wait_for("the office is told of both", lambda: len(office.taken) >= 2)
        unreachable = wait_for("an incident of it", lambda: gateway.incident(event_type="TERMINAL_UNREACHABLE"))
        self.assertEqual(unreachable["culprit"]["host"], "hall-1")
        self.assertIn(gateway.incident(host="n1")["text"], office.texts())


if __name__ == "__main__":
    run(__name__)
