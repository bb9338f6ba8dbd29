// Digests made by hand for tests: a ring of n ranks as its boards show it, one rank at a time.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "correlate/correlator.h"
#include "model/agent_message.h"

namespace sentinel {

constexpr Duration kMs = std::chrono::milliseconds(1);

// One rank's digest, built up in the words of the recordings: "R=7:RecvWait S=9:SendGPUWait".
class RankDigest {
 public:
  RankDigest(Rank rank, int32_t nranks, int nodes = 0) {
    d_.member.comm = {"job-1", 0x39236b6fe26e2058u, nranks};
    d_.member.rank = rank;
    d_.member.nodes = nodes == 0 ? nranks : nodes;
    d_.member.place = {"replay-" + std::to_string(rank), 0, "0000:3b:00.0", 1000 + rank};
    d_.suspect_after = 200 * kMs;
    d_.vitals.state = ProcessState::kSleeping;
    d_.vitals.idle = true;
    d_.history = {500, 20 * kMs};
  }

  static Operation AllReduce(uint64_t index, int channels) {
    Operation op;
    op.index = op.call_index = op.seq = index;
    op.func = Func::kAllReduce;
    op.count = 4194304;
    op.datatype = DataType::kFloat32;
    op.algorithm = Algorithm::kRing;
    op.protocol = Protocol::kSimple;
    op.channels = channels;
    return op;
  }

  // Finished `last` and has nothing open.
  RankDigest& Between(uint64_t last) {
    d_.phase = Phase::kBetween;
    d_.op = AllReduce(last, 2);
    d_.operations_started = d_.operations_finished = last + 1;
    d_.kernels = {true, 2, 2, 2};
    d_.suspect = false;
    return Calls(last);
  }
  RankDigest& Enqueued(uint64_t index, int channels = 2) {
    Open(index, channels);
    d_.phase = Phase::kEnqueued;
    d_.kernels = {true, channels, 0, 0};
    return *this;
  }
  // Inside operation `index`, kernels started on all channels.
  RankDigest& Inside(uint64_t index, int channels = 2) {
    Open(index, channels);
    d_.phase = Phase::kInside;
    d_.kernels = {true, channels, channels, 0};
    return *this;
  }
  RankDigest& Recv(uint32_t step, StepState state, uint32_t in_state = 1) {
    for (int c = 0; c < channels_; ++c) RecvOn(c, step, state, in_state);
    return *this;
  }
  RankDigest& Send(uint32_t step, StepState state, uint32_t in_state = 1) {
    for (int c = 0; c < channels_; ++c) SendOn(c, step, state, in_state);
    return *this;
  }
  RankDigest& RecvOn(int channel, uint32_t step, StepState state, uint32_t in_state = 1) {
    const int32_t n = d_.member.comm.nranks;
    return Edge(channel, Direction::kRecv, (d_.member.rank + n - 1) % n, step, state, in_state);
  }
  RankDigest& SendOn(int channel, uint32_t step, StepState state, uint32_t in_state = 1) {
    return Edge(channel, Direction::kSend, (d_.member.rank + 1) % d_.member.comm.nranks, step,
                state, in_state);
  }
  RankDigest& Edge(int channel, Direction direction, Rank peer, uint32_t step, StepState state,
                   uint32_t in_state = 1) {
    EdgeProgress e;
    e.channel = channel;
    e.direction = direction;
    e.peer = peer;
    e.steps = steps_;
    e.done = step;
    e.started = std::min(steps_, step + 4);
    e.state = step >= steps_ ? StepState::kNone : state;
    e.in_state = in_state;
    d_.edges.push_back(e);
    return *this;
  }
  RankDigest& Steps(uint32_t steps) {
    steps_ = steps;
    return *this;
  }
  RankDigest& KernelNotStarted() {
    d_.kernels.started = 0;
    return *this;
  }
  RankDigest& Process(ProcessState state) {
    d_.vitals.state = state;
    return *this;
  }
  RankDigest& Works() {
    d_.vitals.idle = false;
    return *this;
  }
  RankDigest& Aged(Duration age) {
    d_.age = age;
    d_.suspect = d_.phase != Phase::kBetween && age >= d_.suspect_after;
    for (EdgeProgress& e : d_.edges) e.age = age;
    return *this;
  }
  RankDigest& OnHost(std::string host, int gpu) {
    d_.member.place.host = std::move(host);
    d_.member.place.gpu = gpu;
    d_.member.place.pci = "0000:" + std::to_string(10 + gpu) + ":00.0";
    return *this;
  }
  Digest& value() { return d_; }
  operator const Digest&() const { return d_; }  // NOLINT: a builder is what it builds

