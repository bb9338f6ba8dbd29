// The signals that tell a parent of ranks to end: not interrupted anywhere, asked for once a tick.
#pragma once

#include <csignal>

#include "base/time.h"

namespace sentinel {

// Blocks SIGTERM, SIGINT, SIGHUP and SIGPIPE in the main thread, before it makes others, which
// inherit that. None of them ends the parent before it has cleaned up; a reader that went away
// shows as a failed write.
void BlockParentSignals();

// Waits one tick. True if we were asked to end meanwhile.
bool WaitOneTick(Duration tick);

}  // namespace sentinel
