// What watching has taught about communicators, as values: what outlives the agent that learned it.
//
// It belongs to one process of one boot and to one generation of its board, and is worth nothing to
// any other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "progress/gap_sketch.h"
#include "progress/operation_kind.h"

namespace sentinel {

struct LearnedKind {
  OperationKind kind;
  uint64_t completed = 0;
  GapSketch gaps;
};

struct LearnedComm {
  int slot = 0;  // on the board, and of which generation
  uint32_t generation = 0;
  // How far it was.
  uint64_t operations_finished = 0;
  uint64_t progress = 0;
  Duration pause{0};         // the longest so far of the operation that was open
  uint64_t shown_below = 0;  // operations with a lower index have been counted from full reads
  std::vector<LearnedKind> kinds;
  LearnedKind others;  // kinds beyond the bound, together
  GapSketch gaps;      // of all operations: the history that a late rank is judged by
};

struct LearnedProcess {
  int pid = 0;  // as the host sees it, and which process of that number
  uint64_t start_ticks = 0;
  std::string job;
  uint64_t board = 0;  // its generation
  Instant seen{};      // when the process was last watched
  std::vector<LearnedComm> comms;
};

struct Learned {
  std::string boot;  // an Instant means nothing in another
  std::vector<LearnedProcess> processes;
};

}  // namespace sentinel
