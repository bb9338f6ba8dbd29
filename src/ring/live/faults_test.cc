#include "ring/live/faults.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

JobPlan PlanWith(LiveLayout layout, std::vector<PlannedFault> faults) {
  LayoutOptions options;
  options.layout = layout;
  JobPlan plan = LayOutJob(options).value();
  plan.faults = std::move(faults);
  return plan;
}

TEST(Faults, EachHappensOnceToItsRankInItsIteration) {
  const JobPlan plan = PlanWith(LiveLayout::kRing, {{LiveFault::kLate, 3, 5, {}, {}},
                                                    {LiveFault::kEval, 3, {}, {}, {}},
                                                    {LiveFault::kAbsent, 4, 5, {}, {}}});
  FaultSchedule schedule(plan, 3);
  EXPECT_TRUE(schedule.Due(4, std::nullopt).empty());
  EXPECT_EQ(schedule.Due(5, std::nullopt), std::vector<size_t>{0});
  EXPECT_TRUE(schedule.Due(5, std::nullopt).empty());
  EXPECT_TRUE(schedule.Due(6, 8).empty());
  EXPECT_EQ(schedule.Due(8, 8), std::vector<size_t>{1});
  EXPECT_TRUE(schedule.Due(9, 8).empty());
}

TEST(Faults, TheFirstIterationNeedsNoArming) {
  const JobPlan plan = PlanWith(LiveLayout::kRing, {{LiveFault::kFirstIteration, 1, {}, {}, {}}});
  FaultSchedule schedule(plan, 1);
  EXPECT_EQ(schedule.Due(0, std::nullopt), std::vector<size_t>{0});
}

TEST(Faults, AMismatchCallsTheFirstCollectiveWithALittleLess) {
  const PlannedFault fault{LiveFault::kMismatch, 2, 0, {}, {}};
  const JobPlan plan = PlanWith(LiveLayout::kRing, {fault});
  const std::vector<LiveGroup> groups = ProgramUnder(plan, fault);
  EXPECT_EQ(StruckGroup(plan, fault), 0U);
  EXPECT_EQ(groups[0][0].count, plan.program[2][0][0].count / 8 * 7);
  EXPECT_EQ(groups[1][0].count, plan.program[2][1][0].count);
}

TEST(Faults, AMismatchOfOrderSwapsTwoCollectivesThatDiffer) {
  const PlannedFault fault{LiveFault::kMismatchOrder, 2, 0, {}, {}};
  const JobPlan plan = PlanWith(LiveLayout::kRing, {fault});
  const std::vector<LiveGroup> groups = ProgramUnder(plan, fault);
  EXPECT_EQ(groups[0][0].func, LiveFunc::kReduceScatter);
  EXPECT_EQ(groups[1][0].func, LiveFunc::kAllReduce);
  EXPECT_EQ(groups[2][0].func, LiveFunc::kAllGather);
}

TEST(Faults, AMissingSendLeavesTheReceiveOfItsGroup) {
  const PlannedFault fault{LiveFault::kMissingSend, 2, 0, {}, {}};
  const JobPlan plan = PlanWith(LiveLayout::kSendRecv, {fault});
  const std::vector<LiveGroup> groups = ProgramUnder(plan, fault);
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].size(), 1U);
  EXPECT_EQ(groups[0][0].func, LiveFunc::kRecv);
}

TEST(Faults, ASendThatWasItsWholeGroupTakesTheGroupWithIt) {
  const PlannedFault fault{LiveFault::kMissingSend, 0, 0, {}, {}};
  const JobPlan plan = PlanWith(LiveLayout::kMixed, {fault});
  EXPECT_EQ(ProgramUnder(plan, fault).size() + 1, plan.program[0].size());
}

TEST(Faults, AProxyFreezesInAnOperationThatCrossesTheNetwork) {
  const JobPlan plan = PlanWith(LiveLayout::kMixed, {});
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    const PlannedFault fault{LiveFault::kFreezeProxy, rank, 0, {}, {}};
    const std::optional<size_t> struck = StruckGroup(plan, fault);
    if (!struck) continue;  // in the middle of a node
    const LiveCall& call = plan.program[static_cast<size_t>(rank)][*struck].front();
    EXPECT_NE(plan.comms[call.comm].kind, LiveCommKind::kInNode);
  }
  EXPECT_TRUE(StruckGroup(plan, {LiveFault::kFreezeProxy, 2, 0, {}, {}}).has_value());
}

TEST(Faults, OneThatCanStrikeNowhereIsRefused) {
  const JobPlan plan = PlanWith(LiveLayout::kSendRecv, {{LiveFault::kMismatch, 2, 0, {}, {}}});
  EXPECT_FALSE(CheckFaults(plan, 2).ok());
  EXPECT_TRUE(CheckFaults(plan, 3).ok());
}

TEST(Faults, ACommunicatorCanBeNamed) {
  const JobPlan plan = PlanWith(LiveLayout::kMixed, {});
  for (size_t comm = 0; comm < plan.comms.size(); ++comm) {
    const Rank rank = plan.comms[comm].members.front();
    const std::optional<size_t> struck =
        StruckGroup(plan, {LiveFault::kFreezeKernel, rank, 0, {}, comm});
    ASSERT_TRUE(struck.has_value());
    EXPECT_EQ(plan.program[static_cast<size_t>(rank)][*struck].front().comm, comm);
  }
}

}  // namespace
}  // namespace sentinel
