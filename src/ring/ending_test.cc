#include "ring/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace sentinel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFaultNs = 100 * kSecond;

RankRecording RankWith(Rank number, std::vector<int64_t> at_seconds, bool finalizes = false) {
  RankRecording rank;
  rank.rank = number;
  for (const int64_t at : at_seconds) {
    Callback callback;
    callback.at_ns = at * kSecond;
    callback.what = Stop{};
    rank.callbacks.push_back(callback);
  }
  if (finalizes) rank.callbacks.back().what = FinalizeCall{};
  return rank;
}

// Two ranks, of which rank 1 is hit.
Recording Hit(const char* kind, std::vector<int64_t> at_seconds = {98, 99}) {
  Recording recording;
  recording.ranks.push_back(RankWith(0, {98, 101}));
  recording.ranks.push_back(RankWith(1, std::move(at_seconds)));
  recording.summary.fault = Fault{kFaultNs, kind, 1, 10};
  recording.summary.rc_at_end.resize(2);
  return recording;
}

void See(Recording& recording, int seconds, char state, std::optional<int> rc = {}) {
  recording.summary.sightings.push_back(
      {std::chrono::seconds(seconds), {{'S', std::nullopt}, {state, rc}}});
}

TEST(PlanActs, ARankThatOnlyHangsStaysAlive) {
  for (const char* kind : {"skip", "freeze-kernel", "freeze-proxy", "net", "net-oneway", "slow",
                           "slow-kernel", "late", "mismatch", "something-new"}) {
    Recording recording = Hit(kind);
    See(recording, 1, 'S');
    EXPECT_THAT(PlanActs(recording), ElementsAre(IsEmpty(), IsEmpty())) << kind;
  }
}

TEST(PlanActs, AKilledRankDiesAtTheFaultHoweverLateAnybodyLooked) {
  Recording recording = Hit("kill");
  See(recording, 72, 'Z', -9);
  EXPECT_THAT(PlanActs(recording)[1], ElementsAre(Act{ActKind::kKill, 2, kFaultNs, SIGKILL}));
}

TEST(PlanActs, ARankThatWasInterruptedDiesThoughARankIgnoresThatSignal) {
  Recording recording = Hit("kill");
  See(recording, 1, 'Z', -SIGINT);
  EXPECT_THAT(PlanActs(recording)[1], ElementsAre(Act{ActKind::kKill, 2, kFaultNs, SIGKILL}));
}

TEST(PlanActs, AKindThatSaysKilledSufficesWhereNobodyLooked) {
  EXPECT_THAT(PlanActs(Hit("kill"))[1], ElementsAre(Act{ActKind::kKill, 2, kFaultNs, SIGKILL}));
}

TEST(PlanActs, ARankThatExitsDoesSoOfItsOwnWillAndWithItsCode) {
  Recording recording = Hit("exit");
  See(recording, 1, 'Z', 3);
  EXPECT_THAT(PlanActs(recording)[1], ElementsAre(Act{ActKind::kExit, 2, kFaultNs, 3}));
}

TEST(PlanActs, AStoppedRankIsStoppedOnceItsCallsAreMade) {
  for (const char* kind : {"stop", "stop-mid", "SIGSTOP", "something-new"}) {
    Recording recording = Hit(kind, {98, 99, 100});
    See(recording, 1, 'T');
    EXPECT_THAT(PlanActs(recording)[1], ElementsAre(Act{ActKind::kStop, 3, kFaultNs, 0})) << kind;
  }
}

TEST(PlanActs, AStoppedRankThatCallsAgainIsContinuedThen) {
  Recording recording = Hit("stop", {98, 99, 104, 105});
  See(recording, 1, 'T');
  See(recording, 15, 'S');
  EXPECT_THAT(PlanActs(recording)[1], ElementsAre(Act{ActKind::kStop, 2, kFaultNs, 0},
                                                  Act{ActKind::kContinue, 2, 104 * kSecond, 0}));
}

TEST(PlanActs, WhatWasSeenOutweighsTheKind) {
  Recording recording = Hit("kill");
  See(recording, 1, 'S');
  EXPECT_THAT(PlanActs(recording)[1], IsEmpty());
}

TEST(PlanActs, ASurvivorThatGaveUpDiesWhenItWasFirstSeenDead) {
  Recording recording = Hit("net");
  See(recording, 1, 'S');
  See(recording, 40, 'Z', 1);
  EXPECT_THAT(PlanActs(recording)[1],
              ElementsAre(Act{ActKind::kExit, 2, kFaultNs + 40 * kSecond, 1}));
}

TEST(PlanActs, ADeathByAnUnknownKindSeenAtOnceHappensAtTheFault) {
  Recording recording = Hit("gremlin");
  See(recording, 1, 'Z', -11);
  EXPECT_THAT(PlanActs(recording)[1], ElementsAre(Act{ActKind::kKill, 2, kFaultNs, SIGSEGV}));
}

TEST(PlanActs, AHealthyRankExitsAfterItsFinalize) {
  Recording recording;
  recording.ranks.push_back(RankWith(0, {1, 2}, /*finalizes=*/true));
  recording.summary.rc_at_end = {0};
  EXPECT_THAT(PlanActs(recording)[0], ElementsAre(Act{ActKind::kExit, 2, 0, 0}));
}

// A rank whose operation starts, and is progress, at each of these moments.
RankRecording RankMovingAt(std::vector<int64_t> at_seconds) {
  RankRecording rank = RankWith(1, std::move(at_seconds));
  for (Callback& callback : rank.callbacks) {
    callback.type = CallbackType::kColl;
    callback.what = CollStart{};
  }
  return rank;
}

TEST(CutOffWhileMoving, TellsASlowJobFromOneThatStands) {
  Recording recording = Hit("slow");
  See(recording, 5, 'S');
  recording.ranks[1] = RankMovingAt({99, 104});
  EXPECT_FALSE(CutOffWhileMoving(recording));
  recording.ranks[1] = RankMovingAt({99, 104, 107});
  EXPECT_TRUE(CutOffWhileMoving(recording));
}

}  // namespace
}  // namespace sentinel
