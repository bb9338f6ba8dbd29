#!/usr/bin/env python3
"""A gateway, two terminals and a sender of up to a million mixed events, with everything going wrong that can; then an audit.

What the sender was promised (answered 200), what the terminals did, and what the store says have to agree: nothing lost, nothing
announced twice, nothing forged taken.
"""
import argparse
import math
import multiprocessing
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import zlib

from daemons import DemoError
from report import nobody_reads, refused_evidence, refused_report, write_json
from soak_attacks import Attacker
from soak_audit import Audit, Store, spread
from soak_faults import GatewayLane, LampLane, Pace
from soak_sender import run_sender
from soak_site import SoakSite
from soak_witness import Witness
from timeline import Timeline

EVENTS_MAX = 1_000_000
RATE = EVENTS_MAX / 300          # events/s: a million in the default five minutes
ALARMS_PER_S = 8                 # distinct ones that ring; the terminals have to be told of each, and of its end
RESOLVE_AFTER_S = (2.0, 12.0)    # once both terminals show it
OPEN_KEPT = 40                   # alarms left burning for the last comparison
SHORT_S = 14
WHOLE_S = 2                      # before anything breaks
SETTLE_S = 120                   # a terminal that was away may be tried again as rarely as every 30 s; an unconfirmed message after 60 s
QUIET_AFTER_RESTART_S = 3
LOOK_EVERY_S = 0.05
STATUS_EVERY_S = 0.2
SLOWEST_TOLD = 20
PRESS_AT = 0.7                   # of the time: who has pressed hears little from then on
KIND_ALARM, KIND_QUIET = ("alarm",), ("notice", "named")


