"""A recorded hang: found, described, replayed and followed."""
import gzip
import json
import os
import pathlib
import time
import zlib

from daemons import DemoError, Site
from ring_program import RingProgram
from truth import ANY_CLASS, Truth, judge
from watching import VOICE_HOLD_S, Watch, measure

LATE_HISTORY_MIN = 5  # recordings are short

# What each kind of recorded fault must be called. None: whatever happens, no lamp. A kind that is not here: any class, but of
# the right rank.
EXPECTED_CLASSES = {
    "skip": {"NOT_ENTERED"}, "late": {"NOT_ENTERED"},
    "freeze-kernel": {"GPU_STUCK"}, "no-kernel": {"GPU_NOT_STARTED"}, "freeze-proxy": {"PROXY_STUCK"},
    "net": {"NETWORK"}, "net-oneway": {"NETWORK"}, "mismatch": {"MISMATCH"},
    "kill": {"PROCESS_DEAD"}, "exit": {"PROCESS_DEAD"}, "stop": {"PROCESS_STOPPED"}, "stop-mid": {"PROCESS_STOPPED"},
    "slow-kernel": None, "slow-net": None,
}


class Recording:
    def __init__(self, name):
        self.folder = find_recording(name)
        self.name = self.folder.name
        files = sorted(self.folder.glob("rank*.jsonl.gz"))
        if not files:
            raise DemoError(f"{self.folder} has no rank*.jsonl.gz")
        self.ranks = len(files)
        stamps = [stamp for path in files for stamp in read_stamps(path)]
        self.seconds = (max(stamps) - min(stamps)) / 1e9
        self.kind, self.rank = read_fault(self.folder / "summary.json")

    def truth(self):
        classes = EXPECTED_CLASSES.get(self.kind, ANY_CLASS) if self.kind else None
        if classes is None:
            return Truth(self.kind, red=False)
        edges = set()
        if self.kind in ("net", "net-oneway"):  # the wire on either side of the rank; which one is not recorded
            for other in range(self.ranks):
                edges |= {(self.rank, other), (other, self.rank)}
        return Truth(self.kind, red=True, classes=frozenset(classes), guilty=frozenset({self.rank}), edges=frozenset(edges))


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


def read_fault(path):
    try:
        fault = json.loads(path.read_text(encoding="utf-8"))["fault"]
        return (str(fault[1]), int(fault[2])) if fault else (None, None)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as problem:
        raise DemoError(f"{path} does not say what the fault was: {problem!r}") from problem


def follow(watch, replay, recording, truth, wait_for_held_voice):
    """Until the lamp is red and has spoken, or the replay's time is over."""
    timeline = watch.timeline
    deadline = None
    hard_deadline = time.monotonic() + recording.seconds + 30
    while not watch.spoken:
        replay.check_alive()
        if replay.first("start") and replay.count("healthy") >= 3 and watch.once("healthy"):
            timeline.say("healthy", "green", f"{recording.ranks} ranks reduce gradients in a ring")
        if replay.first("stall") and recording.kind and watch.once("stall"):
            timeline.say("stalled", "yellow", "the ring stands still; no process has said a word")
        watch.look()
        if watch.red and watch.red.get("audio_mode") == "off" and watch.once("held"):
            deadline = time.monotonic() + (VOICE_HOLD_S + 3 if wait_for_held_voice else 0)
        ended = replay.first("end") or replay.first("stall") or replay.process.poll() is not None
        if ended and deadline is None:
            deadline = time.monotonic() + (4.0 if truth.red else 2.5)
        if time.monotonic() > hard_deadline or (deadline and time.monotonic() > deadline):
            return
        time.sleep(0.02)


def run_replay(options, timeline, recording, directory, hold):
    truth = recording.truth()
    hosts = [f"replay-{rank}" for rank in range(recording.ranks)]
    site = Site(options.build, hosts, directory, LATE_HISTORY_MIN)
    replay = None
    try:
        site.wait_ready()
        timeline.say("ready", "blue", f"gateway {site.gateway_url}, {len(hosts)} agents, virtual terminal {site.terminal_url}/")
        watch = Watch(site, timeline)
        replay = RingProgram(options.build, ["--replay", recording.folder, "--no-judge", "--hold-ms", "0", "--run-dir", site.boards],
                             directory / "sentinel-ring.log")
        timeline.say("replay", "blue", f"{recording.name}: {recording.ranks} ranks, {recording.seconds:.1f} s of NCCL callbacks")
        follow(watch, replay, recording, truth, wait_for_held_voice=options.runs == 1)
        stall = replay.first("stall")
        result = measure(watch, stall["mono_ms"] if stall else None)
        result["ok"], result["why"] = judge(truth, watch.all_verdicts(), result)
        if hold:
            hold(timeline, site)
        return result
    finally:
        if replay:
            replay.stop()
        site.stop()
