#include "correlate/order_table.h"

#include <algorithm>

namespace sentinel {

OrderTable::Outcome OrderTable::Compare(Stance* member, const CallMark& mark) {
  if (mark.calls < member->newest && member->newest - mark.calls > kFallMax) *member = {};
  if (mark.calls <= member->newest) return Outcome::kNothing;
  member->newest = mark.calls;
  const uint64_t sum = (mark.sum - member->offset) % kCallSumModulus;
  const auto at =
      std::lower_bound(known_.begin(), known_.end(), mark.calls,
                       [](const CallMark& known, uint64_t calls) { return known.calls < calls; });
  if (at == known_.end() || at->calls != mark.calls) {
    if (known_.size() < kNumbersMax) {
      known_.insert(at, {mark.calls, sum});
    } else if (at != known_.begin()) {
      // What is smaller moves down over the smallest.
      std::move(known_.begin() + 1, at, known_.begin());
      *(at - 1) = {mark.calls, sum};
    }
    return Outcome::kNothing;
  }
  if (at->sum == sum) {
    ++agreed_since_;
    return Outcome::kAgrees;
  }
  member->offset = (mark.sum - at->sum) % kCallSumModulus;
  agreed_since_ = 0;
  return Outcome::kDiffers;
}

}  // namespace sentinel
