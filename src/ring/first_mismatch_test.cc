#include "ring/first_mismatch.h"

#include <gtest/gtest.h>

#include <vector>

namespace sentinel {
namespace {

RankRecording Calls(const std::vector<uint64_t>& counts, int64_t from_ns) {
  RankRecording rank;
  for (const uint64_t count : counts) {
    Callback callback;
    callback.at_ns = from_ns++;
    callback.type = CallbackType::kCollApi;
    callback.what = CollApiStart{"AllReduce", count, "ncclFloat32", 0, 0, false};
    rank.callbacks.push_back(callback);
  }
  return rank;
}

TEST(FirstMismatch, IsTheEarliestOfTheCallsThatDiffer) {
  Recording recording;
  recording.ranks.push_back(Calls({8, 8, 8, 9}, 100));
  recording.ranks.push_back(Calls({8, 8, 4, 8}, 90));
  EXPECT_EQ(FirstMismatchNs(recording), 92);
}

TEST(FirstMismatch, ARankThatHasCalledLessDoesNotDiffer) {
  Recording recording;
  recording.ranks.push_back(Calls({8, 8, 8}, 100));
  recording.ranks.push_back(Calls({8, 8}, 90));
  EXPECT_FALSE(FirstMismatchNs(recording));
  EXPECT_FALSE(FirstMismatchNs(Recording()));
}

}  // namespace
}  // namespace sentinel
