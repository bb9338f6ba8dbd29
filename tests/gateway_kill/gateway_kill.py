#!/usr/bin/env python3
"""Kills the gateway (-9) again and again under a sender and a terminal, all real processes.

    gateway_kill.py --build BUILD_DIR [--kills N] [--seed N]

Promised: every event that was answered 200 is shown by the terminal, whenever the gateway was killed; and no incident is announced to
it twice under different message ids. The terminal's own history is the witness: it lists each message id once.
"""
import argparse
import base64
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
from free_port import free_port  # noqa: E402

HISTORY_MAX = 64  # messages a terminal remembers; we must look more often than so many come
POST_EVERY = 0.02
SETTLE_MAX = 20.0


def request(port, method, path, body=None, timeout=2.0):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Terminal:
    """sentinel-terminal, and what it has been told so far: message id -> (incident, text)."""

    def __init__(self, build, folder, key_file):
        self.port = free_port()
        self.told = {}
        config = os.path.join(folder, "terminal.toml")
        with open(config, "w") as f:
            f.write(f'name = "hall-1"\nlisten = "127.0.0.1:{self.port}"\nkey_file = "{key_file}"\n[audio]\noutput = "off"\n')
        self.log = open(os.path.join(folder, "terminal.log"), "w")
        self.process = subprocess.Popen([os.path.join(build, "apps/sentinel-terminal/sentinel-terminal"), "--config", config, "--demo"],
                                        stderr=self.log, stdout=self.log)
        await_answer(self.port, self.process)

    def look(self):
        _, body = request(self.port, "GET", "/api/v1/status")
        new = [m for m in json.loads(body)["history"] if m["message_id"] not in self.told]
        if len(new) >= HISTORY_MAX:
            raise SystemExit("gateway_kill: the terminal was told more than it remembers between two looks")
        for m in new:
            self.told[m["message_id"]] = (m["incident"], m["text"])


def await_answer(port, process, limit=10.0):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"gateway_kill: {process.args[0]} ended with {process.returncode}")
        try:
            request(port, "GET", "/healthz")
            return
        except OSError:
            time.sleep(0.01)
    raise SystemExit(f"gateway_kill: {process.args[0]} does not answer")


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
                    status, answer = request(self.port, "POST", "/api/v1/gpu_event", json.dumps(body))
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
    options.add_argument("--build", required=True)
    options.add_argument("--kills", type=int, default=15)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = options.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)

    with tempfile.TemporaryDirectory(prefix="gateway-kill-") as folder:
        key_file = os.path.join(folder, "key.toml")
        with open(os.open(key_file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write(f'key = "hall-1"\nsecret = "{base64.b64encode(os.urandom(24)).decode()}"\n')
        terminal = Terminal(options.build, folder, key_file)
        port = free_port()
        config = os.path.join(folder, "gateway.toml")
        with open(config, "w") as f:
            f.write(f'listen = ["127.0.0.1:{port}"]\nagents = ["127.0.0.1:{free_port()}"]\nstate_dir = "{folder}"\n'
                    f'key_file = "{key_file}"\n[[terminals]]\nname = "hall-1"\naddress = "127.0.0.1:{terminal.port}"\n')
        log = open(os.path.join(folder, "gateway.log"), "w")
        gateway = None

        def start():
            process = subprocess.Popen([os.path.join(options.build, "apps/sentinel-gateway/sentinel-gateway"), "--config", config],
                                       stderr=log)
            await_answer(port, process)
            return process

        sender = Sender(port)
        try:
            gateway = start()
            sender.start()
            for _ in range(options.kills):
                # Short lives and long ones: before anything was written in its turn, and after.
                time.sleep(chance.choice((0.0, 0.05, 0.2, 0.5, 1.3)) + chance.random() * 0.1)
                gateway.send_signal(signal.SIGKILL)
                gateway.wait()
                terminal.look()
                gateway = start()
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
            gateway.send_signal(signal.SIGKILL)
            gateway.wait()
            gateway = start()
            time.sleep(1.5)
            terminal.look()
        finally:
            for process in (gateway, terminal.process):
                if process is not None:
                    process.kill()
                    process.wait()

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
            with open(os.path.join(folder, "gateway.log")) as f:
                print("".join(f.readlines()[-40:]))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
