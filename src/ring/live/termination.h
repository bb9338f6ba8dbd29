// Being told to end, as a Python program with a handler for SIGTERM experiences it: the handler
// notes it, and the host thread acts upon it the next time it looks, which is not while it waits
// for an operation.
#pragma once

#include "base/time.h"

namespace sentinel {

// Of the process. Threads made while it is blocked (BlockTermination) never run the handler.
void WatchForTermination();
bool ToldToEnd();

void BlockTermination();
void UnblockTermination();

// Sleeps; false if it was, or is meanwhile, told to end.
bool SleepUnlessTold(Duration how_long);

}  // namespace sentinel
