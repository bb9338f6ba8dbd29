#include "ring/live/plan.h"

#include <gtest/gtest.h>

#include <set>

namespace sentinel {
namespace {

JobPlan Mixed() {
  LayoutOptions options;
  options.layout = LiveLayout::kMixed;
  JobPlan plan = LayOutJob(options).value();
  for (int rank = 0; rank < plan.ranks; ++rank) {
    plan.listen_ports.push_back(static_cast<uint16_t>(2000 + rank));
  }
  return plan;
}

TEST(JobPlan, SurvivesItsFile) {
  JobPlan plan = Mixed();
  plan.transport = LiveTransport::kIb;
  plan.iterations = 7;
  plan.edges = {{3, 5, 4711}};
  plan.faults = {{LiveFault::kLate, 3, 12, std::chrono::seconds(2), 1},
                 {LiveFault::kExit, 4, {}, {}, {}}};
  plan.leave_after.assign(8, std::chrono::milliseconds(5));
  plan.handle_sigterm = {1, 2};
  const std::string written = JobPlanJson(plan);
  const JobPlan read = ParseJobPlan(written).value();
  EXPECT_EQ(JobPlanJson(read), written);
  EXPECT_EQ(read.faults[0].iteration, 12U);
  EXPECT_EQ(read.faults[0].lasting, std::chrono::seconds(2));
  EXPECT_EQ(read.faults[0].comm, 1U);
  EXPECT_EQ(read.faults[1].iteration, std::nullopt);
  EXPECT_EQ(read.PortFor(3, 5), 4711);
  EXPECT_EQ(read.PortFor(5, 3), 2003);
}

TEST(JobPlan, WhatDoesNotHangTogetherIsRefused) {
  const auto refused = [](auto spoil) {
    JobPlan plan = Mixed();
    spoil(plan);
    return !ParseJobPlan(JobPlanJson(plan)).ok();
  };
  EXPECT_FALSE(refused([](JobPlan&) {}));
  EXPECT_TRUE(refused([](JobPlan& plan) { plan.listen_ports.pop_back(); }));
  EXPECT_TRUE(refused([](JobPlan& plan) { plan.program[0].front().clear(); }));
  EXPECT_TRUE(refused([](JobPlan& plan) { plan.program[0].front().front().comm = 99; }));
  EXPECT_TRUE(refused([](JobPlan& plan) { plan.comms[0].members[0] = 99; }));
  EXPECT_TRUE(refused([](JobPlan& plan) { plan.faults.resize(JobPlan::kFaultsMax + 1); }));
  EXPECT_FALSE(ParseJobPlan("{}").ok());
  EXPECT_FALSE(ParseJobPlan("ring").ok());
}

TEST(JobPlan, RanksAreDealtToNodesInBlocks) {
  const JobPlan plan = Mixed();
  EXPECT_EQ(plan.HostOf(3), "node-0");
  EXPECT_EQ(plan.HostOf(4), "node-1");
  EXPECT_EQ(plan.LocalRankOf(0), 0);
  EXPECT_EQ(plan.LocalRankOf(3), 3);
  EXPECT_EQ(plan.LocalRankOf(4), 0);
  EXPECT_EQ(plan.LocalRankOf(7), 3);
}

TEST(JobPlan, ARingHasAnEdgeFromEveryRankToTheNext) {
  const JobPlan plan = LayOutJob({}).value();
  const std::vector<LiveEdge> edges = NetworkEdges(plan);
  ASSERT_EQ(edges.size(), 8U);
  for (const LiveEdge& edge : edges) EXPECT_EQ(edge.to, (edge.from + 1) % 8);
}

TEST(JobPlan, InTheMixedLayoutOnlyEdgesBetweenNodesCrossTheNetwork) {
  const JobPlan plan = Mixed();
  for (const LiveEdge& edge : NetworkEdges(plan)) {
    EXPECT_NE(plan.NodeOf(edge.from), plan.NodeOf(edge.to));
  }
  EXPECT_EQ(NetworkEdges(plan).size(), 4U);  // 2-4 and 3-5 down, 6-0 and 7-1 back
}

TEST(JobPlan, EverySendOfAProgramHasItsReceive) {
  for (LiveLayout layout : {LiveLayout::kRing, LiveLayout::kSendRecv, LiveLayout::kMixed}) {
    LayoutOptions options;
    options.layout = layout;
    const JobPlan plan = LayOutJob(options).value();
    std::multiset<std::tuple<size_t, Rank, Rank>> sent;
    std::multiset<std::tuple<size_t, Rank, Rank>> received;
    for (Rank rank = 0; rank < plan.ranks; ++rank) {
      for (const LiveGroup& group : plan.program[static_cast<size_t>(rank)]) {
        for (const LiveCall& call : group) {
          const Rank self = plan.comms[call.comm].RankOf(rank).value();
          if (call.func == LiveFunc::kSend) sent.insert({call.comm, self, call.peer});
          if (call.func == LiveFunc::kRecv) received.insert({call.comm, call.peer, self});
        }
      }
    }
    EXPECT_EQ(sent, received);
    EXPECT_FALSE(sent.empty());
  }
}

TEST(JobPlan, AShapeThatCannotBeIsRefused) {
  LayoutOptions options;
  options.ranks = 7;
  EXPECT_FALSE(LayOutJob(options).ok());
  options.ranks = 1;
  EXPECT_FALSE(LayOutJob(options).ok());
  options.ranks = 6;
  options.layout = LiveLayout::kMixed;  // three on a node: no pairs
  EXPECT_FALSE(LayOutJob(options).ok());
}

TEST(JobPlan, CommunicatorsOfOneJobAndOfTwoDiffer) {
  LayoutOptions options;
  options.layout = LiveLayout::kMixed;
  std::set<uint64_t> ids;
  size_t comms = 0;
  for (uint64_t seed : {1U, 2U, 3U}) {
    options.seed = seed;
    const JobPlan plan = LayOutJob(options).value();
    for (const LiveComm& comm : plan.comms) ids.insert(comm.id);
    comms += plan.comms.size();
  }
  EXPECT_EQ(ids.size(), comms);
}

TEST(JobPlan, EveryFaultHasANameThatLeadsBackToIt) {
  for (int kind = 0; kind <= static_cast<int>(LiveFault::kExit); ++kind) {
    const auto fault = static_cast<LiveFault>(kind);
    EXPECT_EQ(ParseLiveFault(Name(fault)), fault);
  }
  EXPECT_EQ(ParseLiveFault("no such"), std::nullopt);
}

}  // namespace
}  // namespace sentinel
