#!/usr/bin/env python3
"""The demo: real gateway, terminal and agents on this machine, a recorded hang through the plugin, a timeline to read.

Every run starts with fresh state in a directory of its own. Times are CLOCK_MONOTONIC throughout, from the replayer's event log
to the terminal's first red frame, and are told from the stall: the ring's last receive-side progress after the fault.
"""
import argparse
import contextlib
import ctypes
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zlib

SAMPLE_KEY, SAMPLE_SECRET = "gpu_cluster_sentinel", "AI#TrainSecureHMACSecretKey2026"
RED_LIMIT_MS = 2000
VOICE_HOLD_S = 10  # a dead or late rank is spoken of only if it stays so: port flaps heal in about 9 s
RACKS = ("A03", "A04", "B01", "B02")
REFERENCE_EVENT = {
    "cluster_rack": "机架 A03", "node_host": "gpu-worker-08-5f7c9d8b4a", "event_type": "NCCL_TIMEOUT",
    "gpu_index": 3, "gpu_util": 0,
}
REFERENCE_TEXT = "训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起"

# What each kind of recorded fault must be called. None: whatever happens, no lamp. A kind that is not here: any class, but of
# the right rank.
EXPECTED_CLASSES = {
    "skip": {"NOT_ENTERED"}, "late": {"NOT_ENTERED"},
    "freeze-kernel": {"GPU_STUCK"}, "no-kernel": {"GPU_NOT_STARTED"}, "freeze-proxy": {"PROXY_STUCK"},
    "net": {"NETWORK"}, "net-oneway": {"NETWORK"}, "mismatch": {"MISMATCH"},
    "kill": {"PROCESS_DEAD"}, "exit": {"PROCESS_DEAD"}, "stop": {"PROCESS_STOPPED"}, "stop-mid": {"PROCESS_STOPPED"},
    "slow-kernel": None, "slow-net": None,
}
ANY_CLASS = frozenset()


class DemoError(Exception):
    """Something the person at the keyboard can act on."""


class Timeline:
    """What a person reads while it happens."""

    COLOURS = {"red": "31;1", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}

    def __init__(self, quiet):
        self.zero = time.monotonic()
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.quiet = quiet

    def paint(self, colour, text):
        return f"\033[{self.COLOURS[colour]}m{text}\033[0m" if self.colour else text

    def say(self, mark, colour, text):
        if not self.quiet:
            stamp = self.paint("dim", f"{time.monotonic() - self.zero:7.2f} s")
            print(f"{stamp}  {self.paint(colour, f'{mark:<10}')} {text}", flush=True)

    def more(self, text):
        if not self.quiet:
            print(" " * 22 + text, flush=True)


def end_with_us():
    """In a child before exec: however we end, kill -9 and a closed terminal window included, it is told to end too."""
    PRCTL(PR_SET_PDEATHSIG, signal.SIGTERM)


PR_SET_PDEATHSIG = 1
PRCTL = ctypes.CDLL(None).prctl


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get_json(url, timeout=2):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return json.load(answer)


def toml_string(value):
    return json.dumps(str(value), ensure_ascii=False)


