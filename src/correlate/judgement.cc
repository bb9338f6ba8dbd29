#include "correlate/judgement.h"

#include <algorithm>

#include "correlate/blame_walk.h"
#include "correlate/p2p_walk.h"
#include "correlate/red_limit.h"
#include "correlate/stall_clock.h"

namespace sentinel {
namespace {

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
