"""sentinel-ring as a child: its event log as a list that grows."""
import contextlib
import json
import signal
import subprocess
import threading
import time

from daemons import DemoError, end_with_us, program


class RingProgram:
    def __init__(self, build, arguments, log_path):
        self.log = open(log_path, "wb")
        self.log_path = log_path
        self.process = subprocess.Popen(
            [str(program(build, "sentinel-ring")), *map(str, arguments), "--events", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=end_with_us)
        self.events = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                self.events.append(json.loads(line))

    def first(self, name):
        return next((event for event in self.events if event.get("event") == name), None)

    def last(self, name):
        return next((event for event in reversed(self.events) if event.get("event") == name), None)

    def count(self, name):
        return sum(event.get("event") == name for event in self.events)

    def tell(self, line):
        with contextlib.suppress(OSError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def check_alive(self):
        if self.process.poll() not in (None, 0):
            words = self.log_path.read_text(encoding="utf-8", errors="replace").strip()
            raise DemoError(f"sentinel-ring ended with status {self.process.returncode}:\n  {words}")

    def wait_for(self, name, seconds):
        deadline = time.monotonic() + seconds
        while not self.first(name):
            self.check_alive()
            if time.monotonic() > deadline:
                raise DemoError(f"sentinel-ring did not get to '{name}' within {seconds} s (log: {self.log_path})")
            time.sleep(0.01)

    def stop(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(3)
            self.process.kill()
            self.process.wait()
        self.log.close()
