#include "incident/incident_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

TEST(IncidentBook, AnEventLightsTheLampAndSpeaksTheContractsSentence) {
  Floor floor;
  auto outcome = floor.Post(Make("NCCL_TIMEOUT"));
  EXPECT_FALSE(outcome.suppressed);
  ASSERT_THAT(floor.told, SizeIs(1));
  const TerminalMessage& message = floor.told[0].message;
  EXPECT_EQ(message.text,
            "训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起");
  EXPECT_EQ(message.color, (Color{0xFF, 0, 0}));
  EXPECT_EQ(message.light_mode, LightMode::kFlash);
  EXPECT_EQ(message.audio_mode, AudioMode::kCycle);
  EXPECT_EQ(message.repeat_times, 3);
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kFirst);
}

TEST(IncidentBook, AStormOfDuplicatesRingsOnceAWindow) {
  Floor floor;
  std::string id = floor.Post(Make("NCCL_TIMEOUT")).incident;
  for (int i = 0; i < 119; ++i) {
    floor.Pass(seconds(1));
    auto outcome = floor.Post(Make("NCCL_TIMEOUT", "gpu-worker-08-6a7c9d8b4b"));
    EXPECT_TRUE(outcome.suppressed);
    EXPECT_EQ(outcome.incident, id);
  }
  EXPECT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.book.Find(id)->count, 120u);
  floor.Pass(seconds(1));
  EXPECT_FALSE(floor.Post(Make("NCCL_TIMEOUT")).suppressed);
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kRepeated);
}

TEST(IncidentBook, TheWindowRunsFromDeliverySoADeadLampLosesNothing) {
  Floor floor;
  floor.lamp_up = false;
  std::string id = floor.Post(Make("NCCL_TIMEOUT")).incident;
  for (int i = 0; i < 360; ++i) {
    floor.Pass(seconds(10));
    EXPECT_TRUE(floor.Post(Make("NCCL_TIMEOUT")).suppressed);
  }
  // One notification waits, whatever was repeated; the outbox still has it.
  ASSERT_THAT(floor.lost, SizeIs(1));
  floor.book.OnAttempt(floor.lost[0].id);
  floor.book.OnDelivered(floor.lost[0].id, floor.now);
  EXPECT_EQ(floor.book.Find(id)->count, 361u);
  floor.Pass(seconds(60));
  EXPECT_TRUE(floor.Post(Make("NCCL_TIMEOUT")).suppressed);
  floor.lamp_up = true;
  floor.Pass(seconds(60));
  EXPECT_FALSE(floor.Post(Make("NCCL_TIMEOUT")).suppressed);
}

TEST(IncidentBook, ARiseInSeverityPassesAtOnce) {
  Floor floor;
  Event mild = Make("FAN_SLOW");
  mild.gpu_util = 50;
  std::string id = floor.Post(mild).incident;
  Event grave = mild;
  grave.gpu_util = 2;
  auto outcome = floor.Post(grave);
  EXPECT_FALSE(outcome.suppressed);
  EXPECT_EQ(outcome.incident, id);
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kEscalated);
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told[1].message.text,
            "算力水准预警，机架 A03 节点 gpu-worker-08 算力利用率突降至百分之 2");
  // A fall does not.
  EXPECT_TRUE(floor.Post(mild).suppressed);
}

TEST(IncidentBook, CardsAndHostsAndTypesAreDifferentIncidents) {
  Floor floor;
  std::set<std::string> ids;
  ids.insert(floor.Post(Make("XID_FATAL", "n1", 1)).incident);
  ids.insert(floor.Post(Make("XID_FATAL", "n1", 2)).incident);
  ids.insert(floor.Post(Make("XID_FATAL", "n2", 1)).incident);
  ids.insert(floor.Post(Make("NVLINK_ERROR", "n1", 1)).incident);
  // A separator inside a field makes no two identities equal.
  Event a = Make("X\",\"y");
  Event b = Make("X");
  ids.insert(floor.Post(a).incident);
  ids.insert(floor.Post(b).incident);
  // Names that sound alike are not the same host.
  ids.insert(floor.Post(Make("THERMAL", "a-very-long-host-name-in-hall-1")).incident);
  ids.insert(floor.Post(Make("THERMAL", "a-very-long-host-name-in-hall-2")).incident);
  EXPECT_THAT(ids, SizeIs(8));
}

