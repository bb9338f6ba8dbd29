// What is kept of a source that comes and goes.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace sentinel {

struct FlapMemory {
  std::string source;              // an incident's identity
  bool unstable = false;           // it has been told as such
  std::vector<WallTime> openings;  // the oldest first
};

}  // namespace sentinel
