#include "correlate/blame_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "correlate/p2p_walk.h"
#include "correlate/recorded.h"

namespace sentinel {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using namespace recorded;  // NOLINT: the states' names read better alone

// A scene that owns what it shows. Ranks in `missing` have not answered.
struct Stage {
  explicit Stage(const std::vector<Digest>& ranks, std::vector<Rank> missing = {})
      : scene(ranks.front().member.comm.nranks, ranks.front().member.nodes) {
    for (const Digest& d : ranks) {
      reports.emplace_back();
      reports.back().Take(d, Instant{std::chrono::seconds(10)});
      const bool known = std::find(missing.begin(), missing.end(), d.member.rank) == missing.end();
      scene.Add({d.member.rank, known ? &reports.back() : nullptr, !known});
    }
    scene.op = OldestOpen(scene);
  }
  std::deque<Report> reports;
  Scene scene;
};

Finding Walk(const std::vector<Digest>& ranks, std::vector<Rank> missing = {}) {
  Stage stage(ranks, std::move(missing));
  return JudgeCollective(stage.scene);
}

struct Case {
  const char* name;
  std::vector<Digest> ranks;
  HangClass hang_class;
  std::optional<Rank> rank;
  std::vector<Edge> edges;
};

class Recorded : public ::testing::TestWithParam<Case> {};

TEST_P(Recorded, NamesTheCulpritAndNoVictim) {
  const Finding f = Walk(GetParam().ranks);
  EXPECT_EQ(HangClassName(f.hang_class), HangClassName(GetParam().hang_class));
  EXPECT_EQ(f.rank, GetParam().rank);
  EXPECT_EQ(f.edges, GetParam().edges);
  if (!f.rank) {
    EXPECT_THAT(f.suspects, UnorderedElementsAre(f.edges[0].from, f.edges[0].to));
  }
  EXPECT_EQ(f.channels_agreeing, f.channels);
}

INSTANTIATE_TEST_SUITE_P(
    BothSeries, Recorded,
    ::testing::Values(
        Case{"skip", Skip(), HangClass::kNotEntered, 2, {}},
        Case{"skip_one_channel", Skip(1), HangClass::kNotEntered, 2, {}},
        Case{"kill", Kill(), HangClass::kNotEntered, 2, {}},
        Case{"freeze_kernel", FreezeKernel(), HangClass::kGpuStuck, 2, {}},
        Case{"freeze_kernel_early", FreezeKernelEarly(), HangClass::kGpuStuck, 2, {}},
        Case{"kernel_not_started", KernelNotStarted(), HangClass::kGpuNotStarted, 2, {}},
        Case{"freeze_proxy", FreezeProxy(), HangClass::kProxyStuck, 2, {}},
        Case{"net_isolate", NetIsolate(), HangClass::kNetwork, 2, {{1, 2}, {2, 3}}},
        Case{"net_oneway", NetOneWay(), HangClass::kNetwork, std::nullopt, {{2, 3}}},
        Case{"egress", EgressBlocked(), HangClass::kNetwork, std::nullopt, {{2, 3}}},
        Case{"ingress", IngressBlocked(), HangClass::kNetwork, std::nullopt, {{1, 2}}}),
    [](const auto& each) { return each.param.name; });

TEST(BlameWalk, AStopInMidOperationIsLaidAtTheStoppedRankThoughANeighbourIsOneOperationAhead) {
  const Finding f = Walk(StopMid());
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, 2);
}

// InfiniBand: no step is done before it is acknowledged, and a sender waits for credit.
std::vector<Digest> Ib(StepState send_2_to_3, StepState recv_3) {
  return {Waiting(0, 5, 5), Waiting(1, 7, 7),
          RankDigest(2, 4).Inside(10).Recv(5, kRecvGpuWait, 4).Send(3, send_2_to_3, 4),
          RankDigest(3, 4).Inside(10).Recv(3, recv_3, 4).Send(5, kSendGpuWait, 4)};
}

TEST(BlameWalk, OnInfiniBandAnUnacknowledgedSendIsTheEdge) {
  const Finding f = Walk(Ib(kSendWait, kRecvWait));
  EXPECT_EQ(f.hang_class, HangClass::kNetwork);
  EXPECT_THAT(f.edges, ElementsAre(Edge{2, 3}));
  EXPECT_EQ(f.rank, std::nullopt);
}

TEST(BlameWalk, OnInfiniBandALostCreditIsTheEdge) {
  const Finding f = Walk(Ib(StepState::kSendPeerWait, kRecvWait));
  EXPECT_EQ(f.hang_class, HangClass::kNetwork);
  EXPECT_THAT(f.edges, ElementsAre(Edge{2, 3}));
}

