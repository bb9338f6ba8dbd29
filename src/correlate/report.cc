#include "correlate/report.h"

#include <algorithm>

namespace sentinel {
namespace {

// Mixes one more value into a mark (the finaliser of splitmix64).
void Mix(uint64_t* mark, uint64_t value) {
  uint64_t z = *mark + value + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  *mark = z ^ (z >> 31);
}

uint64_t ReceivedMark(const Digest& d) {
  uint64_t mark = 0;
  Mix(&mark, d.op ? d.op->index + 1 : 0);
  Mix(&mark, d.operations_finished);
  Mix(&mark, static_cast<uint64_t>(d.phase));
  Mix(&mark, static_cast<uint64_t>(d.kernels.started));
  Mix(&mark, static_cast<uint64_t>(d.kernels.completed));
  for (const EdgeProgress& e : d.edges) {
    if (e.direction != Direction::kRecv) continue;
    Mix(&mark, static_cast<uint64_t>(e.channel) << 32 | static_cast<uint32_t>(e.peer));
    Mix(&mark, e.done);
    Mix(&mark, static_cast<uint64_t>(e.state));
  }
  return mark;
}

uint64_t WholeMark(const Digest& d, uint64_t received) {
  uint64_t mark = received;
  for (const EdgeProgress& e : d.edges) {
    Mix(&mark, static_cast<uint64_t>(e.started) << 32 | e.done);
    Mix(&mark, static_cast<uint64_t>(e.state) << 32 | e.in_state);
  }
  Mix(&mark, d.suspect ? 1 : 0);
  Mix(&mark, (IsDead(d.vitals) ? 1u : 0u) | (IsStopped(d.vitals) ? 2u : 0u) |
                 (IsTraced(d.vitals) ? 4u : 0u));
  return mark;
}

uint64_t CallsMark(const Digest& d) {
  uint64_t mark = 0;
  for (const Operation& op : d.recent) {
    Mix(&mark, op.call_index);
    Mix(&mark, op.count);
    Mix(&mark, static_cast<uint64_t>(op.func) << 40 | static_cast<uint64_t>(op.datatype) << 32 |
                   static_cast<uint32_t>(op.root));
  }
  return mark;
}

// Counters only rise, so a digest in which one has fallen was overtaken on its way. What answers a
// later question was not: then it was the board that told something else before, and were its word
// not taken now, it never would be again.
bool Older(const Digest& candidate, const Digest& known) {
  if (candidate.request_id > known.request_id) return false;
  if (candidate.request_id != 0 && candidate.request_id < known.request_id) return true;
  if (candidate.operations_started < known.operations_started ||
      candidate.operations_finished < known.operations_finished) {
    return true;
  }
  if (!candidate.op || !known.op || candidate.op->index != known.op->index) return false;
  for (const EdgeProgress& e : candidate.edges) {
    for (const EdgeProgress& k : known.edges) {
      if (k.channel == e.channel && k.direction == e.direction && k.peer == e.peer) {
        if (e.done < k.done || e.started < k.started) return true;
        break;
      }
    }
  }
  return false;
}

}  // namespace

bool IsP2p(Func func) {
  return func == Func::kSend || func == Func::kRecv || func == Func::kSendRecv ||
         func == Func::kPutSignal || func == Func::kSignal || func == Func::kWaitSignal ||
         func == Func::kAlltoAll || func == Func::kGather || func == Func::kScatter;
}

bool IsOpen(const Digest& digest) {
  return digest.op && (digest.phase == Phase::kEnqueued || digest.phase == Phase::kInside);
}

bool CallsP2p(const Digest& digest) {
  return (digest.op && IsP2p(digest.op->func)) ||
         std::any_of(digest.recent.begin(), digest.recent.end(),
                     [](const Operation& op) { return IsP2p(op.func); });
}

bool HasStarted(const Digest& digest) {
  if (!IsOpen(digest)) return false;
  return digest.kernels.watched ? digest.kernels.started > 0 : digest.phase == Phase::kInside;
}

bool Pairs(Func one, Func other) {
  return (one == Func::kSend && other == Func::kRecv) ||
         (one == Func::kRecv && other == Func::kSend) || one == Func::kSendRecv ||
         other == Func::kSendRecv;
}

bool IsFarewell(const Digest& digest) {
  return digest.vitals.ending && digest.phase == Phase::kBetween && !digest.op &&
         digest.operations_started == 0;
}

bool IsStopped(const Vitals& vitals) {
  return vitals.state == ProcessState::kStopped || vitals.frozen;
}
bool IsTraced(const Vitals& vitals) {
  return vitals.state == ProcessState::kTraced || vitals.traced;
}
bool IsDead(const Vitals& vitals) { return vitals.state == ProcessState::kDead; }

bool Report::Take(const Digest& digest, Instant now) {
  const bool same_process = known_ && digest.member.place.pid == digest_.member.place.pid &&
                            digest.member.place.host == digest_.member.place.host;
  if (same_process && Older(digest, digest_)) return false;
  const uint64_t received = ReceivedMark(digest);
  const uint64_t whole = WholeMark(digest, received);
  const Instant since = now - std::max(digest.age, Duration{0});
  if (!same_process) {
    still_since_ = since;
    equal_since_ = now;
  } else {
    if (received == received_mark_) {
      // An age may only fall with progress: a smaller one without it comes from an agent that has
      // restarted, or was long on its way.
      still_since_ = std::min(still_since_, since);
    } else {
      still_since_ = since;
      ++moves_;
    }
    if (whole != whole_mark_) equal_since_ = now;
  }
  const uint64_t request_id = std::max(digest.request_id, same_process ? digest_.request_id : 0);
  digest_ = digest;
  digest_.request_id = request_id;
  known_ = true;
  arrived_ = now;
  received_mark_ = received;
  whole_mark_ = whole;
  calls_mark_ = CallsMark(digest);
  return true;
}

Duration Report::Stalled(const EdgeProgress& edge, Instant now) const {
  return std::max(Stalled(now), edge.age + (now - arrived_));
}

Standing StandingOn(const Digest& digest, const Operation& op, bool mixed) {
  // The board moved while it was read, or could not hold the operation: nothing is known, and least
  // of all that the rank is late.
  if (!digest.op && digest.phase != Phase::kCalling &&
      (digest.truncated || digest.phase != Phase::kBetween)) {
    return Standing::kMissing;
  }
  if (!mixed) {
    if (!IsOpen(digest)) {
      if (digest.phase == Phase::kBetween && digest.op && digest.op->index >= op.index) {
        return Standing::kFinished;
      }
      return Standing::kNotEntered;
    }
    if (digest.op->index > op.index) return Standing::kFinished;
    if (digest.op->index < op.index) return Standing::kNotEntered;
    return digest.phase == Phase::kEnqueued ? Standing::kEnqueued : Standing::kInside;
  }
  if (IsOpen(digest) && digest.op->func == op.func && digest.op->seq == op.seq) {
    return digest.phase == Phase::kEnqueued ? Standing::kEnqueued : Standing::kInside;
  }
  if (digest.op && digest.op->func == op.func && digest.op->seq > op.seq) {
    return Standing::kFinished;
  }
  if (digest.phase == Phase::kBetween && digest.op && digest.op->func == op.func &&
      digest.op->seq == op.seq) {
    return Standing::kFinished;
  }
  bool called = false;
  for (const Operation& recent : digest.recent) {
    called |= recent.func == op.func && recent.seq >= op.seq;
  }
  if (!called) return Standing::kNotEntered;
  // Called, but an older operation of another kind is still open before it, or it has finished.
  if (!IsOpen(digest)) return Standing::kFinished;
  for (const Operation& recent : digest.recent) {
    if (recent.func == op.func && recent.seq == op.seq) {
      return recent.index > digest.op->index ? Standing::kNotEntered : Standing::kFinished;
    }
  }
  return Standing::kFinished;
}

namespace {

bool Meets(const Operation& mine, Rank waiter, const Operation& op) {
  return IsP2p(mine.func) && mine.peer == waiter && Pairs(op.func, mine.func);
}
bool Numbered(const Operation& a, const Operation& b) { return a.seq != 0 && b.seq != 0; }

}  // namespace

const Operation* CounterpartIn(const Digest& peer, Rank waiter, const Operation& op) {
  if (IsOpen(peer) && Meets(*peer.op, waiter, op) &&
      (!Numbered(*peer.op, op) || peer.op->seq == op.seq)) {
    return &*peer.op;
  }
  for (const Operation& recent : peer.recent) {
    if (Meets(recent, waiter, op) && Numbered(recent, op) && recent.seq == op.seq) return &recent;
  }
  return nullptr;
}

Standing StandingOfPeer(const Digest& peer, Rank waiter, const Operation& op) {
  if (!peer.op && peer.phase != Phase::kCalling &&
      (peer.truncated || peer.phase != Phase::kBetween)) {
    return Standing::kMissing;
  }
  const Operation* mine = CounterpartIn(peer, waiter, op);
  if (mine == nullptr) {
    // Later ones of the pair tell that it has gone by.
    const bool past =
        std::any_of(peer.recent.begin(), peer.recent.end(), [&](const Operation& recent) {
          return Meets(recent, waiter, op) && Numbered(recent, op) && recent.seq > op.seq;
        });
    return past ? Standing::kFinished : Standing::kNotEntered;
  }
  if (!IsOpen(peer)) return Standing::kFinished;
  if (mine->index < peer.op->index) return Standing::kFinished;
  if (mine->index > peer.op->index) return Standing::kNotEntered;
  return peer.phase == Phase::kEnqueued ? Standing::kEnqueued : Standing::kInside;
}

const EdgeProgress* OpenEdge(const Digest& digest, int channel, Direction direction,
                             std::optional<Rank> peer) {
  const EdgeProgress* found = nullptr;
  for (const EdgeProgress& e : digest.edges) {
    if (e.channel != channel || e.direction != direction || e.done >= e.steps) continue;
    if (peer && e.peer != *peer) continue;
    if (e.state != StepState::kRecvGpuWait && e.state != StepState::kRecvFlushWait) return &e;
    if (found == nullptr) found = &e;
  }
  return found;
}

}  // namespace sentinel
