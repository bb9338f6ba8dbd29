#include "correlate/judgement.h"

#include <algorithm>

#include "correlate/blame_walk.h"
#include "correlate/p2p_walk.h"

namespace sentinel {
namespace {

struct Tally {
  size_t reported = 0;
  size_t suspect = 0;
  size_t stopped = 0;  // or traced, or frozen
  size_t dead = 0;
  size_t alive = 0;
  size_t ending = 0;       // and alive
  std::vector<Rank> down;  // dead or stopped, and the operation cannot do without them
};

Tally Count(const Scene& scene) {
  Tally t;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr) continue;
    const Digest& d = seat.report->digest();
    ++t.reported;
    const bool dead = IsDead(d.vitals);
    const bool stopped = IsStopped(d.vitals) || IsTraced(d.vitals);
    if (dead) {
      ++t.dead;
    } else {
      ++t.alive;
      if (d.suspect) ++t.suspect;
      if (stopped) ++t.stopped;
      if (d.vitals.ending) ++t.ending;
    }
    if ((dead || IsStopped(d.vitals)) && t.down.size() <= kSuspectsMax && scene.op &&
        scene.StandingOf(seat) != Standing::kFinished) {
      t.down.push_back(seat.rank);
    }
  }
  return t;
}

Finding Find(Scene* scene) {
  scene->op = OldestOpen(*scene);
  if (const std::optional<Rank> start = StartOfP2p(*scene)) {
    scene->op = scene->DigestOf(*start)->op;
    Finding f = JudgeP2p(scene, *start);
    scene->op = f.op;
    return f;
  }
  if (!scene->op || IsP2p(scene->op->func)) {
    Finding f;
    f.op = scene->op;
    return f;
  }
  if (scene->mixed) {
    // Positions differ between ranks: take the operation of whoever has waited longest.
    Duration longest{-1};
    for (const Scene::Seat& seat : scene->seats()) {
      if (seat.report == nullptr || !IsOpen(seat.report->digest())) continue;
      if (seat.report->digest().age > longest && !IsP2p(seat.report->digest().op->func)) {
        longest = seat.report->digest().age;
        scene->op = seat.report->digest().op;
      }
    }
  }
  return JudgeCollective(*scene);
}

bool Names(const Finding& f, Rank rank) {
  if (f.rank == rank) return true;
  if (std::find(f.suspects.begin(), f.suspects.end(), rank) != f.suspects.end()) return true;
  return std::any_of(f.edges.begin(), f.edges.end(),
                     [rank](const Edge& e) { return e.from == rank || e.to == rank; });
}

// A dead or stopped process outranks what the walk makes of the traces it left.
void SettleProcesses(const Scene& scene, const Tally& tally, Judgement* j) {
  std::vector<Rank> down = tally.down;
  const auto consider = [&](Rank rank) {
    const Digest* d = scene.DigestOf(rank);
    if (d != nullptr && (IsDead(d->vitals) || IsStopped(d->vitals))) AddOnce(&down, rank);
  };
  if (j->finding.rank) consider(*j->finding.rank);
  for (Rank rank : j->finding.suspects) consider(rank);
  for (const Edge& e : j->finding.edges) {
    consider(e.from);
    consider(e.to);
  }
  if (down.empty()) return;
  const auto weight = [&](Rank rank) {
    const bool dead = IsDead(scene.DigestOf(rank)->vitals);
    return (dead ? 4 : 0) + (j->finding.rank == rank ? 2 : 0) + (Names(j->finding, rank) ? 1 : 0);
  };
  const Rank culprit = *std::max_element(down.begin(), down.end(),
                                         [&](Rank a, Rank b) { return weight(a) < weight(b); });
  const HangClass walked = j->hang_class;
  j->hang_class = IsDead(scene.DigestOf(culprit)->vitals) ? HangClass::kProcessDead
                                                          : HangClass::kProcessStopped;
  if (walked != j->hang_class) j->signature = walked;
  for (Rank rank : down) {
    if (rank != culprit) j->also_down.push_back(rank);
  }
  j->finding.rank = culprit;
  j->finding.suspects.clear();
  if (j->finding.waiter == culprit) j->finding.waiter.reset();
}

// The age of one rank, or of the blamed edge where its receiver says one.
std::optional<Duration> EdgeClock(const Scene& scene, const Edge& edge, Instant now) {
  const Report* to = scene.Of(edge.to);
  if (to == nullptr) return std::nullopt;
  std::optional<Duration> clock;
  for (const EdgeProgress& e : to->digest().edges) {
    if (e.direction != Direction::kRecv || e.peer != edge.from || e.done >= e.steps) continue;
    const Duration age = to->Stalled(e, now);
    clock = clock ? std::min(*clock, age) : age;
  }
  return clock ? clock : to->Stalled(now);
}

