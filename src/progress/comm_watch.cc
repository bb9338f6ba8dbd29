#include "progress/comm_watch.h"

#include <algorithm>

namespace sentinel {

CommWatch::CommWatch(const WatchOptions& options, const CommLine& line, Instant now)
    : options_(&options),
      line_(line),
      seen_(now),
      changed_(now),
      calling_since_(now),
      partial_(open()),
      kind_{line.open_func, line.open_size_log2} {}

void CommWatch::Scan(const CommLine& line, Instant now) {
  const Instant changed_before = changed();
  const bool calling_before = calling();
  Update(line, now);
  const bool same = changed() == changed_before && calling() == calling_before;
  if (same) {
    ++still_scans_;
  }
}

void CommWatch::Refresh(const CommLine& line, Instant now) { Update(line, now); }

void CommWatch::Update(const CommLine& line, Instant now) {
  const bool was_open = open();
  const bool was_calling = calling();
  // A counter that runs backwards is a writer's fault or a lie; it is a change and teaches nothing.
  const bool backwards = line.operations_finished < line_.operations_finished;
  const uint64_t completed = backwards ? 0 : line.operations_finished - line_.operations_finished;
  const bool moved = line.progress != line_.progress || completed > 0 || backwards;
  if (was_open && moved) pause_longest_ = std::max(pause_longest_, now - changed_);
  if (completed > 0) Complete(completed, now);
  const uint64_t calls_before = line_.api_calls;
  line_ = line;
  if (moved || (!was_open && open())) {
    changed_ = now;
    still_scans_ = 0;
    learned_ = false;
  }
  if (open()) kind_ = {line.open_func, line.open_size_log2};
  if (calling() && (!was_calling || moved || line.api_calls != calls_before)) {
    calling_since_ = now;
    calling_kind_known_ = false;
    still_scans_ = 0;
    learned_ = false;
  }
  seen_ = now;
}

void CommWatch::Complete(uint64_t operations, Instant now) {
  const bool was_open = open();
  const uint64_t warm_left =
      line_.operations_finished < options_->warmup_operations
          ? std::min(options_->warmup_operations - line_.operations_finished, operations)
          : 0;
  // The one that was open has a pause we followed. Those that came and went between two reads
  // paused for less than the time between them.
  uint64_t unseen = operations;
  if (was_open) {
    --unseen;
    Kind& kind = KindFor(kind_);
    if (!partial_) {
      if (kind.completed() >= options_->warmup_operations) kind.gaps.Add(pause_longest_);
      if (warm_left == 0) gaps_.Add(pause_longest_);
    } else if (recalled_) {
      const bool warm = kind.completed() >= options_->warmup_operations;
      if (warm && pause_longest_ > kind.gaps.P999()) kind.gaps.Add(pause_longest_);
      if (warm_left == 0 && pause_longest_ > gaps_.P999()) gaps_.Add(pause_longest_);
    }
    ++kind.tracked;
  }
  partial_ = false;
  pause_longest_ = Duration(0);
  const uint64_t unseen_cold = was_open && warm_left > 0 ? warm_left - 1 : warm_left;
  gaps_.Add(now - seen_, unseen - std::min(unseen, unseen_cold));
}

void CommWatch::Forgive(Duration overslept) {
  changed_ = changed_ + overslept;
  calling_since_ = calling_since_ + overslept;
  seen_ = seen_ + overslept;
}

void CommWatch::Learn(const std::vector<OperationImage>& operations) {
  learned_ = true;
  uint64_t shown_below = shown_below_;
  for (const OperationImage& image : operations) {
    const OperationKind kind = KindOf(image.op);
    if (!image.enqueued) {
      if (calling()) {
        calling_kind_ = kind;
        calling_kind_known_ = true;
      }
      continue;
    }
    if (!image.finished || image.op.index < shown_below_ || image.op.index == UINT64_MAX) continue;
    ++KindFor(kind).shown;
    shown_below = std::max(shown_below, image.op.index + 1);
  }
  shown_below_ = shown_below;
}

CommWatch::Kind& CommWatch::KindFor(OperationKind kind) {
  const auto found = kinds_.find(kind);
  if (found != kinds_.end()) return found->second;
  if (kinds_.size() >= kKindsMax) return other_kinds_;
  return kinds_[kind];
}

const CommWatch::Kind* CommWatch::Known(OperationKind kind) const {
  const auto found = kinds_.find(kind);
  if (found != kinds_.end()) return &found->second;
  return kinds_.size() >= kKindsMax ? &other_kinds_ : nullptr;
}

Duration CommWatch::Age(Instant now) const { return std::max(now - changed(), Duration(0)); }

// Without regard to warm-up.
Duration CommWatch::UsualLimit() const {
  const Kind* kind = open() ? Known(kind_) : nullptr;
  // Nothing learned yet: as patient as we ever are.
  if (kind == nullptr || kind->gaps.count() == 0) return options_->suspect_max;
  return std::clamp<Duration>(options_->gap_factor * kind->gaps.P999(), options_->suspect_min,
                              options_->suspect_max);
}

Duration CommWatch::Limit() const {
  if (open()) {
    const Kind* kind = Known(kind_);
    const bool warm = kind != nullptr && kind->completed() >= options_->warmup_operations;
    return warm ? UsualLimit() : options_->warmup_limit;
  }
  // A call that has enqueued nothing may be connecting for a kind it meets for the first time.
  if (line_.operations_finished < options_->warmup_operations) return options_->warmup_limit;
  if (calling_kind_known_) {
    const Kind* kind = Known(calling_kind_);
    const bool warm = kind != nullptr && kind->completed() >= options_->warmup_operations;
    if (!warm) return options_->warmup_limit;
  }
  return UsualLimit();
}

bool CommWatch::LongStill(Instant now, Duration limit) const {
  if (line_.finalized || !(open() || calling())) return false;
  return still_scans_ >= options_->scans_min && Age(now) >= limit;
}

bool CommWatch::Suspect(Instant now) const { return LongStill(now, Limit()); }

bool CommWatch::Candidate(Instant now) const { return !learned_ && LongStill(now, UsualLimit()); }

History CommWatch::history() const { return {gaps_.count(), gaps_.P999()}; }

LearnedComm CommWatch::Remember(int slot, Instant now) const {
  LearnedComm learned;
  learned.slot = slot;
  learned.generation = line_.generation;
  learned.operations_finished = line_.operations_finished;
  learned.progress = line_.progress;
  if (open()) learned.pause = std::max(pause_longest_, now - changed_);
  learned.shown_below = shown_below_;
  for (const auto& [kind, habits] : kinds_) {
    learned.kinds.push_back({kind, habits.completed(), habits.gaps});
  }
  learned.others = {{}, other_kinds_.completed(), other_kinds_.gaps};
  learned.gaps = gaps_;
  return learned;
}

bool CommWatch::Recall(const LearnedComm& learned) {
  // What finished may step back by one where nothing tells when it does (docs/formats/board.md).
  if (learned.operations_finished > line_.operations_finished + 1) return false;
  if (learned.progress > line_.progress) return false;
  for (const LearnedKind& known : learned.kinds) {
    if (kinds_.size() >= kKindsMax) break;
    kinds_[known.kind] = {known.completed, known.completed, known.gaps};
  }
  other_kinds_ = {learned.others.completed, learned.others.completed, learned.others.gaps};
  gaps_ = learned.gaps;
  shown_below_ = learned.shown_below;
  // The operation that was open then is open still.
  if (open() && learned.operations_finished >= line_.operations_finished) {
    pause_longest_ = learned.pause;
  }
  recalled_ = true;
  return true;
}

}  // namespace sentinel
