// Whom a job's stall is to be blamed on, by who waits for whom across its communicators.
//
// A rank that holds one operation up may itself wait in another, and then it is a victim and the
// other has to be followed. Rules: docs/detection.md, "Across communicators".
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "correlate/judgement.h"
#include "correlate/wait_graph.h"

namespace sentinel {

class JobWaits {
 public:
  explicit JobWaits(WaitGraph::Surroundings around) : graph_(std::move(around)) {}

  // Leaves in `finding` only those who have no operation elsewhere to wait for.
  Elsewhere Follow(WatchedGroup& from, const Scene& scene, Finding* finding);

 private:
  using Need = WaitGraph::Need;
  using Wait = WaitGraph::Wait;
  enum class Excuse { kNone, kElsewhere, kCircle, kUnasked };

  Excuse ExcuseOf(WatchedGroup& group, Rank rank, const Operation& needed, const Need& need,
                  std::vector<Wait>* circle, Wait* where);
  Elsewhere OnCircle(const WatchedGroup& from, const Need& need, const std::vector<Rank>& in_circle,
                     const std::vector<Wait>& circle, Finding* finding);
  Duration StillMin(const Scene& scene, const Need& need) const;
  Duration StillEverywhere(WatchedGroup& group, Rank rank, std::optional<Instant>* looked);

  WaitGraph graph_;
};

}  // namespace sentinel
