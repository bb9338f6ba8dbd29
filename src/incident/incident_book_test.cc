#include "incident/incident_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<HostEntry> Racks() {
  HostEntry a;
  a.name = "n2";
  a.rack = "A03";
  HostEntry b;
  b.name = "n3";
  b.rack = "A04";
  return {a, b};
}

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

TEST(IncidentBook, TheButtonAcknowledgesWhatBurnsThereAndEveryoneSeesIt) {
  Floor floor({"hall", "office"});
  std::string id = floor.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  floor.told.clear();
  EXPECT_EQ(floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now), 1);
  floor.Deliver();
  const Incident& incident = *floor.book.Find(id);
  EXPECT_EQ(incident.state, IncidentState::kAcknowledged);
  EXPECT_EQ(incident.acknowledged->by, "button");
  EXPECT_EQ(incident.acknowledged->from, "hall");
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].terminal, "office");
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kSteady);
  // Duplicates do not end it, also after their window.
  floor.Pass(seconds(130));
  EXPECT_TRUE(floor.Post(Make("NCCL_TIMEOUT", "n1")).suppressed);
  EXPECT_EQ(floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now), 0);
}

TEST(IncidentBook, ASilentTerminalIsAnAlarmOnTheOthersWhichTakeOver) {
  Floor floor({"hall", "office"}, {[] {
                HostEntry host;
                host.name = "n1";
                host.terminals = {"hall"};
                return host;
              }()});
  floor.lamp_up = false;
  std::string id = floor.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  floor.lamp_up = true;
  floor.book.OnTerminalLost("hall", floor.now);
  floor.Deliver();
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[0].terminal, "office");
  EXPECT_THAT(floor.told[0].message.text, testing::HasSubstr("hall"));
  EXPECT_EQ(floor.told[1].incident, id);
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kFallback);
  floor.book.OnTerminalBack("hall", floor.now);
  floor.Deliver();
  EXPECT_EQ(floor.told.back().reason, NotifyReason::kResolved);
}

TEST(IncidentBook, WhatComesWhileATerminalIsSilentGoesToTheOthersAtOnceAndRingsThereAgain) {
  HostEntry host;
  host.name = "n1";
  host.terminals = {"hall"};
  Floor floor({"hall", "office"}, {host});
  floor.book.OnTerminalLost("hall", floor.now);
  floor.Deliver();
  floor.told.clear();
  floor.book.OnEvent(Make("NCCL_TIMEOUT", "n1"), JobPresence::kUnknown, floor.now);
  std::vector<Notification> handed = floor.book.TakeActions().notifications;
  ASSERT_THAT(handed, SizeIs(2));
  EXPECT_EQ(handed[0].terminal, "hall");  // it waits there, too
  EXPECT_EQ(handed[1].terminal, "office");
  EXPECT_EQ(handed[1].reason, NotifyReason::kFallback);
  EXPECT_EQ(handed[1].message.audio_mode, AudioMode::kCycle);
  floor.book.OnAttempt(handed[1].id);
  floor.book.OnDelivered(handed[1].id, floor.now);
  floor.Pass(minutes(5));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].terminal, "office");
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kRepeated);
}

TEST(IncidentBook, ATerminalThatWasSilentBeforeARestartIsStoodInForAfterIt) {
  HostEntry host;
  host.name = "n1";
  host.terminals = {"hall"};
  Floor before({"hall", "office"}, {host});
  before.lamp_up = false;
  std::string id = before.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  before.book.OnTerminalLost("hall", before.now);
  before.Deliver();
  std::vector<Incident> kept;
  for (const Incident* incident : before.book.List(true, 100)) {
    if (incident->id != id) kept.push_back(*incident);
  }
  Floor after({"hall", "office"}, {host});
  after.now = before.now;
  after.book.Restore(kept, "", after.now);
  after.Deliver();
  after.told.clear();
  after.lamp_up = false;
  after.Post(Make("NCCL_TIMEOUT", "n1"));
  after.lamp_up = true;
  after.book.OnTerminalLost("hall", after.now);
  after.Deliver();
  ASSERT_THAT(after.told, SizeIs(1));
  EXPECT_EQ(after.told[0].terminal, "office");
}

TEST(IncidentBook, AnUnconfirmedAlarmGoesToTheOtherTerminal) {
  Floor floor({"hall", "office"}, {[] {
                HostEntry host;
                host.name = "n1";
                host.terminals = {"hall"};
                return host;
              }()});
  floor.lamp_up = false;
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.lamp_up = true;
  floor.book.OnAttempt(floor.lost[0].id);
  floor.book.OnFailed(floor.lost[0].id, "time-out", true, floor.now);
  floor.Deliver();
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].terminal, "office");
}

