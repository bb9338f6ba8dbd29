#include "ring/receive_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/script_text_testing.h"

namespace sentinel {
namespace {

using testing::ElementsAre;

TEST(ReceiveProgress, CountsFirstTimesAndLeavesOutWhatNcclRepeatsWhileItSpins) {
  const ProgressIndex index = IndexProgress(OneAllReduce());
  // Coll start; step start and RecvWait, once each although made twice; kernel start; RecvGPUWait;
  // step stop; kernel state and stop.
  EXPECT_THAT(index.moves, ElementsAre(8, 14, 15, 18, 19, 20, 22, 23));
}

TEST(ReceiveProgress, AnOperationIsCompleteWithItsLastKernelOrProxy) {
  EXPECT_THAT(IndexProgress(OneAllReduce()).completions, ElementsAre(23));
}

TEST(ReceiveProgress, SendsAreNoProgress) {
  RankRecording rank = OneAllReduce();
  std::get<ProxyOpStart>(rank.callbacks[11].what).is_send = true;
  EXPECT_THAT(IndexProgress(rank).moves, ElementsAre(8, 18, 22, 23));
}

}  // namespace
}  // namespace sentinel
