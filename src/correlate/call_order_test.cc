#include "correlate/call_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "correlate/recorded.h"

namespace sentinel {
namespace {

using ::testing::ElementsAre;

std::optional<Disagreement> Compare(const std::vector<Digest>& ranks) {
  std::deque<Report> reports;
  Scene scene(ranks.front().member.comm.nranks, 4);
  for (const Digest& d : ranks) {
    reports.emplace_back();
    reports.back().Take(d, Instant{std::chrono::seconds(10)});
    scene.Add({d.member.rank, &reports.back(), false});
  }
  return CompareCalls(scene);
}

TEST(CallOrder, RanksThatAgreeAreNotHeldAgainstOneAnotherThoughOneIsLate) {
  EXPECT_FALSE(Compare(recorded::Skip()));
  EXPECT_FALSE(Compare(recorded::StopMid()));
}

TEST(CallOrder, ASmallerCountNamesTheMinority) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[2].recent[5].count = 2097152;
  const std::optional<Disagreement> d = Compare(ranks);
  ASSERT_TRUE(d);
  EXPECT_THAT(d->minority_ranks, ElementsAre(2));
  EXPECT_EQ(d->minority.count, 2097152u);
  EXPECT_FALSE(d->tie);
}

TEST(CallOrder, TheMinorityIsFoundThoughItIsTheFirstRank) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[0].recent[5].root = 3;
  EXPECT_THAT(Compare(ranks)->minority_ranks, ElementsAre(0));
}

TEST(CallOrder, AnotherFunctionInTheSamePlaceIsAMismatch) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[2].recent[7].func = Func::kAllGather;
  ranks[2].recent[7].seq = 0;
  const std::optional<Disagreement> d = Compare(ranks);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->minority.func, Func::kAllGather);
}

TEST(CallOrder, OfTwoRanksNeitherIsTheMinority) {
  std::vector<Digest> ranks = {RankDigest(0, 2).Inside(10), RankDigest(1, 2).Inside(10)};
  ranks[1].recent.back().datatype = DataType::kFloat16;
  EXPECT_TRUE(Compare(ranks)->tie);
}

TEST(CallOrder, ARankWhoseCountOfCallsIsShiftedBySendsIsNotComparedByIt) {
  // Rank 2 once sent something to rank 3 on this communicator: all its calls count one more, and
  // the collectives alternate between two sizes.
  std::vector<Digest> ranks = recorded::Skip();
  for (Digest& d : ranks) {
    for (Operation& op : d.recent) op.count = op.seq % 2 == 0 ? 1024 : 4096;
  }
  for (Operation& op : ranks[2].recent) ++op.call_index;
  EXPECT_FALSE(Compare(ranks));
}

TEST(CallOrder, SendsAndReceivesAreNotCompared) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[0].recent[6].func = Func::kSend;
  ranks[1].recent[6].func = Func::kRecv;
  EXPECT_FALSE(Compare(ranks));
}

}  // namespace
}  // namespace sentinel
