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

// When a rank enqueued an operation; 0 if it has not, or does not tell.
uint64_t OrderOf(const Digest& d, const Operation& op, bool mixed) {
  const auto is_it = [&](const Operation& mine) {
    return mine.func == op.func && (mixed ? mine.seq == op.seq : mine.index == op.index);
  };
  if (IsOpen(d) && is_it(*d.op)) return d.op->order;
  for (const Operation& recent : d.recent) {
    if (is_it(recent)) return recent.order;
  }
  return 0;
}

}  // namespace

const Digest* JobWaits::Heard(const WatchedGroup&, const Seat& seat) const {
  if (seat.report == nullptr || seat.left) return nullptr;
  const Digest& d = seat.report->digest();
  if (IsDead(d.vitals)) return &d;
  return around_.silence(seat) < around_.options->agent_silent_after ? &d : nullptr;
}

const Digest* JobWaits::Heard(const WatchedGroup& group, Rank rank) const {
  const Seat* seat = group.Find(rank);
  return seat == nullptr ? nullptr : Heard(group, *seat);
}

JobWaits::Key JobWaits::KeyOf(const Wait& wait) const {
  const Digest* d = Heard(*wait.group, wait.rank);
  if (d == nullptr || !d->op || IsP2p(d->op->func)) {
    return {wait.group, uint64_t{1} << 63 | static_cast<uint32_t>(wait.rank)};
  }
  // Positions differ between ranks where Send/Recv are called too.
  const uint64_t position = wait.group->carries_p2p()
                                ? d->op->seq << 5 | static_cast<uint64_t>(d->op->func)
                                : d->op->index;
  return {wait.group, position};
}

const JobWaits::Need& JobWaits::NeedOf(const Wait& wait) {
  const Key key = KeyOf(wait);
  auto found = needs_.find(key);
  if (found != needs_.end()) return found->second;
  const Digest* d = Heard(*wait.group, wait.rank);
  Need need;
  if (d == nullptr || !d->op || !IsOpen(*d)) {
    need.unknown = true;  // inside a call that has enqueued nothing
  } else if (IsP2p(d->op->func) && d->op->peer >= 0) {
    need = Peer(*wait.group, wait.rank, *d->op);
  } else {
    need = Collective(*wait.group, *d->op);
  }
  return needs_.emplace(key, std::move(need)).first->second;
}

JobWaits::Need JobWaits::Collective(const WatchedGroup& group, const Operation& op) const {
  Need need;
  need.unknown = static_cast<size_t>(std::max(group.key().nranks, 0)) > group.seats().size();
  for (const auto& [rank, seat] : group.seats()) {
    const Digest* d = Heard(group, seat);
    if (d == nullptr) {
      need.unknown = true;
      continue;
    }
    switch (StandingOn(*d, op, group.carries_p2p())) {
      case Standing::kMissing:
        need.unknown = true;
        break;
      case Standing::kFinished:
        need.finished = true;
        break;
      case Standing::kInside:
        if (HasStarted(*d)) {
          if (need.waiters.size() < kPeersComparedMax) need.waiters.push_back(rank);
          break;
        }
        [[fallthrough]];
      case Standing::kNotEntered:
      case Standing::kEnqueued:
        if (need.ranks.size() < kNeededMax) need.ranks.push_back(rank);
        break;
    }
  }
  return need;
}

JobWaits::Need JobWaits::Peer(const WatchedGroup& group, Rank waiter, const Operation& op) const {
  Need need;
  need.waiters = {waiter};
  const Digest* d = Heard(group, op.peer);
  if (d == nullptr) {
    need.unknown = true;
    return need;
  }
  switch (StandingOfPeer(*d, waiter, op)) {
    case Standing::kMissing:
      need.unknown = true;
      break;
    case Standing::kFinished:
      break;
    case Standing::kInside:
      if (HasStarted(*d)) break;
      [[fallthrough]];
    case Standing::kNotEntered:
    case Standing::kEnqueued:
      need.ranks = {op.peer};
      break;
  }
  return need;
}

// The operations that can keep a rank from one it is missed in.
std::vector<JobWaits::Wait> JobWaits::WaitsOf(WatchedGroup& group, Rank rank,
                                              const Operation& needed, const Need& need,
                                              bool* unasked) {
  std::vector<Wait> waits;
  const Seat* seat = group.Find(rank);
  if (seat == nullptr) return waits;
  const Digest* own = Heard(group, *seat);
  uint64_t order = 0;  // not enqueued, or not told
  if (own != nullptr && IsP2p(needed.func)) {
    const Operation* call =
        need.waiters.empty() ? nullptr : CounterpartIn(*own, need.waiters.front(), needed);
    if (call != nullptr) order = call->order;
  } else if (own != nullptr) {
    order = OrderOf(*own, needed, group.carries_p2p());
  }
  for (const auto& [held, other_rank] : around_.roster->HeldBy(seat->agent->id)) {
    WatchedGroup& other = static_cast<WatchedGroup&>(*held);
    const Seat* there = other.Find(other_rank);
    if (there == nullptr || there->left) continue;
    if (there->member.place.pid != seat->member.place.pid) continue;
    if (&other == &group) {
      // Within one communicator only Send/Recv stand beside one another.
      if (own != nullptr && HasStarted(*own) && group.carries_p2p())
        waits.push_back({&group, rank});
      continue;
    }
    around_.look(&other);
    const Digest* d = Heard(other, *there);
    if (d == nullptr) {
      *unasked = *unasked || other.AskedSince(around_.now) < kAnswerPatience;
      continue;
    }
    if (d->phase == Phase::kCalling && d->suspect) {
      waits.push_back({&other, other_rank});
      continue;
    }
    if (!HasStarted(*d)) continue;
    if (order != 0 && d->op->order != 0 && d->op->order > order) continue;
    const Wait wait{&other, other_rank};
    if (!PeersPassed(group, needed, need, wait)) waits.push_back(wait);
  }
  return waits;
}