// Since anybody who waits last saw something move.
Duration YoungestWait(const Scene& scene, Instant now, std::optional<Rank>* subject) {
  std::optional<Duration> youngest;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || IsDead(seat.report->digest().vitals)) continue;
    const Standing standing = scene.StandingOf(seat);
    const bool waits = scene.op ? standing == Standing::kInside || standing == Standing::kEnqueued
                                : seat.report->digest().suspect;
    if (!waits) continue;
    const Duration age = seat.report->Stalled(now);
    if (!youngest || age < *youngest) {
      youngest = age;
      *subject = seat.rank;
    }
  }
  return youngest.value_or(Duration{0});
}

// What stands still is inside the operation, but which of several ranks it is nobody sees.
bool OneOfThoseInside(const Finding& f) {
  return !f.rank && !f.suspects.empty() &&
         (f.hang_class == HangClass::kGpuStuck || f.hang_class == HangClass::kUnknown);
}

// A transfer between two ranks that is judged by what stands in it: it moves as long as either end
// does. A sender by itself shows no receive, and what the receiver waits for may just have been
// sent. An end that is through with it does not count.
std::optional<Duration> PairClock(const Scene& scene, const Finding& f, Instant now,
                                  std::optional<Rank>* subject) {
  switch (f.hang_class) {
    case HangClass::kGpuStuck:
    case HangClass::kProxyStuck:
    case HangClass::kPcie:
    case HangClass::kUnknown:
      break;
    case HangClass::kNotEntered:
    case HangClass::kGpuNotStarted:
    case HangClass::kNetwork:
    case HangClass::kMismatch:
    case HangClass::kProcessDead:
    case HangClass::kProcessStopped:
    case HangClass::kWaiting:
    case HangClass::kSlow:
      return std::nullopt;
  }
  if (!scene.op || !IsP2p(scene.op->func)) return std::nullopt;
  std::vector<Rank> ends = f.suspects;
  if (f.rank) AddOnce(&ends, *f.rank);
  if (f.waiter) AddOnce(&ends, *f.waiter);
  std::optional<Duration> clock;
  for (Rank rank : ends) {
    const Report* report = scene.Of(rank);
    if (report == nullptr || !IsOpen(report->digest())) continue;
    const Operation& op = *report->digest().op;
    if (!IsP2p(op.func) || std::find(ends.begin(), ends.end(), op.peer) == ends.end()) continue;
    const Duration age = report->Stalled(now);
    if (clock && age >= *clock) continue;
    clock = age;
    *subject = rank;
  }
  return clock;
}

void SetClock(const Scene& scene, Instant now, Judgement* j) {
  const Finding& f = j->finding;
  const bool absent = f.rank && scene.StandingOf(*f.rank) == Standing::kNotEntered;
  if (const std::optional<Duration> clock = PairClock(scene, f, now, &j->subject)) {
    j->clock = *clock;
    return;
  }
  if (f.hang_class == HangClass::kNetwork && !f.edges.empty() && !absent) {
    std::optional<Duration> clock;
    for (const Edge& e : f.edges) {
      // With a culprit only the edges that meet in it count.
      if (f.rank && e.from != *f.rank && e.to != *f.rank) continue;
      std::optional<Duration> age = EdgeClock(scene, e, now);
      if (age && (!clock || *age < *clock)) {
        clock = age;
        j->subject = e.to;
      }
      if (!f.rank) break;
    }
    if (clock) {
      j->clock = *clock;
      // What a Send has just begun to send is not lost yet.
      const Report* sender = scene.Of(f.edges.front().from);
      if (scene.op && IsP2p(scene.op->func) && sender != nullptr) {
        j->clock = std::min(j->clock, sender->Stalled(now));
      }
      return;
    }
  }
  if (f.rank && !absent && scene.Of(*f.rank) != nullptr &&
      scene.StandingOf(*f.rank) != Standing::kFinished) {
    j->subject = f.rank;
    j->clock = scene.Of(*f.rank)->Stalled(now);
    return;
  }
  const bool waiter_tells = !OneOfThoseInside(f) || !f.missing.empty();
  if (waiter_tells && f.waiter && scene.Of(*f.waiter) != nullptr && f.waiter != f.rank) {
    j->subject = f.waiter;
    j->clock = scene.Of(*f.waiter)->Stalled(now);
    return;
  }
  j->clock = YoungestWait(scene, now, &j->subject);
}

