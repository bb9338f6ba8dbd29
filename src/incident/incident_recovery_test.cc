// Green and its sentence: when a job moves again, and not before it is sure that it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

const char kGreen[] = "训练集群已恢复正常";

size_t Greens(const Floor& floor) {
  size_t greens = 0;
  for (const Notification& n : floor.told) greens += n.message.text == kGreen;
  return greens;
}

Verdict At(VerdictStage stage, uint64_t epoch, HangClass hang_class = HangClass::kGpuStuck) {
  Verdict verdict = Hang(stage, hang_class);
  verdict.epoch = epoch;
  return verdict;
}

TEST(Recovery, AJobHasRecoveredWhenItHasMovedForAWhile) {
  Floor floor;
  floor.Judge(At(VerdictStage::kRed, 1));
  floor.Judge(At(VerdictStage::kHealed, 1));
  floor.Pass(milliseconds(999));
  EXPECT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(*floor.book.NextWake(), floor.now.mono + milliseconds(1));
  floor.Pass(milliseconds(1));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kResolved);
  EXPECT_EQ(floor.told[1].message.text, kGreen);
}

TEST(Recovery, AJobThatStumblesOnIsOneStandstillWithoutGreenInBetween) {
  Floor floor;
  floor.Judge(At(VerdictStage::kRed, 1));
  for (uint64_t epoch = 2; epoch < 30; ++epoch) {
    floor.Judge(At(VerdictStage::kHealed, epoch - 1));
    floor.Pass(milliseconds(400));
    floor.Judge(At(VerdictStage::kSuspected, epoch, HangClass::kUnknown));
    floor.Pass(milliseconds(100));
    floor.Judge(At(VerdictStage::kConfirmed, epoch));
    floor.Pass(milliseconds(1100));
    floor.Judge(At(VerdictStage::kRed, epoch));
  }
  EXPECT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.book.open(), 1u);
  EXPECT_THAT(floor.book.List(true, 100), SizeIs(1));
  floor.Heal(At(VerdictStage::kRed, 29));
  EXPECT_EQ(Greens(floor), 1u);
  EXPECT_EQ(floor.book.open(), 0u);
}

TEST(Recovery, ADoubtThatClearsDelaysTheGreenAndABoundEndsDoubts) {
  Floor floor;
  floor.Judge(At(VerdictStage::kRed, 1));
  floor.Judge(At(VerdictStage::kHealed, 1));
  floor.Pass(milliseconds(500));
  floor.Judge(At(VerdictStage::kSuspected, 2, HangClass::kUnknown));
  floor.Pass(seconds(2));
  EXPECT_EQ(Greens(floor), 0u);
  floor.Heal(At(VerdictStage::kSuspected, 2));
  EXPECT_EQ(Greens(floor), 1u);

  Floor doubtful;
  doubtful.Judge(At(VerdictStage::kRed, 1));
  doubtful.Judge(At(VerdictStage::kHealed, 1));
  for (uint64_t epoch = 2; epoch < 30; ++epoch) {
    doubtful.Pass(milliseconds(300));
    doubtful.Judge(At(VerdictStage::kSuspected, epoch, HangClass::kUnknown));
    doubtful.Pass(milliseconds(300));
    doubtful.Judge(At(VerdictStage::kHealed, epoch));
    if (doubtful.now.mono < Instant{seconds(1000)} + kRecoveryHoldMax) {
      EXPECT_EQ(Greens(doubtful), 0u);
    }
  }
  EXPECT_EQ(Greens(doubtful), 1u);
}

TEST(Recovery, ARelapseElsewhereIsACorrection) {
  Floor floor;
  floor.Judge(At(VerdictStage::kRed, 1));
  floor.Judge(At(VerdictStage::kHealed, 1));
  floor.Pass(milliseconds(400));
  Verdict elsewhere = Hang(VerdictStage::kRed, HangClass::kGpuStuck, "n3", 3);
  elsewhere.epoch = 2;
  floor.Judge(elsewhere);
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kCorrected);
}

