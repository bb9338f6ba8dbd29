#include "progress/call_marks.h"

#include <algorithm>
#include <utility>

namespace sentinel {

void CallMarks::See(const CommLine& line) {
  for (size_t i = 0; i < line.marks.size(); ++i) {
    const CallMark& mark = line.marks[i];
    if (mark.calls == 0 || mark == last_[i]) continue;
    last_[i] = mark;
    const auto at =
        std::lower_bound(seen_.begin(), seen_.end(), mark,
                         [](const CallMark& a, const CallMark& b) { return a.calls < b.calls; });
    if (at == seen_.end() || at->calls != mark.calls) seen_.insert(at, mark);
  }
  if (seen_.size() > kSeenMax) Thin(kSeenMax);
}

std::vector<CallMark> CallMarks::Take() {
  Thin(kCallMarksMax);
  return std::exchange(seen_, {});
}

void CallMarks::Thin(size_t most) {
  for (uint64_t every = 2; seen_.size() > most && every != 0; every *= 2) {
    const auto odd = [every](const CallMark& mark) { return mark.calls % every != 0; };
    if (std::all_of(seen_.begin(), seen_.end(), odd)) break;
    std::erase_if(seen_, odd);
  }
  // No number is rounder than another: the newest.
  if (seen_.size() > most) seen_.erase(seen_.begin(), seen_.end() - static_cast<ptrdiff_t>(most));
}

}  // namespace sentinel
