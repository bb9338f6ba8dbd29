#!/usr/bin/env python3
"""Disks that are full, read-only or broken: the lamp is lit all the same, and what was answered 200 is there after a restart."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from floor import Case, event, run, wait_for

QUICK = "[delivery]\nping_ms = 200\n"
# The contract: a P0 never waits longer for the disk.
DISK_WAIT_MAX_S = 0.1
DISK_BYTES = 8 << 20


class Mounted:
    """A small disk of its own, in memory."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "never-lost", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest(f"no disk can be mounted here: {done.stderr.strip()}")

    def fill(self):
        with open(self.path / "ballast", "wb", buffering=0) as f:
            for size in (65536, 4096, 1):
                block = b"x" * size
                try:
                    while f.write(block) == size:
                        pass
                except OSError:
                    pass

    def free(self):
        (self.path / "ballast").unlink()

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.path)], check=True)

    def close(self):
        subprocess.run(["umount", "-l", str(self.path)], check=False)

    kill = close


class Lit:
    """How long after its post each of these hosts was shown, one after the other, whenever its sender is answered.

    A busy machine adds to each and takes nothing away, and a gateway that waits for its disk waits each time: so the best of several is
    held against the best of several on a disk that works, moments before, on the same machine.
    """

    def __init__(self, gateway, lamp, hosts, **fields):
        self.answers, self.seconds, posts = {}, {}, []
        for host in hosts:
            posts.append(threading.Thread(target=self._post, args=(gateway, host, fields)))
            posted = time.monotonic()
            posts[-1].start()
            shown = wait_for(f"{host} is shown", lambda: [when for _, body, when in lamp.taken if host in json.loads(body)["text"]])
            self.seconds[host] = shown[0] - posted
        for post in posts:
            post.join()

    def _post(self, gateway, host, fields):
        self.answers[host] = gateway.post(event("NCCL_TIMEOUT", host, **fields), timeout=30)

    def best(self, hosts=None):
        return min(self.seconds[host] for host in hosts or self.seconds)


@unittest.skipIf(os.geteuid() != 0, "mounting a small disk needs root: run this test as root to have it done")
class Disk(Case):
    def mounted(self):
        return self.keep(Mounted(self.folder / "disk"))

    def test_a_full_disk_alarms_from_memory_and_heals_by_itself(self):
        lamp = self.lamp(ours=True)
        disk = self.mounted()
        gateway = self.gateway([("hall-1", lamp.port)], QUICK, state=disk.path).start()
        usual = Lit(gateway, lamp, [f"well-{number}" for number in range(8)], evidence="x" * 8000)
        self.assertEqual({answer["http"] for answer in usual.answers.values()}, {200})
        disk.fill()
        late = Lit(gateway, lamp, [f"full-{number:02}" for number in range(40)], evidence="x" * 8000)
        refused = [host for host, answer in late.answers.items() if answer["http"] != 200]
        self.assertGreater(len(refused), 5, "the disk was hardly ever full")
        for host in refused:
            self.assertEqual(late.answers[host]["http"], 503)
            self.assertEqual(late.answers[host]["headers"]["Retry-After"], "1")
        self.assertLess(late.best(refused) - usual.best(), DISK_WAIT_MAX_S)
        wait_for("it says so", lambda: gateway.metric("sentinel_store_ok") == 0)
        disk.free()
        for host in refused:
            wait_for(f"{host} is durable", lambda: gateway.post(event("NCCL_TIMEOUT", host, evidence="x" * 8000))["http"] == 200)
        known = {one["culprit"]["host"] for one in gateway.incidents()}
        gateway.kill()
        gateway.start()
        self.assertEqual({one["culprit"]["host"] for one in gateway.incidents()}, known)
        time.sleep(1)
        self.assertEqual(len({message for message, _, _ in lamp.taken}), 48)

    def test_what_ended_while_the_disk_was_full_is_not_open_again_after_a_restart(self):
        disk = self.mounted()
        gateway = self.gateway([], QUICK, state=disk.path).start()
        hosts = [f"n{number}" for number in range(20)]
        for host in hosts:
            self.assertEqual(gateway.post(event("XID_FATAL", host))["http"], 200)
        disk.fill()
        wait_for("the disk is full", lambda: gateway.post(event("XID_WARN", "big", evidence="x" * 8000))["http"] == 503)
        ends = [event("XID_FATAL", host, state="resolved", evidence="x" * 8000) for host in hosts]
        for end in ends:
            self.assertEqual(gateway.post(end)["http"], 503)
        disk.free()
        for end in ends:
            wait_for("the end is taken", lambda: gateway.post(end)["http"] == 200)
        gateway.kill()
        gateway.start()
        self.assertEqual([one["culprit"]["host"] for one in gateway.incidents() if one["event_type"] == "XID_FATAL" and one["state"] == "open"], [])

    def test_a_read_only_disk_keeps_no_alarm_from_the_lamp(self):
        lamp = self.lamp(ours=True)
        disk = self.mounted()
        gateway = self.gateway([("hall-1", lamp.port)], QUICK, state=disk.path)
        disk.remount("ro")
        gateway.start()
        answer = gateway.post(event())
        self.assertEqual(answer["http"], 503)
        self.assertIn("not durable", answer["error"])
        wait_for("the lamp is lit", lambda: lamp.taken)
        disk.remount("rw")
        wait_for("it is durable", lambda: gateway.post(event())["http"] == 200, limit=30)
        gateway.kill()
        gateway.start()
        self.assertEqual(gateway.incident(host="n1")["state"], "open")
        self.assertEqual(len({message for message, _, _ in lamp.taken}), 1)

    def test_a_disk_that_turned_read_only_makes_no_start_forget_what_was_open(self):
        lamp = self.lamp(ours=True)
        disk = self.mounted()
        gateway = self.gateway([("hall-1", lamp.port)], QUICK, state=disk.path).start()
        self.assertEqual(gateway.post(event("XID_FATAL", "before"))["http"], 200)
        wait_for("it is told", lambda: lamp.taken)
        wait_for("that is kept", lambda: gateway.incident(host="before")["notifications"][0]["state"] == "delivered")
        time.sleep(0.5)
        gateway.kill()
        disk.remount("ro")
        gateway.start()
        self.assertEqual(gateway.incident(host="before")["state"], "open")
        self.assertEqual(gateway.post(event("XID_FATAL", "before"))["status"], "suppressed")
        self.assertEqual(gateway.post(event("XID_FATAL", "after"))["http"], 503)
        wait_for("the next is told", lambda: any("after" in text for text in lamp.texts()))
        self.assertEqual(len({message for message, _, _ in lamp.taken}), 2)


