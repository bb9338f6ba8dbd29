// When a lamp is due, and when it is not: whole stalls in a Correlator with a cluster around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlate/recorded.h"

namespace sentinel {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

struct Case {
  const char* name;
  std::vector<Digest> ranks;
  HangClass hang_class;
  std::optional<HangClass> signature;
  std::optional<Rank> rank;
};

class EveryFault : public ::testing::TestWithParam<Case> {};

TEST_P(EveryFault, IsSuspectedAtOnceConfirmedSoonAndRedInLessThanTwoSeconds) {
  Bench bench(GetParam().ranks);
  bench.Fresh();
  bench.Run(3s);
  ASSERT_TRUE(bench.At(VerdictStage::kSuspected));
  EXPECT_LE(*bench.At(VerdictStage::kSuspected), 250ms);
  ASSERT_TRUE(bench.At(VerdictStage::kConfirmed));
  EXPECT_LE(*bench.At(VerdictStage::kConfirmed), 600ms);
  ASSERT_TRUE(bench.Red());
  EXPECT_LE(*bench.At(VerdictStage::kRed), 1700ms);
  EXPECT_GE(*bench.At(VerdictStage::kRed), 1000ms);

  const Verdict& v = *bench.last();
  EXPECT_EQ(v.stage, VerdictStage::kRed);
  EXPECT_EQ(HangClassName(v.hang_class), HangClassName(GetParam().hang_class));
  EXPECT_EQ(v.signature, GetParam().signature);
  EXPECT_EQ(v.culprit.rank, GetParam().rank);
  if (v.culprit.rank) {
    EXPECT_EQ(v.culprit.place.host, "replay-2");
    EXPECT_THAT(v.suspects, IsEmpty());
  } else {
    EXPECT_THAT(v.suspects, Contains(2));
    EXPECT_EQ(v.suspects.size(), 2u);
  }
  EXPECT_GT(v.confidence, 0.7);
  ASSERT_FALSE(v.evidence.empty());
  for (const EvidenceLine& line : v.evidence) {
    EXPECT_FALSE(line.zh.empty());
    EXPECT_FALSE(line.en.empty());
  }
  // No verdict on the way named a victim.
  for (const auto& [at, verdict] : bench.verdicts) {
    if (verdict.culprit.rank) {
      EXPECT_EQ(verdict.culprit.rank, 2) << ToMillis(at);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, EveryFault,
    ::testing::Values(
        Case{"skip", recorded::Skip(), HangClass::kNotEntered, {}, 2},
        Case{"kill", recorded::Kill(), HangClass::kProcessDead, HangClass::kNotEntered, 2},
        Case{"stop", recorded::StopBefore(), HangClass::kProcessStopped, HangClass::kNotEntered, 2},
        Case{"stop_mid", recorded::StopMid(), HangClass::kProcessStopped, HangClass::kGpuStuck, 2},
        Case{"freeze_kernel", recorded::FreezeKernel(), HangClass::kGpuStuck, {}, 2},
        Case{"not_started", recorded::KernelNotStarted(), HangClass::kGpuNotStarted, {}, 2},
        Case{"freeze_proxy", recorded::FreezeProxy(), HangClass::kProxyStuck, {}, 2},
        Case{"net_isolate", recorded::NetIsolate(), HangClass::kNetwork, {}, 2},
        Case{"net_oneway", recorded::NetOneWay(), HangClass::kNetwork, {}, std::nullopt},
        Case{"egress", recorded::EgressBlocked(), HangClass::kNetwork, {}, std::nullopt},
        Case{"ingress", recorded::IngressBlocked(), HangClass::kNetwork, {}, std::nullopt}),
    [](const auto& each) { return each.param.name; });

TEST(RedRules, ALateRankThatWorksWaitsThirtySecondsAndThenStalls) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[2].vitals.idle = false;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(29s);
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kWaiting);
  EXPECT_EQ(bench.last()->signature, HangClass::kNotEntered);
  bench.Run(2s);
  ASSERT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kWaiting);
  EXPECT_EQ(bench.last()->culprit.rank, 2);
}

TEST(RedRules, AnIdleLateRankOfAJobThatOftenWaitsSoLongIsNotRedEarly) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[1].history.gap_p999 = 900ms;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(10s);
  EXPECT_FALSE(bench.Red());
}

TEST(RedRules, AJobWithoutHistoryIsGivenTheLimitForLateRanks) {
  std::vector<Digest> ranks = recorded::Skip();
  for (Digest& d : ranks) d.history.operations = 9;
  Bench late(ranks);
  late.Fresh();
  late.Run(10s);
  EXPECT_FALSE(late.Red());
  CorrelateOptions replay;
  replay.late_history_min = 5;
  Bench soon(ranks, replay);
  soon.Fresh();
  soon.Run(2s);
  EXPECT_TRUE(soon.Red());
}

