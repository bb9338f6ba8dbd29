#!/usr/bin/env python3
"""Kills the gateway (-9) again and again under a sender and a terminal, all real processes.

    gateway_kill.py --build BUILD_DIR [--kills N] [--seed N]

Promised: every event that was answered 200 is shown by the terminal, whenever the gateway was killed; and no incident is announced to
it twice under different message ids. The terminal's own history is the witness: it lists each message id once.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import Gateway, Process, Terminal, request  # noqa: E402

HISTORY_MAX = 64  # messages a terminal remembers; we must look more often than so many come
LOOK_EVERY = 0.4
POST_EVERY = 0.02
SETTLE_MAX = 20.0


class Witness(Terminal):
    """Keeps what it has been told so far: message id -> (incident, text)."""

    def __init__(self, folder):
        super().__init__(folder)
        self.told = {}

    def look(self):
        new = [m for m in self.history() if m["message_id"] not in self.told]
        if len(new) >= HISTORY_MAX:
            raise SystemExit("gateway_kill: the terminal was told more than it remembers between two looks")
        for m in new:
            self.told[m["message_id"]] = (m["incident"], m["text"])

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_EVERY))
            self.look()


class Sender(threading.Thread):
    """Posts one distinct event after another, each until it is answered 200, as existing senders do."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.ending = False
        self.accepted = {}  # host -> incident
        self.failures = 0

    def run(self):
        number = 0
        while not self.ending:
            host = f"node-{number}"
            kind = ("XID_FATAL", "NVLINK_ERROR", "NCCL_TIMEOUT")[number % 3]
            body = {"cluster_rack": "A03", "node_host": host, "event_type": kind, "gpu_index": number % 8}
            if number % 4 == 0:
                body["event_id"] = f"event-{number}"
            while True:
                try:
                    status, _, answer = request(self.port, "POST", "/api/v1/gpu_event", json.dumps(body), timeout=2.0)
                    if status == 200:
                        self.accepted[host] = json.loads(answer)["incident"]
                        break
                except (OSError, http.client.HTTPException):
                    pass
                self.failures += 1
                time.sleep(0.02)
            number += 1
            time.sleep(POST_EVERY)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=pathlib.Path, required=True)
    options.add_argument("--kills", type=int, default=15)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = options.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    Process.build = options.build

    with tempfile.TemporaryDirectory(prefix="gateway-kill-") as folder:
        terminal = Witness(folder)
        gateway = Gateway(folder, [("hall-1", terminal.port)])
        sender = Sender(gateway.port)
        try:
            terminal.start()
            gateway.start()
            sender.start()
            for _ in range(options.kills):
                # Short lives and long ones: before anything was written in its turn, and after.
                terminal.watch(chance.choice((0.0, 0.05, 0.2, 0.5, 1.3)) + chance.random() * 0.1)
                gateway.kill()
                terminal.look()
                gateway.start()
                terminal.look()
            sender.ending = True
            sender.join()
            missing = set(sender.accepted)
            end = time.monotonic() + SETTLE_MAX
            while missing and time.monotonic() < end:
                terminal.look()
                shown = {incident for incident, _ in terminal.told.values()}
                missing = {host for host, incident in sender.accepted.items() if incident not in shown}
                time.sleep(0.1)
            # Whatever would be said twice would be said by now or by the next life.
            gateway.kill()
            gateway.start()
            terminal.watch(1.5)
        finally:
            gateway.kill()
            terminal.kill()

        by_sentence = {}
        for message, (incident, text) in terminal.told.items():
            by_sentence.setdefault(text, set()).add((incident, message))
        twice = {text: ids for text, ids in by_sentence.items() if len(ids) > 1}
        print(f"kills {options.kills + 1}, answered 200: {len(sender.accepted)}, unanswered attempts: {sender.failures}, "
              f"messages at the terminal: {len(terminal.told)}")
        if missing or twice or len(sender.accepted) < 2 * options.kills:
            for host in sorted(missing):
                print(f"LOST {host}: answered 200 as {sender.accepted[host]}, never shown")
            for text, ids in twice.items():
                print(f"TWICE {text}: {sorted(ids)}")
            print("\n".join(gateway.words().splitlines()[-40:]))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
