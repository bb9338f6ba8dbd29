#!/usr/bin/env python3
"""The demo: real gateway, terminal and agents on this machine, a hang through the plugin, a timeline to read.

The hang is recorded (--replay) or made now (--fault). Every run starts with fresh state in a directory of its own. Times are
CLOCK_MONOTONIC throughout, to the terminal's first red frame: from the ring's last receive-side progress of a recording, from the
later of the fault and the stuck operation's last receive-side progress of a live ring.
"""
import argparse
import contextlib
import functools
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import sender_event
from daemons import DemoError, Site
from live_faults import KINDS, Fault
from live_job import LiveJob
from replay_job import Recording, run_replay
from report import nobody_reads, percentile, refused_report, summary_line, write_json
from seconds import seconds
from timeline import Timeline

NODES = ("node-0", "node-1")
LATE_HISTORY_MIN = 20  # a demo is not to train for minutes first


def hold_open(timeline, site):
    timeline.say("holding", "bold", f"open {site.terminal_url}/ and press ACK; Ctrl-C ends everything")
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            site.check_alive()
            time.sleep(0.5)


def run_live(options, timeline, number, directory, hold):
    site = Site(options.build, NODES, directory, LATE_HISTORY_MIN)
    job = None
    try:
        site.wait_ready()
        timeline.say("ready", "blue", f"gateway {site.gateway_url}, {len(NODES)} agents, virtual terminal {site.terminal_url}/")
        fault = Fault(options.fault, options.rank, options.ranks, options.transport, options.layout, options.lasting, number - 1)
        job = LiveJob(options.build, site, timeline, fault, directory / "sentinel-ring.log", patience=options.watch,
                      voice=options.runs == 1, heal_after=options.heal_after)
        result = job.run()
        if hold:
            hold(timeline, site)
        return result
    finally:
        if job:
            job.stop()
        site.stop()


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo", description="An NCCL hang goes in, the red lamp names the culprit.",
        epilog="Exit status: 0 if every verdict was right and in time, 1 if one was not, 2 if it could not run.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--replay", metavar="NAME|DIR",
                      help="a recording's folder, or its name below $SENTINEL_SHARED/data/nccl-callbacks (default freeze-kernel-large)")
    what.add_argument("--fault", choices=KINDS, metavar="KIND", help="a live ring in which this goes wrong: " + ", ".join(KINDS))
    what.add_argument("--event", action="store_true", help="post an event as existing senders do")
    parser.add_argument("--transport", choices=("socket", "ib"), default="socket", help="of a live ring (default socket)")
    parser.add_argument("--layout", choices=("ring", "sendrecv", "mixed"), default="ring", help="of a live ring (default ring)")
    parser.add_argument("--ranks", type=int, default=8, metavar="N", help="of a live ring, dealt to two nodes (default 8)")
    parser.add_argument("--rank", type=int, metavar="R", help="the rank in which it goes wrong (default 2, or 0 for a checkpoint)")
    parser.add_argument("--for", type=seconds, dest="lasting", metavar="S", help="how long the fault lasts, where its kind allows it")
    parser.add_argument("--heal-after", type=seconds, metavar="S",
                        help="end the fault S seconds after it began, and show how the light recovers (stop, net-*, debugger; late with --for)")
    parser.add_argument("--watch", type=seconds, default=120, metavar="S", help="how long a harmless kind is watched (default 120)")
    parser.add_argument("--runs", type=int, default=1, metavar="K", help="how often, each with fresh state (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write what was measured ('-': to standard output, and nothing else there)")
    parser.add_argument("--hold", action="store_true", help="leave everything running after the last run until Ctrl-C")
    parser.add_argument("--keep", action="store_true", help="keep the run directories (configuration, state, logs, speech)")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only-check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.ranks < 2 or options.ranks % len(NODES) != 0:
        parser.error(f"--ranks must be a multiple of {len(NODES)}")
    if options.rank is None:
        options.rank = 0 if options.fault == "checkpoint" else min(2, options.ranks - 1)
    if not 0 <= options.rank < options.ranks:
        parser.error(f"--rank must be 0 to {options.ranks - 1}")
    if why := refused_report(options.json):
        parser.error(why)
    return options


def chosen(options):
    """What to run, what the report begins with, and what times count from."""
    if options.event:
        return (lambda timeline, number, directory, hold: sender_event.run_event(options, timeline, directory, hold),
                {"event": sender_event.EVENT["event_type"]}, "the post")
    if options.fault:
        return (functools.partial(run_live, options),
                {"fault": options.fault, "transport": options.transport, "layout": options.layout, "ranks": options.ranks}, "the stall")
    recording = Recording(options.replay or "freeze-kernel-large")
    return (lambda timeline, number, directory, hold: run_replay(options, timeline, recording, directory, hold),
            {"replay": recording.name, "fault": recording.kind, "ranks": recording.ranks}, "the stall")


def run_all(options):
    run, report, since = chosen(options)
    if options.only_check:
        return 0
    timeline = Timeline(quiet=options.json == "-")
    results = []
    for number in range(1, options.runs + 1):
        hold = hold_open if options.hold and number == options.runs else None
        timeline.restart()
        directory = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-demo."))
        try:
            results.append(run(timeline, number, directory, hold))
        finally:
            if options.keep or len(results) < number or not results[-1]["ok"]:
                print(f"logs and state: {directory}", file=sys.stderr)
            else:
                shutil.rmtree(directory, ignore_errors=True)
        if not timeline.quiet:
            print(summary_line(timeline, number, results[-1], since), flush=True)
    reds = [result["red_ms"] for result in results if result["red_ms"] is not None]
    report.update(runs=results, red_ms_p50=percentile(reds, 0.5), red_ms_max=max(reds, default=None),
                  ok=all(result["ok"] for result in results))
    if options.json:
        write_json(report, options.json)
    if options.runs > 1 and not timeline.quiet:
        good = sum(result["ok"] for result in results)
        print(f"{good} of {len(results)} right" + (f"; red p50 {report['red_ms_p50']:.0f} ms, max {report['red_ms_max']:.0f} ms"
                                                   if reds else ""))
    return 0 if report["ok"] else 1


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        return run_all(options)
    except DemoError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return nobody_reads()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