TEST(BlameWalk, OnInfiniBandAReceiverThatNeverPostedIsItsProxy) {
  const Finding f = Walk(Ib(StepState::kSendPeerWait, StepState::kPosted));
  EXPECT_EQ(f.hang_class, HangClass::kProxyStuck);
  EXPECT_EQ(f.rank, 3);
}

TEST(BlameWalk, BackPressureIsFollowedToWhoDoesNotTake) {
  // Rank 3 is the culprit; 2 and 1 are full up to their necks.
  const Finding f = Walk(
      {RankDigest(0, 4).Inside(10, 1).Recv(5, kRecvWait).Send(7, StepState::kSendPeerWait),
       RankDigest(1, 4).Inside(10, 1).Recv(7, kRecvGpuWait, 4).Send(7, StepState::kSendPeerWait),
       RankDigest(2, 4).Inside(10, 1).Recv(7, kRecvGpuWait, 4).Send(7, StepState::kSendPeerWait),
       RankDigest(3, 4).Inside(10, 1).Recv(3, kRecvGpuWait, 4).Send(5, kSendGpuWait)});
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, 3);
}

TEST(BlameWalk, AFlushThatDoesNotCompleteIsPcie) {
  std::vector<Digest> ranks = FreezeKernel();
  for (EdgeProgress& e : ranks[2].edges) {
    if (e.direction == Direction::kRecv) e.state = StepState::kRecvFlushWait;
  }
  const Finding f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kPcie);
  EXPECT_EQ(f.rank, 2);
}

TEST(BlameWalk, ASilentCulpritIsAmongTheSuspectsAndNoVictimIs) {
  for (const auto& ranks : {Skip(), FreezeKernel(), FreezeProxy(), NetIsolate()}) {
    const Finding f = Walk(ranks, {2});
    EXPECT_EQ(f.rank, std::nullopt);
    EXPECT_THAT(f.suspects, ::testing::Contains(2));
    EXPECT_THAT(f.suspects, ::testing::Not(::testing::Contains(0)));
    EXPECT_THAT(f.missing, ::testing::Contains(2));
  }
}

TEST(BlameWalk, ASilentVictimDoesNotHideTheCulprit) {
  EXPECT_EQ(Walk(Skip(), {0}).rank, 2);
  EXPECT_EQ(Walk(FreezeKernel(), {1}).rank, 2);
  EXPECT_EQ(Walk(FreezeProxy(), {0, 1}).rank, 2);
}

TEST(BlameWalk, TwoLateRanksAreBothSuspects) {
  std::vector<Digest> ranks = {RankDigest(0, 6).Between(9), RankDigest(3, 6).Between(9)};
  ranks.push_back(RankDigest(1, 6).Inside(10).Recv(0, kRecvWait).Send(2, kSendGpuWait));
  ranks.push_back(RankDigest(2, 6).Inside(10).Recv(2, kRecvWait).Send(4, kSendGpuWait));
  ranks.push_back(RankDigest(4, 6).Inside(10).Recv(0, kRecvWait).Send(2, kSendGpuWait));
  ranks.push_back(RankDigest(5, 6).Inside(10).Recv(2, kRecvWait).Send(4, kSendGpuWait));
  std::sort(ranks.begin(), ranks.end(),
            [](const Digest& a, const Digest& b) { return a.member.rank < b.member.rank; });
  const Finding f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_THAT(f.suspects, UnorderedElementsAre(0, 3));
}

// Eight ranks on one node: no proxies.
std::vector<Digest> Node(std::vector<Rank> not_entered, std::vector<Rank> not_started) {
  std::vector<Digest> ranks;
  for (Rank r = 0; r < 8; ++r) {
    RankDigest d(r, 8, 1);
    d.OnHost("node-1", r);
    if (std::count(not_entered.begin(), not_entered.end(), r) > 0) {
      d.Between(9);
    } else {
      d.Inside(10);
      if (std::count(not_started.begin(), not_started.end(), r) > 0) d.KernelNotStarted();
    }
    ranks.push_back(d);
  }
  return ranks;
}

