#include "ring/progress_watch.h"

#include <algorithm>

namespace sentinel {

ProgressWatch::ProgressWatch(const Recording& recording) {
  for (const RankRecording& rank : recording.ranks) {
    ranks_.push_back({&rank, IndexProgress(rank), 0, 0});
  }
}

void ProgressWatch::Follow(size_t index, const Ledger& ledger) {
  OneRank& rank = ranks_[index];
  const size_t made = ledger.MadeCount();
  const std::vector<size_t>& moves = rank.index.moves;
  for (; rank.moves_seen < moves.size() && moves[rank.moves_seen] < made; ++rank.moves_seen) {
    moves_.push_back(ledger.MadeAt(moves[rank.moves_seen]));
    last_ = last_ ? std::max(*last_, moves_.back()) : moves_.back();
  }
  const std::vector<size_t>& completions = rank.index.completions;
  while (rank.completions_seen < completions.size() && completions[rank.completions_seen] < made) {
    ++rank.completions_seen;
  }
}

std::optional<int64_t> ProgressWatch::NextMoveNs() const {
  std::optional<int64_t> next;
  for (const OneRank& rank : ranks_) {
    if (rank.moves_seen == rank.index.moves.size()) continue;
    const int64_t at = rank.recording->callbacks[rank.index.moves[rank.moves_seen]].at_ns;
    next = std::min(next.value_or(at), at);
  }
  return next;
}

std::optional<Instant> ProgressWatch::LastMoveBefore(Instant when) const {
  std::optional<Instant> last;
  for (const Instant move : moves_) {
    if (move <= when && (!last || move > *last)) last = move;
  }
  return last;
}

}  // namespace sentinel
