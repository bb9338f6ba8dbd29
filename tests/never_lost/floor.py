"""A gateway and what hangs on it, as real processes and real sockets, for tests that harm them."""
import argparse
import contextlib
import hashlib
import hmac
import json
import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import SECRET, Gateway, Process, Terminal, wait_for  # noqa: E402,F401  (the tests take theirs from here, too)


def run(module):
    """The tests of a file: python3 FILE --build BUILD_DIR [unittest's own arguments]."""
    options = argparse.ArgumentParser()
    options.add_argument("--build", type=pathlib.Path, required=True)
    known, rest = options.parse_known_args()
    Process.build = known.build
    unittest.main(module=module, argv=[sys.argv[0], *rest], verbosity=2, warnings="ignore")


def event(kind="NCCL_TIMEOUT", host="n1", **more):
    return {"cluster_rack": "A03", "node_host": host, "event_type": kind, **more}


class Lamp:
    """Somebody else's terminal, that does as the test says. It checks every signature.

    `mode`: "ok", "hang" (reads and never answers), "slow" (one byte of its answer at a time), "busy" (503 + Retry-After: retry_after),
    "refuse" (401), "deaf" (accepts and never reads). `ours`: it knows pings. `taken` holds what was answered 200: (id, body, when).
    """

    def __init__(self, ours=False):
        self.ours, self.mode, self.retry_after, self.pace = ours, "ok", 1, 0.2
        self.boot_id = "one"
        self.taken, self.heard, self.pings, self.forged = [], [], 0, 0
        self.status_of_pings = 200 if ours else 404
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.held = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # ends the accept under way
        self.socket.close()

    kill = close

    def texts(self):
        return [json.loads(body)["text"] for _, body, _ in self.taken]

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection.settimeout(30)
            if self.mode == "deaf":
                self.held.append(connection)
                return
            head, body = self._read(connection)
            self._answer(connection, head, body)
        except OSError:
            pass

    @staticmethod
    def _read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                raise OSError("ended")
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        headers[":path"] = lines[0].split()[1]
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        return headers, body

    def _answer(self, connection, headers, body):
        signed = hmac.new(SECRET.encode(), headers.get("x-timestamp", "").encode() + b"\n" + body, hashlib.sha256).hexdigest()
        if signed != headers.get("x-signature"):
            self.forged += 1
        if headers[":path"] == "/api/v1/ping":
            self.pings += 1
            return self._say(connection, self.status_of_pings, json.dumps({"boot_id": self.boot_id}))
        self.heard.append((headers.get("x-message-id"), body, time.monotonic()))
        mode = self.mode
        if mode == "hang":
            self.held.append(connection)
            return None
        if mode == "busy":
            return self._say(connection, 503, "", f"Retry-After: {self.retry_after}\r\n")
        if mode == "refuse":
            return self._say(connection, 401, "")
        self.taken.append(self.heard[-1])
        return self._say(connection, 200, "{}", slowly=mode == "slow")

    def _say(self, connection, status, body, more="", slowly=False):
        data = f"HTTP/1.1 {status} X\r\n{more}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
        for part in ([bytes([b]) for b in data] if slowly else [data]):
            connection.sendall(part)
            if slowly:
                time.sleep(self.pace)
        connection.close()


class Case(unittest.TestCase):
    """Each test has a folder of its own; what it starts ends with it."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="never-lost-")
        self.folder = pathlib.Path(self.temporary.name)
        self.started = []
        self.addCleanup(self._end)

    def _end(self):
        for one in reversed(self.started):
            one.kill()
        failed = any(error for _, error in getattr(self._outcome, "errors", []) or [])
        if failed or getattr(getattr(self._outcome, "result", None), "failures", None):
            log = self.folder / "gateway.log"
            if log.exists():
                print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:]))
        self.temporary.cleanup()

    def keep(self, one):
        self.started.append(one)
        return one

    def lamp(self, **how):
        return self.keep(Lamp(**how))

    def gateway(self, terminals, extra="", **how):
        return self.keep(Gateway(self.folder, terminals, extra, **how))

    def terminal(self, **how):
        return self.keep(Terminal(self.folder, **how)).start()