TEST(BlameWalk, WithinANodeNeverEnteredAndNeverStartedAreExact) {
  Finding f = Walk(Node({5}, {}));
  EXPECT_EQ(f.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(f.rank, 5);
  f = Walk(Node({}, {3}));
  EXPECT_EQ(f.hang_class, HangClass::kGpuNotStarted);
  EXPECT_EQ(f.rank, 3);
}

TEST(BlameWalk, WithinANodeAStuckGpuIsOneOfThoseThatHaveNotCompleted) {
  std::vector<Digest> ranks = Node({}, {});
  Finding f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_EQ(f.suspects.size(), 8u);
  ranks[0] = RankDigest(0, 8, 1).OnHost("node-1", 0).Between(10);
  ranks[1] = RankDigest(1, 8, 1).OnHost("node-1", 1).Between(10);
  EXPECT_EQ(Walk(ranks).suspects.size(), 6u);
  for (Digest& d : ranks) d.kernels = {};  // nobody watches kernels: nothing says that one stands
  EXPECT_EQ(Walk(ranks).hang_class, HangClass::kUnknown);
}

TEST(BlameWalk, TheWalkCrossesANodeWhoseInnerEdgesNobodySees) {
  // Two nodes of two ranks: 1 -> 2 and 3 -> 0 go over the network. Rank 0 is late; rank 1 has a
  // send edge only and rank 2 a receive edge only.
  std::vector<Digest> ranks = {
      RankDigest(0, 4, 2).OnHost("a", 0).Between(9),
      RankDigest(1, 4, 2).OnHost("a", 1).Inside(10, 1).SendOn(0, 2, kSendGpuWait),
      RankDigest(2, 4, 2).OnHost("b", 0).Inside(10, 1).RecvOn(0, 2, kRecvWait),
      RankDigest(3, 4, 2).OnHost("b", 1).Inside(10, 1).SendOn(0, 4, kSendGpuWait)};
  const Finding f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(f.rank, 0);
}

TEST(BlameWalk, AStuckGpuBehindANodesInnerEdgesIsOneOfThatNode) {
  // 0 -> 1 is inside node a. What comes into it over the network lies there, and nothing goes out.
  const Finding f =
      Walk({RankDigest(0, 4, 2).OnHost("a", 0).Inside(10, 1).RecvOn(0, 6, kRecvGpuWait, 4),
            RankDigest(1, 4, 2).OnHost("a", 1).Inside(10, 1).SendOn(0, 3, kSendGpuWait),
            RankDigest(2, 4, 2).OnHost("b", 0).Inside(10, 1).RecvOn(0, 3, kRecvWait),
            RankDigest(3, 4, 2).OnHost("b", 1).Inside(10, 1).SendOn(0, 10, kSendGpuWait)});
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_THAT(f.suspects, UnorderedElementsAre(0, 1));
}

// A tree of seven ranks, 0 at the root; children 2r+1 and 2r+2. Up edges carry the reduction.
std::vector<Digest> Tree() {
  std::vector<Digest> ranks;
  for (Rank r = 0; r < 7; ++r) {
    RankDigest d(r, 7);
    d.Inside(10, 1);
    if (r > 0) {
      d.Edge(0, Direction::kSend, (r - 1) / 2, 4, kSendGpuWait);
      d.Edge(0, Direction::kRecv, (r - 1) / 2, 2, kRecvWait);
    }
    for (Rank child : {2 * r + 1, 2 * r + 2}) {
      if (child >= 7) continue;
      d.Edge(0, Direction::kRecv, child, 4, kRecvWait);
      d.Edge(0, Direction::kSend, child, 2, kSendGpuWait);
    }
    d.value().op->algorithm = Algorithm::kTree;
    ranks.push_back(d);
  }
  return ranks;
}

TEST(BlameWalk, InATreeAnAbsentRankIsNamed) {
  std::vector<Digest> ranks = Tree();
  ranks[4] = RankDigest(4, 7).Between(9);
  const Finding f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(f.rank, 4);
}

TEST(BlameWalk, InATreeAFrozenEdgeIsNamedAndARestWithoutCauseNamesNobody) {
  std::vector<Digest> ranks = Tree();
  Finding f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kUnknown);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_TRUE(f.suspects.empty());
  for (EdgeProgress& e : ranks[4].edges) {
    if (e.direction == Direction::kSend && e.peer == 1) e.done = 6;  // sent what never arrived
  }
  f = Walk(ranks);
  EXPECT_EQ(f.hang_class, HangClass::kNetwork);
  EXPECT_THAT(f.edges, ElementsAre(Edge{4, 1}));
}

// Send and Recv.
RankDigest P2p(Rank rank, Func func, Rank peer, uint64_t index = 10) {
  RankDigest d(rank, 4);
  d.Inside(index, 1);
  d.value().op->func = func;
  d.value().op->peer = peer;
  d.value().recent = {*d.value().op};
  return d;
}

Finding WalkP2p(const std::vector<Digest>& ranks, Rank start) {
  Stage stage(ranks);
  stage.scene.mixed = true;
  return JudgeP2p(&stage.scene, start);
}

