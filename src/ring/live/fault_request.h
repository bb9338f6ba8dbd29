// A fault as it is asked for on the command line: KIND[,rank=R][,at=I][,after=MS][,for=S]. Pure.
//
// Some kinds a rank does to itself (LiveFault), the others are done to it from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/communicator.h"
#include "ring/live/plan.h"

namespace sentinel {

enum class OutsideFault {
  kStop,        // SIGSTOP before the iteration's first operation
  kKill,        // SIGKILL
  kNetOneway,   // nothing that the rank sends to its successor arrives any more
  kNetIsolate,  // nothing arrives at it or from it
  kSlowNet,     // a slice every half second to its successor
  kCancel,      // SIGTERM to all ranks, SIGKILL ten seconds later
  kFinish,      // the job ends, and its ranks leave unevenly
  kRestart,     // the rank dies, all others are ended and all start again
  kDebugger,    // a debugger attaches to the rank and holds it
};

struct FaultRequest {
  std::string kind;
  std::variant<LiveFault, OutsideFault> what;
  Rank rank = -1;
  std::optional<uint64_t> iteration;  // none: when the job's parent is told to
  std::optional<Duration> after;      // an outside fault: so long after the iteration has begun
  Duration lasting{};                 // zero: for ever, where the kind allows it
};

// `ranks`: how many the job has. Without a rank it is 2, or the last one; a checkpoint is rank 0's.
Result<FaultRequest> ParseFaultRequest(std::string_view text, int ranks);

// Every kind, for --help.
std::vector<std::string> FaultKinds();

}  // namespace sentinel
