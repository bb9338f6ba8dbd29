#!/usr/bin/env python3
"""Every metric that the alert rules and the dashboard name is one that a gateway has, with the labels they ask for.

    metrics_test.py --build BUILD_DIR [--promtool PROGRAM]
"""
import argparse
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
from daemons import Daemon, program  # noqa: E402
from free_port import free_port  # noqa: E402
from site_files import lamps, toml_string, write_file, write_key  # noqa: E402

RULES = REPOSITORY / "packaging" / "prometheus" / "gpu-sentinel.rules.yml"
DASHBOARD = REPOSITORY / "packaging" / "grafana" / "gpu-sentinel.json"
NAME = re.compile(r"\b(sentinel_[a-z0-9_]+)(?:\{([^}]*)\})?")
PARTS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}


class Lamp(http.server.BaseHTTPRequestHandler):
    """An old terminal, and an Alertmanager: knows no ping, says yes to everything else."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(404 if self.path.endswith("/ping") else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def scrape(build, folder):
    """The text of a gateway that has opened an incident and told a lamp of it."""
    lamp = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lamp)
    threading.Thread(target=lamp.serve_forever, daemon=True).start()
    port = free_port()
    key = write_key(folder / "lamp.key", "lamp", "a secret of this test alone, long enough")
    config = write_file(folder / "gateway.toml",
                        f'listen = ["127.0.0.1:{port}"]\nagents = ["unix:{folder}/agents.sock"]\nstate_dir = {toml_string(folder)}\n'
                        f'key_file = {toml_string(key)}\n{lamps([("lamp", lamp.server_port)])}'
                        f'[[alertmanager]]\nname = "am"\nurl = "http://127.0.0.1:{lamp.server_port}"\n')
    gateway = Daemon(program(build, "sentinel-gateway"), ["--config", config], folder / "gateway.log")
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 15
        posted = False
        while time.monotonic() < until:
            gateway.check_alive()
            try:
                if not posted:
                    body = json.dumps({"cluster_rack": "A03", "node_host": "gpu-1", "event_type": "XID_FATAL", "gpu_index": 0}).encode()
                    with urllib.request.urlopen(urllib.request.Request(url + "/api/v1/gpu_event", body), timeout=2):
                        posted = True
                with urllib.request.urlopen(url + "/metrics", timeout=2) as answer:
                    text = answer.read().decode()
                if 'sentinel_notifications_total{' in text and "sentinel_heartbeats_total 0" not in text:
                    return text
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"no gateway with a delivered message within 15 s; log:\n{(folder / 'gateway.log').read_text()}")
    finally:
        gateway.kill()
        lamp.shutdown()


def parse(text):
    """name of a series -> the labels it has."""
    series, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name] = kind
        elif line and not line.startswith("#"):
            name, _, rest = re.match(r"([a-z0-9_]+)(\{([^}]*)\})?", line).groups()
            series.setdefault(name, set()).update(re.findall(r"(\w+)=\"", rest or ""))
    return series, kinds


def badly_named(kinds):
    for name, kind in kinds.items():
        if kind == "counter" and not name.endswith("_total"):
            yield f"{name} is a counter and does not end in _total"
        if kind != "counter" and name.endswith("_total"):
            yield f"{name} ends in _total and is a {kind}"
        if kind == "histogram" and not name.endswith(("_seconds", "_bytes")):
            yield f"{name} is a histogram without a base unit"
        if not name.startswith("sentinel_"):
            yield f"{name} does not begin with sentinel_"


def expressions():
    """(where, text) of everything that is a query."""
    for number, line in enumerate(RULES.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip().startswith("expr:"):
            yield f"{RULES.name}:{number}", line
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        for target in panel["targets"]:
            yield f"{DASHBOARD.name}: {panel['title']}", target["expr"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--promtool", default=shutil.which("promtool"), help="default: the installed one, if there is one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpu-sentinel-metrics.") as folder:
        text = scrape(options.build, pathlib.Path(folder))
    series, kinds = parse(text)
    wrong = list(badly_named(kinds))
    named = set()
    for where, expression in expressions():
        for name, labels in NAME.findall(expression):
            named.add(name)
            if name not in series:
                wrong.append(f"{where}: the gateway has no {name}")
                continue
            for label in re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", labels):
                if label not in series[name]:
                    wrong.append(f"{where}: {name} has no label {label}")
        for label_list in re.findall(r"\bby \(([^)]*)\)", expression):
            for label in filter(None, (one.strip() for one in label_list.split(","))):
                if not any(label in series.get(name, ()) for name, _ in NAME.findall(expression)):
                    wrong.append(f"{where}: nothing there has a label {label}")
    if options.promtool:
        for command, given in (["check", "rules", str(RULES)], None), (["check", "metrics"], text):
            ran = subprocess.run([options.promtool, *command], input=given, capture_output=True, text=True)
            if ran.returncode != 0:
                wrong.append(f"promtool {' '.join(command[:2])}: {ran.stdout}{ran.stderr}")
    else:
        print("promtool is not installed (package prometheus): the rules' syntax was not looked at")
    for words in wrong:
        print(words)
    print(f"{len(named)} metrics named, {len(kinds)} there, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
