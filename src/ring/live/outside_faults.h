// The faults that are done to ranks from outside: signals, wires, a debugger, an end of the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "ring/live/debugger_hold.h"
#include "ring/live/fault_request.h"
#include "ring/live/job_events.h"
#include "ring/live/live_child.h"
#include "ring/live/plan.h"
#include "ring/live/relay.h"

namespace sentinel {

// The edges [from, to] whose bytes the fault holds up in that direction; none for other kinds.
// kInvalidArgument: the rank has no such edge over the network.
Result<std::vector<std::pair<Rank, Rank>>> EdgesHeldUp(const JobPlan& plan,
                                                       const FaultRequest& fault);

class OutsideFaults {
 public:
  struct Asked {
    size_t index = 0;  // among all faults of the job
    FaultRequest fault;
    std::vector<std::pair<Rank, Rank>> edges;
  };

  // Where a fault does not say when in its iteration it happens, chance does, from `seed`. `relay`
  // carries the edges of all faults, and may be null where there are none.
  OutsideFaults(std::vector<Asked> asked, Duration compute, uint64_t seed, Relay* relay);

  // Does what is due. `armed`: the iteration of faults that do not say.
  Status Tick(Instant now, std::optional<uint64_t> armed, const JobPlan& plan,
              std::vector<LiveChild>* ranks, JobEvents* events);

  // Ends what can be ended.
  void Heal(Instant now, std::vector<LiveChild>* ranks, JobEvents* events);

  std::optional<Instant> FirstBegan() const;
  // Every rank of a job that is to start again has ended. True once.
  bool TakeRestart(const std::vector<LiveChild>& ranks);
  bool Cancelled() const { return cancelled_; }  // and killed

 private:
  struct State {
    Asked asked;
    Duration after{0};
    std::optional<Instant> reached;  // its iteration, by its rank
    std::optional<Instant> began;
    bool ended = false;
    int steps = 0;  // done of what takes several
  };

  Status Begin(State* state, Instant now, std::vector<LiveChild>* ranks);
  void GoOn(State* state, Instant now, const JobPlan& plan, std::vector<LiveChild>* ranks);
  void End(State* state, Instant now, std::vector<LiveChild>* ranks, JobEvents* events);
  void SetWires(const State& state, Flow flow);

  std::vector<State> faults_;
  Relay* relay_;
  std::vector<DebuggerHold> holds_;
  bool restart_ = false;
  bool cancelled_ = false;
};

}  // namespace sentinel
