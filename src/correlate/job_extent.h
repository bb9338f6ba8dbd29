// How large the job of a communicator is, as far as agents have told.
#pragma once

#include <cstddef>

#include "correlate/roster.h"
#include "model/job.h"

namespace sentinel {

// Processes counted; beyond it a job is as large as that.
constexpr size_t kJobProcessesMax = 4096;
// Hosts listed; beyond it none are.
constexpr size_t kJobHostsMax = 256;
// Processes of a communicator whose other communicators are looked at.
constexpr size_t kJobProbesMax = 16;

// As many GPUs as the largest of its communicators has ranks, or as processes have been seen in all
// of them, whichever is more: half of a job's agents may be missing. A job that is no wider than a
// node (a pod) is as large as the communicators its processes share with other nodes.
JobFacts ExtentOf(const Roster& roster, const CommKey& comm);

}  // namespace sentinel
