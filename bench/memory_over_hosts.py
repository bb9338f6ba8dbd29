#!/usr/bin/env python3
"""The gateway's memory while ever new hosts send: it has to be flat once the tables are full.

    bench/memory_over_hosts.py [--build build/release] [--hosts 500000] [--minutes M] [--type TYPE] [--terminal] [--json FILE]

An hour of a hundred and forty new hosts a second, in as many seconds as they take; with --minutes spread evenly over these. Tables are
bounded: 65 536 open incidents, 200 000 event ids, 200 000 known incidents and 65 536 debounce windows (their headers say what goes at the
bound), so memory grows until some 260 000 hosts have been seen, and no more. Flat: the last third grows by less than 5 %.
"""
import argparse
import http.client
import json
import pathlib
import sys
import threading
import time
import urllib.request

from loaded_gateway import REPOSITORY, LoadedGateway

sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
from report import write_json  # noqa: E402

FLAT = 1.05
SENDERS = 8  # at a steady pace; each waits for the disk with every host


class SteadySenders:
    """Hosts that send one event each, so many a second."""

    def __init__(self, site, hosts_a_second, event_type):
        self.site, self.pause, self.event_type = site, SENDERS / hosts_a_second, event_type
        self.ending = threading.Event()
        self.failed = []
        self.threads = [threading.Thread(target=self.send, args=(sender,)) for sender in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def send(self, sender):
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=30)
        due, number = time.monotonic() + self.pause * sender / SENDERS, 0
        while not self.ending.wait(max(0, due - time.monotonic())):
            number, due = number + 1, due + self.pause
            body = json.dumps({"cluster_rack": "A03", "node_host": f"gpu-worker-s{sender}x{number}x", "event_type": self.event_type,
                               "gpu_index": 0, "gpu_util": 50})
            try:
                connection.request("POST", "/api/v1/gpu_event", body)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    raise OSError(f"answered {answer.status}")
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(str(error))
                return

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()


def taken(site):
    with urllib.request.urlopen(site.url + "/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith('sentinel_events_total{outcome="accepted"}'):
                return int(float(line.split()[1]))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--hosts", type=int, default=500_000)
    parser.add_argument("--minutes", type=float, help="spread them over so long; without it as fast as they are taken")
    parser.add_argument("--type", default="XID_WARN", help="of the events; one that rings (NVLINK_ERROR) fills lamps and windows too")
    parser.add_argument("--terminal", action="store_true", help="with a terminal that is told")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    site = LoadedGateway(options.build, with_terminal=options.terminal)
    samples = []
    steady = None
    try:
        if options.minutes:
            steady = SteadySenders(site, options.hosts / (options.minutes * 60), options.type)
        else:
            site.start_load(3600, options.type)
        shown = 0
        while not samples or samples[-1][0] < options.hosts:
            time.sleep(1)
            site.gateway.check_alive()
            if steady and steady.failed:
                raise SystemExit(f"an event was not taken: {steady.failed[0]}")
            samples.append((taken(site), site.resident_mib()))
            if samples[-1][0] - shown >= options.hosts / 12:
                shown = samples[-1][0]
                print(f"{shown:>9} hosts  {samples[-1][1]:>7.1f} MiB", flush=True)
    finally:
        if steady:
            steady.stop()
        site.stop()
    hosts, last = samples[-1]
    two_thirds = next(mib for count, mib in samples if count >= hosts * 2 / 3)
    growth = last / two_thirds
    flat = growth < FLAT
    print(f"{hosts} hosts: {last:.1f} MiB, the last third grew by {100 * (growth - 1):.1f} % ({'flat' if flat else 'NOT FLAT'})")
    if options.json:
        write_json({"samples": samples, "growth": growth, "ok": flat}, options.json)
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