// How long survivors have been suspecting, for a death among them.
Duration LongestSuspicion(const Scene& scene, Rank dead, Instant now, std::optional<Rank>* who) {
  Duration longest{0};
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || seat.rank == dead) continue;
    const Digest& d = seat.report->digest();
    if (!d.suspect || IsDead(d.vitals)) continue;
    const Duration since = seat.report->Stalled(now) - d.suspect_after;
    if (since > longest) {
      longest = since;
      *who = seat.rank;
    }
  }
  return longest;
}

History HistoryOfWaiting(const Scene& scene) {
  History history;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || !IsOpen(seat.report->digest())) continue;
    const History& h = seat.report->digest().history;
    history.operations = std::max(history.operations, h.operations);
    history.gap_p999 = std::max(history.gap_p999, h.gap_p999);
  }
  return history;
}

void Late(const Scene& scene, const CorrelateOptions& options, Judgement* j) {
  std::vector<Rank> late = j->finding.suspects;
  if (j->finding.rank) late = {*j->finding.rank};
  const bool idle = !late.empty() && std::all_of(late.begin(), late.end(), [&scene](Rank rank) {
    const Digest* d = scene.DigestOf(rank);
    return d != nullptr && d->vitals.idle.value_or(false);
  });
  j->history = HistoryOfWaiting(scene);
  const bool never_so_long = j->history.operations >= options.late_history_min &&
                             j->history.gap_p999 < options.arrival_lag_max;
  if (idle && never_so_long) {
    j->limit = options.red_after;
    return;
  }
  j->hold = idle ? Hold::kHistory : Hold::kWorks;
  j->hang_class = HangClass::kWaiting;
  j->signature = HangClass::kNotEntered;
  j->limit = options.late_limit;
}

// Nothing has moved and stopped: the GPU may be at work on something longer, as it was before.
void OnlyWaits(const Scene& scene, const CorrelateOptions& options, Judgement* j) {
  j->history = HistoryOfWaiting(scene);
  const bool never_so_long = j->history.operations >= options.late_history_min &&
                             j->history.gap_p999 < options.arrival_lag_max;
  j->limit = never_so_long ? options.red_after : options.late_limit;
  if (!never_so_long) j->hold = Hold::kHistory;
}

void SetLimit(const Scene& scene, const Tally& tally, const CorrelateOptions& options,
              const SilenceOf& silence_of, Instant now, Judgement* j) {
  switch (j->hang_class) {
    case HangClass::kProcessDead:
      j->subject.reset();
      j->clock = LongestSuspicion(scene, *j->finding.rank, now, &j->subject);
      if (j->subject) j->limit = options.dead_red_after;
      break;
    case HangClass::kNotEntered:
      Late(scene, options, j);
      break;
    case HangClass::kMismatch:
      j->limit = Duration{0};
      if (j->finding.by_waits) OnlyWaits(scene, options, j);
      break;
    case HangClass::kUnknown: {
      if (!scene.op) {
        j->hold = Hold::kNoCall;
        j->limit = options.late_limit;
        break;
      }
      const std::vector<Rank>& missing = j->finding.missing;
      const bool answered = missing.empty();
      const bool node_gone =
          !answered && std::all_of(missing.begin(), missing.end(), [&](Rank rank) {
            return silence_of(rank) >= options.node_silent_after;
          });
      if (answered || node_gone) {
        j->limit = options.red_after;
      } else {
        j->hold = Hold::kUnanswered;
        j->limit = options.late_limit;
      }
      break;
    }
    case HangClass::kGpuNotStarted:
      OnlyWaits(scene, options, j);
      break;
    case HangClass::kWaiting:
      j->limit = options.late_limit;
      break;
    case HangClass::kGpuStuck:
    case HangClass::kProxyStuck:
    case HangClass::kNetwork:
    case HangClass::kPcie:
    case HangClass::kProcessStopped:
    case HangClass::kSlow:
      j->limit = options.red_after;
      break;
  }

  if (j->facts.hard && j->finding.rank && j->limit) {
    const Report* subject = j->subject ? scene.Of(*j->subject) : nullptr;
    const Duration suspect_after =
        subject == nullptr ? Duration{0} : subject->digest().suspect_after;
    j->limit = std::min(*j->limit, suspect_after + options.hard_evidence_extra);
  }

  // What keeps a lamp dark.
  const auto dark = [j](Hold hold) {
    j->hold = hold;
    j->limit.reset();
  };
  if (tally.alive > 1 && tally.stopped == tally.alive) return dark(Hold::kAllStopped);
  if (j->elsewhere.all) return dark(j->elsewhere.comes ? Hold::kComes : Hold::kElsewhere);
  if (j->elsewhere.unasked) return dark(Hold::kAsking);
  std::vector<Rank> named = j->finding.suspects;
  if (j->finding.rank) named.push_back(*j->finding.rank);
  for (Rank rank : named) {
    const Digest* d = scene.DigestOf(rank);
    if (d != nullptr && IsTraced(d->vitals)) return dark(Hold::kTraced);
  }
  if (j->facts.veto) return dark(Hold::kSuspended);
  const bool dying_together = tally.dead >= 2 && tally.dead * 2 >= tally.reported;
  const Digest* culprit = j->finding.rank ? scene.DigestOf(*j->finding.rank) : nullptr;
  if (tally.alive > 0 && tally.ending == tally.alive) return dark(Hold::kEnding);
  if (dying_together || tally.ending * 2 >= std::max<size_t>(tally.alive, 1) ||
      (culprit != nullptr && culprit->vitals.ending)) {
    j->hold = Hold::kEnding;
    if (j->limit) j->limit = std::max(*j->limit, options.late_limit);
  }
}