TEST(P2pWalk, AReceiverWhoseSenderHasNotComeWaitsForTheSender) {
  const Finding f = WalkP2p({RankDigest(0, 4).Between(3),
                             P2p(1, Func::kRecv, 0).Edge(0, Direction::kRecv, 0, 0, kRecvWait),
                             P2p(2, Func::kRecv, 1).Edge(0, Direction::kRecv, 1, 0, kRecvWait)},
                            2);
  EXPECT_EQ(f.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(f.rank, 0);  // rank 1 is a victim like rank 2
}

TEST(P2pWalk, ASendThatIsThroughWhileItsReceiverWaitsWasLostOnTheWire) {
  // The sender went on: it has sent the tenth, and the receiver waits for the tenth.
  RankDigest sender = RankDigest(0, 4).Between(11);
  Operation sent = RankDigest::AllReduce(10, 2);
  sent.func = Func::kSend;
  sent.peer = 1;
  sender.value().recent = {sent};
  const Digest recv = P2p(1, Func::kRecv, 0).Edge(0, Direction::kRecv, 0, 3, kRecvWait, 8);
  const Finding lost = WalkP2p({sender, recv}, 1);
  EXPECT_EQ(lost.hang_class, HangClass::kNetwork);
  EXPECT_EQ(lost.edges.front(), (Edge{0, 1}));
  EXPECT_FALSE(lost.rank);
  // Had it sent only nine, it would be late.
  sender.value().recent.front().seq = 9;
  const Finding late = WalkP2p({sender, recv}, 1);
  EXPECT_EQ(late.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(late.rank, 0);
}

TEST(P2pWalk, ACircleOfWaitsNamesNobodyAndSaysThatOnlyWaitsTellIt) {
  const Finding f = WalkP2p({P2p(0, Func::kRecv, 1).Edge(0, Direction::kRecv, 1, 0, kRecvWait),
                             P2p(1, Func::kRecv, 0).Edge(0, Direction::kRecv, 0, 0, kRecvWait)},
                            0);
  EXPECT_EQ(f.hang_class, HangClass::kMismatch);
  EXPECT_TRUE(f.by_waits);
  EXPECT_FALSE(f.rank);
  EXPECT_EQ(f.suspects.size(), 2u);
}

TEST(P2pWalk, APairTellsTheWireFromTheGpu) {
  const Digest recv = P2p(1, Func::kRecv, 0).Edge(0, Direction::kRecv, 0, 3, kRecvWait, 8);
  Finding f =
      WalkP2p({P2p(0, Func::kSend, 1).Edge(0, Direction::kSend, 1, 5, kSendWait, 3), recv}, 1);
  EXPECT_EQ(f.hang_class, HangClass::kNetwork);
  EXPECT_THAT(f.edges, ElementsAre(Edge{0, 1}));
  f = WalkP2p({P2p(0, Func::kSend, 1).Edge(0, Direction::kSend, 1, 3, kSendGpuWait, 8), recv}, 1);
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, 0);
  f = WalkP2p({P2p(0, Func::kSend, 1).Edge(0, Direction::kSend, 1, 8, kSendWait, 3),
               P2p(1, Func::kRecv, 0).Edge(0, Direction::kRecv, 0, 3, kRecvGpuWait, 8)},
              0);
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, 1);
}

TEST(P2pWalk, InsideANodeAReceiverWhoseSenderIsThroughHasAllItNeeds) {
  RankDigest sender = RankDigest(0, 4).OnHost("a", 0).Between(11);
  Operation sent = RankDigest::AllReduce(10, 2);
  sent.func = Func::kSend;
  sent.peer = 1;
  sender.value().recent = {sent};
  const Finding f = WalkP2p({sender, P2p(1, Func::kRecv, 0).OnHost("a", 1)}, 1);
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, 1);
  // On another node the wire, or a proxy that does not say a word, may be it.
  const Finding apart = WalkP2p({sender, P2p(1, Func::kRecv, 0).OnHost("b", 1)}, 1);
  EXPECT_EQ(apart.rank, std::nullopt);
  EXPECT_THAT(apart.suspects, UnorderedElementsAre(0, 1));
}

TEST(P2pWalk, InsideANodeAStuckTransferIsOneOfItsTwoKernels) {
  const Finding f =
      WalkP2p({P2p(0, Func::kSend, 1).OnHost("a", 0), P2p(1, Func::kRecv, 0).OnHost("a", 1)}, 1);
  EXPECT_EQ(f.hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_THAT(f.suspects, UnorderedElementsAre(0, 1));
}

TEST(P2pWalk, SendsThatWaitInACircleAreAMismatchOfAllOfThem) {
  const Finding f = WalkP2p({P2p(0, Func::kSend, 1), P2p(1, Func::kSend, 0)}, 0);
  EXPECT_EQ(f.hang_class, HangClass::kMismatch);
  EXPECT_THAT(f.suspects, UnorderedElementsAre(0, 1));
}

}  // namespace
}  // namespace sentinel
