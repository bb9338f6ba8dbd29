// The stall clock: since what was judged to be to blame last moved. Only receive-side progress,
// kernels and starts count, on the agents' own clocks; whose it is for which class:
// docs/detection.md, "Clock and limit".
#pragma once

#include <optional>

#include "correlate/judgement.h"

namespace sentinel {

// Sets `clock` and `subject` of a judgement whose finding and class are settled.
void SetClock(const Scene& scene, Instant now, Judgement* j);

// How long survivors have been suspecting, for a death among them; 0, and `who` as it was, if
// nobody does.
Duration LongestSuspicion(const Scene& scene, Rank dead, Instant now, std::optional<Rank>* who);

}  // namespace sentinel
