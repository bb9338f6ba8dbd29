#!/usr/bin/env python3
"""Every kind of stall and of healthy pause in a live ring, on both transports, and one table of what the lamp made of it.

A row is one kind on one transport: fresh daemons, then its runs one after the other, each a new job; a run begins when nothing of the
one before is open any more. Times are from the later of the fault and the stuck operation's last receive-side progress.
"""
import argparse
import collections
import json
import multiprocessing
import multiprocessing.connection
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from daemons import DemoError, Site, end_with_us
from live_faults import KINDS, SLOW, STALLS, Fault
from live_job import LiveJob
from report import nobody_reads, percentile, refused_evidence, refused_report, write_json
from seconds import seconds
from timeline import Timeline
from truth import RED_LIMIT_MS

NODES = ("node-0", "node-1")
LATE_HISTORY_MIN = 20
COMPUTE_MS = 40
SUSPECT_P50_LIMIT_MS = 600
TRANSPORTS = ("socket", "ib")
# What the short form runs, once each: (kind, transport).
SHORT = (("absent", "socket"), ("kill", "ib"), ("freeze-kernel", "socket"), ("freeze-proxy", "ib"), ("net-oneway", "socket"),
         ("mismatch", "socket"), ("late", "socket"), ("checkpoint", "ib"))
SHORT_WATCH_S = 10
COLUMNS = "{:<17} {:<7} {:>7}  {:>11} {:>8} {:>8}  {}"


class Row:
    def __init__(self, kind, transport, ranks):
        self.kind, self.transport, self.ranks = kind, transport, ranks
        self.runs = []

    def times(self, name):
        return [run[name] for run in self.runs if run.get(name) is not None]

    def right(self):
        return sum(run["ok"] for run in self.runs)

    def ok(self):
        suspect = percentile(self.times("suspect_ms"), 0.5)
        slow_to_suspect = self.kind in STALLS and suspect is not None and suspect >= SUSPECT_P50_LIMIT_MS
        return bool(self.runs) and self.right() == len(self.runs) and not slow_to_suspect

    def report(self):
        reds = self.times("red_ms")
        return {"fault": self.kind, "transport": self.transport, "ranks": self.ranks, "runs": self.runs,
                "suspect_ms_p50": percentile(self.times("suspect_ms"), 0.5),
                "red_ms_p50": percentile(reds, 0.5), "red_ms_max": max(reds, default=None), "ok": self.ok()}

    def line(self):
        report = self.report()
        classes = collections.Counter(run["class"] for run in self.runs if run.get("class"))
        words = ", ".join(f"{name}×{count}" for name, count in classes.most_common())
        wrong = collections.Counter(run["why"] for run in self.runs if not run["ok"])
        if self.runs and not self.times("red_ms") and self.right() == len(self.runs):
            words = "SLOW, no lamp" if self.kind in SLOW else "no lamp"
        words = "; ".join(filter(None, [words, *(f"WRONG×{count}: {why}" for why, count in wrong.most_common())]))
        if report["suspect_ms_p50"] is not None and not self.ok() and self.right() == len(self.runs):
            words += "; suspected too late"

        def milliseconds(value):
            return f"{value:.0f}" if value is not None else "-"
        return COLUMNS.format(self.kind, self.transport, f"{self.right()}/{len(self.runs)}", milliseconds(report["suspect_ms_p50"]),
                              milliseconds(report["red_ms_p50"]), milliseconds(report["red_ms_max"]), words)


