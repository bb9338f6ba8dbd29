#include "ring/live/outside_faults.h"

#include <algorithm>
#include <csignal>
#include <random>
#include <string>

#include "ring/live/live_ledger.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kCancelGrace = seconds(10);
// As torchrun's agents do: the node of the dead worker ends its others, then the rest hears of it.
constexpr Duration kOwnNodeTold = milliseconds(150);
constexpr Duration kEverybodyEnded = milliseconds(500);

bool IsWireFault(OutsideFault what) {
  return what == OutsideFault::kNetOneway || what == OutsideFault::kNetIsolate ||
         what == OutsideFault::kSlowNet;
}

OutsideFault KindOf(const FaultRequest& fault) { return std::get<OutsideFault>(fault.what); }

void EndAll(std::vector<LiveChild>* ranks, int signal) {
  for (LiveChild& rank : *ranks) rank.End(signal);
}

}  // namespace

Result<std::vector<std::pair<Rank, Rank>>> EdgesHeldUp(const JobPlan& plan,
                                                       const FaultRequest& fault) {
  std::vector<std::pair<Rank, Rank>> edges;
  const OutsideFault* what = std::get_if<OutsideFault>(&fault.what);
  if (what == nullptr || !IsWireFault(*what)) return edges;
  for (const LiveEdge& edge : NetworkEdges(plan)) {
    const bool leaves = edge.from == fault.rank;
    const bool arrives = edge.to == fault.rank;
    if (leaves || (arrives && *what == OutsideFault::kNetIsolate)) {
      edges.emplace_back(edge.from, edge.to);
    }
  }
  if (edges.empty()) {
    return Error{ErrorCode::kInvalidArgument, fault.kind + ": rank " + std::to_string(fault.rank) +
                                                  " sends nothing over the network"};
  }
  return edges;
}

OutsideFaults::OutsideFaults(std::vector<Asked> asked, Duration compute, uint64_t seed,
                             Relay* relay)
    : relay_(relay) {
  std::mt19937_64 chance(seed);
  // Before the iteration's first operation, or somewhere in its operations.
  std::uniform_int_distribution<int64_t> anywhere(0, 2 * compute.count());
  for (Asked& one : asked) {
    State state;
    const bool before = KindOf(one.fault) == OutsideFault::kStop;
    state.after = one.fault.after.value_or(Duration(before ? 0 : anywhere(chance)));
    state.asked = std::move(one);
    faults_.push_back(std::move(state));
  }
}

Status OutsideFaults::Tick(Instant now, std::optional<uint64_t> armed, const JobPlan& plan,
                           std::vector<LiveChild>* ranks, JobEvents* events) {
  for (State& state : faults_) {
    const FaultRequest& fault = state.asked.fault;
    if (!state.began) {
      const std::optional<uint64_t> iteration = fault.iteration ? fault.iteration : armed;
      const LiveChild& rank = (*ranks)[static_cast<size_t>(fault.rank)];
      if (!iteration || rank.ledger().Iterations() <= *iteration) continue;
      if (!state.reached) state.reached = now;
      if (now - *state.reached < state.after) continue;
      TRY(Begin(&state, now, ranks));
      state.began = now;
      events->FaultBegan(now, state.asked.index, fault, state.asked.edges);
    } else if (!state.ended) {
      GoOn(&state, now, plan, ranks);
      if (fault.lasting > Duration(0) && now - *state.began >= fault.lasting) {
        End(&state, now, ranks, events);
      }
    }
  }
  return {};
}