TEST(RedRules, WhetherALateRankIsIdleMustBeKnown) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[2].vitals.idle.reset();
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(5s);
  EXPECT_FALSE(bench.Red());
  bench[2].vitals.idle = true;
  bench.Run(300ms);
  EXPECT_TRUE(bench.Red());
}

TEST(RedRules, CpuNeverClearsARankThatIsInsideAnOperation) {
  std::vector<Digest> ranks = recorded::FreezeKernel();
  ranks[2].vitals.idle = false;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(2s);
  EXPECT_TRUE(bench.Red());
}

TEST(RedRules, ADebuggerOnTheCulpritKeepsTheLampDark) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[2].vitals.state = ProcessState::kTraced;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(40s);
  EXPECT_FALSE(bench.Red());
  EXPECT_TRUE(bench.At(VerdictStage::kSuspected));
}

TEST(RedRules, AllRanksStoppedTogetherAreSuspendedNotHung) {
  std::vector<Digest> ranks = recorded::FreezeKernel();
  for (Digest& d : ranks) d.vitals.frozen = true;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(40s);
  EXPECT_FALSE(bench.Red());
}

TEST(RedRules, AJobThatIsToldToEndIsNotHung) {
  std::vector<Digest> ranks = recorded::Skip();
  for (Digest& d : ranks) d.vitals.ending = true;
  ranks[2].vitals.state = ProcessState::kDead;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(12s);
  EXPECT_FALSE(bench.Red());
}

TEST(RedRules, RanksThatDieTogetherAreAJobThatEnds) {
  std::vector<Digest> ranks = recorded::Kill();
  ranks[0].vitals.state = ProcessState::kDead;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(10s);
  EXPECT_FALSE(bench.Red());
}

TEST(RedRules, AnXid79MakesItRedAtOnce) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  HostEvidence xid;
  xid.kind = "xid";
  xid.host = "replay-2";
  xid.pci = "0000:3b:00.0";
  xid.detail = "79";
  bench.correlator.OnEvidence("agent-2", xid, bench.now);
  bench.Run(1s);
  ASSERT_TRUE(bench.Red());
  EXPECT_LE(*bench.At(VerdictStage::kRed), 600ms);
}

TEST(RedRules, AnXidOfAVictimChangesNothing) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  HostEvidence xid;
  xid.kind = "xid";
  xid.host = "replay-0";
  xid.pci = "0000:3b:00.0";
  xid.detail = "79";
  bench.correlator.OnEvidence("agent-0", xid, bench.now);
  bench.Run(1s);
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->culprit.rank, 2);
}

TEST(RedRules, ALinkThatIsDownPicksTheEndOfAFrozenEdge) {
  Bench bench(recorded::NetOneWay());
  bench.Fresh();
  HostEvidence down;
  down.kind = "link_down";
  down.host = "replay-3";
  down.nic = "mlx5_0";
  bench.correlator.OnEvidence("agent-3", down, bench.now);
  bench.Run(1s);
  ASSERT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->culprit.rank, 3);
  EXPECT_EQ(bench.last()->culprit.nic, "mlx5_0");
  EXPECT_THAT(bench.last()->suspects, IsEmpty());
}

TEST(RedRules, AMismatchIsRedAsSoonAsItIsConfirmed) {
  std::vector<Digest> ranks = recorded::IngressBlocked();  // what it would look like otherwise
  for (Operation& op : ranks[0].recent) op.count = op.call_index == 10 ? 8 : op.count;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(600ms);
  ASSERT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kMismatch);
  EXPECT_EQ(bench.last()->culprit.rank, 0);
}

TEST(RedRules, AnOperationThatMovesEverySecondIsSlowAndNotRed) {
  Bench bench(recorded::FreezeKernel());
  bench.Fresh();
  for (int slice = 0; slice < 30; ++slice) {
    bench.Run(500ms);
    for (Rank r = 0; r < 4; ++r) {
      for (EdgeProgress& e : bench[r].edges) {
        e.steps += 1;
        e.done += 1;
        e.started += 1;
      }
    }
    bench.Fresh();
  }
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kSlow);
  EXPECT_EQ(bench.last()->culprit.rank, 2);
  size_t healed = 0;
  for (const auto& [at, v] : bench.verdicts) healed += v.stage == VerdictStage::kHealed;
  EXPECT_LE(healed, 2u);
  bench.Run(2s);
  EXPECT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kGpuStuck);
}

// One slice has come over each edge into a node; its receivers saw it.
void OneSliceMore(Bench* bench, std::initializer_list<Rank> ranks) {
  for (Rank rank : ranks) {
    Digest& d = (*bench)[static_cast<size_t>(rank)];
    for (EdgeProgress& e : d.edges) {
      e.steps += 1;
      e.done += 1;
      e.started += 1;
      e.age = Duration{0};
      // A sender's own progress does not reset its clock.
      if (e.direction == Direction::kSend) continue;
      d.age = Duration{0};
      d.suspect = false;
    }
  }
}

