// What verdicts make of incidents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

TEST(IncidentBook, ALateRankIsShownAtOnceAndSpokenOfOnlyIfItStaysAway) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kNotEntered));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
  floor.Pass(seconds(9));
  floor.Heal(Hang(VerdictStage::kRed, HangClass::kNotEntered));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kOff);  // it was never spoken of: no green

  floor.Judge(Hang(VerdictStage::kRed, HangClass::kNotEntered));
  floor.Pass(seconds(130));
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentBook, ASuspicionReachesNoLampAndARedVerdictDoes) {
  Floor floor({"hall"}, Racks());
  floor.Judge(Hang(VerdictStage::kSuspected, HangClass::kUnknown, ""));
  floor.Pass(std::chrono::milliseconds(60));
  floor.Judge(Hang(VerdictStage::kConfirmed, HangClass::kGpuStuck));
  EXPECT_THAT(floor.told, IsEmpty());
  floor.Pass(seconds(1));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.text,
            "训练集群紧急预警，机架 A03 节点 n2 触发通信死锁，全环算力挂起");
  const Incident& incident = *floor.book.Find(floor.told[0].incident);
  EXPECT_EQ(incident.event_type, "NCCL_TIMEOUT");
  EXPECT_LT(incident.suspected->mono, incident.confirmed->mono);
  EXPECT_LT(incident.confirmed->mono, incident.red->mono);
  EXPECT_EQ(incident.delivered->mono, floor.now.mono);
}

TEST(IncidentBook, AHangThatHealsTurnsGreenAndOneThatEndsGoesDark) {
  for (bool ended : {false, true}) {
    Floor floor({"hall"}, Racks());
    floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
    Verdict over = Hang(VerdictStage::kHealed, HangClass::kGpuStuck);
    over.ended = ended;
    floor.Heal(over);
    ASSERT_THAT(floor.told, SizeIs(2));
    EXPECT_EQ(floor.told[1].message.light_mode, ended ? LightMode::kOff : LightMode::kSteady);
    EXPECT_EQ(floor.book.Find(floor.told[0].incident)->close_reason,
              ended ? CloseReason::kEnded : CloseReason::kMoved);
  }
}

TEST(IncidentBook, ASuspicionThatClearsIsSilent) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kSuspected, HangClass::kUnknown, ""));
  floor.Judge(Hang(VerdictStage::kHealed, HangClass::kUnknown, ""));
  EXPECT_THAT(floor.told, IsEmpty());
  EXPECT_EQ(floor.book.open(), 0u);
}

TEST(IncidentBook, ACorrectionIsSpokenOnlyIfThePlaceChanges) {
  Floor floor({"hall"}, Racks());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kProxyStuck));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_THAT(floor.told, SizeIs(1));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck, "n3", 3));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kCorrected);
  EXPECT_EQ(floor.told[1].message.text,
            "更正，训练集群紧急预警，机架 A04 节点 n3 触发通信死锁，全环算力挂起");
  EXPECT_EQ(floor.book.open(), 1u);
}

TEST(IncidentBook, AHangWithoutAPlaceNamesItsSuspects) {
  Floor floor({"hall"}, Racks());
  Verdict v = Hang(VerdictStage::kRed, HangClass::kNetwork, "");
  v.culprit.edge = Edge{1, 2};
  v.suspects = {1, 2};
  for (Rank r : {1, 2}) {
    Member m;
    m.rank = r;
    m.place.host = r == 1 ? "n2" : "n3";
    m.place.job_rank = 10 + r;
    v.members.push_back(m);
  }
  floor.Judge(v);
  const Incident& incident = *floor.book.Find(floor.told.at(0).incident);
  EXPECT_EQ(incident.culprit.job_edge, (Edge{11, 12}));
  EXPECT_EQ(incident.suspects.at(1), (Suspect{2, "n3", 12}));
  EXPECT_EQ(floor.told.at(0).message.text,
            "任务 job-1 通信停滞，故障点未定位，疑似 A03 n2、A04 n3");
}

TEST(IncidentBook, TheVoiceOfADeadProcessWaitsAndTheLightDoesNot) {
  Floor floor({"hall"}, Racks());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kProcessDead));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
  ASSERT_TRUE(floor.book.NextWake().has_value());
  EXPECT_EQ(*floor.book.NextWake(), floor.now.mono + seconds(10));
  floor.Pass(seconds(10));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kSpoken);
  EXPECT_EQ(floor.told[1].message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentBook, HealedBeforeItWasSpokenGoesDarkWithoutGreen) {
  Floor floor({"hall"}, Racks());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kWaiting));
  floor.Pass(seconds(5));
  floor.Heal(Hang(VerdictStage::kRed, HangClass::kWaiting));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kOff);
  floor.Pass(seconds(10));
  EXPECT_THAT(floor.told, SizeIs(2));
}

TEST(IncidentBook, AHeldVoiceSpeaksAtOnceWhenTheCauseTurnsOutToBeAnother) {
  Floor floor({"hall"}, Racks());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kProcessDead));
  floor.Pass(seconds(2));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kSpoken);
  EXPECT_THAT(floor.told[1].message.text, testing::HasSubstr("触发通信死锁"));
  floor.Pass(seconds(20));
  EXPECT_THAT(floor.told, SizeIs(2));
}

TEST(IncidentBook, WhatOnlyTurnsOutToBeSlowGoesDark) {
  Floor floor({"hall"}, Racks());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kNetwork));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kSlow));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kOff);
  const Incident& incident = *floor.book.Find(floor.told[0].incident);
  EXPECT_EQ(incident.severity, Severity::kNotice);
  EXPECT_EQ(incident.event_type, "STRAGGLER");
  // It stands still after all.
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kNetwork));
  EXPECT_EQ(floor.told.back().reason, NotifyReason::kEscalated);
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kFlash);
}

TEST(IncidentBook, AHangBesideAPortThatJustMovedHoldsItsVoice) {
  Floor floor({"hall"}, Racks());
  floor.book.OnPortEvent("n2", floor.now);
  floor.Pass(seconds(2));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kNetwork));
  EXPECT_EQ(floor.told.at(0).message.audio_mode, AudioMode::kOff);
}

}  // namespace
}  // namespace sentinel
