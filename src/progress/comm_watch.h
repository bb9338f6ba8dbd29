// The stall clock of one communicator in one process, from its header line alone.
//
// Knows neither ranks nor peers nor what the process is doing: it answers "how long has the oldest
// open operation stood still, and is that longer than it ever should". Pure.
#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"
#include "model/board_image.h"
#include "progress/gap_sketch.h"
#include "progress/learned.h"
#include "progress/operation_kind.h"

namespace sentinel {

struct WatchOptions {
  // Suspect: still for gap_factor times what this kind of operation usually is, within these
  // limits, and through scans_min scans.
  Duration suspect_min = std::chrono::milliseconds(200);
  Duration suspect_max = std::chrono::milliseconds(400);
  int gap_factor = 4;
  int scans_min = 8;
  // The first operations of a kind connect, compile and tune.
  uint64_t warmup_operations = 3;
  Duration warmup_limit = std::chrono::seconds(60);
  // A reader that was itself not run for so long has seen nothing, which is not silence.
  Duration scan_period = std::chrono::milliseconds(20);
  Duration overslept_after = std::chrono::milliseconds(200);
};

class CommWatch {
 public:
  // Kinds told apart in one communicator; what comes after shares one more.
  static constexpr size_t kKindsMax = 32;

  CommWatch(const WatchOptions& options, const CommLine& line, Instant now);

  // A routine scan has read this line.
  void Scan(const CommLine& line, Instant now);
  // The line was read besides: a change counts, silence does not count as a scan.
  void Refresh(const CommLine& line, Instant now);
  // The reader was not run: by so much all clocks are set forward.
  void Forgive(Duration overslept);
  // The operations a full read showed: finished ones make their kinds known, and a call that has
  // enqueued nothing says what it is about.
  void Learn(const std::vector<OperationImage>& operations);

  const CommLine& line() const { return line_; }
  bool open() const { return line_.operations_started > line_.operations_finished; }
  bool calling() const { return !open() && line_.api_calls_open > 0; }

  // Since the last change of the oldest open operation or its start; of a call that has enqueued
  // nothing, since it was first seen; else since anything moved.
  Duration Age(Instant now) const;
  Instant changed() const { return calling() ? calling_since_ : changed_; }
  Duration Limit() const;
  bool Suspect(Instant now) const;
  // It would be a suspect were it not for warm-up, and Learn has not been called since it last
  // moved: a full read may show that its kind is well known.
  bool Candidate(Instant now) const;

  History history() const;

  // What was learned, to be taken up again by a watch that comes after this one; and taken up, just
  // after construction. False, and nothing is taken up, if the line is behind what was learned.
  //
  // The time in between was seen by nobody: it is neither a pause nor a stall. Of an operation that
  // was open in it the pauses that were seen count only where they are longer than any known.
  LearnedComm Remember(int slot, Instant now) const;
  bool Recall(const LearnedComm& learned);

 private:
  struct Kind {
    uint64_t tracked = 0;  // completions the scans saw
    uint64_t shown = 0;    // completions full reads showed
    uint64_t completed() const { return tracked > shown ? tracked : shown; }
    GapSketch gaps;
  };

  void Update(const CommLine& line, Instant now);
  void Complete(uint64_t operations, Instant now);
  Kind& KindFor(OperationKind kind);
  const Kind* Known(OperationKind kind) const;
  OperationKind current() const;
  Duration UsualLimit() const;
  bool LongStill(Instant now, Duration limit) const;

  const WatchOptions* options_;
  CommLine line_;
  Instant seen_;     // the last read of the line
  Instant changed_;  // the stall clock's zero
  Instant calling_since_;
  int still_scans_ = 0;
  bool learned_ = false;  // Learn has been called since the clock's zero
  bool partial_;          // the open operation was already open when first seen
  bool recalled_ = false;
  Duration pause_longest_{0};  // of the open operation
  OperationKind kind_;         // of the open operation
  OperationKind calling_kind_;
  bool calling_kind_known_ = false;
  uint64_t shown_below_ = 0;  // operations with a lower index have been counted as shown
  std::map<OperationKind, Kind> kinds_;
  Kind other_kinds_;
  GapSketch gaps_;  // of every operation after the communicator's own warm-up
};

}  // namespace sentinel