TEST(RedRules, ASendIsSlowAsLongAsItsReceiverGetsSomething) {
  const auto end = [](Rank rank, Func func, Rank peer, Direction direction, StepState state) {
    RankDigest d(rank, 2);
    d.Inside(10, 1).Edge(0, direction, peer, 3, state);
    d.value().op->func = func;
    d.value().op->peer = peer;
    d.value().recent = {*d.value().op};
    return d;
  };
  Bench bench({end(0, Func::kSend, 1, Direction::kSend, StepState::kSendGpuWait),
               end(1, Func::kRecv, 0, Direction::kRecv, StepState::kRecvWait)});
  bench.Fresh();
  for (int slice = 0; slice < 20; ++slice) {
    bench.Run(500ms);
    OneSliceMore(&bench, {0, 1});
  }
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kSlow);
  EXPECT_EQ(bench.last()->culprit.rank, 0);
  bench.Run(2s);
  EXPECT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kGpuStuck);
}

TEST(RedRules, AKernelThatNobodySeesIsSlowAsLongAsAnybodyInTheRingMoves) {
  // 0 -> 1 and 2 -> 3 are inside nodes; the GPU of rank 1 takes its time.
  Bench bench(
      {RankDigest(0, 4, 2).OnHost("a", 0).Inside(10, 1).RecvOn(0, 6, StepState::kRecvGpuWait, 4),
       RankDigest(1, 4, 2).OnHost("a", 1).Inside(10, 1).SendOn(0, 3, StepState::kSendGpuWait),
       RankDigest(2, 4, 2).OnHost("b", 0).Inside(10, 1).RecvOn(0, 3, StepState::kRecvWait),
       RankDigest(3, 4, 2).OnHost("b", 1).Inside(10, 1).SendOn(0, 10, StepState::kSendGpuWait)});
  bench.Fresh();
  for (int slice = 0; slice < 20; ++slice) {
    bench.Run(500ms);
    OneSliceMore(&bench, {0, 1, 2, 3});
  }
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kSlow);
  bench.Run(2s);
  EXPECT_TRUE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kGpuStuck);
  EXPECT_THAT(bench.last()->suspects, UnorderedElementsAre(0, 1));
}

TEST(RedRules, WordsSayTheJobsRanksWhereAllOfThemAreKnown) {
  std::vector<Digest> ranks = recorded::FreezeKernel();
  for (Digest& d : ranks) d.member.place.job_rank = 100 + d.member.rank;
  const auto words = [](const std::vector<Digest>& of) {
    Bench bench(of);
    bench.Fresh();
    bench.Run(2s);
    return bench.last()->evidence.front().en;
  };
  EXPECT_THAT(words(ranks), ::testing::HasSubstr("rank 102 "));
  ranks[0].member.place.job_rank = -1;
  EXPECT_THAT(words(ranks), ::testing::HasSubstr("rank 2 "));
}

TEST(RedRules, ACulpritThatIsSilentIsNotNamedAndRedWaitsUntilItsNodeIsGone) {
  Bench bench(recorded::Skip());
  bench.Fresh();
  bench.silent[2] = true;
  bench.Run(9s);
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kUnknown);
  EXPECT_THAT(bench.last()->suspects, UnorderedElementsAre(2, 3));
  bench.Run(2s);
  EXPECT_TRUE(bench.Red());
  for (const auto& [at, v] : bench.verdicts) {
    if (v.culprit.rank) {
      EXPECT_EQ(*v.culprit.rank, 2);
    }
  }
}

TEST(RedRules, AnAgentThatRestartsForTwoSecondsMakesNoRed) {
  std::vector<Digest> ranks = recorded::Skip();
  ranks[2].vitals.idle = false;
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(500ms);
  bench.silent[2] = true;
  bench.correlator.OnDisconnected("agent-2", bench.now);
  bench.Run(2s);
  bench.silent[2] = false;
  bench.correlator.OnInventory("agent-2", {{bench[2].member}}, bench.now);
  bench.Run(2s);
  EXPECT_FALSE(bench.Red());
  EXPECT_EQ(bench.last()->hang_class, HangClass::kWaiting);
}

TEST(RedRules, NothingIsRedOnDigestsFromBeforeWeWereAsleepOurselves) {
  std::vector<Digest> ranks = recorded::FreezeKernel();
  Bench bench(ranks);
  bench.Fresh();
  bench.Run(400ms);
  bench.now = bench.now + 20s;
  const Correlator::Actions woken = bench.correlator.Advance(bench.now);
  for (const Verdict& v : woken.verdicts) EXPECT_NE(v.stage, VerdictStage::kRed);
}

}  // namespace
}  // namespace sentinel
