"""A gateway and, if asked, a terminal, as real processes in a folder of their own, for the tests of what an operator does."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts" / "lib"))
from free_port import free_port  # noqa: E402
from site_files import lamps, silent_terminal, write_file, write_key  # noqa: E402

READY_WITHIN_S = 15


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=20):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class SmallSite:
    """`programs`: paths of sentinel-gateway, sentinelctl and sentinel-terminal, by name. `access`: TOML of the gateway's
    configuration. Without `terminal` hall-1 is configured and nobody is there."""

    def __init__(self, programs, access="", terminal=True, terminals=("hall-1",)):
        self.programs = programs
        self.scratch = tempfile.TemporaryDirectory(prefix="gpu-sentinel-test.")
        self.folder = pathlib.Path(self.scratch.name)
        self.folder.chmod(0o755)  # so that other users reach the socket, where a test is about them
        self.state = self.folder / "state"
        self.state.mkdir(0o700)
        self.socket = str(self.folder / "g.sock")
        self.port, self.agents_port, self.terminal_port = free_port(), free_port(), free_port()
        self.key = write_key(self.folder / "terminal.key", "hall", "0123456789abcdef0123456789abcdef")
        self.config = write_file(self.folder / "gateway.toml", f'listen = ["127.0.0.1:{self.port}", "unix:{self.socket}"]\n'
                                 f'agents = ["127.0.0.1:{self.agents_port}"]\nstate_dir = "{self.state}"\nkey_file = "{self.key}"\n'
                                 f"{lamps((name, self.terminal_port) for name in terminals)}{access}")
        self.gateway = self.terminal = None
        try:
            self.start_gateway()
            if terminal:
                self.start_terminal()
        except BaseException:
            self.stop()
            raise

    def start(self, name, config, **options):
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen([self.programs[name], "--config", config], stdout=log, stderr=log, stdin=subprocess.DEVNULL, **options)

    def start_gateway(self, **options):
        self.gateway = self.start("sentinel-gateway", self.config, **options)
        self.until(lambda: self.ask("GET", "/healthz").status == 200, "the gateway does not answer")

    def start_terminal(self):
        config = write_file(self.folder / "terminal.toml", silent_terminal("hall-1", self.terminal_port, self.key, self.port))
        self.terminal = self.start("sentinel-terminal", config)
        self.until(lambda: self.lamp()["name"] == "hall-1", "the terminal does not answer")
        self.until(lambda: self.ask("GET", "/api/v1/terminals").json()["terminals"][0]["reachable"], "the terminal is not reachable")

    def until(self, holds, otherwise):
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            try:
                if holds():
                    return
            except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError):
                pass
            time.sleep(0.02)
        logs = "".join(f"\n--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]) for log in self.folder.glob("*.log"))
        raise AssertionError(otherwise + logs)

    def ask(self, method, path, body=None, tcp=False, headers=None):
        """`body`: bytes as they are, anything else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20) if tcp else UnixConnection(self.socket)
        try:
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def lamp(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.terminal_port, timeout=5)
        try:
            connection.request("GET", "/api/v1/status")
            return Answer(connection.getresponse()).json()
        finally:
            connection.close()

    def press(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.terminal_port, timeout=5)
        try:
            connection.request("POST", "/api/v1/ack", b"{}")
            return Answer(connection.getresponse()).json()
        finally:
            connection.close()

    def ctl(self, *arguments, tcp=False, **options):
        gateway = f"127.0.0.1:{self.port}" if tcp else f"unix:{self.socket}"
        return subprocess.run([self.programs["sentinelctl"], "--gateway", gateway, *arguments], capture_output=True, text=True, timeout=30,
                              **options)

    def kill_gateway(self):
        self.gateway.send_signal(signal.SIGKILL)
        self.gateway.wait()

    def stop(self):
        for process in (self.gateway, self.terminal):
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.scratch.cleanup()


def programs_of(build):
    """Those of a build folder, by name."""
    apps = pathlib.Path(build) / "apps"
    return {name: str(apps / name / name) for name in ("sentinel-gateway", "sentinel-terminal", "sentinelctl")}


def other_user_can_be_tried():
    return os.geteuid() == 0
