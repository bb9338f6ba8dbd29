// Call order: whether the members of a communicator asked for the same operations in the same
// order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "correlate/finding.h"

namespace sentinel {

struct Disagreement {
  uint64_t call_index = 0;
  Operation majority;
  Operation minority;
  std::vector<Rank> minority_ranks;  // at most kSuspectsMax + 1
  std::vector<Rank> majority_ranks;  // likewise
  size_t compared = 0;               // members on both sides together
  bool tie = false;                  // as many on one side as on the other: nobody is the minority
};

// The first call in which members disagree, as far as their recent calls still show it.
//
// Only what can be compared is compared: Send/Recv (and what NCCL makes of them) are called by some
// ranks and not by others and shift the count of calls, so two ranks are held against each other
// only where an earlier call, or the call's own sequence number, shows that their counts mean the
// same. A call that fewer than `compared_min` members show is passed over.
std::optional<Disagreement> CompareCalls(const Scene& scene, size_t compared_min = 0);

}  // namespace sentinel
