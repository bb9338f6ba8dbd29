"""What can go wrong in a live ring, and what it must be called."""
import dataclasses

from truth import ANY_CLASS, Truth

# Red is due, with one of these classes.
STALLS = {
    "absent": {"NOT_ENTERED"}, "stop": {"PROCESS_STOPPED"}, "stop-mid": {"PROCESS_STOPPED"},
    "kill": {"PROCESS_DEAD"}, "exit": {"PROCESS_DEAD"},
    "freeze-kernel": {"GPU_STUCK"}, "freeze-proxy": {"PROXY_STUCK"}, "freeze-proxy-mid": {"PROXY_STUCK", "NETWORK", "GPU_STUCK"},
    "net-oneway": {"NETWORK"}, "net-isolate": {"NETWORK"},
    "mismatch": {"MISMATCH"}, "mismatch-order": {"MISMATCH"}, "missing-send": {"MISMATCH", "NOT_ENTERED"},
    "two": ANY_CLASS,
}
# What two faults at once are made of: one hides nothing of the other.
PAIRS = (("freeze-kernel", "freeze-proxy"), ("absent", "freeze-kernel"), ("kill", "net-isolate"), ("stop", "absent"),
         ("freeze-proxy", "net-oneway"))
SLOW = ("slow-kernel", "slow-net")
# No lamp, whatever they do.
HARMLESS = ("checkpoint", "eval", "first-iteration", "loader", "late", "cancel", "finish", "restart", "debugger", "agent-restart",
            "gateway-restart", "none")
# A rank that is late for longer than this is a stall, where the job's history knows no such wait.
LATE_IS_A_STALL_S = 2.5
# How long the pauses last where nothing else is said.
PAUSES_S = {"checkpoint": 8, "eval": 5, "first-iteration": 10, "loader": 10}
KINDS = (*STALLS, *SLOW, *HARMLESS)
# Done here and not by sentinel-ring.
OURS = ("agent-restart", "gateway-restart", "none")


@dataclasses.dataclass
class Fault:
    kind: str
    rank: int
    ranks: int
    transport: str = "socket"
    layout: str = "ring"
    seconds: float | None = None  # how long it lasts; none: for ever, or what is usual for it
    number: int = 0               # which of several runs: chooses the pair of two faults

    def pair(self):
        return PAIRS[self.number % len(PAIRS)]

    def other_rank(self):
        return (self.rank + self.ranks // 2) % self.ranks

    def arguments(self):
        if self.kind in OURS:
            return []
        lasting = f",for={self.seconds}" if self.seconds else ""
        if self.kind == "two":
            first, second = self.pair()
            return ["--fault", f"{first},rank={self.rank}{lasting}", "--fault", f"{second},rank={self.other_rank()}{lasting}"]
        return ["--fault", f"{self.kind},rank={self.rank}{lasting}"]

    def waits_to_be_told(self):
        return self.kind not in OURS and self.kind != "first-iteration"

    def is_a_stall(self):
        return self.kind in STALLS or (self.kind == "late" and (self.seconds or 0) > LATE_IS_A_STALL_S)

    def neighbours(self, events):
        """Whom the rank receives from and sends to, in the ring over the network that it is in."""
        for event in events:
            for comm in event.get("comms", []) if event.get("event") == "ready" else []:
                members = comm["members"]
                if comm["name"].startswith(("world", "dp")) and self.rank in members:
                    at = members.index(self.rank)
                    return members[at - 1], members[(at + 1) % len(members)]
        return None, None

    def begins_with_its_pair(self, rank):
        """The rank's first operation of an iteration, in which a kernel is struck, is that of a pair inside a node: nobody sees which
        of its two kernels stands. Later stages of the pipeline begin with a Recv."""
        return self.layout == "mixed" and rank < 2

    def pair_of(self, rank):
        return frozenset({rank, rank ^ 1})

    def lasts(self):
        return self.seconds or PAUSES_S.get(self.kind, 0)

    def goes_on(self):
        """The job trains again, or still, when a harmless kind has been watched."""
        return self.kind in HARMLESS and self.kind not in ("cancel", "finish", "debugger") and not self.is_a_stall()

    def truth(self, events):
        """`events`: the job's, among them those that say which edges a fault holds up."""
        if not self.is_a_stall():
            return Truth(self.kind, red=False, slow=self.kind in SLOW)
        before, after = self.neighbours(events)
        edges = {tuple(edge) for event in events if event.get("event") == "fault" for edge in event.get("edges", [])}
        guilty = {self.rank}
        one_of = set()
        if self.kind == "two":
            guilty.add(self.other_rank())
            one_of.add(frozenset(guilty))
            one_of |= {self.pair_of(rank) for kind, rank in zip(self.pair(), (self.rank, self.other_rank()))
                       if kind == "freeze-kernel" and self.begins_with_its_pair(rank)}
        if self.kind == "missing-send":  # one left a Send out, or the other has a Receive too many: nobody can tell
            one_of.add(frozenset({self.rank, after}))
        if self.kind == "freeze-proxy-mid":
            edges = {(before, self.rank), (self.rank, after)}
        if self.kind == "freeze-kernel" and self.begins_with_its_pair(self.rank):
            one_of.add(self.pair_of(self.rank))
        if self.kind == "mismatch" and self.layout == "mixed":  # of two that differ neither is the minority
            guilty = set()
            one_of.add(self.pair_of(self.rank))
        classes = STALLS.get(self.kind, {"NOT_ENTERED"})
        return Truth(self.kind, red=True, classes=frozenset(classes), guilty=frozenset(guilty), edges=frozenset(edges),
                     one_of=frozenset(one_of))

    def before_any_stall(self):
        """A call that differs is found by itself: its time counts from the call."""
        return self.kind in ("mismatch", "mismatch-order")
