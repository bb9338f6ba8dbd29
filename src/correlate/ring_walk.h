// The walk along the edges of one ring: from a rank that waits to the place where nothing more
// comes from. Rules: docs/detection.md, "The walk".
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "correlate/finding.h"

namespace sentinel {

class RingWalk {
 public:
  explicit RingWalk(const Scene& scene) : scene_(scene) {}

  // From a rank inside scene.op, along one channel.
  Finding From(Rank start, int channel);

 private:
  std::optional<Finding> AtSender(Rank at, const EdgeProgress& recv, Rank sender, int channel);
  std::optional<Finding> AtTaker(Rank from, Rank taker, const EdgeProgress& send, int channel);
  Finding NothingToReceive(Rank at, int channel);
  Finding Unanswered(const std::vector<Rank>& missing, const std::vector<Rank>& neighbours,
                     bool lost_track);
  std::optional<Rank> SenderTo(Rank rank, int channel);

  const Scene& scene_;
  std::map<int, std::map<Rank, Rank>> senders_;  // channel -> receiver -> sender
  size_t node_hops_ = 0;
};

}  // namespace sentinel