TEST(IncidentBook, AP0ThatItsOnlyTerminalRefusedIsTriedAgainWhenRepeatsAreDue) {
  Floor floor;
  floor.lamp_up = false;
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.lamp_up = true;
  floor.book.OnAttempt(floor.lost[0].id);
  floor.book.OnFailed(floor.lost[0].id, "answered 400", true, floor.now);
  floor.Pass(minutes(5));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kRepeated);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentBook, ARestartGoesOnWhereItStopped) {
  Floor before({"hall", "office"}, Racks());
  before.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  std::string hang = before.told[0].incident;
  std::string card = before.Post(Make("XID_FATAL", "n1", 3)).incident;
  before.lamp_up = false;
  std::string waiting = before.Post(Make("GPU_LOST", "n1", 4)).incident;
  std::vector<Incident> kept;
  for (const Incident* incident : before.book.List(true, 100)) kept.push_back(*incident);

  Floor after({"hall", "office"}, Racks());
  after.now = before.now;
  after.now.mono = Instant{seconds(5)};  // another boot
  after.now.wall = after.now.wall + seconds(30);
  after.book.Restore(kept, "", after.now);
  after.Deliver();
  // Only what had not been delivered is sent, under its old ids.
  ASSERT_THAT(after.told, SizeIs(2));
  EXPECT_EQ(after.told[0].incident, waiting);
  EXPECT_EQ(after.told[0].id, before.lost[0].id);
  EXPECT_EQ(after.told[1].id, before.lost[1].id);
  // The window goes on.
  EXPECT_TRUE(after.Post(Make("XID_FATAL", "n1", 3)).suppressed);
  after.Pass(seconds(91));
  auto outcome = after.Post(Make("XID_FATAL", "n1", 3));
  EXPECT_FALSE(outcome.suppressed);
  EXPECT_EQ(outcome.incident, card);
  // The correlator counts anew: its first verdict claims the hang that is open.
  after.told.clear();
  Verdict again = Hang(VerdictStage::kRed, HangClass::kGpuStuck);
  again.epoch = 7;
  after.Judge(again);
  EXPECT_THAT(after.told, IsEmpty());
  after.Heal(again);
  EXPECT_EQ(after.book.Find(hang)->close_reason, CloseReason::kMoved);
}

TEST(IncidentBook, ARestartDoesNotSayWhatWasLeftUnsaidOnPurpose) {
  Floor before;
  before.Post(Make("XID_FATAL", "n1", 3));
  before.Post(Make("XID_FATAL", "n1", 5));  // the first card speaks for it
  before.book.Mute("hall", before.now.wall + minutes(1), before.now);
  before.Post(Make("THERMAL", "n2"));
  before.Pass(minutes(2));
  std::vector<Incident> kept;
  for (const Incident* incident : before.book.List(true, 100)) kept.push_back(*incident);

  Floor after;
  after.now = before.now;
  after.book.Restore(kept, "", after.now);
  after.Pass(minutes(1));
  EXPECT_THAT(after.told, IsEmpty());
}

