// What a judged replay comes to, for a person and as JSON (docs/formats/recording.md). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/verdict.h"
#include "ring/judge.h"
#include "ring/progress_watch.h"

namespace sentinel {

struct JudgementReport {
  std::string recording;
  int ranks = 0;
  std::optional<Verdict> verdict;  // the last word on the stall that turned red first
  std::optional<Instant> stalled_at;
  std::optional<Duration> suspect;  // after the stall
  std::optional<Duration> red;
  bool healed = false;  // it moved again, or ended, after it had turned red
  int suspicions = 0;   // stalls that were suspected and never turned red
  // How it came to that: every change of stage, class or culprit of any stall, by time.
  struct Step {
    Duration since_start{0};
    VerdictStage stage = VerdictStage::kSuspected;
    HangClass hang_class = HangClass::kUnknown;
    std::optional<Rank> rank;
    uint64_t epoch = 0;
  };
  std::vector<Step> steps;
};

// A red verdict's stall began with the last progress before it. A mismatch needs no stall: it began
// with the first call in which the recorded ranks differ, `mismatch`, where there is one.
JudgementReport SumUp(const std::vector<Judged>& judged, const ProgressWatch& progress,
                      Instant start, std::optional<Instant> mismatch);

std::string ReportJson(const JudgementReport& report);
std::string ReportText(const JudgementReport& report);

}  // namespace sentinel
