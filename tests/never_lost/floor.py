"""A gateway and what hangs on it, as real processes and real sockets, for tests that harm them."""
import argparse
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
from free_port import free_port  # noqa: E402

SECRET = base64.b64encode(os.urandom(24)).decode()
KEY = "hall"
WAIT_MAX = 20.0


def run(module):
    """The tests of a file: python3 FILE --build BUILD_DIR [unittest's own arguments]."""
    options = argparse.ArgumentParser()
    options.add_argument("--build", type=pathlib.Path, required=True)
    known, rest = options.parse_known_args()
    Process.build = known.build
    unittest.main(module=module, argv=[sys.argv[0], *rest], verbosity=2, warnings="ignore")


def request(port, method, path, body=None, headers=None, timeout=5.0):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode("utf-8", "replace")
    finally:
        connection.close()


def wait_for(what, condition, limit=WAIT_MAX):
    """The first true value of `condition`; an assertion that names `what` after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit:g} s in vain: {what}")
        time.sleep(0.02)


def event(kind="NCCL_TIMEOUT", host="n1", **more):
    return {"cluster_rack": "A03", "node_host": host, "event_type": kind, **more}


class Process:
    build = None

    def __init__(self, name, config, log, env=None, prefix=(), preexec=None):
        self.command = [*prefix, str(self.build / "apps" / name / name), "--config", str(config)]
        self.log, self.env, self.preexec = log, env, preexec
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env={**os.environ, **(self.env or {})},
                                            preexec_fn=self.preexec)

    def await_answer(self, port, path="/healthz"):
        def answers():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.command[0]} ended with {self.process.returncode}:\n{self.words()[-3000:]}")
            try:
                return request(port, "GET", path, timeout=1.0)[0] == 200
            except (OSError, http.client.HTTPException):
                return False
        wait_for(f"{self.command} answers", answers)

    def words(self):
        return pathlib.Path(self.log).read_text(encoding="utf-8", errors="replace")

    def kill(self, number=signal.SIGKILL):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(10)
        self.process = None


class Gateway(Process):
    def __init__(self, folder, terminals, extra="", state=None, **how):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.agents_port = free_port()
        self.state = pathlib.Path(state or folder)
        self.config = self.folder / "gateway.toml"
        super().__init__("sentinel-gateway", self.config, self.folder / "gateway.log", **how)
        self.write(terminals, extra)

    def write(self, terminals, extra="", state=None):
        """The configuration; `terminals` are (name, port)."""
        lines = [f'listen = ["127.0.0.1:{self.port}"]', f'agents = ["127.0.0.1:{self.agents_port}"]',
                 f'state_dir = "{state or self.state}"', f'key_file = "{key_file(self.folder)}"']
        for name, port in terminals:
            lines += ["[[terminals]]", f'name = "{name}"', f'address = "127.0.0.1:{port}"']
        self.config.write_text("\n".join(lines) + "\n" + extra, encoding="utf-8")

    def start(self):
        super().start()
        self.await_answer(self.port)
        return self

    def post(self, body, timeout=5.0):
        status, headers, text = request(self.port, "POST", "/api/v1/gpu_event", json.dumps(body), timeout=timeout)
        answer = json.loads(text) if status == 200 else {"error": text}
        return {"http": status, "headers": headers, **answer}

    def incidents(self):
        return json.loads(request(self.port, "GET", "/api/v1/incidents")[2])["incidents"]

    def incident(self, **fields):
        """The first whose fields are so."""
        for one in self.incidents():
            if all(one.get(key, one["culprit"].get(key)) == value for key, value in fields.items()):
                return one
        return None

    def terminals(self):
        return {t["name"]: t for t in json.loads(request(self.port, "GET", "/api/v1/terminals")[2])["terminals"]}

    def metric(self, name):
        for line in request(self.port, "GET", "/metrics")[2].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None


class Terminal(Process):
    """A sentinel-terminal of ours, without a voice."""

    def __init__(self, folder, gateway_port=None, name="hall-1", **how):
        self.port = free_port()
        folder = pathlib.Path(folder)
        config = folder / f"{name}.toml"
        lines = [f'name = "{name}"', f'listen = "127.0.0.1:{self.port}"', f'key_file = "{key_file(folder)}"']
        if gateway_port:
            lines.append(f'gateway = "127.0.0.1:{gateway_port}"')
        config.write_text("\n".join([*lines, "[audio]", 'output = "off"']) + "\n")
        super().__init__("sentinel-terminal", config, folder / f"{name}.log", **how)

    def start(self):
        super().start()
        self.await_answer(self.port)
        return self

    def status(self):
        return json.loads(request(self.port, "GET", "/api/v1/status")[2])

    def history(self):
        return self.status()["history"]


def key_file(folder):
    path = pathlib.Path(folder) / "key.toml"
    if not path.exists():
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write(f'key = "{KEY}"\nsecret = "{SECRET}"\n')
    return path


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
