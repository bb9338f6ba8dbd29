#!/usr/bin/env python3
"""The soak's audit sees what it is there for: each thing that must not happen is made to have happened, and found."""
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
from soak_audit import Audit  # noqa: E402
from soak_witness import Witness  # noqa: E402

LINE = ('2026-11-30T10:00:00.000Z level=info event=message id={id} incident={incident} severity={severity} color=#FF0000 mode={mode} '
        'audio={audio} state={state} text="{text}"')


def note(message, terminal, reason="first", state="delivered"):
    return {"id": message, "terminal": terminal, "reason": reason, "state": state}


def document(*notes, state="open", acknowledged=None):
    return {"state": state, "severity": "P0", "acknowledged": acknowledged, "culprit": {"host": "node-1"}, "count": 1,
            "notifications": list(notes)}


class Night:
    """One alarm at two lamps, as it should be; each test spoils it."""

    def __init__(self):
        self.witnesses = [Witness(types.SimpleNamespace(name=name)) for name in ("hall", "office")]
        for number, witness in enumerate(self.witnesses):
            witness.take("level=info event=started name=x")
            self.play(number, id=f"m{number}", incident="i1")
        self.documents = {"i1": document(note("m0", "hall"), note("m1", "office"))}
        self.events = {"node-1": {"i1"}}
        self.pressed = set()
        self.ongoing = {"hall": {"i1"}, "office": {"i1"}}

    def play(self, number, **fields):
        defaults = {"severity": "P0", "mode": "flash", "audio": "cycle", "state": "playing", "text": "a hang"}
        self.witnesses[number].take(LINE.format(**{**defaults, **fields}))

    def audit(self):
        reasons = {one["id"]: one["reason"] for each in self.documents.values() for one in each["notifications"]}
        pending = [(incident, one["terminal"], one["reason"]) for incident, each in self.documents.items() for one in each["notifications"]
                   if one["state"] == "pending"]
        store = types.SimpleNamespace(events=self.events, documents=self.documents, reasons=reasons, pending=pending)
        audit = Audit({"node-1": ("P0", "i1", 0.0, 1.0)}, {}, {}, self.witnesses, store, self.pressed, self.ongoing)
        audit.good = audit.run()
        return audit


class AuditTest(unittest.TestCase):
    def setUp(self):
        self.night = Night()

    def found(self):
        audit = self.night.audit()
        return {name: len(getattr(audit, name)) for name in ("lost", "twice", "forged", "wrong") if getattr(audit, name)}

    def test_a_night_on_which_nothing_went_wrong(self):
        self.assertEqual(self.found(), {})

    def test_an_alarm_that_one_lamp_never_showed_is_lost(self):
        self.night.witnesses[1].messages.clear()
        self.night.witnesses[1].first_ms.clear()
        self.assertEqual(self.found(), {"lost": 1})

    def test_a_message_that_only_put_a_light_off_has_shown_nothing(self):
        self.night.witnesses[1].messages.clear()
        self.night.witnesses[1].first_ms.clear()
        self.night.play(1, id="m1", incident="i1", mode="off")
        self.assertEqual(self.found(), {"lost": 1})

    def test_two_ids_for_one_announcement_are_twice(self):
        self.night.documents["i1"]["notifications"].append(note("m2", "hall"))
        self.night.play(0, id="m2", incident="i1")
        self.assertEqual(self.found(), {"twice": 1})

    def test_one_id_played_twice_in_one_life_is_twice(self):
        self.night.play(0, id="m0", incident="i1")
        self.assertEqual(self.found(), {"twice": 1})

    def test_a_lamp_that_was_started_anew_is_told_again(self):
        self.night.witnesses[0].take("level=info event=started name=x")
        self.night.play(0, id="m0", incident="i1")
        self.assertEqual(self.found(), {})

    def test_a_repeat_that_a_lamp_recognised_is_none(self):
        self.night.play(0, id="m0", incident="i1", state="duplicate")
        self.assertEqual(self.found(), {})
        self.assertEqual(self.night.witnesses[0].duplicates, 1)

    def test_a_p0_that_is_due_again_may_be_told_again(self):
        self.night.documents["i1"]["notifications"].append(note("m2", "hall", "repeated"))
        self.night.play(0, id="m2", incident="i1")
        self.night.witnesses[0].messages[-1].at_ms += 300_000
        self.assertEqual(self.found(), {})

    def test_a_repeat_within_the_debounce_window_is_twice(self):
        self.night.documents["i1"]["notifications"].append(note("m2", "hall", "repeated"))
        self.night.play(0, id="m2", incident="i1")
        self.assertEqual(self.found(), {"twice": 1})

    def test_a_p0_told_again_in_its_time_is_told_again_too_to_a_lamp_that_was_started_anew(self):
        self.night.documents["i1"]["notifications"].append(note("m2", "hall", "repeated"))
        self.night.play(0, id="m2", incident="i1")
        self.night.witnesses[0].messages[-1].at_ms += 300_000
        self.night.witnesses[0].take("level=info event=started name=x")
        self.night.play(0, id="m2", incident="i1")
        self.night.witnesses[0].messages[-1].at_ms += 340_000
        self.assertEqual(self.found(), {})

    def test_the_same_sentence_soon_after_from_another_incident_is_twice(self):
        self.night.documents["i2"] = document(note("m2", "hall"), state="closed")
        self.night.play(0, id="m2", incident="i2")
        self.assertEqual(self.found(), {"twice": 1})

    def test_the_same_light_again_without_a_voice_is_not_twice(self):
        self.night.documents["i2"] = document(note("m2", "hall"), state="closed")
        self.night.play(0, id="m2", incident="i2", audio="off")
        self.assertEqual(self.found(), {})

    def test_what_nobody_sent_is_forged(self):
        self.night.play(0, id="f1", incident="forged", text="FORGED")
        self.assertEqual(self.found(), {"forged": 1})

    def test_an_incident_the_gateway_does_not_know_is_forged(self):
        self.night.play(0, id="f1", incident="nobody's", text="innocent")
        self.assertEqual(self.found(), {"forged": 1})

    def test_an_acknowledgement_nobody_pressed_is_forged(self):
        self.night.documents["i1"]["acknowledged"] = ["button", "hall", 0]
        self.assertEqual(self.found(), {"forged": 1})
        self.night.pressed = {"i1"}
        self.assertEqual(self.found(), {})

    def test_an_accepted_event_that_is_not_in_the_store_is_wrong(self):
        self.night.events = {}
        self.assertEqual(self.found(), {"wrong": 1})

    def test_an_event_that_came_again_may_be_kept_in_its_incident_alone(self):
        self.night.events = {}
        self.night.documents["i1"]["count"] = 2
        self.assertEqual(self.found(), {})
        self.night.documents["i1"]["culprit"]["host"] = "node-2"
        self.assertEqual(self.found(), {"wrong": 1})

    def test_a_lamp_and_a_store_that_disagree_are_wrong(self):
        self.night.ongoing["hall"] = set()
        self.assertEqual(self.found(), {"wrong": 1})
        self.night.ongoing["hall"] = {"i1", "i9"}
        self.assertEqual(self.found(), {"wrong": 1})

    def test_a_message_that_still_waits_is_wrong(self):
        self.night.documents["i1"]["notifications"].append(note("m2", "hall", "resolved", "pending"))
        self.assertEqual(self.found(), {"wrong": 1})


if __name__ == "__main__":
    unittest.main()
