#include "correlate/blame_walk.h"

#include <algorithm>
#include <map>

#include "correlate/intra_node.h"

namespace sentinel {
namespace {

constexpr size_t kStartsPerChannelMax = 8;  // ties of the smallest receive step that are followed
constexpr int kChannelsMax = 64;            // NCCL's own bound
constexpr size_t kSilentHopsMax = 64;       // unknown ranks the walk passes before it gives up

// Below this step a rank sends what it had from the start: its own GPU owes it to nobody.
uint32_t FirstStepsOfOwn(const Operation& op) {
  const bool every_rank_starts =
      op.func == Func::kAllReduce || op.func == Func::kAllGather || op.func == Func::kReduceScatter;
  if (!every_rank_starts) return 0;
  return op.protocol == Protocol::kSimple ? 2 : 1;
}

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

class RingWalk {
 public:
  explicit RingWalk(const Scene& scene) : scene_(scene) {}

  Finding From(Rank start, int channel) {
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
        const EdgeProgress* into =
            OpenEdge(*scene_.DigestOf(*on), channel, Direction::kSend, sender);
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

 private:
  // The rules at the sender of an edge whose receiver waits. Nothing: go on with the sender.
  std::optional<Finding> AtSender(Rank at, const EdgeProgress& recv, Rank sender, int channel) {
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
  std::optional<Finding> AtTaker(Rank from, Rank taker, const EdgeProgress& send, int channel) {
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
  Finding NothingToReceive(Rank at, int channel) {
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
    Finding f;
    f.suspects = node;
    f.waiter = at;
    return f;
  }

  Finding Unanswered(const std::vector<Rank>& missing, const std::vector<Rank>& neighbours,
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
  std::optional<Rank> SenderTo(Rank rank, int channel) {
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

  const Scene& scene_;
  std::map<int, std::map<Rank, Rank>> senders_;  // channel -> receiver -> sender
  size_t node_hops_ = 0;
};

struct Starts {
  uint32_t done = 0;
  uint32_t steps = 1;
  std::vector<Rank> ranks;
};

// Per channel, the ranks whose first open receive step is the smallest.
std::map<int, Starts> SmallestReceives(const Scene& scene) {
  std::map<int, Starts> starts;
  for (const Scene::Seat& seat : scene.seats()) {
    if (scene.StandingOf(seat) != Standing::kInside) continue;
    for (const EdgeProgress& e : seat.report->digest().edges) {
      if (e.direction != Direction::kRecv || e.done >= e.steps) continue;
      if (e.channel < 0 || e.channel >= kChannelsMax) continue;
      auto [it, fresh] = starts.try_emplace(e.channel);
      Starts& s = it->second;
      const uint64_t mine = static_cast<uint64_t>(e.done) * s.steps;
      const uint64_t best = static_cast<uint64_t>(s.done) * e.steps;
      if (fresh || mine < best) {
        s = {e.done, e.steps, {seat.rank}};
      } else if (mine == best && s.ranks.size() < kStartsPerChannelMax) {
        AddOnce(&s.ranks, seat.rank);
      }
    }
  }
  return starts;
}

// Nobody has a receive open. A sender may still wait for one that never came (the tail of a
// broadcast), or a kernel may not end although all its data is there.
Finding NoReceiveOpen(const Scene& scene) {
  for (const Scene::Seat& seat : scene.seats()) {
    if (scene.StandingOf(seat) != Standing::kInside) continue;
    for (const EdgeProgress& e : seat.report->digest().edges) {
      if (e.direction != Direction::kSend || e.done >= e.steps || !HandedToNic(e)) continue;
      const Standing taker = scene.StandingOf(e.peer);
      if (taker == Standing::kNotEntered) return Blame(HangClass::kNotEntered, e.peer, seat.rank);
      if (taker == Standing::kEnqueued) return Blame(HangClass::kProxyStuck, e.peer, seat.rank);
      if (taker == Standing::kMissing) {
        Finding f;
        f.missing = {e.peer};
        f.suspects = {e.peer, seat.rank};
        f.waiter = seat.rank;
        return f;
      }
      return Frozen(seat.rank, e.peer);
    }
  }
  return JudgeByKernels(scene);
}

// A NETWORK is laid at the door of one rank where several frozen edges meet in it.
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

// One verdict from what the channels say.
Finding Combine(const Scene& scene, std::vector<Finding> said) {
  std::map<std::pair<Rank, HangClass>, int> named;
  int network = 0;
  for (const Finding& f : said) {
    if (f.rank) {
      ++named[{*f.rank, f.hang_class}];
    } else if (f.hang_class == HangClass::kNetwork) {
      ++network;
    }
  }
  Finding result;
  if (named.empty()) {
    // An edge that is seen frozen says more than a rank nobody can ask.
    auto best = std::find_if(said.begin(), said.end(),
                             [](const Finding& f) { return f.hang_class == HangClass::kNetwork; });
    if (best != said.end()) {
      result = *best;
      ShareEdges(scene, &result);
      result.channels_agreeing = network;
      return result;
    }
    result = said.front();
    for (const Finding& f : said) {
      for (Rank rank : f.suspects) AddOnce(&result.suspects, rank);
      for (Rank rank : f.missing) AddOnce(&result.missing, rank);
      // A walk that went in a circle makes every list of suspects too small.
      if (f.suspects.empty()) {
        result.suspects.clear();
        break;
      }
    }
    result.channels_agreeing = static_cast<int>(said.size());
    return result;
  }
  auto most = std::max_element(named.begin(), named.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  const Rank rank = most->first.first;
  for (const Finding& f : said) {
    if (f.rank == rank && f.hang_class == most->first.second) {
      result = f;
      break;
    }
  }
  result.channels_agreeing = most->second;
  for (const Finding& f : said) {
    if (f.rank == rank) continue;
    if (f.rank) {
      AddOnce(&result.suspects, *f.rank);
    } else if (f.hang_class == HangClass::kNetwork) {
      const Edge& e = f.edges.front();
      if (e.from == rank || e.to == rank) continue;  // the same place, seen from another channel
      if (network < most->second) continue;
      AddOnce(&result.suspects, e.from);
      AddOnce(&result.suspects, e.to);
    }
  }
  if (!result.suspects.empty()) {
    // Two places hold the operation up, each by itself enough.
    result.suspects.insert(result.suspects.begin(), rank);
    result.rank.reset();
  }
  return result;
}

// Trees and whatever else is no ring: only states that no victim shows, without a walk.
Finding JudgeByGuilt(const Scene& scene) {
  Finding f;
  f.op = scene.op;
  std::vector<Rank> not_entered, proxy, not_started, flush, gpu;
  bool unknown = false;
  for (const Scene::Seat& seat : scene.seats()) {
    switch (scene.StandingOf(seat)) {
      case Standing::kMissing:
        unknown = true;
        if (f.missing.size() <= kSuspectsMax) f.missing.push_back(seat.rank);
        continue;
      case Standing::kNotEntered:
        if (not_entered.size() <= kSuspectsMax) not_entered.push_back(seat.rank);
        continue;
      case Standing::kFinished:
        continue;
      case Standing::kEnqueued:
      case Standing::kInside:
        break;
    }
    const Digest& d = seat.report->digest();
    if (d.edges.empty()) {
      if (d.phase == Phase::kEnqueued && proxy.size() <= kSuspectsMax) proxy.push_back(seat.rank);
      continue;
    }
    bool starved = false;
    bool delivered = false;
    bool sends_held = false;
    for (const EdgeProgress& e : d.edges) {
      starved |= WaitsForSender(e);
      delivered |= e.done < e.steps && e.state == StepState::kRecvGpuWait;
      sends_held |= e.direction == Direction::kSend && e.done < e.steps && HandedToNic(e);
      if (e.done < e.steps && e.state == StepState::kRecvFlushWait) AddOnce(&flush, seat.rank);
    }
    if (!delivered) continue;
    if (GpuClass(d) == HangClass::kGpuNotStarted) {
      AddOnce(&not_started, seat.rank);
    } else if (!starved && !sends_held) {
      AddOnce(&gpu, seat.rank);
    }
  }
  const auto settle = [&f](HangClass hang_class, const std::vector<Rank>& ranks) {
    f.hang_class = hang_class;
    if (ranks.size() == 1) {
      f.rank = ranks.front();
    } else {
      f.suspects = ranks;
    }
  };
  if (!not_entered.empty()) {
    settle(HangClass::kNotEntered, not_entered);
  } else if (!proxy.empty()) {
    settle(HangClass::kProxyStuck, proxy);
  } else if (!not_started.empty()) {
    settle(HangClass::kGpuNotStarted, not_started);
  } else if (std::vector<Edge> guilty = GuiltyEdges(scene); !guilty.empty()) {
    f.hang_class = HangClass::kNetwork;
    f.edges = {guilty.front()};
    f.waiter = guilty.front().to;
    ShareEdges(scene, &f);
  } else if (!flush.empty()) {
    settle(HangClass::kPcie, flush);
  } else if (!gpu.empty() && !unknown) {
    settle(HangClass::kGpuStuck, gpu);
  } else if (unknown) {
    f.suspects = f.missing;
  }
  return f;
}

bool IsRing(const Scene& scene) {
  if (scene.op->algorithm == Algorithm::kRing) return true;
  if (scene.op->algorithm != Algorithm::kUnknown) return false;
  for (const Scene::Seat& seat : scene.seats()) {
    if (scene.StandingOf(seat) != Standing::kInside) continue;
    const std::vector<EdgeProgress>& edges = seat.report->digest().edges;
    for (size_t i = 0; i + 1 < edges.size(); ++i) {
      for (size_t k = i + 1; k < edges.size(); ++k) {
        if (edges[i].channel == edges[k].channel && edges[i].direction == edges[k].direction &&
            edges[i].peer != edges[k].peer) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

std::optional<Operation> OldestOpen(const Scene& scene) {
  std::optional<Operation> oldest;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || !IsOpen(seat.report->digest())) continue;
    const Operation& op = *seat.report->digest().op;
    if (!oldest || op.index < oldest->index) oldest = op;
  }
  return oldest;
}

bool CarriesP2p(const Scene& scene) {
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr) continue;
    const Digest& d = seat.report->digest();
    if (d.op && IsP2p(d.op->func)) return true;
    for (const Operation& op : d.recent) {
      if (IsP2p(op.func)) return true;
    }
  }
  return false;
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

Finding JudgeCollective(const Scene& scene) {
  Finding result;
  const bool proxies =
      std::any_of(scene.seats().begin(), scene.seats().end(), [&scene](const Scene::Seat& seat) {
        return scene.StandingOf(seat) == Standing::kInside && !seat.report->digest().edges.empty();
      });
  if (!proxies) {
    result = JudgeByKernels(scene);
    result.op = scene.op;
    return result;
  }
  if (!IsRing(scene)) return JudgeByGuilt(scene);
  std::vector<Finding> said;
  RingWalk walk(scene);
  int channels = 0;
  for (const auto& [channel, starts] : SmallestReceives(scene)) {
    ++channels;
    for (Rank rank : starts.ranks) said.push_back(walk.From(rank, channel));
  }
  result = said.empty() ? NoReceiveOpen(scene) : Combine(scene, std::move(said));
  result.op = scene.op;
  result.channels = channels;
  result.channels_agreeing = std::min(result.channels_agreeing, channels);
  return result;
}

}  // namespace sentinel
