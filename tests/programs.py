"""The programs of a build folder as processes of a test, each with a configuration and a log of its own."""
import base64
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts" / "lib"))
from free_port import free_port  # noqa: E402
from site_files import lamps, silent_terminal, write_file, write_key  # noqa: E402

SECRET = base64.b64encode(os.urandom(24)).decode()
KEY = "hall"
WAIT_MAX = 20.0


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


def key_file(folder):
    path = pathlib.Path(folder) / "key.toml"
    return path if path.exists() else write_key(path, KEY, SECRET)


class Process:
    """`build`, of the class, is the folder that all are taken from."""

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
    """`terminals` are (name, port); `extra` is TOML that follows them."""

    def __init__(self, folder, terminals, extra="", state=None, **how):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.agents_port = free_port()
        self.state = pathlib.Path(state or folder)
        self.config = self.folder / "gateway.toml"
        super().__init__("sentinel-gateway", self.config, self.folder / "gateway.log", **how)
        self.write(terminals, extra)

    def write(self, terminals, extra="", state=None):
        write_file(self.config, f'listen = ["127.0.0.1:{self.port}"]\nagents = ["127.0.0.1:{self.agents_port}"]\n'
                   f'state_dir = "{state or self.state}"\nkey_file = "{key_file(self.folder)}"\n{lamps(terminals)}{extra}')

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
    """One without a voice."""

    def __init__(self, folder, gateway_port=None, name="hall-1", **how):
        self.port = free_port()
        folder = pathlib.Path(folder)
        config = write_file(folder / f"{name}.toml", silent_terminal(name, self.port, key_file(folder), gateway_port))
        super().__init__("sentinel-terminal", config, folder / f"{name}.log", **how)

    def start(self):
        super().start()
        self.await_answer(self.port)
        return self

    def status(self):
        return json.loads(request(self.port, "GET", "/api/v1/status")[2])

    def history(self):
        return self.status()["history"]
