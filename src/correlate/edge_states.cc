#include "correlate/edge_states.h"

#include <algorithm>

namespace sentinel {
namespace {

// Whether the edge into `to` is frozen in a state of its own.
bool Guilty(const Scene& scene, Rank to, const EdgeProgress& recv) {
  if (!WaitsForSender(recv)) return false;
  const Digest* sender = scene.DigestOf(recv.peer);
  if (sender == nullptr) return false;
  const Standing standing = scene.StandingOf(recv.peer);
  if (standing == Standing::kFinished) return true;
  if (standing != Standing::kInside || sender->edges.empty()) return false;
  const EdgeProgress* send = OpenEdge(*sender, recv.channel, Direction::kSend, to);
  if (send == nullptr) return !sender->truncated;  // done with all of it
  if (send->done > recv.done) return true;
  return HandedToNic(*send) && recv.state == StepState::kRecvWait;
}

}  // namespace

bool WaitsForSender(const EdgeProgress& e) {
  return e.direction == Direction::kRecv && e.done < e.steps &&
         e.state != StepState::kRecvFlushWait && e.state != StepState::kRecvGpuWait;
}

bool HandedToNic(const EdgeProgress& e) {
  return e.state == StepState::kSendWait || e.state == StepState::kSendPeerWait;
}

HangClass GpuClass(const Digest& d) {
  return d.kernels.watched && d.kernels.started == 0 ? HangClass::kGpuNotStarted
                                                     : HangClass::kGpuStuck;
}

Finding Blame(HangClass hang_class, Rank rank, std::optional<Rank> waiter) {
  Finding f;
  f.hang_class = hang_class;
  f.rank = rank;
  f.waiter = waiter;
  return f;
}

Finding Frozen(Rank from, Rank to) {
  Finding f;
  f.hang_class = HangClass::kNetwork;
  f.edges.push_back({from, to});
  f.suspects = {from, to};
  f.waiter = to;
  return f;
}

std::vector<Edge> GuiltyEdges(const Scene& scene) {
  std::vector<Edge> guilty;
  for (const Scene::Seat& seat : scene.seats()) {
    if (scene.StandingOf(seat) != Standing::kInside) continue;
    for (const EdgeProgress& e : seat.report->digest().edges) {
      if (!Guilty(scene, seat.rank, e)) continue;
      const Edge edge{e.peer, seat.rank};
      if (std::find(guilty.begin(), guilty.end(), edge) == guilty.end()) guilty.push_back(edge);
      if (guilty.size() >= kSuspectsMax) return guilty;
    }
  }
  return guilty;
}

void ShareEdges(const Scene& scene, Finding* f) {
  const Edge first = f->edges.front();
  for (const Edge& e : GuiltyEdges(scene)) {
    if (e != first) f->edges.push_back(e);
  }
  const auto touches = [f, first](Rank rank) {
    return std::any_of(f->edges.begin() + 1, f->edges.end(), [rank, first](const Edge& e) {
      return (e.from == rank || e.to == rank) && !(e.from == first.to && e.to == first.from);
    });
  };
  const bool from_shared = touches(first.from);
  const bool to_shared = touches(first.to);
  f->suspects.clear();
  if (from_shared != to_shared) {
    f->rank = from_shared ? first.from : first.to;
    return;
  }
  f->rank.reset();
  f->suspects = {first.from, first.to};
}

}  // namespace sentinel
