"""Looks at gateway and terminal while a job runs: what is suspected, who is blamed, what the lamp shows and says."""
import copy
import time

from daemons import DemoError
from truth import place_of

VOICE_HOLD_S = 10  # a dead or late rank is spoken of only if it stays so: port flaps heal in about 9 s
RED, GREEN = "#FF0000", "#00FF00"


def lamp_of(message):
    return f"{message.get('color')} {message.get('light_mode')}"


class Watch:
    """Of one job at one site, from now on: everything that is new there is its."""

    def __init__(self, site, timeline):
        self.site, self.timeline = site, timeline
        self.old = {incident["id"] for incident in site.incidents()}
        self.since = time.monotonic() * 1000
        self.told = set()
        self.verdicts = {}      # red incidents of this job by id: [as first seen red, as last seen]
        self.suspected = None   # the first one that is or was no more than suspected
        self.slow = None
        self.red = self.spoken = self.green = None  # messages; spoken: the first that was heard and is not green
        self.state = None
        self.members = {}  # of each communicator, by its id: whom an incident's ranks are in the job

    @property
    def hang(self):
        """The incident that turned red first, as last seen; else what is suspected."""
        pairs = sorted(self.verdicts.values(), key=lambda pair: pair[0]["mono_ms"]["red"])
        return pairs[0][1] if pairs else self.suspected

    def all_verdicts(self):
        return [verdict for pair in self.verdicts.values() for verdict in pair]

    def once(self, what):
        if what in self.told:
            return False
        self.told.add(what)
        return True

    def look(self):
        self.site.check_alive()
        for incident in reversed(self.site.incidents()):
            if incident["id"] not in self.old:
                self.note(incident)
        status = self.site.terminal()
        self.state = status.get("state", self.state)
        for message in status.get("history", []):
            if message.get("received_mono_ms", 0) >= self.since and message.get("incident") not in self.old:
                self.hear(message)

    def note(self, incident):
        if not incident.get("class"):
            return
        self.in_ranks_of_the_job(incident)
        stages = incident.get("mono_ms", {})
        if incident["class"] == "SLOW":
            self.slow = incident
        if stages.get("suspected") is not None:
            if self.suspected is None or self.suspected["id"] == incident["id"]:
                self.suspected = incident
            if self.once("suspected"):
                self.timeline.say("suspected", "yellow", f"no progress in {operation_of(incident)}; the gateway asks every member")
        if stages.get("red") is not None:
            first, last = self.verdicts.get(incident["id"], (None, None))
            if first is None:
                first = copy.deepcopy(incident)
            self.verdicts[incident["id"]] = [first, incident]
            if last is None or (last["class"], place_of(last)) != (incident["class"], place_of(incident)):
                self.timeline.say("blamed", "red", f"{incident['class']}: {place_of(incident)}")
                for line in incident.get("evidence", []):
                    self.timeline.more(f"· {line['en']}")

    def in_ranks_of_the_job(self, incident):
        """The gateway says them beside the communicator's; that they are right is checked here."""
        members = self.members.get(int((incident.get("comm") or {}).get("id") or "0", 16))
        culprit = incident["culprit"]
        for who in (culprit, *incident.get("suspects", [])):
            if who["rank"] is None or who.get("job_rank") is None:
                continue
            if members and members[who["rank"]] != who["job_rank"]:
                raise DemoError(f"rank {who['rank']} of {members} was said to be the job's rank {who['job_rank']}")
            who["rank"] = who["job_rank"]
        if culprit.get("job_edge"):
            culprit["edge"] = culprit["job_edge"]

    def hear(self, message):
        colour = message.get("color", "").upper()
        shown = message.get("first_frame_mono_ms") is not None
        if colour == RED and shown and self.red is None:
            self.red = message
            self.timeline.say("lamp", "red", f"{lamp_of(message)}  {message['text']}")
            if message.get("audio_mode") == "off":
                self.timeline.more(f"the voice waits {VOICE_HOLD_S} s, in case it heals")
        if colour != GREEN and message.get("first_sound_mono_ms") is not None and self.spoken is None:
            self.spoken = message
            self.timeline.say("voice", "red", f"first sound; spoken: {message['spoken']}")
        if colour == GREEN and shown and (self.green is None or self.green["message_id"] == message["message_id"]):
            if self.green is None:
                self.timeline.say("lamp", "green", f"{lamp_of(message)}  {message['text']}")
            self.green = message
            if message.get("first_sound_mono_ms") is not None and self.once("green voice"):
                self.timeline.say("voice", "green", f"spoken: {message['spoken']}")


def operation_of(incident):
    operation = incident.get("operation")
    return f"{operation['func']} #{operation['seq']}" if operation else "an operation"


def measure(watch, zero_ms):
    """What is reported of one run. Times are from `zero_ms`."""
    hang, red, spoken = watch.hang, watch.red, watch.spoken
    stages = hang.get("mono_ms", {}) if hang else {}

    def since_zero(stamp):
        return round(stamp - zero_ms, 1) if stamp is not None and zero_ms is not None else None

    red_ms = since_zero(red["first_frame_mono_ms"]) if red else None
    if red and zero_ms is None:
        red_ms = 0.0  # a red lamp without any stall: wrong at whatever time it came
    is_red = hang is not None and (red is not None or stages.get("red") is not None)
    culprit = hang["culprit"] if hang else None
    return {
        "suspect_ms": since_zero(stages.get("suspected")), "blamed_ms": since_zero(stages.get("red")), "red_ms": red_ms,
        "voice_ms": since_zero(spoken["first_sound_mono_ms"]) if spoken else None,
        "class": hang["class"] if is_red else None,
        "culprit": {name: culprit.get(name) for name in ("rank", "host", "rack", "gpu", "edge")} if culprit and red else None,
        "operation": operation_of(hang) if hang else None,
        "suspects": [suspect["rank"] for suspect in hang.get("suspects", [])] if is_red else [],
        "evidence": [line["en"] for line in hang.get("evidence", [])] if hang and red else [],
        "lamp": lamp_of(red) if red else None, "spoken": spoken["spoken"] if spoken else None,
    }
