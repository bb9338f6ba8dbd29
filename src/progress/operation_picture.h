// The oldest unfinished operation of one communicator as the last full read showed it, with the
// time at which each edge was seen to change.
#pragma once

#include <optional>
#include <vector>

#include "base/time.h"
#include "model/board_image.h"
#include "model/progress.h"

namespace sentinel {

class OperationPicture {
 public:
  // A full read at `now` of a board whose header last moved at `changed`. An edge that moved since
  // the read before is taken to have moved then, or now where the header says that nothing did (the
  // send side is not in it).
  void Update(const CommImage& image, const BoardHeader& header, Instant changed, Instant now);

  // Whether it still shows the operation that `line` is about.
  bool Current(const CommLine& line) const;

  // Phase, operation, edges (unfinished ones first), kernels and recent calls. Only what stays true
  // is filled in, and `truncated` set, if the picture is no longer current.
  void Describe(const CommLine& line, Instant now, Digest* digest) const;

 private:
  struct Edge {
    EdgeProgress progress;
    Instant changed;
  };

  void StampEdges(const OperationImage& operation, Instant changed, Instant now);

  std::optional<Instant> taken_;
  CommLine line_;
  Phase phase_ = Phase::kBetween;
  std::optional<Operation> op_;
  std::vector<Edge> edges_;  // by channel, direction, peer
  KernelProgress kernels_;
  std::vector<Operation> recent_;
  bool truncated_ = false;
};

}  // namespace sentinel
