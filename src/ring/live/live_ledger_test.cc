#include "ring/live/live_ledger.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sentinel {
namespace {

constexpr Instant At(int64_t ns) { return {Duration(ns)}; }

TEST(LiveLedger, BothSidesSeeWhatTheOtherWrites) {
  LiveLedger parent = LiveLedger::Create().value();
  LiveLedger rank = LiveLedger::Open(dup(parent.fd())).value();
  EXPECT_EQ(parent.phase(), LiveLedger::Phase::kStarting);
  rank.Enter(LiveLedger::Phase::kReady);
  EXPECT_EQ(parent.phase(), LiveLedger::Phase::kReady);
  EXPECT_FALSE(rank.MayGo());
  parent.GoAhead();
  EXPECT_TRUE(rank.MayGo());
  EXPECT_EQ(rank.ArmedFor(), std::nullopt);
  parent.Arm(0);
  EXPECT_EQ(rank.ArmedFor(), 0U);
  EXPECT_EQ(rank.LastIteration(), std::nullopt);
  parent.StopAfter(12);
  EXPECT_EQ(rank.LastIteration(), 12U);
  rank.Iterate(0);
  rank.Verified(0);
  rank.Verified(3);
  EXPECT_EQ(parent.Iterations(), 1U);
  EXPECT_EQ(parent.OperationsVerified(), 2U);
  EXPECT_EQ(parent.ElementsWrong(), 3U);
}

TEST(LiveLedger, TheLastReceiveIsThatOfTheCommunicatorThatMovedLast) {
  LiveLedger ledger = LiveLedger::Create().value();
  EXPECT_EQ(ledger.LastReceived(), std::nullopt);
  ledger.Received(1, At(20));
  ledger.Received(0, At(10));
  EXPECT_EQ(ledger.LastReceived(), At(20));
  EXPECT_EQ(ledger.LastReceived(0), At(10));
  EXPECT_EQ(ledger.LastReceived(2), std::nullopt);
  ledger.Received(JobPlan::kCommsMax, At(99));  // beyond its bound: not noted
  EXPECT_EQ(ledger.LastReceived(), At(20));
}

TEST(LiveLedger, AFaultBeginsOnce) {
  LiveLedger ledger = LiveLedger::Create().value();
  ledger.FaultBegan(1, At(10));
  ledger.FaultBegan(1, At(20));
  EXPECT_EQ(ledger.FaultBeganAt(1), At(10));
  EXPECT_EQ(ledger.FaultBeganAt(0), std::nullopt);
  EXPECT_EQ(ledger.FaultEndedAt(1), std::nullopt);
}

TEST(LiveLedger, AFailureIsTheFirstOneAndTheLastPhase) {
  LiveLedger ledger = LiveLedger::Create().value();
  ledger.Fail("no connection to rank 3");
  ledger.Fail("something that came of it");
  ledger.Enter(LiveLedger::Phase::kFinished);
  EXPECT_EQ(ledger.phase(), LiveLedger::Phase::kFailed);
  EXPECT_EQ(ledger.Failure(), "no connection to rank 3");
  LiveLedger other = LiveLedger::Create().value();
  other.Fail(std::string(10000, 'x'));
  EXPECT_LT(other.Failure()->size(), 1000U);
}

}  // namespace
}  // namespace sentinel
