// How long operations usually stand still: pauses counted in fine logarithmic buckets, half a
// kilobyte whatever is put in.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace sentinel {

class GapSketch {
 public:
  void Add(Duration gap, uint64_t times = 1);

  uint64_t count() const { return count_; }

  // The pause that 99.9 % of the recent ones did not exceed: never less than the true one, at most
  // 9 % more. With fewer than a thousand it is the longest. Zero if there were none.
  //
  // Old pauses fade: past kRecentMax all counts are halved, so a job that became quicker is
  // believed.
  Duration P999() const;

  static constexpr uint64_t kRecentMax = 1 << 17;

  // All that it knows, to be kept somewhere and put together again.
  struct Parts {
    uint64_t count = 0;
    Duration longest{0};
    std::vector<std::pair<int, uint32_t>> buckets;  // those that are not empty, by rising number
  };
  Parts parts() const;
  // Nothing if no sketch has such parts.
  static std::optional<GapSketch> Assemble(const Parts& parts);

 private:
  std::vector<uint32_t> buckets_;  // made by the first Add: most kinds of operation never occur
  uint64_t count_ = 0;
  uint64_t recent_ = 0;
  Duration longest_{0};
};

}  // namespace sentinel