class Acceptance:
    def __init__(self, options, evidence):
        self.options, self.evidence = options, evidence
        self.timeline = Timeline(quiet=not options.verbose)
        self.site = None
        self.sites = 0

    def fresh_site(self):
        self.close()
        self.sites += 1
        directory = self.evidence / f"site-{self.sites}"
        directory.mkdir()
        self.site = Site(self.options.build, NODES, directory, LATE_HISTORY_MIN)
        self.site.wait_ready()

    def close(self):
        if self.site:
            self.site.stop()
            self.site = None

    def run_row(self, kind, transport, runs):
        row = Row(kind, transport, self.options.ranks)
        for number in range(runs):
            if self.site is None:
                self.fresh_site()
            result = self.run_once(kind, transport, number)
            row.runs.append(result)
            name = f"{kind}-{transport}-{number}.json"
            (self.evidence / name).write_text(json.dumps(result, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        return row

    def run_once(self, kind, transport, number):
        ranks = self.options.ranks
        rank = rank_for(kind, self.options.layout, ranks, number)
        fault = Fault(kind, rank, ranks, transport, self.options.layout, number=number)
        log = self.evidence / f"{kind}-{transport}-{number}.log"
        self.timeline.restart()
        job = None
        try:
            job = LiveJob(self.options.build, self.site, self.timeline, fault, log, compute_ms=COMPUTE_MS, patience=self.options.watch)
            result = job.run()
            result["site"] = self.site.directory.name
        except DemoError as problem:
            result = {"ok": False, "why": f"could not run: {str(problem).splitlines()[0]}", "detail": str(problem), "red_ms": None}
        finally:
            if job:
                job.stop()
        result["rank"] = rank
        if "detail" in result or not job or not job.drained():
            self.close()
        return result


def rank_for(kind, layout, ranks, number):
    """Every rank has its turn; but a checkpoint is rank 0's, and only the last pair of a node sends over the network in the mixed
    layout."""
    if kind == "checkpoint":
        return 0
    if layout == "mixed" and kind == "missing-send":  # the last stage of a pipeline sends nothing
        return (2 + 3 * number) % (ranks - 2)
    if layout == "mixed" and (kind.startswith("net-") or kind in ("slow-net", "freeze-proxy", "freeze-proxy-mid")):
        of_a_node = ranks // len(NODES)
        return (of_a_node * (1 + number // 2 % len(NODES)) - 2 + number % 2) % ranks
    return (2 + 3 * number) % ranks


def plan(options):
    """(kind, transport, runs) in the order in which they are run."""
    if options.short:
        return [(kind, transport, 1) for kind, transport in SHORT]
    kinds = options.kinds or [kind for kind in KINDS if kind != "none"]
    if options.layout == "mixed":
        kinds = [kind for kind in kinds if kind != "mismatch-order"]  # no rank has two collectives of one communicator in a row
    rows = []
    for kind in kinds:
        for transport in options.transports:
            # A harmless kind is watched for minutes: time instead of number.
            rows.append((kind, transport, options.runs if kind in STALLS else 1))
    return rows


def earlier(entry):
    """Whether a run has made it: a site's folder, or that of a row that ran beside others."""
    return entry.is_dir() and (entry.name.startswith("site-") or entry.name.rpartition("-")[0] in KINDS)


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/accept", description="Runs every kind of fault and of harmless pause in a live ring and prints one table.",
        epilog="Exit status: 0 if every row is right, 1 if one is not, 2 if it could not run.")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="of each kind of stall on each transport (default 20)")
    parser.add_argument("--watch", type=seconds, metavar="S", help="how long each harmless kind is left to run (default 120)")
    parser.add_argument("--short", action="store_true", help="a few kinds, once each, in two minutes")
    parser.add_argument("--kinds", type=lambda text: text.split(","), metavar="A,B,…", help="only these of: " + ", ".join(KINDS))
    parser.add_argument("--transports", type=lambda text: text.split(","), default=list(TRANSPORTS), metavar="A,B",
                        help="socket, ib (default both)")
    parser.add_argument("--layout", choices=("ring", "mixed"), default="ring", help="of the job (default ring)")
    parser.add_argument("--ranks", type=int, default=8, metavar="N", help="dealt to two nodes (default 8)")
    parser.add_argument("--jobs", type=int, default=1, metavar="J",
                        help="rows at a time, each with daemons and a job of its own, of half a core (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write all of it ('-': to standard output, and the table to standard error)")
    parser.add_argument("--evidence", type=pathlib.Path, metavar="DIR",
                        help="keep logs, state and each run's JSON there (default: kept, in a fresh folder, where something was wrong)")
    parser.add_argument("--verbose", action="store_true", help="tell what happens in each run")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only-check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("runs", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if options.ranks < 2 or options.ranks % len(NODES) != 0:
        parser.error(f"--ranks must be a multiple of {len(NODES)}")
    if why := refused_report(options.json) or refused_evidence(options.evidence):
        parser.error(why)
    if options.evidence:
        options.evidence = options.evidence.resolve()  # daemons have their sockets there
    if options.evidence and options.evidence.is_dir() and any(map(earlier, options.evidence.iterdir())):
        parser.error(f"--evidence {options.evidence}: an earlier run's folders are in it")
    if options.short and options.jobs > 1:
        parser.error("--short runs one after the other, without --jobs")
    if options.short and options.kinds:
        parser.error("--short has kinds of its own; --kinds with --runs 1 is as quick")
    if options.watch is None:
        options.watch = SHORT_WATCH_S if options.short else 120
    for kind in options.kinds or []:
        if kind not in KINDS:
            parser.error(f"--kinds: there is no {kind!r}")
    for transport in options.transports:
        if transport not in TRANSPORTS:
            parser.error(f"--transports: there is no {transport!r}")
    return options


def heading():
    return COLUMNS.format("kind", "transp.", "right", "suspect p50", "red p50", "red max", f"called (limits: suspect p50 "
                          f"{SUSPECT_P50_LIMIT_MS} ms, red {RED_LIMIT_MS} ms)")


def row_process(options, evidence, cell, answer):
    """A row in a process of its own, which ends with us; its daemons end with it."""
    end_with_us()
    evidence.mkdir()
    acceptance = Acceptance(options, evidence)
    try:
        answer.send(acceptance.run_row(*cell))
    except DemoError as problem:
        answer.send(problem)
    finally:
        acceptance.close()


def rows_side_by_side(options, evidence):
    """As they get ready. A row that cannot run ends all."""
    waiting = collections.deque(plan(options))
    running = {}  # by where it answers
    try:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                cell = waiting.popleft()
                receiver, sender = multiprocessing.Pipe(duplex=False)
                process = multiprocessing.Process(target=row_process, args=(options, evidence / f"{cell[0]}-{cell[1]}", cell, sender))
                process.start()
                sender.close()
                running[receiver] = process
            for receiver in multiprocessing.connection.wait(list(running)):
                process = running.pop(receiver)
                try:
                    row = receiver.recv()
                except EOFError:
                    process.join()
                    raise DemoError(f"a row's process ended with status {process.exitcode}") from None
                process.join()
                if isinstance(row, DemoError):
                    raise row
                yield row
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def rows_in_turn(options, evidence):
    acceptance = Acceptance(options, evidence)
    try:
        for kind, transport, runs in plan(options):
            if not options.short:
                acceptance.close()  # a row has daemons of its own
            yield acceptance.run_row(kind, transport, runs)
    finally:
        acceptance.close()


def accept(options, evidence):
    out = sys.stderr if options.json == "-" else sys.stdout
    rows = []
    began = time.monotonic()
    print(heading(), file=out, flush=True)
    for row in rows_side_by_side(options, evidence) if options.jobs > 1 else rows_in_turn(options, evidence):
        rows.append(row)
        print(row.line(), file=out, flush=True)
    good = sum(row.ok() for row in rows)
    print(f"{good} of {len(rows)} rows right, {(time.monotonic() - began) / 60:.1f} minutes", file=out)
    report = {"ranks": options.ranks, "layout": options.layout, "watch_s": options.watch, "jobs": options.jobs,
              "rows": [row.report() for row in rows], "ok": good == len(rows)}
    if options.json:
        write_json(report, options.json)
    return report["ok"]


def main():
    options = arguments()
    if options.only_check:
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    if options.evidence:
        options.evidence.mkdir(parents=True, exist_ok=True)
    evidence = options.evidence or pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-accept."))
    ok = False
    try:
        ok = accept(options, evidence)
        return 0 if ok else 1
    except DemoError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return nobody_reads()
    except KeyboardInterrupt:
        return 130
    finally:
        if ok and not options.evidence:
            shutil.rmtree(evidence, ignore_errors=True)
        else:
            print(f"evidence: {evidence}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
