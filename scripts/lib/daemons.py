"""The daemons of a site: one gateway, one terminal, one agent a node, as real processes with fresh state in a directory of their own."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from free_port import free_port
from site_files import toml_string, write_file, write_key

SAMPLE_KEY, SAMPLE_SECRET = "gpu_cluster_sentinel", "AI#TrainSecureHMACSecretKey2026"
RACKS = ("A03", "A04", "B01", "B02")
READY_WITHIN_S = 15
END_WITHIN_S = 5
PR_SET_PDEATHSIG = 1
PRCTL = ctypes.CDLL(None).prctl


class DemoError(Exception):
    """Something the person at the keyboard can act on."""


def end_with_us():
    """In a child before exec: however we end, kill -9 and a closed terminal window included, it is told to end too."""
    PRCTL(PR_SET_PDEATHSIG, signal.SIGTERM)


def program(build, name):
    binary = build / "apps" / name / name
    if not binary.exists():
        raise DemoError(f"{binary} is not built; run scripts/demo without SENTINEL_DEMO_BUILT")
    return binary


def get_json(url, timeout=2):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return json.load(answer)


class Daemon:
    """One process that can be ended and started again with the same arguments."""

    def __init__(self, binary, arguments, log_path, environment=None):
        self.name = binary.name
        self.environment = {**os.environ, **environment} if environment else None
        self.command = [str(binary), *map(str, arguments)]
        self.log_path = log_path
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=end_with_us,
                                            env=self.environment)

    def check_alive(self):
        if self.process.poll() is not None:
            tail = self.log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-8:]
            raise DemoError(f"{self.name} ended with status {self.process.returncode}:\n  " + "\n  ".join(tail))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait(self, until):
        try:
            self.process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"warning: {self.name} did not end within {END_WITHIN_S} s of SIGTERM (log: {self.log_path})", file=sys.stderr)
            self.kill()


class Site:
    """Ended when we are. `boards` is the folder whose node-<n> the agents watch."""

    def __init__(self, build, hosts, directory, late_history_min):
        self.build, self.hosts, self.directory = build, hosts, directory
        self.late_history_min = late_history_min
        self.gateway_port, self.agents_port, self.terminal_port = free_port(), free_port(), free_port()
        self.gateway_url = f"http://127.0.0.1:{self.gateway_port}"
        self.terminal_url = f"http://127.0.0.1:{self.terminal_port}"
        self.boards = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-demo.", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.agents = []
        self.gateway = self.terminal_daemon = None
        try:
            self.key_file = write_key(directory / "demo.key", SAMPLE_KEY, SAMPLE_SECRET)
            self.gateway = self.start_gateway()
            self.terminal_daemon = self.start_terminal()
            for index, host in enumerate(hosts):
                self.agents.append(self.start_agent(index, host))
        except BaseException:
            self.stop()
            raise

    def start(self, name, log, *arguments):
        return Daemon(program(self.build, name), arguments, self.directory / f"{log}.log")

    def start_gateway(self):
        inventory = "".join(
            f"[[host]]\nname = {toml_string(host)}\nrack = {toml_string(RACKS[index % len(RACKS)])}\nunit = {10 + index}\n\n"
            for index, host in enumerate(self.hosts))
        inventory_path = write_file(self.directory / "inventory.toml", inventory)
        config = write_file(self.directory / "gateway.toml", f"""\
listen = ["127.0.0.1:{self.gateway_port}", "unix:{self.directory}/gateway.sock"]
agents = ["127.0.0.1:{self.agents_port}"]
state_dir = {toml_string(self.directory / "gateway-state")}
inventory = {toml_string(inventory_path)}
key_file = {toml_string(self.key_file)}

[[terminals]]
name = "hall-1"
address = "127.0.0.1:{self.terminal_port}"

[detection]
late_history_min = {self.late_history_min}

[ring]
gpus_min = 1
""")
        (self.directory / "gateway-state").mkdir()
        return self.start("sentinel-gateway", "gateway", "--config", config, "--demo")

    def start_terminal(self):
        config = write_file(self.directory / "terminal.toml", f"""\
name = "hall-1"
listen = "127.0.0.1:{self.terminal_port}"
gateway = "127.0.0.1:{self.gateway_port}"
key_file = {toml_string(self.key_file)}
protocol = "v1"  # takes v2 as well: whoever tries the contract's example by hand is heard, too

[audio]
output = "wav"
wav_dir = {toml_string(self.directory / "speech")}
""")
        return self.start("sentinel-terminal", "terminal", "--config", config, "--demo")

    def start_agent(self, index, host):
        board_dir = self.boards / f"node-{index}"
        board_dir.mkdir(mode=0o700)
        config = write_file(self.directory / f"agent-{host}.toml", f"""\
host = {toml_string(host)}
board_dir = {toml_string(board_dir)}
gateway = "127.0.0.1:{self.agents_port}"
ingest_socket = ""
spool_dir = {toml_string(self.directory / f"spool-{host}")}
""")
        return self.start("sentinel-agent", f"agent-{host}", "--config", config)

    def daemons(self):
        return [daemon for daemon in (*self.agents, self.terminal_daemon, self.gateway) if daemon]

    def check_alive(self):
        for daemon in self.daemons():
            daemon.check_alive()

    def wait_ready(self):
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            self.check_alive()
            with contextlib.suppress(OSError, ValueError):
                get_json(self.terminal_url + "/api/v1/status")
                with urllib.request.urlopen(self.gateway_url + "/readyz", timeout=2):
                    pass
                if sum(bool(agent.get("connected")) for agent in self.agents_known()) >= len(self.agents):
                    return
            if time.monotonic() > deadline:
                raise DemoError(f"the daemons did not get ready within {READY_WITHIN_S} s; their logs are in {self.directory}")
            time.sleep(0.05)

    def agents_known(self):
        return get_json(self.gateway_url + "/api/v1/agents").get("agents", [])

    def boards_watched(self):
        with contextlib.suppress(OSError, ValueError):
            return sum(agent.get("boards", 0) for agent in self.agents_known())
        return 0

    def incidents(self):
        with contextlib.suppress(OSError, ValueError):
            return get_json(self.gateway_url + "/api/v1/incidents")["incidents"]
        return []

    def terminal(self):
        with contextlib.suppress(OSError, ValueError):
            return get_json(self.terminal_url + "/api/v1/status")
        return {}

    def stop(self):
        for daemon in self.daemons():
            if daemon.process.poll() is None:
                daemon.process.terminate()
        until = time.monotonic() + END_WITHIN_S
        for daemon in self.daemons():
            daemon.wait(until)
        shutil.rmtree(self.boards, ignore_errors=True)
