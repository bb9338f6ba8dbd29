// Hostile recordings: one input is tried as a line of a rank's file and as a summary.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ring/callback_json.h"
#include "ring/recording_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sentinel::RankRecording rank;
  const bool appended = sentinel::AppendCallback(text, rank).ok();
  if (appended != (rank.callbacks.size() == 1)) __builtin_trap();
  const sentinel::Result<sentinel::Summary> summary = sentinel::ParseSummary(text, 4);
  if (summary.ok() && summary->rc_at_end.size() != 4) __builtin_trap();
  return 0;
}
