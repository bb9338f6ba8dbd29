"""Somebody on the network who holds no key: says again what he heard, alters it, and makes things up."""
import hashlib
import hmac
import http.client
import json
import random
import threading
import time

FRESH_S = 20          # younger than this a replay is within the window that clocks are granted
STALE_S = 33          # older than this it is outside
PAUSE_S = (0.05, 0.35)
RED = json.dumps({"text": "FORGED 机架 A03", "color": "#FF0000", "light_mode": "flash", "audio_mode": "cycle", "repeat_times": 3},
                 ensure_ascii=False, separators=(",", ":")).encode()
V2_HEADERS = ("x-signature-v2", "x-signed-headers", "x-timestamp-ms", "x-nonce", "x-boot-id")


def split(message):
    head, _, body = message.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {}
    for text in rest:
        name, _, value = text.partition(":")
        headers[name.strip()] = value.strip()
    return line.split(" ")[1], headers, body


def header(headers, name):
    return next((value for key, value in headers.items() if key.lower() == name.lower()), None)


def without(headers, *names):
    gone = {name.lower() for name in names}
    return {key: value for key, value in headers.items() if key.lower() not in gone}


def with_header(headers, name, value):
    return {**without(headers, name), name: value}


def sign(secret, timestamp, body):
    return hmac.new(secret.encode(), f"{timestamp}\n".encode() + body, hashlib.sha256).hexdigest()


