#include "ring/live/faults.h"

#include <algorithm>
#include <utility>

namespace sentinel {
namespace {

bool SameWork(const LiveGroup& a, const LiveGroup& b) {
  return a.front().func == b.front().func && a.front().count == b.front().count;
}

bool IsCollective(const LiveGroup& group) { return !IsP2p(group.front().func); }

bool CrossesNetwork(const JobPlan& plan, Rank rank, const LiveCall& call) {
  const LiveComm& comm = plan.comms[call.comm];
  const int size = static_cast<int>(comm.members.size());
  const auto at = [&](int member) { return comm.members[static_cast<size_t>(member % size)]; };
  if (IsP2p(call.func)) return plan.IsNetEdge(comm, rank, at(call.peer));
  const Rank self = *comm.RankOf(rank);
  return plan.IsNetEdge(comm, rank, at(self + 1)) ||
         plan.IsNetEdge(comm, at(self + size - 1), rank);
}

// The next group after `first` with which it could be swapped so that it shows.
std::optional<size_t> SwapPartner(const std::vector<LiveGroup>& groups, size_t first) {
  for (size_t i = first + 1; i < groups.size(); ++i) {
    if (!IsCollective(groups[i]) || groups[i].front().comm != groups[first].front().comm) continue;
    if (!SameWork(groups[i], groups[first])) return i;
  }
  return std::nullopt;
}

// Few enough for as many steps and channels as the others have: nothing but the data goes wrong.
size_t MissingOf(size_t count) { return std::max<size_t>(count / 8, 1); }

bool HasSend(const LiveGroup& group) {
  return std::any_of(group.begin(), group.end(),
                     [](const LiveCall& call) { return call.func == LiveFunc::kSend; });
}

bool Suits(const JobPlan& plan, const PlannedFault& fault, const std::vector<LiveGroup>& groups,
           size_t index) {
  const LiveGroup& group = groups[index];
  if (fault.comm && group.front().comm != *fault.comm) return false;
  switch (fault.kind) {
    case LiveFault::kFreezeProxy:
    case LiveFault::kFreezeProxyMid:
      return CrossesNetwork(plan, fault.rank, group.front());
    case LiveFault::kMismatch:
      return IsCollective(group) && group.front().count > 1;
    case LiveFault::kMismatchOrder:
      return IsCollective(group) && SwapPartner(groups, index).has_value();
    case LiveFault::kMissingSend:
      return HasSend(group);
    case LiveFault::kAbsent:
    case LiveFault::kStopMid:
    case LiveFault::kFreezeKernel:
    case LiveFault::kSlowKernel:
    case LiveFault::kLate:
    case LiveFault::kCheckpoint:
    case LiveFault::kEval:
    case LiveFault::kFirstIteration:
    case LiveFault::kLoader:
    case LiveFault::kExit:
      return true;
  }
  return true;
}

const std::vector<LiveGroup>& ProgramOf(const JobPlan& plan, Rank rank) {
  return plan.program[static_cast<size_t>(rank)];
}

}  // namespace

FaultPlace PlaceOf(LiveFault fault) {
  switch (fault) {
    case LiveFault::kAbsent:
    case LiveFault::kLate:
    case LiveFault::kCheckpoint:
    case LiveFault::kEval:
    case LiveFault::kFirstIteration:
    case LiveFault::kLoader:
    case LiveFault::kExit:
      return FaultPlace::kHost;
    case LiveFault::kMismatch:
    case LiveFault::kMismatchOrder:
    case LiveFault::kMissingSend:
      return FaultPlace::kProgram;
    case LiveFault::kStopMid:
    case LiveFault::kFreezeKernel:
    case LiveFault::kFreezeProxy:
    case LiveFault::kFreezeProxyMid:
    case LiveFault::kSlowKernel:
      return FaultPlace::kOperation;
  }
  return FaultPlace::kHost;
}

std::vector<size_t> FaultSchedule::Due(uint64_t iteration, std::optional<uint64_t> armed) {
  std::vector<size_t> due;
  for (size_t i = 0; i < plan_.faults.size(); ++i) {
    const PlannedFault& fault = plan_.faults[i];
    if (fault.rank != rank_ || std::find(past_.begin(), past_.end(), i) != past_.end()) continue;
    std::optional<uint64_t> from = fault.iteration;
    if (!from) from = fault.kind == LiveFault::kFirstIteration ? 0 : armed;
    if (!from || iteration < *from) continue;
    past_.push_back(i);
    due.push_back(i);
  }
  return due;
}

std::optional<size_t> StruckGroup(const JobPlan& plan, const PlannedFault& fault) {
  const std::vector<LiveGroup>& groups = ProgramOf(plan, fault.rank);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (Suits(plan, fault, groups, i)) return i;
  }
  return std::nullopt;
}

std::vector<LiveGroup> ProgramUnder(const JobPlan& plan, const PlannedFault& fault) {
  std::vector<LiveGroup> groups = ProgramOf(plan, fault.rank);
  const std::optional<size_t> struck = StruckGroup(plan, fault);
  if (!struck) return groups;
  LiveGroup& group = groups[*struck];
  if (fault.kind == LiveFault::kMismatch) {
    group.front().count -= MissingOf(group.front().count);
  } else if (fault.kind == LiveFault::kMismatchOrder) {
    std::swap(group, groups[*SwapPartner(groups, *struck)]);
  } else if (fault.kind == LiveFault::kMissingSend) {
    group.erase(std::find_if(group.begin(), group.end(),
                             [](const LiveCall& call) { return call.func == LiveFunc::kSend; }));
    if (group.empty()) groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(*struck));
  }
  return groups;
}

Status CheckFaults(const JobPlan& plan, Rank rank) {
  for (const PlannedFault& fault : plan.faults) {
    if (fault.rank != rank || StruckGroup(plan, fault)) continue;
    return Error{ErrorCode::kInvalidArgument, std::string(Name(fault.kind)) +
                                                  " suits no call of rank " + std::to_string(rank) +
                                                  " in this layout"};
  }
  return {};
}

}  // namespace sentinel
