// How long the stall clock has to run before a lamp is due, and what keeps the lamp dark.
#pragma once

#include <cstddef>
#include <vector>

#include "correlate/judgement.h"

namespace sentinel {

// The members as a whole.
struct Tally {
  size_t reported = 0;
  size_t suspect = 0;
  size_t stopped = 0;  // or traced, or frozen
  size_t dead = 0;
  size_t alive = 0;
  size_t ending = 0;       // and alive
  std::vector<Rank> down;  // dead or stopped, and the operation cannot do without them
};

Tally Count(const Scene& scene);

// Sets `limit` and `hold`, and the class where being late is only waiting. The clock of a death is
// set here too: it is those who survive that wait.
void SetLimit(const Scene& scene, const Tally& tally, const CorrelateOptions& options,
              const SilenceOf& silence_of, Instant now, Judgement* j);

}  // namespace sentinel