class Soak:
    def __init__(self, options, directory):
        self.options = options
        self.timeline = Timeline(quiet=not options.verbose)
        self.site = SoakSite(options.build, directory)
        self.witnesses = [Witness(lamp) for lamp in self.site.lamps]
        self.seconds = SHORT_S if options.short else options.minutes * 60
        self.alarms, self.quiet, self.storm = {}, {}, {}
        self.counts = {}
        self.odd = []               # answers nobody expected
        self.shown_since = {}       # host of an alarm -> when both terminals were seen to show it
        self.resolve_after = {}
        self.resolved = set()
        self.pressed, self.press_lamp = set(), None
        self.calm, self.calm_since = [], None
        self.rss = []
        self.status_at = 0.0
        self.began_at = time.monotonic()

    # The sender ---------------------------------------------------------------------------------------------------------------------
    def start_sender(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        total = min(EVENTS_MAX, int(RATE * self.seconds))
        self.sender = context.Process(target=run_sender, daemon=True,
                                      args=(self.site.gateway_port, theirs, self.options.seed, RATE, total, ALARMS_PER_S))
        self.sender.start()
        theirs.close()

    def hear_sender(self):
        if not self.sender.is_alive() and not self.counts.get("drained"):
            raise DemoError(f"the sender ended with status {self.sender.exitcode}")
        while self.pipe.poll():
            report = self.pipe.recv()
            self.counts = report["counts"]
            for host, (level, incident) in report["storm"].items():
                self.storm.setdefault(host, (level, set()))[1].add(incident)
            for kind, host, level, status, incident, first_ms, answered_ms in report["records"]:
                if status.startswith("status"):
                    self.odd.append(f"{kind} of {host} was answered {status}")
                elif kind in KIND_ALARM:
                    self.alarms.setdefault(host, (level, incident, first_ms, answered_ms))
                elif kind in KIND_QUIET:
                    self.quiet.setdefault(host, (level, incident))

    def resolve_some(self, now, keep):
        """Ends alarms that both terminals have shown, so that what burns stays within what a terminal can hold."""
        for host, (_, incident, *_) in self.alarms.items():
            if host not in self.shown_since and all(incident in witness.first_ms for witness in self.witnesses):
                self.shown_since[host] = now
                low, high = RESOLVE_AFTER_S
                self.resolve_after[host] = now + low + (zlib.crc32(host.encode()) % 1000) / 1000 * (high - low)
        due = [host for host, at in self.resolve_after.items() if at <= now]
        if keep:
            due = due[:max(0, len(self.resolve_after) - keep)]
        for host in due:
            del self.resolve_after[host]
        if due:
            self.resolved.update(due)
            self.pipe.send(due)

    # Looking --------------------------------------------------------------------------------------------------------------------------
    def look(self, now):
        for witness in self.witnesses:
            witness.read_log()
        if now - self.status_at >= STATUS_EVERY_S:
            self.status_at = now
            for witness in self.witnesses:
                if witness.lamp.up:
                    witness.read_status()
            if (resident := self.site.resident_kib()) is not None:
                self.rss.append(resident)

    def follow_calm(self, lanes):
        """Intervals in which nothing was broken and nothing of before was still on its way."""
        now_ms = time.monotonic() * 1000
        broken = any(lane.current for lane in lanes)
        behind = any(incident not in witness.first_ms and answered_ms < now_ms - 500
                     for _, incident, _, answered_ms in list(self.alarms.values())[-400:] for witness in self.witnesses)
        if broken or behind:
            if self.calm_since is not None:
                self.calm.append((self.calm_since, now_ms))
                self.calm_since = None
        elif self.calm_since is None:
            self.calm_since = now_ms

    def press(self, lanes):
        """One genuine press, at a terminal whose clock and gateway agree."""
        if any(lane.current for lane in lanes):
            return
        lamp = self.site.lamps[self.options.seed % len(self.site.lamps)]
        incidents = self.site.post_ack(lamp)
        if incidents is None:  # it is only just starting: pressed again at the next look
            return
        self.press_lamp = lamp
        self.pressed.update(incidents)
        self.timeline.say("press", "yellow", f"at {self.press_lamp.name}: {len(self.pressed)} incidents")

    # The run ---------------------------------------------------------------------------------------------------------------------------
    def run(self):
        seed, pace, now = self.options.seed, Pace(self.options.short), time.monotonic()
        self.began_at = now
        gateway_lane = GatewayLane(f"{seed}/gateway", self.site, pace, now)
        self.lanes = [gateway_lane, *(LampLane(f"{seed}/{lamp.name}", self.site, lamp, pace, now) for lamp in self.site.lamps)]
        self.attacker = Attacker(self.site, f"{seed}/attacker")
        self.start_sender()
        self.attacker.start()
        until = now + self.seconds
        while (now := time.monotonic()) < until:
            before = [lane.current for lane in self.lanes]
            for lane in self.lanes if now - self.began_at > WHOLE_S else ():
                lane.advance(now)
            self.tell_faults(before)
            self.hear_sender()
            self.look(now)
            self.follow_calm(self.lanes)
            self.resolve_some(now, keep=OPEN_KEPT)
            if self.press_lamp is None and now - self.began_at > PRESS_AT * self.seconds:
                gateway_lane.clock_may_step = False  # a step is no end of a mute, but what follows is hard to foretell
                self.press(self.lanes)
            time.sleep(LOOK_EVERY_S)
        for lane in self.lanes:
            lane.heal()
        self.settle()

    def tell_faults(self, before):
        for lane, was in zip(self.lanes, before):
            if lane.current != was:
                name = getattr(getattr(lane, "lamp", None), "name", "gateway")
                self.timeline.say("fault" if lane.current else "healed", "red" if lane.current else "green", f"{name} {lane.current or was}")

    def settle(self):
        """Until everything accepted has arrived, or long enough."""
        self.timeline.say("settle", "blue", "everything is whole again")
        self.pipe.send("finish")
        until = time.monotonic() + SETTLE_S
        while time.monotonic() < until:
            now = time.monotonic()
            self.hear_sender()
            self.look(now)
            self.follow_calm(self.lanes)
            self.resolve_some(now, keep=OPEN_KEPT)
            if self.counts.get("drained") and self.all_shown() and self.only_kept() and self.site.waiting() == 0:
                break
            time.sleep(LOOK_EVERY_S)
        self.attacker.stop()
        if self.calm_since is not None:
            self.calm.append((self.calm_since, time.monotonic() * 1000))

    def all_shown(self):
        return all(incident in witness.first_ms for _, incident, *_ in self.alarms.values() for witness in self.witnesses)

    def only_kept(self):
        return len(self.resolve_after) <= OPEN_KEPT

    def last_life(self):
        """Whatever would be said twice would be said by the next life; then the store is closed, and lies still."""
        self.site.gateway.kill()
        self.site.gateway.start()
        until = time.monotonic() + SETTLE_S
        while not self.site.gateway_ready() and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < QUIET_AFTER_RESTART_S and time.monotonic() < until:
            if self.site.waiting() != 0:
                quiet_since = time.monotonic()
            time.sleep(LOOK_EVERY_S)
        muted = {one["name"]: one["muted_until_at"] for one in self.site.terminals()}
        self.site.gateway.process.terminate()
        self.site.gateway.wait(time.monotonic() + 10)
        self.look(time.monotonic())
        ongoing = {}
        for witness in self.witnesses:
            status = witness.read_status()
            if status is None:
                raise DemoError(f"the terminal {witness.lamp.name} does not answer")
            ongoing[witness.lamp.name] = {one["incident"] for one in status["open"]}
        return muted, ongoing

    def audit(self):
        muted, ongoing = self.last_life()
        store = Store(self.site.disk.folder / "sentinel.db")
        audit = Audit(self.alarms, self.quiet, self.storm, self.witnesses, store, self.pressed, ongoing)
        audit.wrong += self.odd
        audit.forged += self.attacker.accepted
        if self.press_lamp and self.pressed and not muted.get(self.press_lamp.name):
            audit.wrong.append(f"the button of {self.press_lamp.name} was pressed, and the gateway does not know of its mute")
        if self.counts.get("wrong_not_refused"):
            audit.wrong.append(f"{self.counts['wrong_not_refused']} bodies that are no events were not answered 400")
        if not self.counts.get("drained"):
            audit.wrong.append("the sender's events were not all accepted in the end")
        ok = audit.run()
        return ok, audit, store


def report_of(soak, ok, audit, store):
    first, last, calm = audit.latencies(soak.calm)
    faults = {getattr(getattr(lane, "lamp", None), "name", "gateway"): lane.began for lane in soak.lanes}
    return {
        "ok": ok, "seed": soak.options.seed, "seconds": soak.seconds, "accepted": soak.counts.get("accepted", 0), "events": soak.counts,
        "alarms": len(soak.alarms), "incidents_that_ring": len(audit.ringing()),
        "delivered": sum(len(witness.messages) for witness in soak.witnesses),
        "duplicates_recognised": sum(witness.duplicates for witness in soak.witnesses),
        "lost": len(audit.lost), "announced_twice": len(audit.twice), "forged_accepted": len(audit.forged), "wrong": len(audit.wrong),
        "forgeries": soak.attacker.tried, "p0_ms": spread(first), "p0_last_lamp_ms": spread(last), "p0_undisturbed_ms": spread(calm), "faults": faults,
        "slowest_p0": audit.slowest(SLOWEST_TOLD, soak.began_at * 1000),
        "store_events": store.event_rows, "gateway_rss_kib": {"first": soak.rss[0], "max": max(soak.rss), "last": soak.rss[-1]},
        "left_out": left_out(soak.site), "findings": list(audit.findings()),
    }


def left_out(site):
    reasons = []
    if site.disk.why_not:
        reasons.append(f"disk full (no file system of our own: {site.disk.why_not})")
    if not site.clocks_step:
        reasons.append("clock steps (build the target wall_clock)")
    return reasons


def milliseconds(value):
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 10_000 else f"{value / 1000:.1f} s"


def spread_words(values):
    return "/".join(milliseconds(values[name]) for name in ("p50", "p99", "max"))


def line_of(report):
    return (f"accepted {report['accepted']}, delivered {report['delivered']}, lost {report['lost']}, "
            f"announced twice {report['announced_twice']}, forged accepted {report['forged_accepted']} of "
            f"{sum(report['forgeries'].values())}, P0 latency p50/p99/max {spread_words(report['p0_ms'])} "
            f"(both lamps {spread_words(report['p0_last_lamp_ms'])}; with nothing broken {spread_words(report['p0_undisturbed_ms'])}), "
            f"{sum(sum(kinds.values()) for kinds in report['faults'].values())} faults"
            + (f", {report['wrong']} wrong" if report["wrong"] else ""))


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/soak", description="A gateway and two terminals under a sender of mixed events, with faults injected throughout.",
        epilog="Exit status: 0 if nothing was lost, announced twice or forged; 1 if something was; 2 if it could not run.")
    parser.add_argument("--minutes", type=float, default=5, metavar="M", help="how long (default 5: a million events)")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_S} s of it, with short faults")
    parser.add_argument("--seed", type=int, metavar="N", help="of events, faults and forgeries (default: by chance)")
    parser.add_argument("--json", metavar="FILE", help="write all of it ('-': to standard output, and the line to standard error)")
    parser.add_argument("--evidence", type=pathlib.Path, metavar="DIR", help="keep logs and configurations there (default: kept, in a fresh "
                        "folder, where something was wrong)")
    parser.add_argument("--verbose", action="store_true", help="tell of every fault")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only-check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 0 < options.minutes < math.inf:
        parser.error("--minutes must be more than 0")
    if why := refused_report(options.json) or refused_evidence(options.evidence):
        parser.error(why)
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(3), "little")
    return options


