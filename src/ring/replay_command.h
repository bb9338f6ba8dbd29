// `sentinel-ring --replay`: a recording in, a report out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ring/profiler_library.h"

namespace sentinel {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;    // the replay could not be carried through
constexpr int kExitUnusable = 2;  // command line or recording

struct ReplayCommandOptions {
  std::string folder;
  std::string json_path;    // empty: no JSON report; "-": standard output
  std::string events_path;  // empty: none; "-": standard output
  std::string plugin;       // empty: found
  std::string run_dir;      // empty: a fresh one
  int abi_max = kProfilerAbiNewest;
  double speed = 1.0;
  std::optional<int64_t> hold_ms;  // none: the default; 0: until told
  bool keep = false;
  bool judge = true;
};

// Returns the exit code; what went wrong is on standard error. From the main thread, before any
// other is made.
int RunReplayCommand(const ReplayCommandOptions& options);

}  // namespace sentinel
