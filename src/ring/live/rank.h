// The life of one rank of a live job: connects to its neighbours, loads the plugin as NCCL does,
// iterates until told otherwise, verifies every result, destroys its communicators, leaves.
#pragma once

#include <string>

#include "model/communicator.h"
#include "ring/profiler_library.h"

namespace sentinel {

struct LiveRankOptions {
  std::string plan;  // file with the plan, as JobPlanJson writes it
  Rank rank = -1;
  std::string plugin;  // empty: none is loaded, as with NCCL_PROFILER_PLUGIN=none
  int abi_max = kProfilerAbiNewest;
  int ledger_fd = -1;
  // Folder of this start of the job, empty at first: for what the ranks of a node share, a
  // checkpoint writes and a loader reads.
  std::string scratch;
};

// Returns the exit code of the process: 0 after a clean finish, 1 after a failure (which the ledger
// tells), 143 where JobPlan::handle_sigterm has it leave on SIGTERM, which destroys nothing.
int RunLiveRank(const LiveRankOptions& options);

}  // namespace sentinel