 private:
  RankDigest& Calls(uint64_t last) {
    d_.recent.clear();
    for (uint64_t i = last >= 7 ? last - 7 : 0; i <= last; ++i) {
      d_.recent.push_back(AllReduce(i, 2));
    }
    return *this;
  }
  void Open(uint64_t index, int channels) {
    channels_ = channels;
    d_.op = AllReduce(index, channels);
    d_.operations_started = index + 1;
    d_.operations_finished = index;
    d_.suspect = true;
    Calls(index);
  }

  Digest d_;
  int channels_ = 2;
  uint32_t steps_ = 12;
};

// A cluster around a Correlator: every agent answers each request at once with what its rank shows,
// aged by the time that has passed since the fault.
class Bench {
 public:
  explicit Bench(std::vector<Digest> ranks, CorrelateOptions options = {})
      : correlator(options), ranks_(std::move(ranks)) {
    for (const Digest& d : ranks_) {
      correlator.OnInventory(AgentOf(d), {{d.member}}, now);
      silent.push_back(false);
    }
  }

  static AgentId AgentOf(const Digest& d) { return "agent-" + std::to_string(d.member.rank); }
  Digest& operator[](size_t rank) { return ranks_[rank]; }

  // Lets time pass. Ranks that are suspect say so once their age is beyond their limit.
  void Run(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      now = now + 10 * kMs;
      for (size_t i = 0; i < ranks_.size(); ++i) {
        ranks_[i].age += 10 * kMs;
        for (EdgeProgress& e : ranks_[i].edges) e.age += 10 * kMs;
        if (silent[i]) continue;
        correlator.OnHeard(AgentOf(ranks_[i]), now);
        const bool was = ranks_[i].suspect;
        ranks_[i].suspect =
            ranks_[i].phase != Phase::kBetween && ranks_[i].age >= ranks_[i].suspect_after;
        if (!was && ranks_[i].suspect) {
          ranks_[i].request_id = 0;
          correlator.OnDigest(AgentOf(ranks_[i]), ranks_[i], now);
        }
      }
      Step();
    }
  }

  // Everybody moved just now.
  void Fresh() {
    for (Digest& d : ranks_) {
      d.age = Duration{0};
      d.suspect = false;
      for (EdgeProgress& e : d.edges) e.age = Duration{0};
    }
  }

  void Step() {
    Correlator::Actions actions = correlator.Advance(now);
    Keep(actions);
    for (const Correlator::Request& request : actions.requests) {
      for (size_t i = 0; i < ranks_.size(); ++i) {
        if (silent[i] || AgentOf(ranks_[i]) != request.agent) continue;
        ranks_[i].request_id = request.request.request_id;
        correlator.OnDigest(request.agent, ranks_[i], now);
      }
    }
    Keep(correlator.Advance(now));
  }

  const Verdict* last() const { return verdicts.empty() ? nullptr : &verdicts.back().second; }
  // When the first verdict of a stage came, as time since the ranks stood still.
  std::optional<Duration> At(VerdictStage stage) const {
    for (const auto& [at, verdict] : verdicts) {
      if (verdict.stage == stage) return at;
    }
    return std::nullopt;
  }
  bool Red() const { return At(VerdictStage::kRed).has_value(); }

  Instant now{std::chrono::seconds(1000)};
  Instant fault{std::chrono::seconds(1000)};
  Correlator correlator;
  std::vector<bool> silent;
  std::vector<std::pair<Duration, Verdict>> verdicts;
  uint64_t requests = 0;

 private:
  void Keep(const Correlator::Actions& actions) {
    requests += actions.requests.size();
    for (const Verdict& v : actions.verdicts) verdicts.push_back({now - fault, v});
  }

  std::vector<Digest> ranks_;
};

}  // namespace sentinel
