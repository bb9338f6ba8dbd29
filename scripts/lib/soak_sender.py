"""The soak's sender: a process of its own that posts mixed events until each is answered, as existing senders do.

Told over a pipe which alarms to resolve and when to finish; tells back, ten times a second, what became of its events.
"""
import collections
import json
import random
import selectors
import signal
import socket
import time

CONNECTIONS = 24
RETRY_AFTER_S = 0.1
REFUSED_PAUSE_S = 0.03
ANSWER_WITHIN_S = 5.0
REPORT_EVERY_S = 0.1
STORM_SOURCES = 48
NAMED_KEPT = 2000
# What is left of the rate once alarms and their ends are due: (kind, weight).
MIX = (("storm", 820), ("again", 70), ("named", 70), ("notice", 38), ("wrong", 2))
P0_TYPES, P1_TYPES = ("NCCL_TIMEOUT", "XID_FATAL", "GPU_LOST"), ("NVLINK_ERROR", "OPTICS_ERROR", "ECC_ERROR")
WRONG = (b"", b"{", b"[]", b'{"node_host":7,"event_type":"XID_FATAL"}', b'{"event_type":"XID_FATAL"}',
         b'{"node_host":"a","event_type":"XID_FATAL","gpu_util":101}')


class Event:
    __slots__ = ("kind", "host", "level", "request", "first_ms", "not_before")

    def __init__(self, kind, host, level, body, path="/api/v1/gpu_event"):
        self.kind, self.host, self.level = kind, host, level
        self.request = b"POST %b HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        self.first_ms = self.not_before = None


def encode(body):
    return json.dumps(body, ensure_ascii=False).encode()


class Mix:
    """Which event comes next; the seed decides."""

    def __init__(self, seed, alarms_per_s):
        self.chance = random.Random(seed)
        self.alarms_per_s = alarms_per_s
        self.number = 0
        self.next_alarm = time.monotonic()
        self.kinds, self.weights = zip(*MIX)
        self.bodies = {}  # of alarms not yet resolved
        self.named = collections.deque(maxlen=NAMED_KEPT)
        self.ends = collections.deque()
        levels = ("P0", "P1", "NOTICE")
        self.storm = [self.storm_event(number, levels[number % 3]) for number in range(STORM_SOURCES)]

    def body(self, prefix, level):
        self.number += 1
        types = {"P0": P0_TYPES, "P1": P1_TYPES, "NOTICE": ("XID_WARN",)}[level]
        kind = types[self.number % len(types)]
        return {"cluster_rack": f"机架 {'ABCD'[self.number % 4]}{self.number % 16:02}", "node_host": f"{prefix}-{self.number}",
                "event_type": kind, "gpu_index": self.number % 8, "gpu_util": 50}

    def storm_event(self, number, level):
        body = self.body("storm", level)
        return body, Event("storm", body["node_host"], level, encode(body)), level

    def next(self, now):
        if self.ends and self.chance.random() < 0.5:
            return self.ends.popleft()
        if self.alarms_per_s and now >= self.next_alarm:
            self.next_alarm = max(self.next_alarm + self.chance.expovariate(self.alarms_per_s), now - 1)
            return self.alarm()
        kind = self.chance.choices(self.kinds, self.weights)[0]
        if kind == "storm":
            event = self.chance.choice(self.storm)[1]
            event.first_ms = event.not_before = None
            return event
        if kind == "again":  # the same trouble in other words
            body, _, level = self.chance.choice(self.storm)
            return Event("again", body["node_host"], level, encode({**body, "gpu_util": self.chance.randint(5, 100)}))
        if kind == "notice":
            return self.notice()
        if kind == "wrong":
            return Event("wrong", None, None, self.chance.choice(WRONG))
        return Event("named", *self.chance.choice(self.named)) if self.named else self.notice()

    def alarm(self):
        level = "P0" if self.chance.random() < 0.5 else "P1"
        body = self.body("gpu-worker", level)
        if self.chance.random() < 0.5:
            body["event_id"] = f"alarm-{self.number}"
        self.bodies[body["node_host"]] = body
        return Event("alarm", body["node_host"], level, encode(body))

    def notice(self):
        body = self.body("quiet", "NOTICE")
        if self.chance.random() < 0.5:
            body["event_id"] = f"notice-{self.number}"
            self.named.append((body["node_host"], "NOTICE", encode(body)))
        return Event("notice", body["node_host"], "NOTICE", encode(body))

    def resolve(self, host):
        body = self.bodies.pop(host, None)
        if body is None:
            return
        if "event_id" not in body and self.chance.random() < 0.3:
            end = {"cluster_rack": body["cluster_rack"], "node_host": host, "event_type": "RECOVERED"}
        else:
            end = {**body, "state": "resolved"}
        self.ends.append(Event("end", host, None, encode(end)))


class Connection:
    def __init__(self):
        self.socket = self.event = None
        self.answer = b""
        self.deadline = 0.0