Finding FindingOf(const Disagreement& d) {
  Finding f;
  f.hang_class = HangClass::kMismatch;
  f.op = d.minority;
  if (d.tie) {
    f.suspects = d.minority_ranks;
    f.suspects.insert(f.suspects.end(), d.majority_ranks.begin(), d.majority_ranks.end());
    std::sort(f.suspects.begin(), f.suspects.end());
  } else if (d.minority_ranks.size() == 1) {
    f.rank = d.minority_ranks.front();
  } else {
    f.suspects = d.minority_ranks;
  }
  return f;
}

// Whom an operation lacks is asked first, whatever the traces of those inside look like: nothing
// can have moved in it and stopped.
bool MayWaitElsewhere(const Scene& scene, const Judgement& j) {
  switch (j.hang_class) {
    case HangClass::kNotEntered:
    case HangClass::kGpuNotStarted:
    case HangClass::kProxyStuck:
      return true;
    case HangClass::kMismatch:
      return !j.disagreement;
    case HangClass::kGpuStuck:
    case HangClass::kNetwork:
    case HangClass::kPcie:
    case HangClass::kUnknown:
      return scene.op && !IsP2p(scene.op->func);
    case HangClass::kProcessDead:
    case HangClass::kProcessStopped:
    case HangClass::kWaiting:
    case HangClass::kSlow:
      return false;
  }
  return false;
}

void CutSuspects(Finding* finding) {
  if (finding->suspects.size() <= kSuspectsMax) return;
  finding->suspects_beyond = finding->suspects.size();
  finding->suspects.clear();
}

}  // namespace

Judgement JudgeOrder(const Scene& scene, const Disagreement& disagreement) {
  Judgement j;
  j.disagreement = disagreement;
  j.finding = FindingOf(disagreement);
  j.hang_class = HangClass::kMismatch;
  const Tally tally = Count(scene);
  j.reported = tally.reported;
  j.waiting = tally.suspect;
  j.before_hang = tally.suspect == 0;
  j.limit = Duration{0};
  CutSuspects(&j.finding);
  return j;
}

Judgement Judge(Scene* scene, const CorrelateOptions& options, const HostFacts& facts,
                const PlaceOf& place_of, const SilenceOf& silence_of, const FollowJob& follow,
                Instant now) {
  Judgement j;
  j.disagreement = CompareCalls(*scene);
  j.finding = Find(scene);
  if (j.disagreement) j.finding = FindingOf(*j.disagreement);
  const Tally tally = Count(*scene);
  j.reported = tally.reported;
  j.waiting = tally.suspect;
  j.hang_class = j.finding.hang_class;
  if (!j.disagreement) SettleProcesses(*scene, tally, &j);
  if (MayWaitElsewhere(*scene, j)) {
    j.elsewhere = follow(*scene, &j.finding);
    const bool waits = j.elsewhere.all || j.elsewhere.nobody;
    j.hang_class = waits ? HangClass::kWaiting : j.finding.hang_class;
  }
  j.facts = facts.Apply(j.finding, place_of, now);
  if (!j.finding.rank && j.facts.rank) {
    j.finding.rank = j.facts.rank;
    j.finding.suspects.clear();
    if (j.hang_class == HangClass::kUnknown) {
      // Among ranks that look alike one has a broken card.
      j.signature = HangClass::kUnknown;
      j.hang_class = HangClass::kGpuStuck;
    }
  }
  SetClock(*scene, now, &j);
  // A rank that moves elsewhere is on its way here.
  if (j.elsewhere.still) j.clock = std::min(j.clock, *j.elsewhere.still);
  SetLimit(*scene, tally, options, silence_of, now, &j);
  CutSuspects(&j.finding);
  return j;
}

}  // namespace sentinel