TEST(IncidentBook, TwoTerminalsHaveTheirOwnWindows) {
  Floor floor({"hall", "office"});
  floor.lamp_up = false;
  std::string id = floor.Post(Make("NCCL_TIMEOUT")).incident;
  ASSERT_THAT(floor.lost, SizeIs(2));
  EXPECT_NE(floor.lost[0].id, floor.lost[1].id);
  floor.book.OnAttempt(floor.lost[0].id);
  floor.book.OnDelivered(floor.lost[0].id, floor.now);
  floor.Pass(seconds(121));
  // hall's window is over; office is still being told.
  floor.Post(Make("NCCL_TIMEOUT"));
  ASSERT_THAT(floor.lost, SizeIs(3));
  EXPECT_EQ(floor.lost[2].terminal, floor.lost[0].terminal);
}

TEST(IncidentBook, NoticesReachNoLamp) {
  Floor floor;
  auto outcome = floor.Post(Make("LINK_FLAP"));
  EXPECT_FALSE(outcome.suppressed);
  EXPECT_EQ(floor.book.Find(outcome.incident)->severity, Severity::kNotice);
  EXPECT_THAT(floor.told, IsEmpty());
}

TEST(IncidentBook, ARecoveryTurnsTheLampGreenOnceAndOnlyForWhatWasAnnounced) {
  Floor floor;
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  auto outcome = floor.Post(Make("RECOVERED", "n1"));
  EXPECT_FALSE(outcome.suppressed);
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].message.text, "训练集群已恢复正常");
  EXPECT_EQ(floor.told[1].message.color, (Color{0, 0xFF, 0}));
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kSteady);
  EXPECT_EQ(floor.told[1].message.audio_mode, AudioMode::kOnce);
  EXPECT_EQ(floor.book.Find(outcome.incident)->close_reason, CloseReason::kMoved);
  EXPECT_TRUE(floor.Post(Make("RECOVERED", "n1")).suppressed);
  EXPECT_THAT(floor.told, SizeIs(2));
}

TEST(IncidentBook, GreenWaitsForTheLastAnnouncedP0) {
  Floor floor;
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.Post(Make("NCCL_TIMEOUT", "n2"));
  floor.Post(Make("RECOVERED", "n1"));
  // The other one keeps its light, silently.
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOff);
  floor.Post(Make("RECOVERED", "n2"));
  EXPECT_EQ(floor.told.back().message.text, "训练集群已恢复正常");
}

TEST(IncidentBook, AWarningUnderAnEmergencyKeepsTheRedLight) {
  Floor floor;
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.Post(Make("NVLINK_ERROR", "n9", 1));
  EXPECT_EQ(floor.told.back().message.color, (Color{0xFF, 0, 0}));
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOnce);
  EXPECT_THAT(floor.told.back().message.text, testing::HasSubstr("NVLink"));
}

TEST(IncidentBook, ResolvedClosesWhatIsOpenForThatRackAndHost) {
  Floor floor;
  std::string card = floor.Post(Make("XID_FATAL", "n1", 3)).incident;
  std::string link = floor.Post(Make("NVLINK_ERROR", "n1", 5)).incident;
  std::string elsewhere = floor.Post(Make("XID_FATAL", "n2", 3)).incident;
  Event other_rack = Make("XID_FATAL", "n1", 4);
  other_rack.cluster_rack = "B01";
  std::string same_name = floor.Post(other_rack).incident;
  Event over = Make("NVLINK_ERROR", "n1", 3);
  over.state = EventState::kResolved;
  EXPECT_FALSE(floor.Post(over).suppressed);
  EXPECT_EQ(floor.book.Find(card)->close_reason, CloseReason::kResolved);
  EXPECT_EQ(floor.book.Find(link)->close_reason, CloseReason::kResolved);
  EXPECT_EQ(floor.book.Find(elsewhere)->state, IncidentState::kOpen);
  EXPECT_EQ(floor.book.Find(same_name)->state, IncidentState::kOpen);
}

TEST(IncidentBook, ResolvedOfACardIsNoGreen) {
  Floor floor;
  floor.Post(Make("XID_FATAL", "n1", 3));
  Event over = Make("XID_FATAL", "n1", 3);
  over.state = EventState::kResolved;
  floor.Post(over);
  // A card that works again says nothing of the job.
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kOff);
}

