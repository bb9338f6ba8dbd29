// `sentinel-ring --train`: a live job, its faults, and a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ring/profiler_library.h"

namespace sentinel {

struct LiveCommandOptions {
  int ranks = 8;
  int nodes = 2;
  std::string layout = "ring";       // ring, sendrecv, mixed
  std::string transport = "socket";  // socket, ib
  int64_t compute_ms = 100;
  std::optional<uint64_t> seed;     // none: by chance
  std::vector<std::string> faults;  // ParseFaultRequest
  uint64_t iterations = 0;
  double seconds = 0;       // 0: no end of its own
  std::string json_path;    // empty: no JSON report; "-": standard output
  std::string events_path;  // empty: none; "-": standard output
  std::string plugin;       // empty: found; "none": none
  std::string run_dir;      // empty: a fresh one
  int abi_max = kProfilerAbiNewest;
  bool keep = false;
};

// Returns the exit code; what went wrong is on standard error. From the main thread, before any
// other is made.
int RunLiveCommand(const LiveCommandOptions& options);

}  // namespace sentinel
