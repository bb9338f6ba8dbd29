#!/usr/bin/env python3
"""The daemons as systemd sees them: each says when it is ready, feeds the watchdog while its loop turns, and says that it ends; and
their units are ones that systemd would take.

    services_test.py --build BUILD_DIR
"""
import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
from daemons import Daemon, program  # noqa: E402
from free_port import free_port  # noqa: E402
from site_files import silent_terminal, toml_string, write_file, write_key  # noqa: E402

WATCHDOG_S = 0.4
NAMES = ("agent", "gateway", "terminal")
EXPOSURE_MAX = 30  # tenths, of systemd-analyze security


class Manager:
    def __init__(self, folder):
        self.path = folder / "notify.sock"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))

    def wait_for(self, word, limit_s):
        """Whether it is said within so long; what is said before is passed over."""
        self.socket.settimeout(limit_s)
        try:
            while self.socket.recv(256).decode() != word:
                pass
            return True
        except TimeoutError:
            return False

    def forget(self):
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(256)
        except BlockingIOError:
            pass


def configuration(name, folder):
    key = write_key(folder / "terminal.key", "hall", "a secret of this test alone, long enough")
    boards = folder / "boards"
    boards.mkdir(exist_ok=True)
    text = {
        "agent": f'host = "node"\nboard_dir = {toml_string(boards)}\ngateway = "127.0.0.1:1"\ningest_socket = ""\n'
                 f'spool_dir = {toml_string(folder / "spool")}\n',
        "gateway": f'listen = ["127.0.0.1:{free_port()}"]\nagents = ["unix:{folder}/agents.sock"]\nstate_dir = {toml_string(folder)}\n',
        "terminal": silent_terminal("hall", free_port(), key),
    }[name]
    return write_file(folder / f"{name}.toml", text)


def check_daemon(build, name, folder):
    manager = Manager(folder)
    environment = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}
    daemon = Daemon(program(build, f"sentinel-{name}"), ["--config", configuration(name, folder)], folder / f"{name}.log", environment)
    try:
        if not manager.wait_for("READY=1", 15):
            daemon.check_alive()
            yield "does not say that it is ready"
            return
        for _ in range(3):
            if not manager.wait_for("WATCHDOG=1", 10 * WATCHDOG_S):
                yield "does not feed the watchdog"
                return
        os.kill(daemon.process.pid, signal.SIGSTOP)
        manager.forget()
        if manager.wait_for("WATCHDOG=1", 2 * WATCHDOG_S):
            yield "feeds the watchdog while it is stopped"
        os.kill(daemon.process.pid, signal.SIGCONT)
        daemon.process.terminate()
        if not manager.wait_for("STOPPING=1", 10):
            yield "does not say that it ends"
        if daemon.process.wait(10) != 0:
            yield f"ended with status {daemon.process.returncode} on SIGTERM"
    finally:
        if daemon.process.poll() is None:
            daemon.kill()


def check_units():
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        print("systemd-analyze is not installed: the units were not looked at")
        return
    for name in NAMES:
        unit = REPOSITORY / "packaging" / "systemd" / f"sentinel-{name}.service"
        # What it cannot know here: the program and the manual are not installed.
        ran = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True)
        for line in (ran.stdout + ran.stderr).splitlines():
            if line.startswith(f"sentinel-{name}.service:") and "is not executable" not in line or str(unit) in line:
                yield f"{unit.name}: {line}"
        ran = subprocess.run([analyze, "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE_MAX}", str(unit)], capture_output=True,
                             text=True)
        if ran.returncode != 0:
            yield f"{unit.name}: more exposed than it need be: {(ran.stdout + ran.stderr).strip().splitlines()[-1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    wrong = list(check_units())
    for name in NAMES:
        with tempfile.TemporaryDirectory(prefix="gpu-sentinel-services.") as folder:
            wrong += [f"sentinel-{name} {words}" for words in check_daemon(options.build, name, pathlib.Path(folder))]
    for words in wrong:
        print(words)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
