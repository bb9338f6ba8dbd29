"""Compares what the sender was promised, what the terminals did, and what the store says."""
import collections
import json
import sqlite3

from report import percentile

# By the contract an alarm is not announced again so soon; a little less, because our clock is read between the two.
DEBOUNCE_MS = 115_000
# Why a terminal may be told once more of what it knows.
TOLD_ANEW = {"escalated", "repeated", "mute-ended", "digest", "corrected", "spoken", "acknowledged", "resolved"}
SHOWN_MAX = 20  # of each kind of finding


class Store:
    """The gateway's own file, read without the gateway."""

    def __init__(self, path):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            self.events = collections.defaultdict(set)  # host -> incidents
            for host, incident in database.execute("SELECT host, incident FROM events"):
                self.events[host].add(incident)
            self.event_rows = database.execute("SELECT count(*) FROM events").fetchone()[0]
            self.documents = {row[0]: json.loads(row[1]) for row in database.execute("SELECT id, document FROM incidents")}
        self.reasons = {}
        self.pending = []
        for incident, document in self.documents.items():
            for one in document["notifications"]:
                self.reasons[one["id"]] = one["reason"]
                if one["state"] == "pending":
                    self.pending.append((incident, one["terminal"], one["reason"]))


class Audit:
    def __init__(self, alarms, quiet, storm, witnesses, store, pressed, ongoing):
        """`alarms`, `quiet`: accepted events by host as the sender recorded them; `storm`: host -> (level, incident); `pressed`: incidents
        that presses of the button covered; `ongoing`: lamp -> incidents that still burn there."""
        self.alarms, self.quiet, self.storm = alarms, quiet, storm
        self.witnesses, self.store, self.pressed, self.ongoing = witnesses, store, pressed, ongoing
        self.lost, self.twice, self.forged, self.wrong = [], [], [], []

    def run(self):
        self.find_lost()
        for witness in self.witnesses:
            self.find_twice(witness)
            self.find_forged(witness)
        self.compare_store()
        return not (self.lost or self.twice or self.forged or self.wrong)

    def ringing(self):
        """incident -> host, of everything that must have reached a lamp."""
        ringing = {incident: host for host, (level, incident, *_) in self.alarms.items()}
        ringing.update({incident: host for host, (level, incidents) in self.storm.items() if level in ("P0", "P1") for incident in incidents})
        return ringing

    def find_lost(self):
        for incident, host in self.ringing().items():
            for witness in self.witnesses:
                if incident not in witness.first_ms:
                    self.lost.append(f"{host} was accepted as {incident} and never lit at {witness.lamp.name}")

    def find_twice(self, witness):
        seen, said, first, heard = set(), {}, {}, {}
        for message in witness.messages:
            if not message.lights:
                continue
            name = f"{witness.lamp.name}: \"{message.text}\""
            if (message.life, message.id) in seen:
                self.twice.append(f"{name} twice as {message.id} in one life")
            seen.add((message.life, message.id))
            reason = self.store.reasons.get(message.id)
            if message.audio != "off":
                before = heard.get(message.incident)
                # A lamp that was started anew is told under the old id what it has forgotten: that is no repeat.
                if reason == "repeated" and before and before.id != message.id and message.at_ms - before.at_ms < DEBOUNCE_MS:
                    self.twice.append(f"{name} again {(message.at_ms - before.at_ms) / 1000:.0f} s later as a repeat")
                heard[message.incident] = message
            if reason in TOLD_ANEW:
                continue
            other = first.setdefault(message.incident, message.id)
            if other != message.id:
                self.twice.append(f"{name} as {other} and {message.id} ({reason}) of {message.incident}")
            if message.audio != "off":
                before = said.get(message.text)
                if before and before.incident != message.incident and message.at_ms - before.at_ms < DEBOUNCE_MS:
                    self.twice.append(f"{name} of {before.incident} and {(message.at_ms - before.at_ms) / 1000:.0f} s later of "
                                      f"{message.incident}")
                said[message.text] = message

    def find_forged(self, witness):
        known = set(self.store.reasons)
        for message in witness.messages:
            if "FORGED" in message.text:
                self.forged.append(f"{witness.lamp.name} took \"{message.text}\" as {message.id}")
            elif message.incident not in self.store.documents and message.incident in self.ringing():
                continue  # the event that began it is all that is kept of it
            elif known and message.incident not in self.store.documents:
                self.forged.append(f"{witness.lamp.name} took {message.id} of {message.incident}, which the gateway does not know")

    def compare_store(self):
        for host, (_, incident, *_) in [*self.alarms.items(), *self.quiet.items()]:
            if incident not in self.store.events.get(host, ()) and not self.counted(host, incident):
                self.wrong.append(f"{host} was accepted as {incident}, of which the store has no event")
        for incident, host in self.ringing().items():
            if incident not in self.store.documents and incident not in self.store.events.get(host, ()):
                self.wrong.append(f"the store does not know {incident} of {host}")
        for pending in self.store.pending:
            self.wrong.append("still waiting in the store: {} for {}, {}".format(*pending))
        for incident, document in self.store.documents.items():
            if document["acknowledged"] and incident not in self.pressed:
                self.forged.append(f"{incident} is acknowledged by {document['acknowledged']}, and nobody pressed a button for it")
        burning = {incident for incident, document in self.store.documents.items()
                   if document["state"] in ("open", "acknowledged") and document["severity"] in ("P0", "P1")}
        for lamp, incidents in self.ongoing.items():
            for incident in sorted(burning - incidents):
                self.wrong.append(f"{incident} burns in the store and not at {lamp}")
            for incident in sorted(incidents - burning):
                self.wrong.append(f"{incident} burns at {lamp} and not in the store")

    def counted(self, host, incident):
        """What the disk did not take and came again is counted in its incident, of which the second is on disk."""
        document = self.store.documents.get(incident)
        return document is not None and document["culprit"]["host"] == host and document["count"] > 1

    def latencies(self, calm):
        """From the first post of each P0 to the light of the first lamp, to that of the last, and the latter for those that met nothing
        broken."""
        first, last, undisturbed = [], [], []
        for level, incident, posted_ms, _ in self.alarms.values():
            lit = [witness.lit_ms(incident) for witness in self.witnesses]
            if level != "P0" or None in lit:
                continue
            first.append(min(lit) - posted_ms)
            last.append(max(lit) - posted_ms)
            if any(begin <= posted_ms and max(lit) <= end for begin, end in calm):
                undisturbed.append(last[-1])
        return first, last, undisturbed

    def slowest(self, count, began_ms):
        """The P0 whose first lamp was lit latest: what to look at in the logs."""
        rows = []
        for host, (level, incident, posted_ms, _) in self.alarms.items():
            lit = {witness.lamp.name: witness.lit_ms(incident) for witness in self.witnesses}
            if level == "P0" and None not in lit.values():
                rows.append({"host": host, "incident": incident, "posted_s": round((posted_ms - began_ms) / 1000, 2),
                             "after_ms": {name: round(at - posted_ms) for name, at in lit.items()}})
        return sorted(rows, key=lambda row: -min(row["after_ms"].values()))[:count]

    def findings(self):
        named = (("lost", self.lost), ("announced twice", self.twice), ("forged accepted", self.forged), ("wrong", self.wrong))
        for name, found in named:
            for words in found[:SHOWN_MAX]:
                yield f"{name}: {words}"
            if len(found) > SHOWN_MAX:
                yield f"{name}: and {len(found) - SHOWN_MAX} more"


def spread(values):
    return {"count": len(values), "p50": percentile(values, 0.5), "p99": percentile(values, 0.99), "max": max(values, default=None)}
