// The clocks, for the shell alone: edges, assemblies and programs read them and hand the reading
// down (scripts/tidy.py looks).
#pragma once

#include <string>

#include "base/time.h"

namespace sentinel {

Instant MonotonicNow();
WallTime WallNow();
// Which boot of this host monotonic instants count from; empty where the kernel does not say.
std::string BootId();
// From here on this process's civil time is that of the zone, a name such as Asia/Shanghai; UTC
// where the host does not know it. Before there are threads.
void UseTimeZone(const std::string& zone);
// What that civil time is ahead of UTC at `at`.
std::chrono::seconds CivilOffset(WallTime at);

inline Moment MomentNow() { return {MonotonicNow(), WallNow()}; }

}  // namespace sentinel
