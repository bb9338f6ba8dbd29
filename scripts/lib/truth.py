"""What is wrong in a job, and whether what the product said of it is right."""
import dataclasses

RED_LIMIT_MS = 2000
ANY_CLASS = frozenset()


@dataclasses.dataclass
class Truth:
    kind: str | None                   # of the fault; none: healthy
    red: bool                          # a lamp is due; else none may burn
    classes: frozenset = ANY_CLASS     # what it may be called; empty: anything
    guilty: frozenset = frozenset()    # ranks that may be named
    edges: frozenset = frozenset()     # (from, to) that may be named instead, or their two ends as "one of"
    one_of: frozenset = frozenset()    # sets of ranks: suspects that name nobody beyond one of them are honest
    slow: bool = False                 # it must be seen as SLOW

    def named_right(self, verdict):
        culprit = verdict["culprit"]
        edge = tuple(culprit["edge"]) if culprit.get("edge") else None
        if edge and self.edges and edge not in self.edges:
            return False
        if culprit["rank"] is not None:
            return culprit["rank"] in self.guilty
        if edge:
            return edge in self.edges
        suspects = frozenset(suspect["rank"] for suspect in verdict.get("suspects", []))
        return bool(suspects) and (suspects in [frozenset(ends) for ends in self.edges]
                                   or any(suspects <= ranks for ranks in self.one_of))

    def called_right(self, verdict):
        return not self.classes or verdict["class"] in self.classes

    def place(self):
        words = []
        if self.guilty:
            words.append("rank " + " or ".join(str(rank) for rank in sorted(self.guilty)))
        if self.edges:
            words.append("edge " + " or ".join(f"{a} -> {b}" for a, b in sorted(self.edges)))
        words += ["one of " + " ".join(str(rank) for rank in sorted(ranks)) for ranks in self.one_of]
        return ", or ".join(words)


def wrong_with(truth, verdict):
    """What is wrong with one verdict; empty if nothing is."""
    if not truth.called_right(verdict):
        return f"called {verdict['class']}, is {' or '.join(sorted(truth.classes))}"
    if not truth.named_right(verdict):
        return f"named {place_of(verdict)}; it is {truth.place()}"
    return ""


def judge(truth, verdicts, result):
    """(ok, why). `verdicts`: every red one, as it was when the lamp went red and as it was in the end."""
    if not truth.red:
        if result["red_ms"] is not None:
            return False, "a lamp went red where nothing was wrong"
        if result["voice_ms"] is not None:
            return False, "a voice spoke where nothing was wrong"
        if truth.slow and not result.get("slow"):
            return False, "was not seen as SLOW"
        return True, "no lamp, as it should be"
    if result["red_ms"] is None:
        return False, "no red lamp"
    for verdict in verdicts:
        wrong = wrong_with(truth, verdict)
        if wrong:
            return False, wrong
    if result["red_ms"] >= RED_LIMIT_MS:
        return False, f"red after {result['red_ms']:.0f} ms; {RED_LIMIT_MS} is the limit"
    return True, "right and in time"


def place_of(verdict):
    culprit = verdict["culprit"]
    words = [f"rank {culprit['rank']}" if culprit["rank"] is not None else "not one rank alone"]
    for name in ("host", "rack", "gpu", "nic"):
        if culprit.get(name) not in (None, ""):
            words.append(f"{name} {culprit[name]}")
    if culprit.get("edge"):
        words.append(f"edge {culprit['edge'][0]} -> {culprit['edge'][1]}")
    suspects = [str(suspect["rank"]) for suspect in verdict.get("suspects", [])]
    if suspects:
        words.append("one of " + " ".join(suspects))
    return ", ".join(words)
