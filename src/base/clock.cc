#include "base/clock.h"

namespace sentinel {

Instant MonotonicNow() {
  return {
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

WallTime WallNow() {
  return {std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch())};
}

}  // namespace sentinel