class Attacker(threading.Thread):
    """Forgeries must be refused; a replay must change nothing: it is refused, or answered as known."""

    def __init__(self, site, seed):
        super().__init__(daemon=True)
        self.site = site
        self.chance = random.Random(seed)
        self.ending = threading.Event()
        self.tried = {}      # kind -> how often it was answered
        self.accepted = []
        self.unanswered = 0
        self.vandals = [self.wrong_key, self.altered_body, self.altered_time, self.replay, self.replay, self.stale_replay, self.altered_header,
                        self.stripped, self.wrong_ack, self.altered_ack, self.replayed_ack]

    def run(self):
        while not self.ending.is_set():
            self.chance.choice(self.vandals)()
            self.ending.wait(self.chance.uniform(*PAUSE_S))

    def stop(self):
        self.ending.set()
        self.join(5)

    def count(self):
        return sum(self.tried.values())

    def post(self, kind, port, path, headers, body, may=()):
        """`may`: states a terminal may answer with 200."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("POST", path, body, without(headers, "Content-Length", "Host", "Connection"))
            answer = connection.getresponse()
            status, words = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            return
        finally:
            connection.close()
        self.tried[kind] = self.tried.get(kind, 0) + 1
        if 200 <= status < 300:
            try:
                state = json.loads(words).get("state")
            except ValueError:
                state = None
            if state not in may:
                self.accepted.append(f"{kind} at {path} of port {port} was answered {status} {words.decode('utf-8', 'replace')[:200]}")

    def lamp(self):
        return self.chance.choice(self.site.lamps)

    def heard(self, proxy, path, youngest=0.0, oldest=FRESH_S, fits=lambda one: True):
        """A captured message for that path and of that age, taken apart."""
        now = time.monotonic()
        fit = [one for one in list(proxy.captured)
               if youngest <= now - one.at <= oldest and b" %b " % path.encode() in one.message[:80] and fits(one)]
        return split(self.chance.choice(fit).message) if fit else None

    # At the terminals. ------------------------------------------------------------------------------------------------------------
    def wrong_key(self):
        lamp, stamp = self.lamp(), str(int(time.time()))
        secret = self.chance.choice(("AI#TrainSecureHMACSecretKey2026", "", "guess", lamp.secret[:-1]))
        key = self.chance.choice((lamp.key, "gpu_cluster_sentinel", ""))
        headers = {"Content-Type": "application/json", "X-API-Key": key, "X-Timestamp": stamp, "X-Signature": sign(secret, stamp, RED),
                   "X-Message-Id": f"forged-{self.chance.random()}", "X-Incident-Id": "forged", "X-Sequence": "1", "X-Severity": "P0"}
        self.post("wrong key", lamp.port, "/api/v1/send_msg", headers, RED)

    def altered_body(self):
        lamp = self.lamp()
        if heard := self.heard(lamp.proxy, "/api/v1/send_msg"):
            path, headers, body = heard
            body = RED if self.chance.random() < 0.5 else body.replace(b"flash", b"off")[:-1] + b" }"
            self.post("altered body", lamp.port, path, with_header(headers, "X-Message-Id", f"forged-{self.chance.random()}"), body)

    def altered_time(self):
        lamp = self.lamp()
        if heard := self.heard(lamp.proxy, "/api/v1/send_msg"):
            path, headers, body = heard
            shift = self.chance.choice((-3600, -31, 1, 31))
            for name, unit in (("X-Timestamp", 1), ("X-Timestamp-Ms", 1000)):
                if stamp := header(headers, name):
                    headers = with_header(headers, name, str(int(stamp) + shift * unit))
            self.post("altered time", lamp.port, path, headers, body)

    def replay(self):
        lamp = self.lamp()

        def fits(one):
            # With the old signature alone a terminal that was started anew cannot know what it was told before.
            return one.covers_all or one.at > lamp.lives[-1] + 0.5

        if heard := self.heard(lamp.proxy, "/api/v1/send_msg", fits=fits):
            path, headers, body = heard
            self.post("replay", lamp.port, path, headers, body, may=("duplicate", "superseded"))

    def stale_replay(self):
        lamp = self.lamp()
        if heard := self.heard(lamp.proxy, "/api/v1/send_msg", STALE_S, 600):
            path, headers, body = heard
            self.post("stale replay", lamp.port, path, headers, body)

    def altered_header(self):
        """Only the second signature covers what rides beside the old headers."""
        lamp = self.lamp()
        if heard := self.heard(lamp.proxy, "/api/v1/send_msg", fits=lambda one: one.covers_all):
            path, headers, body = heard
            name = self.chance.choice(("X-Message-Id", "X-Incident-Id", "X-Sequence", "X-Severity"))
            forged = {"X-Sequence": "999999", "X-Severity": "NORMAL"}.get(name, f"forged-{self.chance.random()}")
            self.post("altered header", lamp.port, path, with_header(headers, name, forged), body)

    def stripped(self):
        """The second signature taken off, as if an older gateway spoke."""
        lamp = self.lamp()
        if heard := self.heard(lamp.proxy, "/api/v1/send_msg", fits=lambda one: one.covers_all):
            path, headers, body = heard
            headers = with_header(without(headers, *V2_HEADERS), "X-Message-Id", f"forged-{self.chance.random()}")
            self.post("stripped", lamp.port, path, headers, body)

    # At the gateway. --------------------------------------------------------------------------------------------------------------
    def wrong_ack(self):
        lamp, stamp = self.lamp(), str(int(time.time()))
        body = json.dumps({"terminal": lamp.name}).encode()
        headers = {"X-API-Key": lamp.key, "X-Timestamp": stamp, "X-Signature": sign("guess", stamp, body)}
        if self.chance.random() < 0.3:
            headers = {}
        self.post("wrong ack", self.site.gateway_port, "/api/v1/ack", headers, body)

    def altered_ack(self):
        if heard := self.heard(self.site.to_gateway, "/api/v1/ack"):
            path, headers, _ = heard
            self.post("altered ack", self.site.gateway_port, path, headers, json.dumps({"terminal": self.lamp().name}).encode())

    def replayed_ack(self):
        """A press heard once more names what it named: nothing else may be acknowledged, which the audit looks at."""
        if heard := self.heard(self.site.to_gateway, "/api/v1/ack", oldest=600):
            path, headers, body = heard
            self.post("replayed ack", self.site.gateway_port, path, headers, body, may=(None,))
