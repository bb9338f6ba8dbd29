// Which of a rank's planned faults happen now, and where in an iteration. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ring/live/plan.h"

namespace sentinel {

// Where a fault strikes: in the host thread before a call, in what is called, or in the operation
// once it is enqueued.
enum class FaultPlace { kHost, kProgram, kOperation };
FaultPlace PlaceOf(LiveFault fault);

// Indices into `plan.faults` of those that happen to `rank` in `iteration`. `armed` is for those
// without an iteration of their own; a rank that was held up past it gets them late.
class FaultSchedule {
 public:
  FaultSchedule(const JobPlan& plan, Rank rank) : plan_(plan), rank_(rank) {}

  // Each fault once.
  std::vector<size_t> Due(uint64_t iteration, std::optional<uint64_t> armed);

 private:
  const JobPlan& plan_;
  const Rank rank_;
  std::vector<size_t> past_;
};

// The group of the rank's program in which the fault strikes. Nothing if no call of it suits: a
// proxy's fault needs an operation that crosses the network, `missing-send` a Send, and so on.
std::optional<size_t> StruckGroup(const JobPlan& plan, const PlannedFault& fault);

// The rank's program of the iteration in which the fault strikes. Groups may be fewer, those before
// the struck one stay as they are. kProgram alone changes it.
std::vector<LiveGroup> ProgramUnder(const JobPlan& plan, const PlannedFault& fault);

// kInvalidArgument where a planned fault can strike nowhere.
Status CheckFaults(const JobPlan& plan, Rank rank);

}  // namespace sentinel