class Site:
    """One gateway, one terminal, one agent a host: real processes in a directory of their own, ended when we are."""

    def __init__(self, build, hosts, directory, board_dirs):
        self.directory = directory
        self.processes = []
        self.gateway_port, self.agents_port, self.terminal_port = free_port(), free_port(), free_port()
        self.gateway_url = f"http://127.0.0.1:{self.gateway_port}"
        self.terminal_url = f"http://127.0.0.1:{self.terminal_port}"
        self.build = build
        self.write_key()
        self.start_gateway(hosts)
        self.start_terminal()
        for host, board_dir in zip(hosts, board_dirs):
            self.start_agent(host, board_dir)

    def write(self, name, text, mode=0o644):
        path = self.directory / name
        path.touch(mode)
        path.chmod(mode)
        path.write_text(text, encoding="utf-8")
        return path

    def write_key(self):
        self.key_file = self.write("demo.key", f"key = {toml_string(SAMPLE_KEY)}\nsecret = {toml_string(SAMPLE_SECRET)}\n", 0o600)

    def start(self, program, *arguments):
        binary = self.build / "apps" / program / program
        if not binary.exists():
            raise DemoError(f"{binary} is not built; run scripts/demo without SENTINEL_DEMO_BUILT")
        log_path = self.directory / f"{program}-{len(self.processes)}.log"
        with open(log_path, "wb") as log:
            process = subprocess.Popen([str(binary), *map(str, arguments)], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       preexec_fn=end_with_us)
        self.processes.append((program, process, log_path))

    def start_gateway(self, hosts):
        inventory = "".join(
            f"[[host]]\nname = {toml_string(host)}\nrack = {toml_string(RACKS[index % len(RACKS)])}\nunit = {10 + index}\n\n"
            for index, host in enumerate(hosts))
        inventory_path = self.write("inventory.toml", inventory)
        config = self.write("gateway.toml", f"""\
listen = ["127.0.0.1:{self.gateway_port}", "unix:{self.directory}/gateway.sock"]
agents = ["127.0.0.1:{self.agents_port}"]
state_dir = {toml_string(self.directory / "gateway-state")}
inventory = {toml_string(inventory_path)}
key_file = {toml_string(self.key_file)}

[[terminals]]
name = "hall-1"
address = "127.0.0.1:{self.terminal_port}"

[detection]
late_history_min = 5
""")
        (self.directory / "gateway-state").mkdir()
        self.start("sentinel-gateway", "--config", config, "--demo")

    def start_terminal(self):
        config = self.write("terminal.toml", f"""\
name = "hall-1"
listen = "127.0.0.1:{self.terminal_port}"
gateway = "127.0.0.1:{self.gateway_port}"
key_file = {toml_string(self.key_file)}

[audio]
output = "wav"
wav_dir = {toml_string(self.directory / "speech")}
""")
        self.start("sentinel-terminal", "--config", config, "--demo")

    def start_agent(self, host, board_dir):
        board_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        config = self.write(f"agent-{host}.toml", f"""\
host = {toml_string(host)}
board_dir = {toml_string(board_dir)}
gateway = "127.0.0.1:{self.agents_port}"
ingest_socket = ""
spool_dir = {toml_string(self.directory / f"spool-{host}")}
""")
        self.start("sentinel-agent", "--config", config)

    def check_alive(self):
        for program, process, log_path in self.processes:
            if process.poll() is not None:
                tail = log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-8:]
                raise DemoError(f"{program} ended with status {process.returncode}:\n  " + "\n  ".join(tail))

    def wait_ready(self, agents):
        deadline = time.monotonic() + 15
        while True:
            self.check_alive()
            with contextlib.suppress(OSError, ValueError):
                get_json(self.terminal_url + "/api/v1/status")
                with urllib.request.urlopen(self.gateway_url + "/readyz", timeout=2):
                    pass
                if len(get_json(self.gateway_url + "/api/v1/agents").get("agents", [])) >= agents:
                    return
            if time.monotonic() > deadline:
                raise DemoError(f"the daemons did not get ready within 15 s; their logs are in {self.directory}")
            time.sleep(0.05)

    def incidents(self):
        with contextlib.suppress(OSError, ValueError):
            return get_json(self.gateway_url + "/api/v1/incidents")["incidents"]
        return []

    def terminal(self):
        with contextlib.suppress(OSError, ValueError):
            return get_json(self.terminal_url + "/api/v1/status")
        return {}

    def stop(self):
        for _, process, _ in self.processes:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + 5
        for program, process, log_path in self.processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"warning: {program} did not end within 5 s of SIGTERM (log: {log_path})", file=sys.stderr)
                process.kill()
                process.wait()


