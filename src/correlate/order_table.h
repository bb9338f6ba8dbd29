// Whether the members of one communicator call their collectives in one order, told from marks of
// that order as they come in.
//
// Marks are sums over all calls so far, so after one wrong call a rank's sums differ for good. A
// member that has been found to differ is from then on compared less its offset: only a further
// disagreement is news. Marks say that two ranks differ, never how: that takes their calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/progress.h"

namespace sentinel {

class OrderTable {
 public:
  // Numbers remembered; the smallest go first. A member that is further behind is not compared.
  static constexpr size_t kNumbersMax = 64;
  // A member whose count falls by more than its board's marks are apart has begun anew.
  static constexpr uint64_t kFallMax = 8192;

  struct Stance {
    uint64_t newest = 0;  // number of its newest mark
    uint64_t offset = 0;
  };
  enum class Outcome { kNothing, kAgrees, kDiffers };

  // A mark that is no newer than the member's newest tells nothing.
  Outcome Compare(Stance* member, const CallMark& mark);

  // Marks that agreed since one last differed.
  uint64_t agreed_since() const { return agreed_since_; }

 private:
  std::vector<CallMark> known_;  // by rising number, less the offset of whoever told it first
  uint64_t agreed_since_ = 0;
};

}  // namespace sentinel
