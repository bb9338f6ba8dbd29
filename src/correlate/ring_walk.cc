#include "correlate/ring_walk.h"

#include "correlate/edge_states.h"
#include "correlate/intra_node.h"

namespace sentinel {
namespace {

constexpr size_t kSilentHopsMax = 64;  // unknown ranks the walk passes before it gives up

// Below this step a rank sends what it had from the start: its own GPU owes it to nobody.
uint32_t FirstStepsOfOwn(const Operation& op) {
  const bool every_rank_starts =
      op.func == Func::kAllReduce || op.func == Func::kAllGather || op.func == Func::kReduceScatter;
  if (!every_rank_starts) return 0;
  return op.protocol == Protocol::kSimple ? 2 : 1;
}

}  // namespace

Finding RingWalk::From(Rank start, int channel) {
  Rank at = start;
  std::vector<Rank> missing;
  std::vector<Rank> before_missing;
  const size_t hops_max = scene_.seats().size() + 1;
  for (size_t hop = 0; hop <= hops_max; ++hop) {
    const Digest& d = *scene_.DigestOf(at);
    const EdgeProgress* recv = OpenEdge(d, channel, Direction::kRecv);
    if (recv == nullptr) {
      const EdgeProgress* send = OpenEdge(d, channel, Direction::kSend);
      // Through with this channel: whatever is lost was lost after it.
      if (send == nullptr && !missing.empty()) break;
      if (send == nullptr || !HandedToNic(*send)) return NothingToReceive(at, channel);
      std::optional<Finding> end = AtTaker(at, send->peer, *send, channel);
      if (end) return *end;
      at = send->peer;
      continue;
    }
    if (recv->state == StepState::kRecvFlushWait) return Blame(HangClass::kPcie, at, at);
    if (recv->state == StepState::kRecvGpuWait) {
      const EdgeProgress* send = OpenEdge(d, channel, Direction::kSend);
      if (GpuClass(d) == HangClass::kGpuNotStarted || send == nullptr || !HandedToNic(*send)) {
        return Blame(GpuClass(d), at, recv->peer);
      }
      // Its slots are full because its own sends do not go out: on to who should take them.
      const Rank taker = send->peer;
      std::optional<Finding> end = AtTaker(at, taker, *send, channel);
      if (end) return *end;
      at = taker;
      continue;
    }
    const Rank sender = recv->peer;
    std::optional<Finding> end = AtSender(at, *recv, sender, channel);
    if (end) {
      if (end->hang_class != HangClass::kUnknown || end->missing.empty()) return *end;
      // Nothing is known of the sender. Its other neighbour may still lead on.
      if (!missing.empty() && missing.front() == sender) break;
      AddOnce(&missing, sender);
      AddOnce(&before_missing, at);
      std::optional<Rank> on = SenderTo(sender, channel);
      if (!on || missing.size() > kSilentHopsMax) {
        return Unanswered(missing, before_missing, true);
      }
      const EdgeProgress* into = OpenEdge(*scene_.DigestOf(*on), channel, Direction::kSend, sender);
      if (into != nullptr && HandedToNic(*into)) {
        AddOnce(&before_missing, *on);
        break;  // the unknown rank takes nothing: it, or the edge into it
      }
      at = *on;
      continue;
    }
    at = sender;
  }
  if (!missing.empty()) return Unanswered(missing, before_missing, false);
  return Finding{};  // a full circle: each waits for the next, and nobody is to be named
}

// The rules at the sender of an edge whose receiver waits. Nothing: go on with the sender.
std::optional<Finding> RingWalk::AtSender(Rank at, const EdgeProgress& recv, Rank sender,
                                          int channel) {
  switch (scene_.StandingOf(sender)) {
    case Standing::kMissing: {
      Finding f;
      f.missing.push_back(sender);
      return f;
    }
    case Standing::kNotEntered:
      return Blame(HangClass::kNotEntered, sender, at);
    case Standing::kEnqueued:
      return Blame(HangClass::kProxyStuck, sender, at);
    case Standing::kFinished:
      return Frozen(sender, at);
    case Standing::kInside:
      break;
  }
  const Digest& s = *scene_.DigestOf(sender);
  if (s.edges.empty() && !s.truncated) return Blame(HangClass::kProxyStuck, sender, at);
  const EdgeProgress* send = OpenEdge(s, channel, Direction::kSend, at);
  if (send == nullptr) {
    if (s.truncated) {
      Finding f;
      f.suspects = {sender, at};
      return f;
    }
    return Frozen(sender, at);
  }
  if (send->done > recv.done) return Frozen(sender, at);
  if (send->state == StepState::kSendWait) return Frozen(sender, at);
  if (send->state == StepState::kSendPeerWait) {
    if (recv.state == StepState::kRecvWait) return Frozen(sender, at);  // the credit was lost
    return Blame(HangClass::kProxyStuck, at, sender);  // it never posted its receive
  }
  if (send->done < FirstStepsOfOwn(*scene_.op)) return Blame(GpuClass(s), sender, at);
  return std::nullopt;
}

// A rank whose send does not go out, seen from the sending side. Nothing: go on with the taker.
std::optional<Finding> RingWalk::AtTaker(Rank from, Rank taker, const EdgeProgress& send,
                                         int channel) {
  switch (scene_.StandingOf(taker)) {
    case Standing::kMissing: {
      Finding f;
      f.missing = {taker};
      f.suspects = {taker, from};
      return f;
    }
    case Standing::kNotEntered:
      return Blame(HangClass::kNotEntered, taker, from);
    case Standing::kEnqueued:
      return Blame(HangClass::kProxyStuck, taker, from);
    case Standing::kFinished:
      return Frozen(from, taker);
    case Standing::kInside:
      break;
  }
  const Digest& d = *scene_.DigestOf(taker);
  const EdgeProgress* recv = OpenEdge(d, channel, Direction::kRecv, from);
  if (recv == nullptr) {
    Finding f;
    f.suspects = {from, taker};
    return f;
  }
  if (recv->state == StepState::kRecvWait && send.done <= recv->done) return Frozen(from, taker);
  if (recv->state == StepState::kRecvWait) return Frozen(from, taker);
  if (WaitsForSender(*recv)) return Blame(HangClass::kProxyStuck, taker, from);
  return std::nullopt;
}

// Inside the operation with no receive open on this channel: it has all it needs, or what it
// waits for comes from a neighbour on its own node, over which no proxy stands.
Finding RingWalk::NothingToReceive(Rank at, int channel) {
  std::vector<Rank> node = OnSameHost(scene_, at);
  if (node.size() <= 1) return Blame(GpuClass(*scene_.DigestOf(at)), at, std::nullopt);
  if (std::optional<Finding> exact = ExactWithinNode(scene_, node, at)) return *exact;
  for (Rank rank : node) {
    if (rank == at) continue;
    const Digest* d = scene_.DigestOf(rank);
    if (d == nullptr || scene_.StandingOf(rank) != Standing::kInside) continue;
    const EdgeProgress* recv = OpenEdge(*d, channel, Direction::kRecv);
    if (recv == nullptr || !WaitsForSender(*recv)) continue;
    if (node_hops_++ > scene_.seats().size()) break;
    return From(rank, channel);  // the node itself is starved: on where its data comes in
  }
  // One of its GPUs; in which order they pass data on inside the node nobody sees.
  std::erase_if(node, [this](Rank rank) { return scene_.StandingOf(rank) == Standing::kFinished; });
  Finding f;
  if (scene_.DigestOf(at)->kernels.watched) f.hang_class = HangClass::kGpuStuck;
  f.suspects = std::move(node);
  f.waiter = at;
  return f;
}

Finding RingWalk::Unanswered(const std::vector<Rank>& missing, const std::vector<Rank>& neighbours,
                             bool lost_track) {
  // Whoever is seen to be missing from the operation holds it up by itself, whatever else does.
  std::vector<Rank> not_entered;
  std::vector<Rank> not_taken_up;
  for (const Scene::Seat& seat : scene_.seats()) {
    const Standing standing = scene_.StandingOf(seat);
    if (standing == Standing::kNotEntered) not_entered.push_back(seat.rank);
    if (standing == Standing::kEnqueued && OnSameHost(scene_, seat.rank).size() == 1) {
      not_taken_up.push_back(seat.rank);
    }
  }
  if (!not_entered.empty() || !not_taken_up.empty()) {
    Finding f;
    f.hang_class = not_entered.empty() ? HangClass::kProxyStuck : HangClass::kNotEntered;
    f.suspects = not_entered.empty() ? not_taken_up : not_entered;
    if (f.suspects.size() == 1) {
      f.rank = f.suspects.front();
      f.suspects.clear();
    }
    return f;
  }
  Finding f;
  f.missing = missing;
  f.suspects = missing;
  if (lost_track) {
    for (const Scene::Seat& seat : scene_.seats()) {
      if (seat.report == nullptr && f.suspects.size() <= kSuspectsMax) {
        AddOnce(&f.suspects, seat.rank);
      }
    }
  }
  for (Rank rank : neighbours) AddOnce(&f.suspects, rank);
  if (!neighbours.empty()) f.waiter = neighbours.front();
  return f;
}

// Who sends to a rank that does not answer, from the other half of the edge.
std::optional<Rank> RingWalk::SenderTo(Rank rank, int channel) {
  std::map<Rank, Rank>& senders = senders_[channel];
  if (senders.empty()) {
    for (const Scene::Seat& seat : scene_.seats()) {
      if (scene_.StandingOf(seat) != Standing::kInside) continue;
      for (const EdgeProgress& e : seat.report->digest().edges) {
        if (e.channel == channel && e.direction == Direction::kSend) senders[e.peer] = seat.rank;
      }
    }
  }
  auto it = senders.find(rank);
  if (it == senders.end()) return std::nullopt;
  return it->second;
}

}  // namespace sentinel
