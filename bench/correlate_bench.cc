// What one judgement costs at a thousand to a hundred thousand ranks, once the digests are in: an
// absent rank and a frozen edge; and what the ranks cost in memory. Eight ranks to an agent, two
// channels, as a ring over the network of one rank in eight would be judged at its worst: every
// rank has edges.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "correlate/correlator.h"
#include "correlate/scenario.h"

namespace sentinel {
namespace {

constexpr Rank kRanksPerAgent = 8;

AgentId AgentOf(Rank rank) { return "agent-" + std::to_string(rank / kRanksPerAgent); }

// Rank n/2 has not entered: the stair of starved ranks behind it, capped by the operation's end.
std::vector<Digest> Absent(Rank n) {
  const Rank culprit = n / 2;
  const uint32_t steps = 4096;
  std::vector<Digest> ranks;
  for (Rank r = 0; r < n; ++r) {
    if (r == culprit) {
      ranks.push_back(RankDigest(r, n).Between(9));
      continue;
    }
    const uint32_t behind = static_cast<uint32_t>((r - culprit - 1 + n) % n);
    const uint32_t step = std::min(steps - 2, 2 * behind);
    RankDigest d(r, n);
    d.Inside(10)
        .Steps(steps)
        .Recv(step, StepState::kRecvWait, 4)
        .Send(step + 2, StepState::kSendGpuWait, 4);
    ranks.push_back(d.Aged(300 * kMs));
  }
  for (Digest& d : ranks) {
    d.recent.clear();
    for (uint64_t i = 0; i < kRecentCallsMax; ++i) {
      Operation op = RankDigest::AllReduce(10 + i - kRecentCallsMax, 2);
      op.call_index = op.seq = 10 + i;
      d.recent.push_back(op);
    }
  }
  return ranks;
}

// Packets from n/2 to n/2 + 1 are lost.
std::vector<Digest> FrozenEdge(Rank n) {
  std::vector<Digest> ranks = Absent(n);
  RankDigest d(n / 2, n);
  d.Inside(10).Steps(4096).Recv(5, StepState::kRecvGpuWait, 4).Send(3, StepState::kSendWait, 4);
  d.value().recent = ranks.front().recent;
  ranks[static_cast<size_t>(n / 2)] = d.Aged(300 * kMs);
  return ranks;
}

size_t BytesInUse() {
  const struct mallinfo2 memory = mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

void Judge(benchmark::State& state, const std::vector<Digest>& ranks) {
  const size_t before = BytesInUse();
  Correlator correlator({});
  Instant now{std::chrono::seconds(1000)};
  std::vector<Inventory> inventories(ranks.size() / kRanksPerAgent + 1);
  for (const Digest& d : ranks) {
    inventories[static_cast<size_t>(d.member.rank / kRanksPerAgent)].members.push_back(d.member);
  }
  for (size_t i = 0; i < inventories.size(); ++i) {
    correlator.OnInventory(AgentOf(static_cast<Rank>(i) * kRanksPerAgent), inventories[i], now);
  }
  inventories = {};
  const size_t at_rest = BytesInUse() - before;
  uint64_t round = 0;
  double digest_ms = 0;
  for (auto unused : state) {
    state.PauseTiming();
    now = now + 600 * kMs;
    const auto start = std::chrono::steady_clock::now();
    for (Digest d : ranks) {
      d.request_id = round;
      d.age += 100 * kMs;
      correlator.OnDigest(AgentOf(d.member.rank), d, now);
    }
    digest_ms +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    state.ResumeTiming();
    const Correlator::Actions actions = correlator.Advance(now);  // judges, and asks again
    benchmark::DoNotOptimize(actions.requests.data());
    if (!actions.requests.empty()) round = actions.requests.front().request.request_id;
  }
  const size_t asked = BytesInUse() - before;
  const std::vector<Verdict> open = correlator.Open(now);
  if (open.size() != 1) state.SkipWithError("no stall");
  state.SetLabel(std::string(HangClassName(open.front().hang_class)));
  const auto n = static_cast<double>(ranks.size());
  state.counters["at_rest_bytes_a_rank"] = static_cast<double>(at_rest) / n;
  state.counters["asked_bytes_a_rank"] = static_cast<double>(asked) / n;
  state.counters["taking_digests_ms"] = digest_ms / static_cast<double>(state.iterations());
}

void AbsentRank(benchmark::State& state) {
  Judge(state, Absent(static_cast<Rank>(state.range(0))));
}
void FrozenEdgeOfRing(benchmark::State& state) {
  Judge(state, FrozenEdge(static_cast<Rank>(state.range(0))));
}
BENCHMARK(AbsentRank)->Arg(1024)->Arg(4096)->Arg(16384)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(FrozenEdgeOfRing)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sentinel
