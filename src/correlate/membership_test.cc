// What inventories and digests may claim, in any order and however wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlate/recorded.h"
#include "correlate/roster.h"

namespace sentinel {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Group> Make(const CommKey& key, uint32_t generation) {
  return std::make_unique<Group>(key, generation);
}
bool KeepNone(const Group&) { return false; }

Member At(Rank rank, std::string host, int pid) {
  Member m = RankDigest(rank, 4).value().member;
  m.place.host = std::move(host);
  m.place.pid = pid;
  return m;
}

TEST(Roster, TwoLiveMembersThatClaimOneRankStandInTwoGenerations) {
  Roster roster(&Make);
  Instant now{10s};
  roster.SetInventory("a", {{At(0, "x", 1), At(1, "x", 2)}}, now);
  roster.SetInventory("b", {{At(0, "y", 1), At(1, "y", 2)}}, now);
  ASSERT_EQ(roster.groups().begin()->second.size(), 2u);
  EXPECT_EQ(roster.groups().begin()->second[1]->Find(1)->member.place.host, "y");
  EXPECT_EQ(roster.memberships(), 4u);
}

TEST(Roster, ARankThatIsStartedAnewTakesItsOldPlace) {
  Roster roster(&Make);
  Instant now{10s};
  roster.SetInventory("a", {{At(0, "x", 1)}}, now);
  roster.SetInventory("a", {{At(0, "x", 7)}}, now);
  ASSERT_EQ(roster.groups().begin()->second.size(), 1u);
  EXPECT_EQ(roster.groups().begin()->second[0]->Find(0)->member.place.pid, 7);
}

TEST(Roster, ARankMovesToAnotherNodeWhenItsOldAgentIsGone) {
  Roster roster(&Make);
  Instant now{10s};
  roster.SetInventory("a", {{At(0, "x", 1)}}, now);
  roster.Disconnected("a");
  roster.SetInventory("b", {{At(0, "y", 1)}}, now + 10s);
  ASSERT_EQ(roster.groups().begin()->second.size(), 1u);
  EXPECT_EQ(roster.groups().begin()->second[0]->Find(0)->member.place.host, "y");
}

TEST(Roster, WhatLeavesIsForgottenAfterItsGrace) {
  Roster roster(&Make);
  Instant now{10s};
  roster.SetInventory("a", {{At(0, "x", 1)}}, now);
  roster.SetInventory("a", {}, now + 1s);
  roster.Sweep(now + 2s, &KeepNone);
  EXPECT_EQ(roster.memberships(), 1u);
  roster.Sweep(now + 10s, &KeepNone);
  EXPECT_EQ(roster.memberships(), 0u);
  EXPECT_TRUE(roster.groups().empty());
}

TEST(Roster, ImpossibleMembersAreRefused) {
  Roster roster(&Make);
  Instant now{10s};
  Member m = At(0, "x", 1);
  m.rank = -1;
  roster.SetInventory("a", {{m}}, now);
  m.rank = 4;
  roster.SetInventory("a", {{m}}, now);
  m.rank = 2000000000;
  m.comm.nranks = 2100000000;
  roster.SetInventory("a", {{m}}, now);
  EXPECT_EQ(roster.memberships(), 0u);
  EXPECT_EQ(roster.refused(), 3u);
}

TEST(Roster, GenerationsOfOneCommunicatorAreBounded) {
  Roster roster(&Make);
  Instant now{10s};
  for (int i = 0; i < 100; ++i) {
    roster.SetInventory("agent-" + std::to_string(i), {{At(0, "h" + std::to_string(i), 1)}}, now);
  }
  EXPECT_EQ(roster.memberships(), kGenerationsMax);
}

TEST(Membership, ADigestOfAMemberNoInventoryNamedCounts) {
  Correlator correlator({});
  Instant now{10s};
  for (const Digest& d : recorded::FreezeKernel()) correlator.OnDigest(Bench::AgentOf(d), d, now);
  const Correlator::Actions actions = correlator.Advance(now);
  EXPECT_EQ(actions.requests.size(), 4u);
  ASSERT_EQ(actions.verdicts.size(), 1u);
  EXPECT_EQ(actions.verdicts[0].culprit.rank, 2);
}

TEST(Membership, TwoJobsWithOneCommIdDoNotMixTheirStalls) {
  CorrelateOptions options;
  Correlator correlator(options);
  Instant now{10s};
  std::vector<Digest> stuck = recorded::FreezeKernel();
  std::vector<Digest> fine;
  for (Digest d : recorded::FreezeKernel()) {
    d = RankDigest(d.member.rank, 4).Between(40);
    d.member.place.host = "other-" + std::to_string(d.member.rank);
    fine.push_back(d);
  }
  for (const Digest& d : stuck) correlator.OnInventory(d.member.place.host, {{d.member}}, now);
  for (const Digest& d : fine) correlator.OnInventory(d.member.place.host, {{d.member}}, now);
  for (const Digest& d : stuck) correlator.OnDigest(d.member.place.host, d, now);
  for (const Digest& d : fine) correlator.OnDigest(d.member.place.host, d, now);
  const Correlator::Actions actions = correlator.Advance(now);
  EXPECT_EQ(actions.requests.size(), 4u);
  ASSERT_EQ(actions.verdicts.size(), 1u);
  EXPECT_EQ(actions.verdicts[0].culprit.place.host, "replay-2");
}

TEST(Membership, HostileDigestsAreSurvived) {
  Correlator correlator({});
  Instant now{10s};
  Digest d = RankDigest(0, 4).Inside(10);
  d.edges.push_back({-5, Direction::kRecv, -7, 12, 0, 0, StepState::kRecvWait, 1, {}});
  d.edges.push_back({1 << 30, Direction::kRecv, 1 << 30, 12, 0, 0, StepState::kRecvWait, 1, {}});
  d.edges.push_back({0, Direction::kRecv, 0, 12, 0, 0, StepState::kRecvWait, 1, {}});  // itself
  d.edges.push_back({1, Direction::kRecv, 3, 0, 9, 9, StepState::kSendWait, 1, {}});
  d.recent.push_back(d.recent.front());
  d.recent.back().call_index = UINT64_MAX;
  d.recent.push_back(d.recent.front());
  d.recent.back().call_index = 0;
  d.age = Duration::max() / 4;
  correlator.OnDigest("a", d, now);
  (void)correlator.Advance(now);
  d.op.reset();
  d.op = Operation{};
  d.op->func = Func::kSend;
  d.op->peer = 0;  // itself
  correlator.OnDigest("a", d, now);
  d.age = -1s;
  correlator.OnDigest("a", d, now);
  for (int i = 0; i < 50; ++i) (void)correlator.Advance(now + i * 100 * kMs);
}

}  // namespace
}  // namespace sentinel
