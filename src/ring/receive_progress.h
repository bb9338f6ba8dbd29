// Which recorded callbacks are the ring's own progress, and where its operations end. Pure.
//
// Progress is what the stall clock counts: a receive step that starts, changes state or ends for
// the first time, a kernel that starts or stops, an operation that starts. Sends are none (a socket
// sender finishes sends long after the ring has stopped), nor are the repeats NCCL makes while it
// spins.
#pragma once

#include <cstddef>
#include <vector>

#include "ring/recording.h"

namespace sentinel {

struct ProgressIndex {
  std::vector<size_t> moves;        // indices of the callbacks that are progress, ascending
  std::vector<size_t> completions;  // of those that complete an operation: its last kernel or proxy
};

ProgressIndex IndexProgress(const RankRecording& rank);

}  // namespace sentinel