// Whether a rank that has arrived has done so beside the very operation that should keep this one:
// ranks of one communicator run the same program, so it keeps nobody.
bool JobWaits::PeersPassed(WatchedGroup& group, const Operation& needed, const Need& need,
                           const Wait& wait) {
  const Digest* held_up = Heard(*wait.group, wait.rank);
  for (Rank peer : need.waiters) {
    const Seat* seat = group.Find(peer);
    const Digest* own = seat == nullptr ? nullptr : Heard(group, *seat);
    if (own == nullptr) continue;
    const uint64_t arrived = OrderOf(*own, needed, group.carries_p2p());
    if (arrived == 0) continue;
    for (const auto& [held, other_rank] : around_.roster->HeldBy(seat->agent->id)) {
      WatchedGroup& other = static_cast<WatchedGroup&>(*held);
      if (&other == &group) continue;
      if (other.key().nranks != wait.group->key().nranks) continue;
      const Seat* there = other.Find(other_rank);
      if (there == nullptr || there->member.place.pid != seat->member.place.pid) continue;
      around_.look(&other);
      const Digest* d = Heard(other, *there);
      if (d == nullptr || !HasStarted(*d) || d->op->order == 0 || d->op->order > arrived) continue;
      if (d->op->func == held_up->op->func && d->op->index == held_up->op->index &&
          d->op->count == held_up->op->count) {
        return true;
      }
    }
  }
  return false;
}

// Follows waits until one leads to a rank that waits for nobody, to an operation that everybody
// has entered. Else they go in circles, or end at somebody who is not heard.
JobWaits::End JobWaits::EndOf(const std::vector<Wait>& from, std::vector<Wait>* visited) {
  struct Step {
    Wait wait;
    size_t parent;
  };
  std::vector<Step> steps;
  std::set<Key> seen;
  bool unknown = false;
  const auto found = [&](size_t at) {
    while (at != SIZE_MAX) {
      leads_.insert(KeyOf(steps[at].wait));
      at = steps[at].parent;
    }
    return End::kSomebody;
  };
  for (const Wait& wait : from) {
    if (seen.insert(KeyOf(wait)).second) steps.push_back({wait, SIZE_MAX});
  }
  for (size_t at = 0; at < steps.size(); ++at) {
    const Wait wait = steps[at].wait;
    if (leads_.count(KeyOf(wait)) > 0) return found(at);
    const Need& need = NeedOf(wait);
    if (need.ranks.empty() && !need.unknown) return found(at);
    unknown |= need.unknown;
    if (need.ranks.empty()) continue;
    const Operation op = *Heard(*wait.group, wait.rank)->op;
    for (Rank rank : need.ranks) {
      const Digest* d = Heard(*wait.group, rank);
      if (d != nullptr && (IsDead(d->vitals) || IsStopped(d->vitals) || IsTraced(d->vitals))) {
        return found(at);
      }
      bool unasked = false;
      const std::vector<Wait> on = WaitsOf(*wait.group, rank, op, need, &unasked);
      if (on.empty()) return found(at);
      for (const Wait& next : on) {
        if (seen.insert(KeyOf(next)).second) steps.push_back({next, at});
      }
    }
  }
  for (const Step& step : steps) visited->push_back(step.wait);
  return unknown ? End::kUnknown : End::kNowhere;
}

JobWaits::Excuse JobWaits::ExcuseOf(WatchedGroup& group, Rank rank, const Operation& needed,
                                    const Need& need, std::vector<Wait>* circle, Wait* where) {
  bool unasked = false;
  const std::vector<Wait> waits = WaitsOf(group, rank, needed, need, &unasked);
  if (!waits.empty()) {
    *where = waits.front();
    std::vector<Wait> visited;
    const End end = EndOf(waits, &visited);
    if (end == End::kSomebody) return Excuse::kElsewhere;
    // A circle through this operation holds it up, whoever else is not heard.
    const bool back = std::any_of(visited.begin(), visited.end(),
                                  [&](const Wait& wait) { return wait.group == &group; });
    if (end == End::kUnknown && !back) return Excuse::kElsewhere;
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
  for (const auto& [held, other_rank] : around_.roster->HeldBy(seat->agent->id)) {
    const WatchedGroup& other = static_cast<const WatchedGroup&>(*held);
    const Seat* there = other.Find(other_rank);
    if (there == nullptr || there->member.place.pid != seat->member.place.pid) continue;
    if (Heard(other, *there) == nullptr) continue;
    still = std::min(still, there->report->Stalled(around_.now));
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
    return std::make_tuple(NeedOf(wait).ranks.size(), wait.group->key(), wait.rank);
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
        const Digest* d = Heard(*w.group, w.rank);
        return NeedOf(w).unknown || d == nullptr || !d->op || IsP2p(d->op->func);
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
    need = Collective(from, *scene.op);
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