class Broken(Case):
    def start(self):
        self.lit = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", self.lit.port)], QUICK).start()
        for number in range(200):
            self.assertEqual(gateway.post(event("XID_FATAL", f"n{number}"))["http"], 200)
        wait_for("all are told", lambda: len(self.lit.taken) >= 200)
        gateway.kill()
        return gateway

    def goes_on(self, gateway):
        gateway.start()
        self.assertEqual(gateway.post(event("GPU_LOST", "after"))["http"], 200)
        wait_for("the lamp is lit", lambda: any("after" in text for text in self.lit.texts()))

    def damage(self, gateway, offset, size):
        with sqlite3.connect(gateway.state / "sentinel.db") as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        with open(gateway.state / "sentinel.db", "r+b") as f:
            f.seek(offset)
            f.write(os.urandom(size))

    def said_so(self, gateway):
        aside = list(gateway.state.glob("sentinel.db.corrupt-*"))
        self.assertTrue(aside)
        self.assertIn("event=store_corrupt moved_to=", gateway.words())
        self.assertEqual(gateway.metric("sentinel_store_corrupt_total"), 1)

    def test_a_file_that_is_no_database_is_moved_aside_and_said(self):
        gateway = self.start()
        self.damage(gateway, 0, 4096)
        self.goes_on(gateway)
        self.said_so(gateway)

    def test_a_file_damaged_in_the_middle_is_moved_aside_and_said(self):
        gateway = self.start()
        self.damage(gateway, 16384, 65536)
        self.goes_on(gateway)
        self.said_so(gateway)

    def test_a_file_cut_short_is_no_end(self):
        gateway = self.start()
        os.truncate(gateway.state / "sentinel.db", 5000)
        self.goes_on(gateway)

    def test_a_stopped_writer_keeps_no_alarm_from_the_lamp(self):
        # Another process holds the database: commits wait, alarms do not.
        self.lit = self.lamp(ours=True)
        gateway = self.gateway([("hall-1", self.lit.port)], QUICK).start()
        usual = Lit(gateway, self.lit, [f"well-{number}" for number in range(8)])
        holder = sqlite3.connect(gateway.state / "sentinel.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        held = Lit(gateway, self.lit, [f"held-{number}" for number in range(8)])
        self.assertEqual({answer["http"] for answer in held.answers.values()}, {503})
        self.assertLess(held.best() - usual.best(), DISK_WAIT_MAX_S)
        holder.execute("ROLLBACK")
        holder.close()
        for host in held.answers:
            wait_for("it is durable", lambda: gateway.post(event("NCCL_TIMEOUT", host), timeout=10)["http"] == 200, limit=30)


if __name__ == "__main__":
    run(__name__)