def keep(directory, evidence):
    """What the store held lies on a disk that goes with us."""
    evidence.mkdir(parents=True, exist_ok=True)
    shutil.copytree(directory, evidence, dirs_exist_ok=True, ignore=lambda folder, names: [n for n in names if n.endswith(".sock")])


def main():
    options = arguments()
    if options.only_check:
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    sys.setswitchinterval(0.0005)  # the network is a thread of ours
    directory = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-soak."))
    out = sys.stderr if options.json == "-" else sys.stdout
    soak, ok = None, False
    try:
        soak = Soak(options, directory)
        for words in left_out(soak.site):
            print(f"left out: {words}", file=sys.stderr)
        soak.run()
        ok, audit, store = soak.audit()
        report = report_of(soak, ok, audit, store)
        for words in report["findings"]:
            print(words, file=out)
        print(line_of(report), file=out)
        if options.json:
            write_json(report, options.json)
        return 0 if ok else 1
    except DemoError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return nobody_reads()
    except KeyboardInterrupt:
        return 130
    finally:
        if soak:
            soak.site.stop()
        if options.evidence or not ok:
            evidence = options.evidence or pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-soak-evidence."))
            keep(directory, evidence)
            again = "--short" if options.short else f"--minutes {options.minutes:g}"
            print(f"evidence: {evidence}\nagain: scripts/soak {again} --seed {options.seed}", file=sys.stderr)
        if soak and soak.site.disk.why_not is None:
            soak.site.disk.unmount()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
