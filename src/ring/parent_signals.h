// SIGTERM and SIGINT as a parent of ranks takes them: not interrupted anywhere, asked for once a
// tick.
#pragma once

#include <csignal>

#include "base/time.h"

namespace sentinel {

// To be blocked in the main thread before it makes others, which inherit that.
sigset_t ParentSignals();

// Waits one tick. True if we were asked to end meanwhile.
bool WaitOneTick(Duration tick);

}  // namespace sentinel
