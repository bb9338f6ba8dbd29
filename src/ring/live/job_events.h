// What happens in a live job, as JSON lines for whoever drives it: docs/formats/live-ring.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ring/event_log.h"
#include "ring/live/fault_request.h"
#include "ring/live/plan.h"

namespace sentinel {

class JobEvents {
 public:
  explicit JobEvents(EventLog& log) : log_(log) {}  // which outlives it

  void Ready(const JobPlan& plan, const std::string& job, const std::string& run_dir,
             const std::vector<int>& pids);
  void Start(Instant when);
  void Healthy(Instant when, uint64_t iterations, uint64_t operations);  // rank 0's
  void Armed(Instant when, uint64_t iteration);
  // `edges`: those it takes away or slows, [from, to] in world ranks; empty where it is none of a
  // wire.
  void FaultBegan(Instant when, size_t index, const FaultRequest& fault,
                  const std::vector<std::pair<Rank, Rank>>& edges);
  void FaultEnded(Instant when, size_t index, const FaultRequest& fault);
  // `last`: of any rank; `by_comm`: of each communicator, none where it has never moved.
  void Stall(Instant last, const JobPlan& plan, const std::vector<std::optional<Instant>>& by_comm);
  void Moving(Instant when);
  void Restarted(Instant when, const std::vector<int>& pids);
  void Finished(Instant when);
  void End(Instant when);

 private:
  EventLog& log_;
};

}  // namespace sentinel
