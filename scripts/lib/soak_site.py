"""The site of the soak: one gateway on a disk of its own that can be filled, two terminals behind proxies, clocks that can be stepped."""
import ctypes
import json
import mmap
import os
import pathlib
import secrets
import struct
import time
import urllib.error
import urllib.request

from daemons import Daemon, DemoError, get_json, program
from free_port import free_port
from site_files import silent_terminal, toml_string, write_file, write_key
from soak_proxy import Network

TERMINALS = ("hall", "office")
DISK_BYTES = 512 << 20
FULL_SLACK_BYTES = 64 << 10
READY_WITHIN_S = 15
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REMOUNT, MS_REC, MS_PRIVATE, MNT_DETACH = 32, 16384, 1 << 18, 2


def call(function, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def own_mounts():
    """From here on we mount for ourselves alone, and it all goes with us. Needs to be root, or a kernel that lets users have that."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        call("unshare", CLONE_NEWNS)
    else:
        call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    call("mount", b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)


class Disk:
    """A small file system in memory. Full means that it holds what it holds and not a block more."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.why_not = None
        try:
            own_mounts()
            call("mount", b"soak", os.fsencode(folder), b"tmpfs", ctypes.c_ulong(0), f"size={DISK_BYTES}".encode())
        except OSError as problem:
            self.why_not = str(problem)

    def limit(self, size):
        call("mount", b"soak", os.fsencode(self.folder), b"tmpfs", ctypes.c_ulong(MS_REMOUNT), f"size={size}".encode())

    def fill(self):
        for slack in (FULL_SLACK_BYTES, 1 << 20, 4 << 20):  # it may grow while we look
            state = os.statvfs(self.folder)
            used = (state.f_blocks - state.f_bfree) * state.f_frsize
            try:
                return self.limit(used + slack)
            except OSError:
                continue
        raise DemoError("the disk could not be filled")

    def free(self):
        self.limit(DISK_BYTES)

    def unmount(self):
        call("umount2", os.fsencode(self.folder), MNT_DETACH)


class Clock:
    """The wall clock of one daemon, as far as it can be stepped."""

    def __init__(self, path, library):
        path.write_bytes(bytes(8))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_SHIM_FILE": str(path)} if library.exists() else {}

    def step(self, seconds):
        self.page[:8] = struct.pack("=q", seconds)


class Lamp:
    """One terminal: its process, the proxy in front of it, its clock, and when each of its lives began."""

    def __init__(self, name, port):
        self.name, self.port = name, port
        self.url = f"http://127.0.0.1:{port}"
        self.lives = [time.monotonic()]
        self.up = True

    def kill(self):
        self.up = False
        self.daemon.kill()

    def revive(self):
        self.daemon.start()
        self.lives.append(time.monotonic())
        self.up = True


class SoakSite:
    def __init__(self, build, directory):
        self.build, self.directory = build, directory
        self.gateway = None
        self.lamps = []
        self.disk = Disk(directory / "state")  # first: a process with threads cannot leave its user's name space
        self.network = Network()
        library = build / "tests" / "soak" / "libwall_clock.so"
        self.clocks_step = library.exists()
        self.gateway_port = free_port()
        self.gateway_url = f"http://127.0.0.1:{self.gateway_port}"
        self.to_gateway = self.network.proxy(self.gateway_port)
        try:
            self.clock = Clock(directory / "gateway.clock", library)
            for name in TERMINALS:
                self.lamps.append(self.make_lamp(name, library))
            self.start_gateway()
            for lamp in self.lamps:
                self.start_lamp(lamp)
            self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def make_lamp(self, name, library):
        lamp = Lamp(name, free_port())
        lamp.proxy = self.network.proxy(lamp.port)
        lamp.clock = Clock(self.directory / f"{name}.clock", library)
        lamp.key, lamp.secret = name, secrets.token_urlsafe(32)
        lamp.key_file = write_key(self.directory / f"{name}.key", lamp.key, lamp.secret)
        lamp.log_path = self.directory / f"{name}.log"
        return lamp

    def start_gateway(self):
        terminals = "".join(
            f'[[terminals]]\nname = "{lamp.name}"\naddress = "127.0.0.1:{lamp.proxy.port}"\nkey_file = {toml_string(lamp.key_file)}\n\n'
            for lamp in self.lamps)
        config = write_file(self.directory / "gateway.toml", f"""\
listen = ["127.0.0.1:{self.gateway_port}"]
agents = ["unix:{self.directory}/agents.sock"]
state_dir = {toml_string(self.disk.folder)}

[voice]
quiet_from = "00:00"
quiet_until = "00:00"

{terminals}""")
        self.gateway = Daemon(program(self.build, "sentinel-gateway"), ["--config", config], self.directory / "gateway.log",
                              self.clock.environment)

    def start_lamp(self, lamp):
        config = write_file(self.directory / f"{lamp.name}.toml",
                            silent_terminal(lamp.name, lamp.port, lamp.key_file, self.to_gateway.port))
        lamp.daemon = Daemon(program(self.build, "sentinel-terminal"), ["--config", config], lamp.log_path, lamp.clock.environment)

    def gateway_ready(self):
        try:
            with urllib.request.urlopen(self.gateway_url + "/readyz", timeout=1):
                return True
        except OSError:
            return False

    def wait_ready(self):
        until = time.monotonic() + READY_WITHIN_S
        while True:
            self.gateway.check_alive()
            for lamp in self.lamps:
                lamp.daemon.check_alive()
            try:
                known = {one["name"]: one["kind"] for one in self.terminals()}
                if self.gateway_ready() and all(known.get(lamp.name) == "sentinel" for lamp in self.lamps):
                    return
            except (OSError, ValueError):
                pass
            if time.monotonic() > until:
                raise DemoError(f"gateway and terminals did not get ready within {READY_WITHIN_S} s; their logs are in {self.directory}")
            time.sleep(0.05)

    def terminals(self):
        return get_json(self.gateway_url + "/api/v1/terminals")["terminals"]

    def waiting(self):
        """Notifications no terminal has answered yet; None while the gateway does not say."""
        try:
            with urllib.request.urlopen(self.gateway_url + "/metrics", timeout=1) as answer:
                for line in answer.read().decode().splitlines():
                    if line.startswith("sentinel_outbox_waiting "):
                        return int(float(line.split()[1]))
        except (OSError, ValueError):
            pass
        return None

    def resident_kib(self):
        try:
            for line in pathlib.Path(f"/proc/{self.gateway.process.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        except OSError:
            pass
        return None

    def post_ack(self, lamp):
        """A press of the button, on the terminal's own machine; the incidents it covers. None: nobody answers there."""
        request = urllib.request.Request(lamp.url + "/api/v1/ack", data=b"", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:
                return json.load(answer)["incidents"]
        except urllib.error.URLError as problem:
            if isinstance(problem.reason, ConnectionRefusedError):
                return None
            raise

    def stop(self):
        daemons = [self.gateway, *(getattr(lamp, "daemon", None) for lamp in self.lamps)]
        for daemon in daemons:
            if daemon and daemon.process.poll() is None:
                daemon.process.terminate()
        until = time.monotonic() + 5
        for daemon in daemons:
            if daemon and daemon.process.poll() is None:
                daemon.wait(until)
