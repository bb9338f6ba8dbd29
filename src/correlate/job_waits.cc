#include "correlate/job_waits.h"

#include <algorithm>
#include <tuple>

namespace sentinel {
namespace {

bool Contains(const std::vector<Rank>& ranks, Rank rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Leaves in a finding only those who are to blame.
void Keep(const Scene& scene, const std::vector<Rank>& guilty, Finding* finding) {
  const bool of_absence = finding->hang_class == HangClass::kNotEntered ||
                          finding->hang_class == HangClass::kGpuNotStarted ||
                          finding->hang_class == HangClass::kProxyStuck;
  if (of_absence && finding->rank && Contains(guilty, *finding->rank)) return;
  finding->by_waits = false;
  finding->edges.clear();
  std::vector<Rank> kept;
  for (Rank rank : finding->suspects) {
    if (Contains(guilty, rank)) kept.push_back(rank);
  }
  if (kept.empty() || !of_absence) {
    // Whom the walk came to is a victim: the operation lacks others too.
    kept = guilty;
    const auto entered = [&scene, finding](Rank rank) {
      if (!IsP2p(scene.op->func)) return scene.StandingOf(rank) != Standing::kNotEntered;
      const Digest* d = scene.DigestOf(rank);
      return d != nullptr && finding->waiter &&
             CounterpartIn(*d, *finding->waiter, *scene.op) != nullptr;
    };
    const bool all_entered = std::all_of(kept.begin(), kept.end(), entered);
    if (!all_entered) std::erase_if(kept, entered);
    finding->hang_class = all_entered ? HangClass::kGpuNotStarted : HangClass::kNotEntered;
  }
  finding->rank.reset();
  finding->suspects = std::move(kept);
  if (finding->suspects.size() == 1) {
    finding->rank = finding->suspects.front();
    finding->suspects.clear();
  }
  if (finding->waiter && (finding->waiter == finding->rank || Contains(guilty, *finding->waiter))) {
    finding->waiter.reset();
  }
}

}  // namespace

JobWaits::Excuse JobWaits::ExcuseOf(WatchedGroup& group, Rank rank, const Operation& needed,
                                    const Need& need, std::vector<Wait>* circle, Wait* where) {
  bool unasked = false;
  const std::vector<Wait> waits = graph_.WaitsOf(group, rank, needed, need, &unasked);
  if (!waits.empty()) {
    *where = waits.front();
    std::vector<Wait> visited;
    const WaitGraph::End end = graph_.EndOf(waits, &visited);
    if (end == WaitGraph::End::kSomebody) return Excuse::kElsewhere;
    // A circle through this operation holds it up, whoever else is not heard.
    const bool back = std::any_of(visited.begin(), visited.end(),
                                  [&](const Wait& wait) { return wait.group == &group; });
    if (end == WaitGraph::End::kUnknown && !back) return Excuse::kElsewhere;
    circle->insert(circle->end(), visited.begin(), visited.end());
    return Excuse::kCircle;
  }
  return unasked ? Excuse::kUnasked : Excuse::kNone;
}

// Since the process of a rank last moved, in whatever communicator.
Duration JobWaits::StillEverywhere(WatchedGroup& group, Rank rank, std::optional<Instant>* looked) {
  const Seat* seat = group.Find(rank);
  Duration still = Duration::max();
  if (seat == nullptr) return still;
  for (const auto& [held, other_rank] : graph_.around().roster->HeldBy(seat->agent->id)) {
    const WatchedGroup& other = static_cast<const WatchedGroup&>(*held);
    const Seat* there = other.Find(other_rank);
    if (there == nullptr || there->member.place.pid != seat->member.place.pid) continue;
    if (graph_.Heard(*there) == nullptr) continue;
    still = std::min(still, there->report->Stalled(graph_.around().now));
    const Instant arrived = there->report->arrived();
    if (&other != &group) *looked = looked->has_value() ? std::min(**looked, arrived) : arrived;
  }
  return still;
}

// Everybody the operation lacks waits on a circle that leads nowhere: their orders of calls cannot
// agree. One operation of the circle tells it: the one that lacks the fewest.
Elsewhere JobWaits::OnCircle(const WatchedGroup& from, const Need& need,
                             const std::vector<Rank>& in_circle, const std::vector<Wait>& circle,
                             Finding* finding) {
  Elsewhere result;
  const Wait* teller = nullptr;
  bool ours = false;
  const auto rank_of = [this](const Wait& wait) {
    return std::make_tuple(graph_.NeedOf(wait).ranks.size(), wait.group->key(), wait.rank);
  };
  for (const Wait& wait : circle) {
    ours |= wait.group == &from;
    if (teller == nullptr || rank_of(wait) < rank_of(*teller)) teller = &wait;
  }
  if (!ours || teller->group != &from) {
    result.all = true;
    finding->rank.reset();
    finding->suspects.clear();
    return result;
  }
  result.circle = true;
  // Asked at different moments, a job that moves may look like a circle: it counts from the last
  // move of anybody on it.
  for (const Wait& wait : circle) {
    const Duration still = StillEverywhere(*wait.group, wait.rank, &result.looked);
    if (still != Duration::max()) result.still = std::min(result.still.value_or(still), still);
  }
  const bool told = finding->hang_class == HangClass::kMismatch;  // a circle of Send and Recv
  finding->hang_class = HangClass::kMismatch;
  finding->by_waits = true;
  if (told) return result;
  finding->rank.reset();
  finding->suspects = in_circle;
  const bool certain =
      !need.unknown && std::none_of(circle.begin(), circle.end(), [&](const Wait& w) {
        const Digest* d = graph_.Heard(*w.group, w.rank);
        return graph_.NeedOf(w).unknown || d == nullptr || !d->op || IsP2p(d->op->func);
      });
  if (certain && in_circle.size() == 1 && need.waiters.size() > 1) {
    finding->rank = in_circle.front();
    finding->suspects.clear();
  } else if (!certain || in_circle.size() == need.waiters.size()) {
    for (Rank rank : need.waiters) AddOnce(&finding->suspects, rank);  // nobody is the minority
  }
  return result;
}

// How long a process must have stood still everywhere to be to blame: as long as makes those who
// wait for it suspicious.
Duration JobWaits::StillMin(const Scene& scene, const Need& need) const {
  Duration least = Duration::max();
  for (Rank rank : need.waiters) {
    const Digest* d = scene.DigestOf(rank);
    if (d != nullptr) least = std::min(least, d->suspect_after);
  }
  return std::min<Duration>(least, kStillMin);
}

Elsewhere JobWaits::Follow(WatchedGroup& from, const Scene& scene, Finding* finding) {
  Elsewhere result;
  if (!scene.op) return result;
  const bool p2p = IsP2p(scene.op->func);
  Need need;
  if (p2p) {
    need.ranks = finding->suspects;
    if (finding->rank) need.ranks = {*finding->rank};
    if (finding->waiter) need.waiters = {*finding->waiter};
  } else {
    need = graph_.Collective(from, *scene.op);
  }
  if (need.ranks.empty()) return result;
  const Duration still_min = StillMin(scene, need);
  std::vector<Rank> guilty;
  std::vector<Rank> in_circle;
  std::vector<Wait> circle;
  for (Rank rank : need.ranks) {
    Wait where;
    switch (ExcuseOf(from, rank, *scene.op, need, &circle, &where)) {
      case Excuse::kNone: {
        const Duration still = StillEverywhere(from, rank, &result.looked);
        if (still < still_min) {
          result.comes = true;
          break;
        }
        if (still != Duration::max()) result.still = std::min(result.still.value_or(still), still);
        guilty.push_back(rank);
        break;
      }
      case Excuse::kCircle:
        in_circle.push_back(rank);
        break;
      case Excuse::kUnasked:
        result.unasked = true;
        break;
      case Excuse::kElsewhere:
        break;
    }
    if (where.group != nullptr && (!result.who || finding->rank == rank)) {
      result.who = rank;
      result.where = where.group->key();
      result.where_name = where.group->Find(where.rank)->member.comm_name;
    }
  }
  if (guilty.empty() && !in_circle.empty()) return OnCircle(from, need, in_circle, circle, finding);
  if (guilty.empty()) {
    // Whoever is not heard may hold this very operation up.
    if (need.unknown && finding->hang_class == HangClass::kUnknown && !finding->missing.empty()) {
      return result;
    }
    result.all = !result.unasked;
    finding->rank.reset();
    finding->suspects.clear();
    finding->edges.clear();
    return result;
  }
  result.who.reset();
  result.where.reset();
  Keep(scene, guilty, finding);
  result.nobody = need.waiters.empty() && !need.finished;
  if (result.nobody) {
    finding->rank.reset();
    finding->suspects.clear();
  }
  return result;
}

}  // namespace sentinel
