// How long operations usually stand still: pauses counted in fine logarithmic buckets, half a
// kilobyte whatever is put in.
#pragma once

#include <cstdint>
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

 private:
  std::vector<uint32_t> buckets_;  // made by the first Add: most kinds of operation never occur
  uint64_t count_ = 0;
  uint64_t recent_ = 0;
  Duration longest_{0};
};

}  // namespace sentinel
