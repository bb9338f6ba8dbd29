#include "correlate/correlator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlate/recorded.h"

namespace sentinel {
namespace {

using namespace std::chrono_literals;

TEST(Correlator, AsksEveryMemberAtOnceAndAgainAndSaysNothingTwice) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  bench.Run(1s);
  EXPECT_GE(bench.requests, 4u * 7);
  EXPECT_LE(bench.requests, 4u * 12);
  EXPECT_LE(bench.verdicts.size(), 4u);
  EXPECT_EQ(bench.correlator.Open(bench.now).size(), 1u);
  EXPECT_GE(bench.correlator.Open(bench.now).front().stalled, 900ms);
}

TEST(Correlator, HasNothingToDoWhileNobodySuspects) {
  Bench bench(recorded::FreezeKernel());
  for (int i = 0; i < 100; ++i) {
    bench.Fresh();
    bench.Run(100ms);
  }
  EXPECT_TRUE(bench.verdicts.empty());
  EXPECT_EQ(bench.requests, 0u);
  EXPECT_FALSE(bench.correlator.NextWake());
}

TEST(Correlator, AStallThatMovesAgainHealsAndTheNextOneHasANewEpoch) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  bench.Run(2s);
  ASSERT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->epoch, 1u);
  for (Rank r = 0; r < 4; ++r) bench[r] = RankDigest(r, 4).Between(10);
  bench.Run(500ms);
  EXPECT_EQ(bench.last()->stage, VerdictStage::kHealed);
  EXPECT_FALSE(bench.last()->ended);
  EXPECT_EQ(bench.last()->culprit.rank, 2);
  EXPECT_TRUE(bench.correlator.Open(bench.now).empty());
  bench.Run(3s);
  EXPECT_FALSE(bench.correlator.NextWake());

  for (Rank r = 0; r < 4; ++r) {
    bench[r] = RankDigest(r, 4)
                   .Inside(11)
                   .Recv(r == 0 ? 0 : 2, StepState::kRecvWait)
                   .Send(2, StepState::kSendGpuWait);
  }
  bench[3] = RankDigest(3, 4).Between(10);
  bench.Fresh();
  bench.Run(1s);
  EXPECT_EQ(bench.last()->epoch, 2u);
  EXPECT_EQ(bench.last()->culprit.rank, 3);
}

TEST(Correlator, AJobThatLeavesIsEndedNotRecovered) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  bench.Run(2s);
  for (Rank r = 0; r < 4; ++r) {
    bench.correlator.OnInventory("agent-" + std::to_string(r), {}, bench.now);
    bench.silent[static_cast<size_t>(r)] = true;
  }
  bench.Run(5s);
  EXPECT_EQ(bench.last()->stage, VerdictStage::kHealed);
  EXPECT_TRUE(bench.last()->ended);
}

TEST(Correlator, ADeadRankThatLeftTheInventoryIsStillDead) {
  Bench bench(recorded::Kill());
  bench.Fresh();
  bench.correlator.OnInventory("agent-2", {}, bench.now);
  bench.Run(2s);
  ASSERT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kProcessDead);
}

TEST(Correlator, ALateRankThatComesIsNoticedAndNothingMore) {
  Bench bench(recorded::Skip());
  bench.Fresh();
  bench.Run(1s);
  EXPECT_FALSE(bench.Red());
  for (Rank r = 0; r < 4; ++r) bench[r] = RankDigest(r, 4).Between(10);
  bench.Run(3s);
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->stage, VerdictStage::kHealed);
  EXPECT_FALSE(bench.last()->ended);
}

TEST(Correlator, LateAndRepeatedDigestsDoNotHeal) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  std::vector<Digest> early;
  for (Rank r = 0; r < 4; ++r) {
    Digest d = bench[r];
    for (EdgeProgress& e : d.edges) e.done -= 1;
    early.push_back(d);
  }
  bench.Run(2s);
  ASSERT_TRUE(bench.Red());
  for (Rank r = 0; r < 4; ++r) {
    early[r].request_id = 0;
    bench.correlator.OnDigest("agent-" + std::to_string(r), early[r], bench.now);
    Digest again = bench[r];
    bench.correlator.OnDigest("agent-" + std::to_string(r), again, bench.now);
    again.request_id = 1;
    again.age = Duration{0};
    bench.correlator.OnDigest("agent-" + std::to_string(r), again, bench.now);
  }
  bench.Run(500ms);
  EXPECT_EQ(bench.last()->stage, VerdictStage::kRed);
}

TEST(Correlator, ACommunicatorThatWaitsForAnotherIsNotBlamed) {
  // Rank 2 is late in the big ring because it waits in a pair whose other end never comes.
  Bench bench(recorded::Skip());
  const auto pair = [&](Rank rank, Digest d) {
    d.member.comm.comm_id = 77;
    d.member.place = rank == 0 ? bench[2].member.place : Place{"replay-9", 0, "", 1009};
    return d;
  };
  const Digest waiting = pair(
      0, RankDigest(0, 2).Inside(5).Recv(0, StepState::kRecvWait).Send(2, StepState::kSendGpuWait));
  const Digest absent = pair(1, RankDigest(1, 2).Between(4));
  bench.correlator.OnInventory("agent-2", {{bench[2].member, waiting.member}}, bench.now);
  bench.correlator.OnInventory("agent-9", {{absent.member}}, bench.now);
  bench.Fresh();
  Duration age{0};
  for (int i = 0; i < 250; ++i) {
    bench.Run(10ms);
    age += 10ms;
    if (age < 200ms) continue;
    Digest w = waiting;
    w.age = age;
    w.suspect = true;
    bench.correlator.OnDigest("agent-2", w, bench.now);
    bench.correlator.OnDigest("agent-9", absent, bench.now);
  }
  size_t red = 0;
  for (const auto& [at, v] : bench.verdicts) {
    if (v.stage != VerdictStage::kRed) continue;
    ++red;
    EXPECT_EQ(v.comm.comm_id, 77u);
    EXPECT_EQ(v.culprit.place.host, "replay-9");
  }
  EXPECT_GT(red, 0u);
}

}  // namespace
}  // namespace sentinel