class Sender:
    def __init__(self, port, pipe, seed, rate, total, alarms_per_s):
        self.port, self.pipe, self.rate, self.total = port, pipe, rate, total
        self.mix = Mix(seed, alarms_per_s)
        self.selector = selectors.DefaultSelector()
        self.idle = [Connection() for _ in range(CONNECTIONS)]
        self.busy = set()
        self.retry = collections.deque()
        self.sent = 0
        self.blocked_until = 0.0  # nobody listens there
        self.records = []
        self.counts = collections.Counter()
        self.storm_incidents = {}

    def run(self):
        began = reported = time.monotonic()
        finishing = False
        while True:
            now = time.monotonic()
            if now < self.blocked_until:
                pass
            elif not finishing:
                due = min(self.total, int((now - began) * self.rate)) - self.sent
                while due > 0 and self.idle and now >= self.blocked_until:
                    self.start(self.mix.next(now), now)
                    self.sent += 1
                    due -= 1
                if due > self.rate:  # an outage is not made up for by a flood
                    began += (due - self.rate) / self.rate
            else:
                while self.mix.ends and self.idle and now >= self.blocked_until:
                    self.start(self.mix.ends.popleft(), now)
            while self.retry and self.idle and self.retry[0].not_before <= now and now >= self.blocked_until:
                self.start(self.retry.popleft(), now)
            for key, _ in self.selector.select(0.002):
                self.read(key.data)
            self.expire(now)
            if now - reported >= REPORT_EVERY_S:
                reported = now
                finishing = self.report() or finishing
                if finishing and not self.busy and not self.retry and not self.mix.ends:
                    self.counts["drained"] = 1
                    if self.report() is None:
                        return

    def report(self):
        """True once nothing new is wanted; None when the pipe has been closed."""
        try:
            self.pipe.send({"counts": dict(self.counts), "records": self.records, "storm": self.storm_incidents,
                            "waiting": len(self.busy) + len(self.retry)})
            self.records, self.storm_incidents = [], {}
            finish = False
            while self.pipe.poll():
                order = self.pipe.recv()
                finish |= order == "finish"
                if isinstance(order, list):
                    for host in order:
                        self.mix.resolve(host)
            return finish
        except (OSError, EOFError):
            return None

    def start(self, event, now):
        connection = self.idle.pop()
        if event.first_ms is None:
            event.first_ms = time.monotonic() * 1000
        connection.event, connection.answer, connection.deadline = event, b"", now + ANSWER_WITHIN_S
        self.busy.add(connection)
        try:
            if connection.socket is None:
                connection.socket = socket.create_connection(("127.0.0.1", self.port), timeout=1)
                connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.socket.settimeout(1)
                self.selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.socket.sendall(event.request)
        except OSError:
            self.blocked_until = now + REFUSED_PAUSE_S
            self.failed(connection)

    def read(self, connection):
        try:
            data = connection.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            return self.failed(connection)
        connection.answer += data
        head, separator, body = connection.answer.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = 0
        lower = head.lower()
        at = lower.find(b"content-length:")
        if at >= 0:
            length = int(lower[at + 15:].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self.answered(connection, int(head[9:12]), body)
            if b"connection: close" in lower:
                self.close(connection)
        return None

    def answered(self, connection, status, body):
        event = connection.event
        self.free(connection)
        self.counts[f"answered_{status}"] += 1
        if event.kind == "wrong":
            self.counts["wrong_refused" if status == 400 else "wrong_not_refused"] += 1
        elif status == 200:
            self.accepted(event, json.loads(body))
        elif status == 503:
            self.again(event)
        else:
            self.records.append((event.kind, event.host, event.level, f"status {status}", None, event.first_ms, None))

    def accepted(self, event, answer):
        self.counts["accepted"] += 1
        self.counts[f"accepted_{event.kind}"] += 1
        if event.kind in ("storm", "again"):
            self.storm_incidents[event.host] = (event.level, answer["incident"])
        else:
            self.records.append((event.kind, event.host, event.level, answer["status"], answer["incident"], event.first_ms,
                                 time.monotonic() * 1000))

    def again(self, event):
        if event.kind in ("storm", "wrong"):  # comes again anyhow
            self.counts["not_retried"] += 1
            return
        event.not_before = time.monotonic() + RETRY_AFTER_S
        self.retry.append(event)
        self.counts["retried"] += 1

    def free(self, connection):
        connection.event = None
        self.busy.discard(connection)
        self.idle.append(connection)

    def close(self, connection):
        if connection.socket is not None:
            try:
                self.selector.unregister(connection.socket)
            except KeyError:
                pass
            connection.socket.close()
            connection.socket = None

    def failed(self, connection):
        event = connection.event
        self.close(connection)
        if event is not None:
            self.free(connection)
            self.counts["unanswered"] += 1
            self.again(event)

    def expire(self, now):
        for connection in [one for one in self.busy if one.deadline < now]:
            self.failed(connection)


def run_sender(port, pipe, seed, rate, total, alarms_per_s):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Sender(port, pipe, seed, rate, total, alarms_per_s).run()