TEST(IncidentBook, ResolvedOfAJobLeavesOtherJobsOfTheHostAlone) {
  for (const char* type : {"RECOVERED", "NVLINK_ERROR"}) {
    Floor floor;
    Event mine = Make("XID_FATAL", "n1", 3);
    mine.job_id = "job-1";
    Event theirs = Make("XID_FATAL", "n1", 4);
    theirs.job_id = "job-2";
    Event far = Make("NCCL_TIMEOUT", "n7");
    far.job_id = "job-1";
    std::string of_mine = floor.Post(mine).incident;
    std::string of_theirs = floor.Post(theirs).incident;
    std::string of_far = floor.Post(far).incident;
    Event over = Make(type, "n1");
    over.job_id = "job-1";
    over.state = EventState::kResolved;
    floor.Post(over);
    EXPECT_EQ(floor.book.Find(of_mine)->state, IncidentState::kClosed) << type;
    EXPECT_EQ(floor.book.Find(of_far)->state, IncidentState::kClosed) << type;
    EXPECT_EQ(floor.book.Find(of_theirs)->state, IncidentState::kOpen) << type;
    // A job of which nothing is open: what is open for the rack and host.
    over.job_id = "job-3";
    floor.Post(over);
    EXPECT_EQ(floor.book.Find(of_theirs)->state, IncidentState::kClosed) << type;
  }
}

TEST(IncidentBook, ASenderThatFallsSilentExpiresAndTheLightGoesOut) {
  Floor floor;
  std::string id = floor.Post(Make("NCCL_TIMEOUT")).incident;
  floor.Pass(minutes(9));
  floor.Post(Make("NCCL_TIMEOUT"));
  floor.Pass(minutes(9));
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kOpen);
  floor.Pass(minutes(1) + seconds(1));
  EXPECT_EQ(floor.book.Find(id)->close_reason, CloseReason::kExpired);
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kOff);
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOff);
}

TEST(IncidentBook, WhatWasNeverSentNeedNotBeTakenBack) {
  Floor floor;
  floor.lamp_up = false;
  std::string id = floor.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  floor.Post(Make("RECOVERED", "n1"));
  EXPECT_THAT(floor.lost, SizeIs(1));
  ASSERT_THAT(floor.cancelled, SizeIs(1));
  EXPECT_EQ(floor.cancelled[0].incident, id);
}

TEST(IncidentBook, WhatEndsBeforeItIsHandedOutIsNotHandedOut) {
  Floor floor;
  floor.book.OnEvent(Make("NCCL_TIMEOUT", "n1"), JobPresence::kUnknown, floor.now);
  floor.book.OnEvent(Make("RECOVERED", "n1"), JobPresence::kUnknown, floor.now);
  floor.Deliver();
  EXPECT_THAT(floor.told, IsEmpty());
}

TEST(IncidentBook, BackWithinItsWindowItLightsAtOnceAndSpeaksWhenTheWindowIsOver) {
  Floor floor;
  floor.Post(Make("XID_FATAL", "n1", 3));
  Event over = Make("XID_FATAL", "n1", 3);
  over.state = EventState::kResolved;
  floor.Pass(seconds(20));
  floor.Post(over);
  floor.Pass(seconds(20));
  std::string again = floor.Post(Make("XID_FATAL", "n1", 3)).incident;
  EXPECT_EQ(again, floor.told[0].incident);
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOff);
  floor.Pass(seconds(79));
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOff);
  floor.Pass(seconds(2));
  EXPECT_EQ(floor.told.back().reason, NotifyReason::kSpoken);
}

TEST(IncidentBook, TwoGatewaysNameTheSameThingAlike) {
  Floor a({"hall"}, Racks());
  Floor b({"hall"}, Racks());
  b.now.mono = Instant{seconds(77)};
  a.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  b.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_EQ(a.told[0].incident, b.told[0].incident);
  EXPECT_EQ(a.told[0].id, b.told[0].id);
  EXPECT_THAT(a.told[0].id, SizeIs(16));
}

TEST(IncidentBook, AStormBeyondItsBoundShedsTheLeastSevere) {
  Floor floor(std::vector<std::string>{});
  std::string grave = floor.Post(Make("XID_FATAL", "first", 0)).incident;
  for (size_t i = 0; i < kOpenIncidentsMax + 100; ++i) {
    floor.book.OnEvent(Make("THERMAL", "n" + std::to_string(i)), JobPresence::kUnknown, floor.now);
  }
  EXPECT_EQ(floor.book.open(), kOpenIncidentsMax);
  EXPECT_EQ(floor.book.Find(grave)->state, IncidentState::kOpen);
}

}  // namespace
}  // namespace sentinel
