// The ring's progress as the ranks really replay it: when it last moved, and how far rank 0 is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "ring/ledger.h"
#include "ring/receive_progress.h"
#include "ring/recording.h"

namespace sentinel {

class ProgressWatch {
 public:
  explicit ProgressWatch(const Recording& recording);  // which outlives it

  // Takes over what rank `index` has newly made.
  void Follow(size_t index, const Ledger& ledger);

  std::optional<Instant> LastMove() const { return last_; }
  // When the recording's next move is due, on its clock; nothing if every move has been made.
  std::optional<int64_t> NextMoveNs() const;
  uint64_t OperationsCompleted() const { return ranks_.front().completions_seen; }

  // The last move at or before `when`: where the stall seen at `when` began.
  std::optional<Instant> LastMoveBefore(Instant when) const;

 private:
  struct OneRank {
    const RankRecording* recording;
    ProgressIndex index;
    size_t moves_seen = 0;
    size_t completions_seen = 0;
  };
  std::vector<OneRank> ranks_;
  std::vector<Instant> moves_;
  std::optional<Instant> last_;
};

}  // namespace sentinel