Status OutsideFaults::Begin(State* state, Instant, std::vector<LiveChild>* ranks) {
  LiveChild& rank = (*ranks)[static_cast<size_t>(state->asked.fault.rank)];
  switch (KindOf(state->asked.fault)) {
    case OutsideFault::kStop:
      rank.Signal(SIGSTOP);
      break;
    case OutsideFault::kKill:
      rank.End(SIGKILL);
      break;
    case OutsideFault::kNetOneway:
    case OutsideFault::kNetIsolate:
      SetWires(*state, Flow::kStop);
      break;
    case OutsideFault::kSlowNet:
      SetWires(*state, Flow::kSlow);
      break;
    case OutsideFault::kCancel:
      EndAll(ranks, SIGTERM);
      break;
    case OutsideFault::kFinish: {
      uint64_t newest = 0;
      for (const LiveChild& one : *ranks) newest = std::max(newest, one.ledger().Iterations());
      for (LiveChild& one : *ranks) one.ledger().StopAfter(newest + kIterationsAhead);
      break;
    }
    case OutsideFault::kRestart:
      rank.End(SIGABRT);
      break;
    case OutsideFault::kDebugger: {
      DebuggerHold hold = TRY(DebuggerHold::Attach(rank.pid()));
      holds_.push_back(std::move(hold));
      break;
    }
  }
  return {};
}

// What takes more than one act.
void OutsideFaults::GoOn(State* state, Instant now, const JobPlan& plan,
                         std::vector<LiveChild>* ranks) {
  const Duration since = now - *state->began;
  const OutsideFault what = KindOf(state->asked.fault);
  if (what == OutsideFault::kCancel && since >= kCancelGrace && state->steps == 0) {
    EndAll(ranks, SIGKILL);
    cancelled_ = true;
    ++state->steps;
  }
  if (what != OutsideFault::kRestart) return;
  if (since >= kOwnNodeTold && state->steps == 0) {
    for (LiveChild& rank : *ranks) {
      if (plan.NodeOf(rank.rank()) == plan.NodeOf(state->asked.fault.rank)) rank.End(SIGKILL);
    }
    ++state->steps;
  }
  if (since >= kEverybodyEnded && state->steps == 1) {
    EndAll(ranks, SIGKILL);
    restart_ = true;
    ++state->steps;
  }
}

void OutsideFaults::Heal(Instant now, std::vector<LiveChild>* ranks, JobEvents* events) {
  for (State& state : faults_) {
    if (state.began && !state.ended) End(&state, now, ranks, events);
  }
}

void OutsideFaults::End(State* state, Instant now, std::vector<LiveChild>* ranks,
                        JobEvents* events) {
  switch (KindOf(state->asked.fault)) {
    case OutsideFault::kStop:
      (*ranks)[static_cast<size_t>(state->asked.fault.rank)].Signal(SIGCONT);
      break;
    case OutsideFault::kNetOneway:
    case OutsideFault::kNetIsolate:
    case OutsideFault::kSlowNet:
      SetWires(*state, Flow::kPass);
      break;
    case OutsideFault::kDebugger:
      holds_.clear();
      break;
    case OutsideFault::kKill:
    case OutsideFault::kCancel:
    case OutsideFault::kFinish:
    case OutsideFault::kRestart:
      return;  // cannot be undone
  }
  state->ended = true;
  events->FaultEnded(now, state->asked.index, state->asked.fault);
}

void OutsideFaults::SetWires(const State& state, Flow flow) {
  for (const auto& [from, to] : state.asked.edges) relay_->Set(from, to, flow);
  if (KindOf(state.asked.fault) != OutsideFault::kNetIsolate) return;
  for (const auto& [from, to] : state.asked.edges) relay_->Set(to, from, flow);
}

std::optional<Instant> OutsideFaults::FirstBegan() const {
  std::optional<Instant> first;
  for (const State& state : faults_) {
    if (state.began && (!first || *state.began < *first)) first = state.began;
  }
  return first;
}

bool OutsideFaults::TakeRestart(const std::vector<LiveChild>& ranks) {
  if (!restart_) return false;
  for (const LiveChild& rank : ranks) {
    if (!rank.Gone()) return false;
  }
  restart_ = false;
  return true;
}

}  // namespace sentinel
