#include "correlate/blame_walk.h"

#include <algorithm>
#include <map>

#include "correlate/edge_states.h"
#include "correlate/intra_node.h"
#include "correlate/ring_walk.h"
#include "correlate/tree_judge.h"

namespace sentinel {
namespace {

constexpr size_t kStartsPerChannelMax = 8;  // ties of the smallest receive step that are followed
constexpr int kChannelsMax = 64;            // NCCL's own bound

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
      if (f.hang_class != result.hang_class) result.hang_class = HangClass::kUnknown;
      // A walk that went in a circle makes every list of suspects too small.
      if (f.suspects.empty()) {
        result.suspects.clear();
        result.hang_class = HangClass::kUnknown;
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
