// What each rank's process does besides its callbacks: it stops, goes on, dies or leaves, as the
// recorder saw it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/recording.h"

namespace sentinel {

enum class ActKind : uint8_t {
  kStop,      // SIGSTOP from outside
  kContinue,  // SIGCONT from outside
  kKill,      // by signal `code`
  kExit,      // of its own will, with exit code `code`
};

struct Act {
  ActKind kind = ActKind::kStop;
  size_t after_callbacks = 0;  // not before so many callbacks of this rank have been made
  int64_t not_before_ns = 0;   // nor before this moment on the recording's clock
  int code = 0;

  friend bool operator==(const Act&, const Act&) = default;
};

// Acts per rank, in order. A rank without acts lives until the replay is over, idle after its last
// callback: a rank that skips a call, hangs in a kernel or has lost its network looks so from
// outside.
//
// What the recorder saw of a process decides; the fault's kind only says when, and what where
// nothing was seen. Kinds are an open set: one nobody knows is told by its traces alone.
std::vector<std::vector<Act>> PlanActs(const Recording& recording);

// The job went on after the recorder's last look at it, and was cut off there: what follows the
// last callback is unknown, and no silence of the job's.
bool CutOffWhileMoving(const Recording& recording);

}  // namespace sentinel
