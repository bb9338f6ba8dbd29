#include "correlate/wait_graph.h"

#include <algorithm>

namespace sentinel {
namespace {

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

const Digest* WaitGraph::Heard(const Seat& seat) const {
  if (seat.report == nullptr || seat.left) return nullptr;
  const Digest& d = seat.report->digest();
  if (IsDead(d.vitals)) return &d;
  return around_.silence(seat) < around_.options->agent_silent_after ? &d : nullptr;
}

const Digest* WaitGraph::Heard(const WatchedGroup& group, Rank rank) const {
  const Seat* seat = group.Find(rank);
  return seat == nullptr ? nullptr : Heard(*seat);
}

WaitGraph::Key WaitGraph::KeyOf(const Wait& wait) const {
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

const WaitGraph::Need& WaitGraph::NeedOf(const Wait& wait) {
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

WaitGraph::Need WaitGraph::Collective(const WatchedGroup& group, const Operation& op) const {
  Need need;
  need.unknown = static_cast<size_t>(std::max(group.key().nranks, 0)) > group.seats().size();
  for (const auto& [rank, seat] : group.seats()) {
    const Digest* d = Heard(seat);
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

WaitGraph::Need WaitGraph::Peer(const WatchedGroup& group, Rank waiter, const Operation& op) const {
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

std::vector<WaitGraph::Wait> WaitGraph::WaitsOf(WatchedGroup& group, Rank rank,
                                                const Operation& needed, const Need& need,
                                                bool* unasked) {
  std::vector<Wait> waits;
  const Seat* seat = group.Find(rank);
  if (seat == nullptr) return waits;
  const Digest* own = Heard(*seat);
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
    const Digest* d = Heard(*there);
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
bool WaitGraph::PeersPassed(WatchedGroup& group, const Operation& needed, const Need& need,
                            const Wait& wait) {
  const Digest* held_up = Heard(*wait.group, wait.rank);
  for (Rank peer : need.waiters) {
    const Seat* seat = group.Find(peer);
    const Digest* own = seat == nullptr ? nullptr : Heard(*seat);
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
      const Digest* d = Heard(*there);
      if (d == nullptr || !HasStarted(*d) || d->op->order == 0 || d->op->order > arrived) continue;
      if (d->op->func == held_up->op->func && d->op->index == held_up->op->index &&
          d->op->count == held_up->op->count) {
        return true;
      }
    }
  }
  return false;
}

WaitGraph::End WaitGraph::EndOf(const std::vector<Wait>& from, std::vector<Wait>* visited) {
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

}  // namespace sentinel
