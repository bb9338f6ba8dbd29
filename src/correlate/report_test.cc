#include "correlate/report.h"

#include <gtest/gtest.h>

#include "correlate/scenario.h"

namespace sentinel {
namespace {

using namespace std::chrono_literals;

Digest Answer(uint64_t request_id, uint32_t step) {
  Digest d = RankDigest(1, 4).Inside(10).Recv(step, StepState::kRecvWait).Aged(1s);
  d.request_id = request_id;
  return d;
}

TEST(Report, WhatWasOvertakenOnItsWayIsDropped) {
  Report report;
  EXPECT_TRUE(report.Take(Answer(5, 4), Instant{10s}));
  EXPECT_FALSE(report.Take(Answer(4, 4), Instant{11s}));
  EXPECT_FALSE(report.Take(Answer(0, 3), Instant{11s}));  // said unasked, and earlier
  EXPECT_EQ(report.arrived(), Instant{10s});
  EXPECT_TRUE(report.Take(Answer(0, 6), Instant{11s}));
  EXPECT_FALSE(report.Take(Answer(5, 4), Instant{12s}));
}

TEST(Report, AnAnswerToALaterQuestionIsTakenWhateverItsCounters) {
  // A board that told too much once would else never be heard again, and its stall never confirmed.
  Report report;
  EXPECT_TRUE(report.Take(Answer(5, 4), Instant{10s}));
  EXPECT_TRUE(report.Take(Answer(6, 2), Instant{11s}));
  EXPECT_TRUE(report.Take(Answer(7, 2), Instant{12s}));
  EXPECT_EQ(report.Unchanged(), 1s);
}

TEST(Report, AnAgeFallsOnlyWithProgress) {
  Report report;
  EXPECT_TRUE(report.Take(Answer(1, 4), Instant{10s}));
  Digest younger = Answer(2, 4);
  younger.age = 0s;  // of an agent that has just started, say
  EXPECT_TRUE(report.Take(younger, Instant{11s}));
  EXPECT_EQ(report.Stalled(Instant{11s}), 2s);
  EXPECT_EQ(report.moves(), 0u);
  younger = Answer(3, 5);
  younger.age = 0s;
  EXPECT_TRUE(report.Take(younger, Instant{12s}));
  EXPECT_EQ(report.Stalled(Instant{12s}), 0s);
  EXPECT_EQ(report.moves(), 1u);
}

}  // namespace
}  // namespace sentinel
