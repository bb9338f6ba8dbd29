// Where the profiler plugin is, when nobody says.
#pragma once

#include <string>

#include "base/result.h"

namespace sentinel {

constexpr const char* kPluginFile = "libnccl-profiler-sentinel.so";

// `asked` if it is not empty; else the one of the tree this program was built or installed in; else
// NCCL_PROFILER_PLUGIN. kNotFound lists where it looked.
Result<std::string> FindPlugin(const std::string& asked);

}  // namespace sentinel