TEST(IncidentBook, AVoiceThatIsHeldIsHeldOverARestart) {
  Floor before;
  std::string id = before.Post(Make("RANK_DEAD", "n1")).incident;
  before.Pass(seconds(4));

  Floor after;
  after.now = before.now;
  after.book.Restore({*before.book.Find(id)}, "", after.now);
  after.Pass(seconds(5));
  EXPECT_THAT(after.told, IsEmpty());
  after.Pass(seconds(1));
  ASSERT_THAT(after.told, SizeIs(1));
  EXPECT_EQ(after.told[0].message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentBook, ARestartWhileATerminalIsToldAgainKeepsWhatItHasHeard) {
  Floor before({"hall", "office"});
  std::string id = before.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  before.lamp_up = false;
  before.book.OnTerminalForgot("hall", before.now);
  before.Deliver();
  ASSERT_THAT(before.lost, SizeIs(1));

  Floor after({"hall", "office"});
  after.now = before.now;
  after.lamp_up = false;
  after.book.Restore({*before.book.Find(id)}, "", after.now);
  after.Pass(seconds(10));
  ASSERT_THAT(after.lost, SizeIs(1));
  EXPECT_EQ(after.lost[0].id, before.lost[0].id);
  // Its window goes on, though the message is on its way once more.
  EXPECT_TRUE(after.Post(Make("NCCL_TIMEOUT", "n1")).suppressed);
}

TEST(IncidentBook, InTheSameBootAClockThatWasSetMeanwhileMakesNothingOlder) {
  Floor before;
  std::string id = before.Post(Make("NCCL_TIMEOUT", "n1")).incident;
  before.Pass(seconds(30));

  Floor after;
  after.now = {before.now.mono + seconds(10), before.now.wall + std::chrono::hours(1)};
  Incident kept = *before.book.Find(id);
  kept.boot = "this one";
  after.book.Restore({kept}, "this one", after.now);
  after.Pass(seconds(1));
  // Its window is open, and its repeat is not due for minutes.
  EXPECT_TRUE(after.Post(Make("NCCL_TIMEOUT", "n1")).suppressed);
  EXPECT_THAT(after.told, IsEmpty());
  after.Pass(minutes(5));
  ASSERT_THAT(after.told, SizeIs(1));
  EXPECT_EQ(after.told[0].reason, NotifyReason::kRepeated);
}

TEST(IncidentBook, WhatAnEventBeganBeginsAgainFromItUnderTheSameNames) {
  Floor before({"hall", "office"});
  before.lamp_up = false;
  Event event = Make("GPU_LOST", "n1", 3);
  auto outcome = before.Post(event);
  ASSERT_TRUE(outcome.begun);
  WallTime at = before.now.wall;

  Floor after({"hall", "office"});
  after.now.mono = Instant{seconds(5)};  // another boot
  after.now.wall = at + seconds(200);
  after.book.Rebegin(event, outcome.occurrence, at, after.now);
  after.Deliver();
  ASSERT_THAT(after.told, SizeIs(2));
  EXPECT_EQ(after.told[0].id, before.lost[0].id);
  EXPECT_EQ(after.told[1].id, before.lost[1].id);
  const Incident& incident = *after.book.Find(outcome.incident);
  EXPECT_EQ(incident.text, before.book.Find(outcome.incident)->text);
  EXPECT_EQ(incident.opened->wall, at);
  EXPECT_EQ(incident.count, 1u);
  // Once only, whatever is read twice.
  after.book.Rebegin(event, outcome.occurrence, at, after.now);
  after.Deliver();
  EXPECT_THAT(after.told, SizeIs(2));
}

TEST(IncidentBook, OnlyWhatMoreThanItsEventHasHappenedToIsToBeKeptAtOnce) {
  Floor floor;
  floor.book.OnEvent(Make("NCCL_TIMEOUT", "n1"), JobPresence::kUnknown, floor.now);
  IncidentBook::Actions begun = floor.book.TakeActions();
  ASSERT_THAT(begun.notifications, SizeIs(1));
  EXPECT_THAT(begun.touched, IsEmpty());
  floor.book.OnAttempt(begun.notifications[0].id);
  floor.book.OnDelivered(begun.notifications[0].id, floor.now);
  EXPECT_THAT(floor.book.TakeActions().touched, SizeIs(1));
}

TEST(IncidentBook, ATerminalThatForgotIsToldWhatBurnsUnderTheSameNames) {
  Floor floor({"hall", "office"});
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.Post(Make("NVLINK_ERROR", "n2", 1));
  floor.Post(Make("XID_FATAL", "n3", 2));
  Event over = Make("XID_FATAL", "n3", 2);
  over.state = EventState::kResolved;
  floor.Post(over);
  std::vector<std::string> ids;
  for (const Notification& n : floor.told) {
    bool burns = n.message.text.find("n3") == std::string::npos;
    if (n.terminal == "hall" && burns && n.severity != Severity::kNormal) ids.push_back(n.id);
  }
  ASSERT_THAT(ids, SizeIs(2));
  floor.told.clear();
  floor.book.OnTerminalForgot("hall", floor.now);
  floor.Deliver();
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[0].id, ids[1]);  // the warning, then the emergency
  EXPECT_EQ(floor.told[1].id, ids[0]);
  EXPECT_EQ(floor.told[1].terminal, "hall");
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kFlash);
}

TEST(IncidentBook, WhatWasAcknowledgedAtATerminalThatForgotComesBackSteadyAndSilent) {
  Floor floor;
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  floor.Deliver();
  floor.told.clear();
  floor.book.OnTerminalForgot("hall", floor.now);
  floor.Deliver();
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kSteady);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
}

TEST(IncidentBook, AnEndThatWaitsForATerminalIsRememberedHoweverManyFollow) {
  Floor floor;
  std::vector<std::string> ends;  // messages to a lamp that has gone away meanwhile
  for (size_t i = 0; i < 3 * kClosedIncidentsMax; ++i) {
    Event event = Make("XID_FATAL", "node-" + std::to_string(i), 0);
    floor.lamp_up = true;
    floor.Post(event);
    event.state = EventState::kResolved;
    floor.lamp_up = false;
    floor.Post(event);
    ends.push_back(floor.lost.back().id);
  }
  floor.book.OnDelivered(ends.front(), floor.now);
  IncidentBook::Actions actions = floor.book.TakeActions();
  ASSERT_EQ(actions.touched.size(), 1u);
  const Incident* first = floor.book.Find(actions.touched[0]);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(AnyPending(*first));
  for (const std::string& end : ends) floor.book.OnDelivered(end, floor.now);
  floor.lamp_up = true;
  floor.Post(Make("XID_FATAL", "another", 0));
  Event over = Make("XID_FATAL", "another", 0);
  over.state = EventState::kResolved;
  floor.Post(over);
  EXPECT_EQ(floor.book.List(/*with_closed=*/true, 1000).size(), kClosedIncidentsMax);
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
