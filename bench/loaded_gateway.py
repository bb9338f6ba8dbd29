"""A gateway under wrk's load, for the benches that look at something else meanwhile."""
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
from daemons import Daemon, program  # noqa: E402
from free_port import free_port  # noqa: E402
from site_files import lamps, silent_terminal, toml_string, write_file, write_key  # noqa: E402

# No generated suffix in the name: hosts would be found equal without it.
LUA = """
local number, thread = 0, 0
function setup(t) thread = thread + 1; t:set("id", thread) end
local headers = {["Content-Type"] = "application/json"}
local form = '{"cluster_rack":"A03","node_host":"gpu-worker-%s","event_type":"@TYPE@","gpu_index":0,"gpu_util":50}'
local repeated
function request()
  if @REPEATED@ then
    repeated = repeated or wrk.format("POST", "/api/v1/gpu_event", headers, form:format("08"))
    return repeated
  end
  number = number + 1
  return wrk.format("POST", "/api/v1/gpu_event", headers, form:format("@RUN@x" .. id .. "x" .. number .. "x"))
end
function done(summary, latency)
  io.write(string.format("RESULT %.0f %.3f %d\\n", summary.requests / summary.duration * 1e6, latency:percentile(99) / 1000,
    summary.errors.status + summary.errors.timeout + summary.errors.connect + summary.errors.read))
end
"""


class LoadedGateway:
    """With a real terminal if asked, silent and lit; state on the disk that TMPDIR names."""

    def __init__(self, build, with_terminal):
        for tool in ("wrk",):
            if shutil.which(tool) is None:
                raise SystemExit(f"{tool} is missing (package {tool})")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-bench."))
        self.port, self.terminal_port = free_port(), free_port()
        self.url, self.terminal_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.terminal_port}"
        key = write_key(self.folder / "bench.key", "bench", secrets.token_urlsafe(32))
        terminals = lamps([("hall", self.terminal_port)] if with_terminal else [])
        config = write_file(self.folder / "gateway.toml", f'listen = ["127.0.0.1:{self.port}"]\nagents = ["unix:{self.folder}/agents.sock"]\n'
                            f"state_dir = {toml_string(self.folder)}\nkey_file = {toml_string(key)}\n{terminals}")
        self.terminal = self.load = None
        if with_terminal:
            terminal = write_file(self.folder / "terminal.toml", silent_terminal("hall", self.terminal_port, key))
            self.terminal = Daemon(program(build, "sentinel-terminal"), ["--config", terminal], self.folder / "terminal.log")
        self.gateway = Daemon(program(build, "sentinel-gateway"), ["--config", config], self.folder / "gateway.log")
        until = time.monotonic() + 15
        while not self.answers():
            self.gateway.check_alive()
            if time.monotonic() > until:
                raise SystemExit(f"the gateway did not get ready; its log is {self.folder}/gateway.log")
            time.sleep(0.05)

    def answers(self):
        try:
            with urllib.request.urlopen(self.url + "/readyz", timeout=1):
                pass
            if self.terminal is None:
                return True
            with urllib.request.urlopen(self.url + "/api/v1/terminals", timeout=1) as answer:
                return b'"kind":"sentinel"' in answer.read()
        except OSError:
            return False

    def start_load(self, seconds, event_type, repeated=False, connections=32, threads=1):
        lua = LUA.replace("@TYPE@", event_type).replace("@REPEATED@", str(repeated).lower()).replace("@RUN@", secrets.token_hex(3) + "x")
        script = write_file(self.folder / "load.lua", lua)
        # Its hosts are other machines: here they do not take the cores from what is measured.
        self.load = subprocess.Popen(["nice", "-n", "10", "wrk", "-t", str(threads), "-c", str(connections), "-d", f"{seconds}s", "-s", script, self.url],
                                     stdout=subprocess.PIPE, text=True)

    def load_result(self):
        """(requests/s, p99 ms, answers other than 200)"""
        output = self.load.communicate()[0]
        line = next(line for line in output.splitlines() if line.startswith("RESULT"))
        rate, p99, errors = line.split()[1:]
        return float(rate), float(p99), int(errors)

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.gateway.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024

    def stop(self):
        for process in (self.load, self.gateway.process, self.terminal and self.terminal.process):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
