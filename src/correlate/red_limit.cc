#include "correlate/red_limit.h"

#include <algorithm>

#include "correlate/stall_clock.h"

namespace sentinel {

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

namespace {

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

}  // namespace

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

}  // namespace sentinel