TEST(Recovery, AJobThatEndsWhileItRecoversGoesDark) {
  Floor floor;
  floor.Judge(At(VerdictStage::kRed, 1));
  floor.Judge(At(VerdictStage::kHealed, 1));
  Verdict ended = At(VerdictStage::kHealed, 1);
  ended.ended = true;
  floor.Judge(ended);
  EXPECT_EQ(Greens(floor), 0u);
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kOff);
}

TEST(Recovery, ALaterStandstillIsNews) {
  Floor floor;
  floor.Judge(At(VerdictStage::kRed, 1));
  floor.Heal(At(VerdictStage::kRed, 1));
  floor.Pass(seconds(10));
  floor.Judge(At(VerdictStage::kRed, 2));
  EXPECT_EQ(Spoken(floor), 3u);  // red, green, red
}

TEST(Recovery, ASourceThatFiresAgainSoonReopensItsIncidentAndIsNotShoutedAgain) {
  Floor floor;
  const std::string id = floor.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  for (size_t i = 2; i < kFlapsHigh; ++i) {  // once more, and it would be told as unstable
    floor.Pass(seconds(5));
    floor.Post(Make("RECOVERED", "n1"));
    floor.Pass(seconds(5));
    const auto again = floor.Post(Make("NCCL_TIMEOUT", "n1"));
    EXPECT_EQ(again.incident, id);
    EXPECT_FALSE(again.suppressed);
    EXPECT_FALSE(again.begun);
    EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kFlash);
    EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOff);
  }
  EXPECT_EQ(Greens(floor), 1u);  // of what had been announced; then it was only a light
  EXPECT_EQ(Spoken(floor), 2u);
  EXPECT_EQ(floor.book.Find(id)->count, kFlapsHigh - 1);
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kOpen);
  EXPECT_FALSE(floor.book.Find(id)->closed.has_value());
  EXPECT_THAT(floor.book.List(true, 100), SizeIs(1));
}

TEST(Recovery, WhatComesBackLaterOrHadExpiredIsAnotherIncident) {
  Floor floor;
  const std::string id = floor.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  floor.Post(Make("RECOVERED", "n1"));
  floor.Pass(seconds(30));
  EXPECT_NE(floor.Post(Make("NCCL_TIMEOUT", "n1")).incident, id);
  Floor silent;
  const std::string expired = silent.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  silent.Pass(minutes(10));
  EXPECT_NE(silent.Post(Make("NCCL_TIMEOUT", "n1")).incident, expired);
}

TEST(Recovery, GreenIsForTheLastAnnouncedP0OfATerminalThatClosesBecauseAJobMoves) {
  // Whatever closes, and whatever it closes by: green or not.
  struct {
    const char* type;
    bool resolved;  // by `state: resolved` of its own type, else by RECOVERED
    bool green;
  } rows[] = {
      {"NCCL_TIMEOUT", false, true},  {"NCCL_TIMEOUT", true, true},  {"GPU_UTIL_DROP", true, true},
      {"XID_FATAL", false, true},     {"XID_FATAL", true, false},    {"GPU_LOST", true, false},
      {"NVLINK_ERROR", false, false}, {"NVLINK_ERROR", true, false}, {"LINK_FLAP", false, false},
  };
  for (const auto& row : rows) {
    Floor floor;
    floor.Post(Make(row.type, "n1", 1));
    Event over = Make(row.resolved ? row.type : "RECOVERED", "n1", 1);
    over.state = row.resolved ? EventState::kResolved : EventState::kFiring;
    floor.Post(over);
    EXPECT_EQ(Greens(floor), row.green ? 1u : 0u) << row.type << row.resolved;
  }
}

TEST(Recovery, ATerminalThatWasNotToldHasNoGreen) {
  Floor floor;
  floor.lamp_up = false;
  floor.Judge(At(VerdictStage::kRed, 1));
  floor.lamp_up = true;
  floor.Heal(At(VerdictStage::kRed, 1));
  EXPECT_THAT(floor.told, IsEmpty());
}

}  // namespace
}  // namespace sentinel
