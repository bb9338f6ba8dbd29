// Fetches a recording from a folder: summary.json and rank<N>.jsonl.gz for every rank from 0 on
// (plain rank<N>.jsonl is read as well). What the files hold: docs/formats/recording.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/communicator.h"
#include "ring/recording.h"

namespace sentinel {

constexpr int kRecordedRanksMax = 512;                // each becomes a process
constexpr size_t kRecordedCallbacksMax = 20'000'000;  // of one rank
constexpr size_t kRecordedLineBytesMax = 64 * 1024;
// No callback lies further from the recording's first one: the replay would wait for it.
constexpr int kRecordedHoursMax = 6;
// So far from the recorded callbacks may its fault lie: ranks may be silent around it.
constexpr int kFaultMarginSecondsMax = 60;

// The whole recording. Errors name the file, and the line where one is to blame.
Result<Recording> ReadRecording(const std::string& folder);

// One rank's file alone: what a rank process needs of it. `first_ns` is the recording's first
// callback, where another file holds it.
Result<RankRecording> ReadRankRecording(const std::string& folder, Rank rank,
                                        std::optional<int64_t> first_ns = std::nullopt);

// Pure: the text of summary.json, whose recording has `ranks` ranks.
Result<Summary> ParseSummary(std::string_view text, int ranks);

}  // namespace sentinel
