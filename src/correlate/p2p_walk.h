// Send and Recv: a pair at a time. A rank waits for its peer; the peer may have come, be late, or
// wait for somebody else in turn.
#pragma once

#include <optional>

#include "correlate/finding.h"

namespace sentinel {

// The rank to begin with: of those that suspect a Send or Recv the one that has stood still
// longest, its kernel running. Nothing if none does.
std::optional<Rank> StartOfP2p(const Scene& scene);

// Who holds up the rank `start`, whose open operation is a Send or Recv.
Finding JudgeP2p(Scene* scene, Rank start);

}  // namespace sentinel
