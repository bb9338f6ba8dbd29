// Send and Recv: a pair at a time. A rank waits for its peer; the peer may have come, be late, or
// wait for somebody else in turn.
#pragma once

#include "correlate/finding.h"

namespace sentinel {

// Who holds up the rank `start`, whose open operation is a Send or Recv.
Finding JudgeP2p(Scene* scene, Rank start);

}  // namespace sentinel
