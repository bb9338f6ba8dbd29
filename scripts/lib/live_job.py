"""A live ring at a site: trained until its history is known, hurt, followed, judged."""
import time

from live_faults import OURS
from ring_program import RingProgram
from truth import judge, place_of
from watching import VOICE_HOLD_S, Watch, measure, operation_of

READY_WITHIN_S = 60
HISTORY_WITHIN_S = 120
RED_WITHIN_S = 8      # after which no red lamp is expected any more
SLOW_FOR_S = 15
GREEN_WITHIN_S = 15
GREEN_FOR_S = 10
ITERATIONS_MIN = 12   # and as many operations as a late rank's rule asks for
UNTAUGHT = 4          # operations of a communicator that teach nothing: its first
FORGOTTEN_WITHIN_S = 5
DRAINED_WITHIN_S = 10
GOES_ON_WITHIN_S = 6  # after a pause: a shorter watch would not see that the job trains again
MOVED_WITHIN_S = 5


class LiveJob:
    """`patience`: how long a harmless kind is watched. `voice`: wait for what is said, too."""

    def __init__(self, build, site, timeline, fault, log_path, compute_ms=100, patience=120, voice=False, heal_after=None):
        self.site, self.timeline, self.fault = site, timeline, fault
        self.patience, self.voice, self.heal_after = patience, voice, heal_after
        self.recovery = None
        self.forget_the_last()
        self.ring = RingProgram(build, [
            "--train", "--ranks", fault.ranks, "--nodes", len(site.hosts), "--layout", fault.layout, "--transport", fault.transport,
            "--compute-ms", compute_ms, "--run-dir", site.boards, *fault.arguments()], log_path)

    def run(self):
        """What is reported of it. The ring is then still as it was left."""
        self.ring.wait_for("ready", READY_WITHIN_S)
        self.ring.wait_for("start", READY_WITHIN_S)
        self.watch = Watch(self.site, self.timeline)
        self.watch.members = {int(comm["id"], 16): comm["members"] for comm in self.ring.first("ready")["comms"]}
        self.timeline.say("training", "blue", f"{self.fault.ranks} ranks on {len(self.site.hosts)} nodes, {self.fault.transport}, "
                                              f"{self.fault.layout}")
        self.learn()
        if self.fault.waits_to_be_told():
            self.ring.tell("fault")
        if self.fault.is_a_stall():
            self.follow_stall()
        else:
            self.follow_harmless()
        result = measure(self.watch, self.zero())
        if self.heal_after is not None and self.watch.red:
            self.follow_recovery()
            result["recovery"] = self.recovery
        result["slow"] = self.watch.slow is not None
        result["verdicts"] = [f"{verdict['class']} in {operation_of(verdict)}: {place_of(verdict)}" for verdict in self.watch.all_verdicts()]
        result["ok"], result["why"] = judge(self.fault.truth(self.ring.events), self.watch.all_verdicts(), result)
        if result["ok"]:
            wrong = self.not_as_asked()
            result["ok"], result["why"] = not wrong, wrong or result["why"]
        if result["ok"] and self.recovery and not self.recovery["ok"]:
            result["ok"], result["why"] = False, "recovery was not shown as it should be"
        return result

    def not_as_asked(self):
        """What did not happen of what was to happen, so that the run shows nothing; empty: it did."""
        if self.fault.kind not in OURS and not self.ring.first("fault"):
            return "the fault never began"
        healthy = self.ring.last("healthy")
        if self.fault.goes_on() and (healthy is None or time.monotonic() - healthy["mono_ms"] / 1000 > MOVED_WITHIN_S):
            return "the job did not go on"
        return ""

    def forget_the_last(self):
        """Until no board of an earlier job at this site would be counted as one of ours."""
        deadline = time.monotonic() + FORGOTTEN_WITHIN_S
        while self.site.boards_watched() > 0 and time.monotonic() < deadline:
            time.sleep(0.02)

    def learn(self):
        """Until the job has a history by which a late rank can be judged."""
        if self.fault.kind == "first-iteration":
            return
        deadline = time.monotonic() + HISTORY_WITHIN_S
        nothing = {"iterations": 0, "operations": 0}
        unseen = None  # what was done before the agents had found every rank
        while True:
            self.ring.check_alive()
            healthy = self.ring.last("healthy") or nothing
            if unseen is None and self.site.boards_watched() >= self.fault.ranks:
                unseen = healthy
            if time.monotonic() > deadline or (unseen and self.taught_by(healthy, unseen)):
                break
            time.sleep(0.02)
        self.timeline.say("healthy", "green", f"{healthy['iterations']} iterations, {healthy['operations']} operations verified")

    def taught_by(self, healthy, unseen):
        history_min = self.site.late_history_min + UNTAUGHT
        if self.fault.layout == "mixed":  # a rank's communicators have one operation an iteration each
            return healthy["iterations"] - unseen["iterations"] >= history_min
        return healthy["iterations"] >= ITERATIONS_MIN and healthy["operations"] - unseen["operations"] >= history_min

    def tell(self):
        fault = self.ring.first("fault")
        if fault and self.watch.once("fault"):
            self.timeline.say("fault", "yellow", f"{self.fault.kind}, rank {fault['rank']}")
        if self.ring.first("stall") and self.fault.is_a_stall() and self.watch.once("stall"):
            self.timeline.say("stalled", "yellow", "the ring stands still; no process has said a word")

    def look(self):
        self.ring.check_alive()
        self.tell()
        self.watch.look()

    def follow_stall(self):
        deadline = None
        begun_within = time.monotonic() + HISTORY_WITHIN_S
        while True:
            self.look()
            watch, now = self.watch, time.monotonic()
            if deadline is None and self.ring.first("fault"):
                deadline = now + RED_WITHIN_S
            if watch.red and watch.once("red deadline"):
                held = watch.red.get("audio_mode") == "off"
                deadline = now + (0.3 if not self.voice else VOICE_HOLD_S + 3 if held else 4)
                if self.heal_after is not None and self.heals_before_it_is_said():
                    deadline = now
            if (watch.spoken and self.voice) or now > (deadline or begun_within):
                break
            time.sleep(0.02)
        # The moment of the stall is told a second after it.
        while not self.ring.first("stall") and time.monotonic() < (deadline or 0) + 1.5 and not self.fault.before_any_stall():
            self.look()
            time.sleep(0.05)

    def heals_before_it_is_said(self):
        return (self.fault.seconds or self.heal_after) < VOICE_HOLD_S

    def follow_harmless(self):
        patience = SLOW_FOR_S if self.fault.kind in ("slow-kernel", "slow-net") else max(self.patience, self.fault.lasts() + GOES_ON_WITHIN_S)
        began = time.monotonic()
        disturbed = 0
        while time.monotonic() < began + patience and not self.watch.red:
            self.look()
            # Restarted at once and again half way, each time as it is and without a word before.
            if disturbed < 2 and time.monotonic() >= began + disturbed * patience / 2:
                self.disturb(disturbed)
                disturbed += 1
            if self.fault.kind in ("slow-kernel", "slow-net") and self.watch.slow and time.monotonic() > began + patience / 2:
                break
            time.sleep(0.1)

    def disturb(self, time_number):
        if self.fault.kind == "agent-restart":
            daemon = self.site.agents[(self.fault.rank + time_number) % len(self.site.agents)]
        elif self.fault.kind == "gateway-restart":
            daemon = self.site.gateway
        else:
            return
        daemon.kill()
        daemon.start()
        self.timeline.say("restarted", "yellow", daemon.log_path.stem)

    def follow_recovery(self):
        """The fault ends: the light goes green for ten seconds and a sentence is said; or, where the alarm had not been said yet,
        the light just goes off."""
        fault_at = self.ring.first("fault")["mono_ms"] / 1000
        while time.monotonic() < fault_at + self.heal_after:
            self.look()
            time.sleep(0.05)
        announced = self.watch.spoken is not None
        self.ring.tell("heal")
        deadline = time.monotonic() + GREEN_WITHIN_S + (self.fault.seconds or 0)
        green_at = dark_at = None
        while time.monotonic() < deadline and dark_at is None:
            self.look()
            if self.ring.first("healed") and self.watch.once("healed"):
                self.timeline.say("healed", "green", "the fault is over")
            if self.watch.state == "recovered" and green_at is None:
                green_at = time.monotonic()
                deadline = green_at + GREEN_FOR_S + 3
            if self.watch.state == "idle" and (green_at or not announced):
                dark_at = time.monotonic()
                self.timeline.say("lamp", "dim", "off")
            time.sleep(0.05)
        healed = self.ring.first("healed")
        green = self.watch.green
        green_s = round(dark_at - green_at, 1) if dark_at and green_at else None
        self.recovery = {
            "green_ms": round(green["first_frame_mono_ms"] - healed["mono_ms"], 1) if green and healed else None,
            "green_s": green_s, "spoken": green["spoken"] if green else None,
            "ok": dark_at is not None and (not announced or (green is not None and abs(green_s - GREEN_FOR_S) < 1)),
        }

    def zero(self):
        """The later of the fault and the stuck operation's last receive-side progress, in milliseconds."""
        fault = self.ring.first("fault")
        if not fault:
            return None
        zero = fault["mono_ms"]
        stall = self.ring.first("stall")
        if stall and not self.fault.before_any_stall():
            last = stall["mono_ms"]
            comm = ((self.watch.hang or {}).get("comm") or {}).get("id")
            for name, stamp in stall["comms"].items():
                if comm and stamp is not None and int(name, 16) == int(comm, 16):
                    last = stamp
            zero = max(zero, last)
        return zero

    def stop(self):
        self.ring.stop()

    def drained(self):
        """After stop: nothing of this job is open any more and the lamp is out. False: it takes longer than it may."""
        deadline = time.monotonic() + DRAINED_WITHIN_S
        while time.monotonic() < deadline:
            self.site.check_alive()
            open_ones = [incident for incident in self.site.incidents() if incident["state"] != "closed"]
            if not open_ones and self.site.terminal().get("state") in ("idle", "recovered"):
                return True
            time.sleep(0.1)
        return False
