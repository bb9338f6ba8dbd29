// The life of one rank's process: load the plugin as NCCL does, make the recorded callbacks, then
// stay, or leave as recorded. What is done to it from outside (signals) is the parent's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/communicator.h"
#include "ring/profiler_library.h"

namespace sentinel {

struct RankProcessOptions {
  std::string recording;  // folder
  Rank rank = -1;
  std::string plugin;
  int abi_max = kProfilerAbiNewest;
  int ledger_fd = -1;
  int64_t origin_ns = 0;
  double speed = 1.0;
  std::optional<int> exit_code;  // leaves with it, not before exit_ns; none: stays for ever
  int64_t exit_ns = 0;
};

// Returns the exit code of the process; does not return while the rank is to stay.
int RunRankProcess(const RankProcessOptions& options);

}  // namespace sentinel
