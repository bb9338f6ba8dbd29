#include "correlate/p2p_walk.h"

#include <algorithm>

#include "correlate/blame_walk.h"

namespace sentinel {
namespace {

// Of the edges between two ranks the first that is open: a P2P operation spreads over channels.
const EdgeProgress* OpenWith(const Digest& d, Direction direction, Rank peer) {
  for (const EdgeProgress& e : d.edges) {
    if (e.direction == direction && e.peer == peer && e.done < e.steps) return &e;
  }
  return nullptr;
}

HangClass GpuClass(const Digest& d) {
  return d.kernels.watched && d.kernels.started == 0 ? HangClass::kGpuNotStarted
                                                     : HangClass::kGpuStuck;
}

bool SameHost(const Digest& a, const Digest& b) {
  return !a.member.place.host.empty() && a.member.place.host == b.member.place.host;
}

void Blame(Finding* f, HangClass hang_class, Rank rank, Rank waiter) {
  f->hang_class = hang_class;
  f->rank = rank;
  f->waiter = waiter;
}

void Freeze(Finding* f, Rank from, Rank to) {
  f->hang_class = HangClass::kNetwork;
  f->edges = {{from, to}};
  f->suspects = {from, to};
  f->waiter = to;
}

// Both ends are inside the transfer from `from` to `to`.
void JudgePair(const Scene& scene, Rank from, Rank to, Finding* f) {
  const Digest& s = *scene.DigestOf(from);
  const Digest& r = *scene.DigestOf(to);
  if (s.phase == Phase::kEnqueued && !r.edges.empty()) {
    return Blame(f, HangClass::kProxyStuck, from, to);
  }
  if (r.phase == Phase::kEnqueued && !s.edges.empty()) {
    return Blame(f, HangClass::kProxyStuck, to, from);
  }
  const EdgeProgress* send = OpenWith(s, Direction::kSend, to);
  const EdgeProgress* recv = OpenWith(r, Direction::kRecv, from);
  if (recv != nullptr && recv->state == StepState::kRecvFlushWait) {
    return Blame(f, HangClass::kPcie, to, to);
  }
  if (recv != nullptr && recv->state == StepState::kRecvGpuWait) {
    return Blame(f, GpuClass(r), to, from);
  }
  if (recv != nullptr && send != nullptr) {
    if (send->done > recv->done || send->state == StepState::kSendWait) return Freeze(f, from, to);
    if (send->state == StepState::kSendPeerWait) {
      if (recv->state == StepState::kRecvWait) return Freeze(f, from, to);
      return Blame(f, HangClass::kProxyStuck, to, from);
    }
    return Blame(f, GpuClass(s), from, to);  // a Send owes its data to nobody else
  }
  if (recv != nullptr && !s.edges.empty() && !s.truncated) return Freeze(f, from, to);
  const bool started_from = !s.kernels.watched || s.kernels.started > 0;
  const bool started_to = !r.kernels.watched || r.kernels.started > 0;
  if (started_from != started_to) {
    return Blame(f, HangClass::kGpuNotStarted, started_from ? to : from, started_from ? from : to);
  }
  f->suspects = {from, to};
  f->waiter = to;
  // Two kernels at one transfer inside a node: nobody sees which of them stands.
  if (s.kernels.watched && r.kernels.watched && started_from && SameHost(s, r)) {
    f->hang_class = HangClass::kGpuStuck;
  }
}

// A rank that is missed and whose own operation's kernel has not started.
HangClass NotTakenUp(const Scene& scene, const Digest& d) {
  return scene.nodes() > 1 && d.phase == Phase::kEnqueued && d.edges.empty()
             ? HangClass::kProxyStuck
             : HangClass::kGpuNotStarted;
}

// What the waits themselves say cannot be right.
void Mismatch(Finding* f, std::vector<Rank> suspects, Rank waiter) {
  f->hang_class = HangClass::kMismatch;
  f->by_waits = true;
  f->suspects = std::move(suspects);
  f->waiter = waiter;
}

// One end is through with a transfer in which the other waits.
void JudgeLost(const Scene& scene, Rank waiter, Rank peer, Finding* f) {
  const Digest& d = *scene.DigestOf(waiter);
  const bool sends = d.op->func == Func::kSend;
  if (d.edges.empty()) {
    const Digest* p = scene.DigestOf(peer);
    if (d.kernels.watched && p != nullptr && SameHost(d, *p)) {
      // No wire lies between them, and a kernel ends only when its writes are in the other's
      // memory: what the waiter needs is there.
      return Blame(f, GpuClass(d), waiter, waiter);
    }
    f->suspects = {waiter, peer};
    f->waiter = waiter;
    return;
  }
  const EdgeProgress* recv = OpenWith(d, Direction::kRecv, peer);
  if (recv != nullptr && recv->state == StepState::kRecvFlushWait) {
    return Blame(f, HangClass::kPcie, waiter, waiter);
  }
  if (recv != nullptr && recv->state == StepState::kRecvGpuWait) {
    return Blame(f, GpuClass(d), waiter, peer);
  }
  Freeze(f, sends ? waiter : peer, sends ? peer : waiter);
}

}  // namespace

std::optional<Rank> StartOfP2p(const Scene& scene) {
  std::optional<Rank> start;
  std::pair<bool, Duration> best{false, Duration{-1}};
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || !IsOpen(seat.report->digest())) continue;
    const Digest& d = seat.report->digest();
    if (!IsP2p(d.op->func) || d.op->peer < 0 || !d.suspect || IsDead(d.vitals)) continue;
    const std::pair<bool, Duration> mine{HasStarted(d), d.age};
    if (mine > best) {
      best = mine;
      start = seat.rank;
    }
  }
  return start;
}