class Replay:
    """sentinel-ring as a child: its event log as a list that grows."""

    def __init__(self, build, recording, run_dir, log_path):
        binary = build / "apps" / "sentinel-ring" / "sentinel-ring"
        self.log = open(log_path, "wb")
        self.log_path = log_path
        self.process = subprocess.Popen(
            [str(binary), "--replay", str(recording), "--no-judge", "--events", "-", "--hold-ms", "0", "--run-dir", str(run_dir)],
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

    def count(self, name):
        return sum(event.get("event") == name for event in self.events)

    def check_alive(self):
        if self.process.poll() not in (None, 0):
            words = self.log_path.read_text(encoding="utf-8", errors="replace").strip()
            raise DemoError(f"sentinel-ring ended with status {self.process.returncode}:\n  {words}")

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


def find_recording(name):
    if os.sep in name or pathlib.Path(name).is_dir():
        folder = pathlib.Path(name)
    else:
        shared = os.environ.get("SENTINEL_SHARED") or pathlib.Path(__file__).resolve().parents[2].parent / "shared"
        folder = pathlib.Path(shared) / "data" / "nccl-callbacks" / name
    if not (folder / "summary.json").exists():
        known = sorted(path.parent.name for path in folder.parent.glob("*/summary.json"))
        hint = f"there are: {', '.join(known)}" if known else "set SENTINEL_SHARED to where the recordings are"
        raise DemoError(f"no recording at {folder} (it has no summary.json); {hint}")
    return folder


def read_stamps(path):
    """The times of a rank's first and last callback."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            stamps = [json.loads(line)["t"] for line in lines]
        return [int(stamps[0]), int(stamps[-1])]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, IndexError, TypeError) as problem:
        raise DemoError(f"{path} is not a rank of a recording: {problem}") from problem


def describe_recording(folder):
    ranks = sorted(folder.glob("rank*.jsonl.gz"))
    if not ranks:
        raise DemoError(f"{folder} has no rank*.jsonl.gz")
    stamps = [stamp for path in ranks for stamp in read_stamps(path)]
    try:
        fault = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["fault"]
        kind, rank = (str(fault[1]), int(fault[2])) if fault else (None, None)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as problem:
        raise DemoError(f"{folder / 'summary.json'} does not say what the fault was: {problem!r}") from problem
    return {
        "ranks": len(ranks), "kind": kind, "rank": rank,
        "expected": EXPECTED_CLASSES.get(kind, ANY_CLASS) if kind else None,
        "seconds": (max(stamps) - min(stamps)) / 1e9,
    }


def lamp_of(message):
    return f"{message.get('color')} {message.get('light_mode')}"


def red_message(status):
    for message in status.get("history", []):
        if message.get("color", "").upper() == "#FF0000" and message.get("first_frame_mono_ms") is not None:
            return message
    return None


def spoken_message(status):
    """The first red message that was heard. With a held voice it is a later one than the first that was seen."""
    for message in status.get("history", []):
        if message.get("color", "").upper() == "#FF0000" and message.get("first_sound_mono_ms") is not None:
            return message
    return None


def right_culprit(verdict, truth):
    """The culprit is the rank at fault; a network fault may be named by its edge or by its two ends instead."""
    culprit = verdict["culprit"]
    if culprit["rank"] is not None:
        return culprit["rank"] == truth["rank"]
    if truth["kind"] in ("net", "net-oneway"):
        return truth["rank"] in (culprit.get("edge") or [])
    return False


def judge(truth, verdict, result):
    """(ok, why): was the verdict right and in time."""
    if truth["kind"] is None or truth["expected"] is None:
        return (False, "a lamp went red where nothing was wrong") if result["red_ms"] is not None else (True, "no lamp, as it should be")
    if result["red_ms"] is None:
        return False, "no red lamp"
    if truth["expected"] is not ANY_CLASS and verdict["class"] not in truth["expected"]:
        return False, f"called {verdict['class']}, is {' or '.join(sorted(truth['expected']))}"
    if not right_culprit(verdict, truth):
        return False, f"the culprit is rank {truth['rank']}"
    if result["red_ms"] >= RED_LIMIT_MS:
        return False, f"red after {result['red_ms']:.0f} ms; {RED_LIMIT_MS} is the limit"
    return True, "right and in time"


def place_of(culprit):
    words = [f"rank {culprit['rank']}" if culprit["rank"] is not None else "not one rank alone"]
    for name in ("host", "rack", "gpu", "nic"):
        if culprit.get(name) not in (None, ""):
            words.append(f"{name} {culprit[name]}")
    if culprit.get("edge"):
        words.append(f"edge {culprit['edge'][0]} -> {culprit['edge'][1]}")
    return ", ".join(words)


def tell_incident(timeline, incident, told):
    """New things about the hang, each told once."""
    stages = incident.get("mono_ms", {})
    if stages.get("suspected") is not None and "suspected" not in told:
        told.add("suspected")
        timeline.say("suspected", "yellow", f"no progress in {describe_operation(incident)}; the gateway asks every member")
    if stages.get("red") is not None and "red" not in told:
        told.add("red")
        timeline.say("blamed", "red", f"{incident['class']}: {place_of(incident['culprit'])}")
        for line in incident.get("evidence", []):
            timeline.more(f"· {line['en']}")


def describe_operation(incident):
    operation = incident.get("operation")
    return f"{operation['func']} #{operation['seq']}" if operation else "an operation"


def watch(site, replay, timeline, truth, wait_for_held_voice):
    """Follows one replay until the lamp is red and has spoken, or its time is over."""
    told, hang, red = set(), None, None
    seconds = truth["seconds"]
    settle = 2.5 if truth["expected"] is None else 4.0
    deadline = None
    hard_deadline = time.monotonic() + seconds + 30
    while True:
        site.check_alive()
        replay.check_alive()
        if replay.first("start") and "healthy" not in told and replay.count("healthy") >= 3:
            told.add("healthy")
            timeline.say("healthy", "green", f"{truth['ranks']} ranks reduce gradients in a ring")
        if replay.first("stall") and "stall" not in told and truth["kind"]:
            told.add("stall")
            timeline.say("stalled", "yellow", "the ring stands still; no process has said a word")
        for incident in site.incidents():
            if incident.get("class") and incident.get("mono_ms", {}).get("suspected") is not None:
                if hang is None or incident["id"] == hang["id"] or incident["mono_ms"].get("red") is not None:
                    hang = incident
        if hang:
            tell_incident(timeline, hang, told)
        status = site.terminal()
        red = red_message(status)
        if red and "lamp" not in told:
            told.add("lamp")
            timeline.say("lamp", "red", f"{lamp_of(red)}  {red['text']}")
            if red.get("audio_mode") == "off":
                timeline.more(f"the voice waits {VOICE_HOLD_S} s, in case it heals")
                deadline = time.monotonic() + (VOICE_HOLD_S + 3 if wait_for_held_voice else 0)
        spoken = spoken_message(status)
        if spoken:
            timeline.say("voice", "red", f"first sound; spoken: {spoken['spoken']}")
            break
        ended = replay.first("end") or replay.first("stall") or replay.process.poll() is not None
        if ended and deadline is None:
            deadline = time.monotonic() + settle
        if time.monotonic() > hard_deadline or (deadline and time.monotonic() > deadline):
            break
        time.sleep(0.02)
    return hang, red, spoken_message(site.terminal())


def run_replay(options, timeline, recording, truth, directory):
    hosts = [f"replay-{rank}" for rank in range(truth["ranks"])]
    boards = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-demo.", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    site = replay = None
    try:
        site = Site(options.build, hosts, directory, [boards / f"node-{rank}" for rank in range(truth["ranks"])])
        site.wait_ready(agents=len(hosts))
        timeline.say("ready", "blue", f"gateway {site.gateway_url}, {len(hosts)} agents, virtual terminal {site.terminal_url}/")
        replay = Replay(options.build, recording, boards, directory / "sentinel-ring.log")
        timeline.say("replay", "blue", f"{recording.name}: {truth['ranks']} ranks, {truth['seconds']:.1f} s of NCCL callbacks")
        hang, red, spoken = watch(site, replay, timeline, truth, wait_for_held_voice=options.runs == 1)
        result = measure(replay, hang, red, spoken)
        result["ok"], result["why"] = judge(truth, hang, result)
        if options.hold:
            hold(timeline, site)
        return result
    finally:
        if replay:
            replay.stop()
        if site:
            site.stop()
        shutil.rmtree(boards, ignore_errors=True)


def measure(replay, hang, red, spoken):
    stall = replay.first("stall")
    zero = stall["mono_ms"] if stall else None
    stages = hang.get("mono_ms", {}) if hang else {}

    def since_stall(stamp):
        return round(stamp - zero, 1) if stamp is not None and zero is not None else None

    red_ms = since_stall(red["first_frame_mono_ms"]) if red else None
    if red and zero is None:
        red_ms = 0.0  # a red lamp without any stall: wrong at whatever time it came
    culprit = hang["culprit"] if hang else None
    return {
        "suspect_ms": since_stall(stages.get("suspected")), "blamed_ms": since_stall(stages.get("red")), "red_ms": red_ms,
        "voice_ms": since_stall(spoken["first_sound_mono_ms"]) if spoken else None,
        "class": hang["class"] if hang and (red or stages.get("red") is not None) else None,
        "culprit": {name: culprit.get(name) for name in ("rank", "host", "rack", "gpu", "edge")} if culprit and red else None,
        "evidence": [line["en"] for line in hang.get("evidence", [])] if hang and red else [],
        "lamp": lamp_of(red) if red else None, "spoken": spoken["spoken"] if spoken else None,
    }


def run_event(options, timeline, directory):
    site = Site(options.build, [], directory, [])
    try:
        site.wait_ready(agents=0)
        timeline.say("ready", "blue", f"gateway {site.gateway_url}, virtual terminal {site.terminal_url}/")
        body = json.dumps(REFERENCE_EVENT, ensure_ascii=False).encode()
        posted = time.monotonic() * 1000
        request = urllib.request.Request(site.gateway_url + "/api/v1/gpu_event", data=body, method="POST")
        with urllib.request.urlopen(request, timeout=3) as answer:
            timeline.say("posted", "yellow", f"{REFERENCE_EVENT['event_type']} of {REFERENCE_EVENT['node_host']}: {answer.status}")
        deadline, red, spoken = time.monotonic() + 5, None, None
        while time.monotonic() < deadline and not spoken:
            site.check_alive()
            status = site.terminal()
            red, spoken = red_message(status), spoken_message(status)
            time.sleep(0.01)
        result = {"red_ms": None, "voice_ms": None, "lamp": None, "spoken": None, "ok": False, "why": "no red lamp"}
        if red:
            result.update(red_ms=round(red["first_frame_mono_ms"] - posted, 1), lamp=lamp_of(red))
            if spoken:
                result.update(voice_ms=round(spoken["first_sound_mono_ms"] - posted, 1), spoken=spoken["spoken"])
            timeline.say("lamp", "red", f"{lamp_of(red)}  {red['text']}")
            right = red["text"] == REFERENCE_TEXT and lamp_of(red).upper() == "#FF0000 FLASH"
            result["ok"] = right and result["red_ms"] < RED_LIMIT_MS
            result["why"] = "the lamp says what was posted" if result["ok"] else f"expected {REFERENCE_TEXT!r}"
        if options.hold:
            hold(timeline, site)
        return result
    finally:
        site.stop()


def hold(timeline, site):
    timeline.say("holding", "bold", f"open {site.terminal_url}/ and press ACK; Ctrl-C ends everything")
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            site.check_alive()
            time.sleep(0.5)


def summary_line(timeline, number, result):
    verdict = timeline.paint("green", "ok") if result["ok"] else timeline.paint("red", "WRONG")
    if result["red_ms"] is None:
        return f"run {number}: {verdict} - {result['why']}"
    parts = [f"lamp {result['red_ms']:.0f} ms"]
    if result.get("suspect_ms") is not None:
        parts.insert(0, f"suspected {result['suspect_ms']:.0f} ms")
    if result.get("voice_ms") is not None:
        parts.append(f"voice {result['voice_ms']:.0f} ms")
    since = "the post" if "class" not in result else "the stall"
    return f"run {number}: {verdict} - {', '.join(parts)} after {since}; {result['why']}"


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo", description="A recorded NCCL hang goes in, the red lamp names the culprit.",
        epilog="Exit status: 0 if every verdict was right and in time, 1 if one was not, 2 if it could not run.")
    parser.add_argument("--replay", metavar="NAME|DIR", default="freeze-kernel-large",
                        help="a recording's folder, or its name below $SENTINEL_SHARED/data/nccl-callbacks (default %(default)s)")
    parser.add_argument("--event", action="store_true", help="post an event as existing senders do instead of replaying")
    parser.add_argument("--runs", type=int, default=1, metavar="K", help="how often, each with fresh state (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write what was measured ('-': to standard output, and nothing else there)")
    parser.add_argument("--hold", action="store_true", help="leave everything running after the last run until Ctrl-C")
    parser.add_argument("--keep", action="store_true", help="keep the run directories (configuration, state, logs, speech)")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.json not in (None, "-") and not pathlib.Path(options.json).resolve().parent.is_dir():
        parser.error(f"--json {options.json}: there is no such folder")
    return options


def run_all(options):
    recording = truth = None
    if not options.event:
        recording = find_recording(options.replay)
        truth = describe_recording(recording)
    results, hold_last = [], options.hold
    timeline = Timeline(quiet=options.json == "-")
    for number in range(1, options.runs + 1):
        options.hold = hold_last and number == options.runs
        timeline.zero = time.monotonic()
        directory = pathlib.Path(tempfile.mkdtemp(prefix="gpu-sentinel-demo."))
        try:
            results.append(run_event(options, timeline, directory) if options.event
                           else run_replay(options, timeline, recording, truth, directory))
        finally:
            if options.keep or not (results and len(results) == number and results[-1]["ok"]):
                print(f"logs and state: {directory}", file=sys.stderr)
            else:
                shutil.rmtree(directory, ignore_errors=True)
        if not timeline.quiet:
            print(summary_line(timeline, number, results[-1]), flush=True)
    reds = [result["red_ms"] for result in results if result["red_ms"] is not None]
    report = {"event": REFERENCE_EVENT["event_type"]} if options.event else {
        "replay": recording.name, "fault": truth["kind"], "ranks": truth["ranks"]}
    report.update(runs=results, red_ms_p50=percentile(reds, 0.5), red_ms_max=max(reds, default=None),
                  ok=all(result["ok"] for result in results))
    if options.json:
        text = json.dumps(report, ensure_ascii=False, indent=2)
        if options.json == "-":
            print(text)
        else:
            pathlib.Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.runs > 1 and not timeline.quiet:
        good = sum(result["ok"] for result in results)
        print(f"{good} of {len(results)} right" + (f"; red p50 {report['red_ms_p50']:.0f} ms, max {report['red_ms_max']:.0f} ms"
                                                   if reds else ""))
    return 0 if report["ok"] else 1


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        return run_all(options)
    except DemoError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
