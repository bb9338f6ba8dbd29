#include "correlate/call_order.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace sentinel {
namespace {

// Calls further apart than this cannot be in two lists of kRecentCallsMax unless a rank is far
// ahead, and then only the newest are worth comparing.
constexpr uint64_t kCallWindowMax = 4096;

bool Comparable(const Operation& op) {
  // AllGatherV is called with a different count on each rank.
  return !IsP2p(op.func) && op.func != Func::kUnknown && op.func != Func::kAllGatherV;
}

const Operation* CallAt(const Digest& digest, uint64_t call_index) {
  for (const Operation& op : digest.recent) {
    if (op.call_index == call_index) return &op;
  }
  return nullptr;
}

// Whether call `call_index` means the same position on both ranks.
bool Aligned(const Digest& a, const Digest& b, uint64_t call_index) {
  const Operation* here_a = CallAt(a, call_index);
  const Operation* here_b = CallAt(b, call_index);
  if (here_a == nullptr || here_b == nullptr) return false;
  if (here_a->func == here_b->func) return here_a->seq == here_b->seq;
  if (call_index <= 1) return true;
  const Operation* before_a = CallAt(a, call_index - 1);
  const Operation* before_b = CallAt(b, call_index - 1);
  return before_a != nullptr && before_b != nullptr && before_a->func == before_b->func &&
         before_a->seq == before_b->seq;
}

// One seat for each list of recent calls. Nearly all ranks of a healthy communicator show one of a
// few, and to go through the calls of sixteen thousand is most of what a judgement costs.
std::vector<const Scene::Seat*> OnePerList(const Scene& scene) {
  std::vector<const Scene::Seat*> seats;
  std::unordered_set<uint64_t> seen;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr) continue;
    if (seen.insert(seat.report->calls_mark()).second) seats.push_back(&seat);
  }
  return seats;
}

struct Slot {
  const Operation* first = nullptr;
  Rank first_rank = -1;
  bool differs = false;
};

}  // namespace

std::optional<Disagreement> CompareCalls(const Scene& scene, size_t compared_min) {
  const std::vector<const Scene::Seat*> shown = OnePerList(scene);
  uint64_t lowest = UINT64_MAX;
  uint64_t highest = 0;
  for (const Scene::Seat* seat : shown) {
    for (const Operation& op : seat->report->digest().recent) {
      lowest = std::min(lowest, op.call_index);
      highest = std::max(highest, op.call_index);
    }
  }
  if (lowest > highest) return std::nullopt;
  if (highest - lowest >= kCallWindowMax) lowest = highest - kCallWindowMax + 1;

  std::vector<Slot> slots(highest - lowest + 1);
  for (const Scene::Seat* seat : shown) {
    for (const Operation& op : seat->report->digest().recent) {
      if (op.call_index < lowest || !Comparable(op)) continue;
      Slot& slot = slots[op.call_index - lowest];
      if (slot.first == nullptr) {
        slot.first = &op;
        slot.first_rank = seat->rank;
      } else if (!SameCall(*slot.first, op)) {
        slot.differs = true;
      }
    }
  }

  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].differs) continue;
    const uint64_t call_index = lowest + i;
    Disagreement found;
    found.call_index = call_index;
    const Digest& reference = scene.Of(slots[i].first_rank)->digest();
    size_t same = 0;
    size_t other = 0;
    for (const Scene::Seat& seat : scene.seats()) {
      if (seat.report == nullptr) continue;
      const Operation* op = CallAt(seat.report->digest(), call_index);
      if (op == nullptr || !Comparable(*op)) continue;
      if (SameCall(*slots[i].first, *op)) {
        ++same;
        if (found.majority_ranks.size() <= kSuspectsMax) found.majority_ranks.push_back(seat.rank);
      } else if (Aligned(reference, seat.report->digest(), call_index)) {
        if (other++ == 0) found.minority = *op;
        if (found.minority_ranks.size() <= kSuspectsMax) found.minority_ranks.push_back(seat.rank);
      }
    }
    if (other == 0 || same + other < compared_min) continue;
    found.majority = *slots[i].first;
    found.tie = same == other;
    found.compared = same + other;
    if (other > same) {
      std::swap(found.majority, found.minority);
      std::swap(found.majority_ranks, found.minority_ranks);
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace sentinel
