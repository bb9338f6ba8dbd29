// How a rank of a JobModel breaks, and what it finds when it is whole again.
#include "correlate/job_model.h"

namespace sentinel {

const char* JobFaultName(JobFault fault) {
  switch (fault) {
    case JobFault::kNone:
      return "none";
    case JobFault::kHostAbsent:
      return "host_absent";
    case JobFault::kLate:
      return "late";
    case JobFault::kComputeStuck:
      return "compute_stuck";
    case JobFault::kGpuDead:
      return "gpu_dead";
    case JobFault::kProxyFrozen:
      return "proxy_frozen";
    case JobFault::kNetwork:
      return "network";
    case JobFault::kStopped:
      return "stopped";
    case JobFault::kKilled:
      return "killed";
    case JobFault::kMissingSend:
      return "missing_send";
    case JobFault::kMismatchOrder:
      return "mismatch_order";
  }
  return "";
}

void JobModel::Break(Rank rank, JobFault fault) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  if (fault == JobFault::kMissingSend || fault == JobFault::kMismatchOrder) {
    state.skip_send = fault == JobFault::kMissingSend;
    state.swap_order = fault == JobFault::kMismatchOrder;
    return;
  }
  state.fault = fault;
  if (fault != JobFault::kComputeStuck) return;
  for (size_t at : state.streams[kComputeStream]) {
    const Item& item = state.items[at];
    if (item.kind == Kind::kCompute && item.is_started && !item.is_finished) state.stuck_item = at;
  }
}

void JobModel::Heal(Rank rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  if (state.fault == JobFault::kLate) state.worked = now_;
  state.fault = JobFault::kNone;
  state.stuck_item = SIZE_MAX;
  for (auto& [key, meeting] : meetings_) {
    if (!meeting.broken) continue;
    const Comm& comm = comms_[std::get<0>(key)];
    if (comm.members[static_cast<size_t>(meeting.culprit)] == rank) meeting.broken = false;
  }
  for (auto& [comm, seen] : state.comms) {
    // What happened behind the progress thread's back is seen now.
    for (size_t at : seen.open) {
      if (state.items[at].is_finished) ++seen.finished;
      state.items[at].unseen = false;
    }
    std::erase_if(seen.open, [&](size_t at) { return state.items[at].is_finished; });
    seen.changed = now_;
  }
}

}  // namespace sentinel
