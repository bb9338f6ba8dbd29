// Where a recorded moment lies on this machine's monotonic clock. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace sentinel {

struct Timeline {
  int64_t origin_ns = 0;  // the recording's first callback …
  Instant start;          // … and when it happens here
  double speed = 1.0;     // 2: twice as fast

  // Moments before the origin happen at the start.
  Instant At(int64_t recorded_ns) const {
    const int64_t since = std::max(recorded_ns, origin_ns) - origin_ns;
    return start + Duration(static_cast<int64_t>(static_cast<double>(since) / speed));
  }
};

}  // namespace sentinel
