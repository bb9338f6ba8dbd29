// The clocks, for the shell alone: edges, assemblies and programs read them and hand the reading
// down (scripts/tidy.py looks).
#pragma once

#include "base/time.h"

namespace sentinel {

Instant MonotonicNow();
WallTime WallNow();
inline Moment MomentNow() { return {MonotonicNow(), WallNow()}; }

}  // namespace sentinel
