#include "ring/ending.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <string_view>

#include "ring/receive_progress.h"

namespace sentinel {
namespace {

constexpr int64_t kAtOnce = 0;  // long before any recording began

// A rank that was stopped and went on left a hole at least so long in its callbacks.
constexpr int64_t kStopHoleNs = 500'000'000;

// A process first seen dead so soon after a fault of unknown kind died of it at once; one seen dead
// later may have given up by itself in between.
constexpr Duration kDiedAtOnce = std::chrono::seconds(6);

enum class FaultEffect { kUnknown, kDies, kStops, kLives };

bool Mentions(std::string_view kind, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [kind](std::string_view word) {
    return kind.find(word) != std::string_view::npos;
  });
}

FaultEffect EffectOf(std::string_view kind) {
  if (Mentions(kind, {"kernel", "proxy", "net", "slow", "late", "skip", "mismatch", "count"})) {
    return FaultEffect::kLives;
  }
  if (Mentions(kind, {"kill", "KILL", "exit", "crash", "abort", "segv", "SEGV", "oom"})) {
    return FaultEffect::kDies;
  }
  if (Mentions(kind, {"stop", "STOP", "suspend", "freeze"})) return FaultEffect::kStops;
  return FaultEffect::kUnknown;
}

// Everything known of one rank's process.
struct Case {
  const RankRecording& rank;
  const Summary& summary;
  size_t index;

  bool hit() const {
    return summary.fault && summary.fault->rank && *summary.fault->rank == rank.rank;
  }
  FaultEffect effect() const {
    return hit() ? EffectOf(summary.fault->kind) : FaultEffect::kUnknown;
  }
  std::optional<int> rc_at_end() const { return summary.rc_at_end[index]; }
  bool Watched() const { return !summary.sightings.empty() || rc_at_end(); }
  std::optional<size_t> FirstSeen(bool (*what)(const Sighting&)) const {
    for (size_t i = 0; i < summary.sightings.size(); ++i) {
      if (what(summary.sightings[i].ranks[index])) return i;
    }
    return std::nullopt;
  }
};

bool IsDead(const Sighting& sighting) { return sighting.Dead(); }
bool IsStopped(const Sighting& sighting) { return sighting.state == 'T'; }

// The code it ended with, as far as anybody noticed.
int EndCode(const Case& c) {
  for (const SightingsAt& at : c.summary.sightings) {
    if (at.ranks[c.index].rc) return *at.ranks[c.index].rc;
  }
  if (c.rc_at_end()) return *c.rc_at_end();
  return c.hit() && Mentions(c.summary.fault->kind, {"kill", "KILL", "oom"}) ? -SIGKILL : 1;
}

Act EndingWith(int code, size_t after_callbacks, int64_t not_before_ns) {
  // A replayed rank leaves a Ctrl-C to its parent, so that a recorded one would not end it.
  if (code == -SIGINT) code = -SIGKILL;
  if (code < 0) return {ActKind::kKill, after_callbacks, not_before_ns, -code};
  return {ActKind::kExit, after_callbacks, not_before_ns, code};
}

std::optional<Act> PlanDeath(const Case& c) {
  const size_t all = c.rank.callbacks.size();
  const std::optional<size_t> seen = c.FirstSeen(IsDead);
  if (c.rank.Finalizes()) {
    if (!seen && !c.rc_at_end()) return std::nullopt;
    return EndingWith(EndCode(c), all, kAtOnce);
  }
  if (!c.summary.fault) {
    if (!seen && !c.rc_at_end()) return std::nullopt;
    return EndingWith(EndCode(c), all, kAtOnce);
  }
  const int64_t fault_ns = c.summary.fault->at_ns;
  const bool dies_of_it = c.effect() == FaultEffect::kDies;
  if (seen) {
    const Duration after = c.summary.sightings[*seen].after_fault;
    const bool at_once = dies_of_it || (c.hit() && c.effect() == FaultEffect::kUnknown &&
                                        *seen == 0 && after <= kDiedAtOnce);
    return EndingWith(EndCode(c), all, at_once ? fault_ns : fault_ns + after.count());
  }
  // Alive whenever somebody looked, or nobody looked.
  if (dies_of_it && (!c.Watched() || (c.summary.sightings.empty() && c.rc_at_end()))) {
    return EndingWith(EndCode(c), all, fault_ns);
  }
  return std::nullopt;
}

// After how many callbacks the rank fell silent.
std::optional<size_t> HoleAfterFault(const Case& c) {
  const std::vector<Callback>& callbacks = c.rank.callbacks;
  for (size_t i = 0; i + 1 < callbacks.size(); ++i) {
    const int64_t next = callbacks[i + 1].at_ns;
    if (next > c.summary.fault->at_ns && next - callbacks[i].at_ns >= kStopHoleNs) return i + 1;
  }
  return std::nullopt;
}

// Whether it called again after it had been seen stopped.
bool CameBack(const Case& c) {
  const std::optional<size_t> stopped = c.FirstSeen(IsStopped);
  if (!stopped || c.rank.callbacks.empty()) return false;
  return c.rank.callbacks.back().at_ns >
         c.summary.fault->at_ns + c.summary.sightings[*stopped].after_fault.count();
}

void PlanStop(const Case& c, std::vector<Act>& acts) {
  if (!c.summary.fault) return;
  const bool seen = c.FirstSeen(IsStopped).has_value();
  if (!seen && (c.effect() != FaultEffect::kStops || c.Watched())) return;
  const int64_t fault_ns = c.summary.fault->at_ns;
  const std::optional<size_t> hole = CameBack(c) ? HoleAfterFault(c) : std::nullopt;
  acts.push_back({ActKind::kStop, hole.value_or(c.rank.callbacks.size()), fault_ns, 0});
  if (hole) {
    acts.push_back({ActKind::kContinue, *hole, c.rank.callbacks[*hole].at_ns, 0});
  }
}

}  // namespace

std::vector<std::vector<Act>> PlanActs(const Recording& recording) {
  std::vector<std::vector<Act>> plan(recording.ranks.size());
  for (size_t i = 0; i < plan.size(); ++i) {
    const Case c{recording.ranks[i], recording.summary, i};
    PlanStop(c, plan[i]);
    if (std::optional<Act> death = PlanDeath(c)) plan[i].push_back(*death);
  }
  return plan;
}

bool CutOffWhileMoving(const Recording& recording) {
  const Summary& summary = recording.summary;
  if (!summary.fault || summary.sightings.empty()) return false;
  const int64_t last_look = summary.fault->at_ns + summary.sightings.back().after_fault.count();
  bool moved = false;
  bool finished = true;
  for (const RankRecording& rank : recording.ranks) {
    finished = finished && rank.Finalizes();
    for (const size_t move : IndexProgress(rank).moves) {
      moved = moved || rank.callbacks[move].at_ns > last_look;
    }
  }
  return moved && !finished;
}

}  // namespace sentinel
