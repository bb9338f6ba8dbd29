#!/usr/bin/env python3
"""From the post of a P0 to the terminal's first red frame, while the gateway takes as many other events as it can.

    bench/alarm_under_load.py [--build build/release] [--seconds 40] [--every 0.4] [--json FILE]

Each P0 has ended before the next comes: a lamp that flashes already is dark half of the time, which is no delay of ours. Loads: one
event repeated and distinct events, neither of which rings, the latter each on disk before it is answered; distinct P1, which fill the outbox
to its bound, so that a P0 has to overtake thousands. Frames are the terminal's own (first_frame_mono_ms); where a message has left its
history before it was looked at, the time in its log counts.
"""
import argparse
import datetime
import http.client
import json
import pathlib
import re
import sys
import threading
import time
import urllib.request

from loaded_gateway import REPOSITORY, LoadedGateway

sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
from report import percentile, write_json  # noqa: E402

LIMIT_MS = 50
LOADS = (("repeated", "XID_WARN", True), ("distinct", "XID_WARN", False), ("distinct P1", "NVLINK_ERROR", False))
LOGGED = re.compile(r"^(\S+)Z .* event=message id=\S+ incident=(\S+) severity=P0 ")


class Probes:
    """P0 events of hosts of their own, posted at a steady pace, and when their light came on."""

    def __init__(self, site):
        self.site = site
        self.posted = {}   # incident -> (monotonic ms, wall ms)
        self.frames = {}   # incident -> monotonic ms
        self.answered = []
        self.ending = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def post(self, number):
        sent, wall = time.monotonic() * 1000, time.time() * 1000
        incident = self.say(number, "firing")
        self.answered.append(time.monotonic() * 1000 - sent)
        self.posted[incident] = (sent, wall)

    def end(self, number):
        self.say(number, "resolved")

    def say(self, number, state):
        body = json.dumps({"cluster_rack": "B01", "node_host": f"probe-{number}", "event_type": "XID_FATAL", "gpu_index": 0, "gpu_util": 50,
                           "state": state})
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=10)
        connection.request("POST", "/api/v1/gpu_event", body)
        answer = connection.getresponse()
        incident = json.loads(answer.read())["incident"]
        connection.close()
        return incident

    def watch(self):
        while not self.ending.wait(0.2):
            self.look()

    def look(self):
        with urllib.request.urlopen(self.site.terminal_url + "/api/v1/status", timeout=5) as answer:
            for entry in json.load(answer)["history"]:
                if entry["severity"] == "P0" and entry["first_frame_mono_ms"] is not None:
                    self.frames.setdefault(entry["incident"], entry["first_frame_mono_ms"])

    def stop(self):
        self.ending.set()
        self.watcher.join()
        self.look()
        logged = {}
        with open(self.site.folder / "terminal.log", encoding="utf-8") as log:
            for line in log:
                if match := LOGGED.match(line):
                    stamp = datetime.datetime.fromisoformat(match.group(1) + "+00:00").timestamp() * 1000
                    logged.setdefault(match.group(2), stamp)
        times = []
        for incident, (sent, wall) in self.posted.items():
            if incident in self.frames:
                times.append(self.frames[incident] - sent)
            elif incident in logged:
                times.append(logged[incident] - wall)
        return times


def run(build, seconds, every, load):
    name, event_type, repeated = load
    site = LoadedGateway(build, with_terminal=True)
    try:
        site.start_load(int(seconds) + 3, event_type, repeated)
        time.sleep(1.5)  # into the load
        probes = Probes(site)
        began, number = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            probes.post(number)
            time.sleep(every / 2)
            probes.end(number)
            number += 1
            time.sleep(max(0, began + number * every - time.monotonic()))
        rate, p99, errors = site.load_result()
        time.sleep(0.5)
        times = probes.stop()
        return {"load": name, "requests_per_s": rate, "request_p99_ms": p99, "not_200": errors, "probes": number, "lit": len(times),
                "p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99), "max_ms": max(times, default=None),
                "answer_p99_ms": percentile(probes.answered, 0.99),
                "ok": len(times) == number and percentile(times, 0.99) < LIMIT_MS}
    finally:
        site.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--every", type=float, default=0.4, help="a P0 so many seconds after the other")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    print(f"{'load':<12} {'requests/s':>10} {'its p99':>8}  {'P0 lit':>9} {'p50 ms':>7} {'p99 ms':>7} {'max ms':>7}  (limit: p99 {LIMIT_MS} ms)")
    rows = []
    for load in LOADS:
        row = run(options.build, options.seconds, options.every, load)
        rows.append(row)
        print(f"{row['load']:<12} {row['requests_per_s']:>10.0f} {row['request_p99_ms']:>8.1f}  {row['lit']:>4}/{row['probes']:<4} "
              f"{row['p50_ms']:>7.1f} {row['p99_ms']:>7.1f} {row['max_ms']:>7.1f}", flush=True)
    if options.json:
        write_json({"rows": rows}, options.json)
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