Finding JudgeP2p(Scene* scene, Rank start) {
  Finding f;
  std::vector<Rank> path;
  Rank at = start;
  while (true) {
    const Digest& d = *scene->DigestOf(at);
    const Rank peer = d.op->peer;
    f.op = d.op;
    const auto seen = std::find(path.begin(), path.end(), at);
    if (seen != path.end()) {
      // Each waits for the next in a circle: their order of calls cannot be right.
      Mismatch(&f, {seen, path.end()}, at);
      return f;
    }
    if (!HasStarted(d)) {
      f.hang_class = NotTakenUp(*scene, d);
      f.rank = at;
      if (!path.empty()) {
        f.waiter = path.back();
        f.op = scene->DigestOf(path.back())->op;
      }
      return f;
    }
    path.push_back(at);
    const Digest* p = scene->DigestOf(peer);
    const Standing standing = p == nullptr ? Standing::kMissing : StandingOfPeer(*p, at, *d.op);
    switch (standing) {
      case Standing::kMissing:
        f.missing = {peer};
        f.suspects = {peer, at};
        f.waiter = at;
        return f;
      case Standing::kFinished:
        JudgeLost(*scene, at, peer, &f);
        return f;
      case Standing::kEnqueued:
      case Standing::kInside: {
        const bool sends = d.op->func == Func::kSend ||
                           (d.op->func == Func::kSendRecv && p->op->func == Func::kRecv);
        JudgePair(*scene, sends ? at : peer, sends ? peer : at, &f);
        return f;
      }
      case Standing::kNotEntered:
        break;
    }
    if (!IsOpen(*p)) {
      Blame(&f, HangClass::kNotEntered, peer, at);
      return f;
    }
    const Operation& other = *p->op;
    if (!IsP2p(other.func) || other.peer < 0) {
      scene->op = other;
      scene->mixed = true;
      Finding inner = JudgeCollective(*scene);
      if (inner.rank && std::find(path.begin(), path.end(), *inner.rank) != path.end() &&
          inner.hang_class == HangClass::kNotEntered) {
        Mismatch(&f, {peer, *inner.rank}, at);
        return f;
      }
      return inner;
    }
    if (other.peer == at && !Pairs(d.op->func, other.func)) {
      Mismatch(&f, {at, peer}, at);
      return f;
    }
    at = peer;
  }
}

}  // namespace sentinel
