// What does not ring: silences, nodes out of service; and what is written down of who did so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

const Actor kLi{"li", "10.0.0.7"};

std::string Hush(Floor* floor, SilenceMatcher matcher, minutes lasts = minutes(60)) {
  Silence silence;
  silence.matcher = std::move(matcher);
  silence.starts = floor->now.wall;
  silence.expires = floor->now.wall + lasts;
  silence.author = kLi.by;
  Result<Silence> added = floor->book.AddSilence(kLi, silence, floor->now);
  EXPECT_TRUE(added.ok());
  floor->Deliver();
  return added.ok() ? added->id : "";
}

TEST(Silences, ASilencedP0IsAnIncidentWithTheSilencesIdAndNoLamp) {
  Floor floor;
  const std::string silence = Hush(&floor, {"gpu-worker-*", "", "", ""});
  auto outcome = floor.Post(Make("XID_FATAL"));
  EXPECT_FALSE(outcome.suppressed);
  EXPECT_FALSE(outcome.begun);  // a restart must know of the silence
  const Incident& incident = *floor.book.Find(outcome.incident);
  EXPECT_EQ(incident.severity, Severity::kP0);
  EXPECT_EQ(incident.state, IncidentState::kOpen);
  EXPECT_EQ(incident.quiet, (Quieting{QuietReason::kSilence, silence}));
  for (int i = 0; i < 50; ++i) {
    floor.Pass(minutes(1));
    EXPECT_TRUE(floor.Post(Make("XID_FATAL")).suppressed);
  }
  EXPECT_THAT(floor.told, IsEmpty());
  EXPECT_EQ(incident.count, 51u);
}

TEST(Silences, WhatStillBurnsWhenASilenceEndsIsAnnounced) {
  Floor floor;
  Hush(&floor, {"", "A03", "", ""}, minutes(5));
  floor.Post(Make("XID_FATAL"));
  floor.Pass(minutes(4));
  EXPECT_THAT(floor.told, IsEmpty());
  floor.Pass(minutes(1));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kMuteEnded);
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kFlash);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kCycle);
  EXPECT_FALSE(floor.book.Find(floor.told[0].incident)->quiet.has_value());
}

TEST(Silences, ASilenceTakenBackAnnouncesAtOnce) {
  Floor floor;
  const std::string id = Hush(&floor, {"", "", "XID_FATAL", ""});
  floor.Post(Make("XID_FATAL"));
  EXPECT_TRUE(floor.book.EndSilence(kLi, id, floor.now).ok());
  floor.Deliver();
  EXPECT_THAT(floor.told, SizeIs(1));
  EXPECT_FALSE(floor.book.EndSilence(kLi, id, floor.now).ok());
}

TEST(Silences, WhatEndsUnderASilenceIsNeverHeardOf) {
  Floor floor;
  Hush(&floor, {"", "A03", "", ""}, minutes(5));
  for (int i = 0; i < 4; ++i) {
    floor.Post(Make("XID_FATAL"));
    Event over = Make("XID_FATAL");
    over.state = EventState::kResolved;
    floor.Post(over);
  }
  floor.Pass(minutes(10));
  EXPECT_THAT(floor.told, IsEmpty());
}

TEST(Silences, WhatBurnsWhenASilenceBeginsGoesDarkWithoutAWord) {
  Floor floor;
  const std::string incident = floor.Post(Make("XID_FATAL")).incident;
  floor.Post(Make("NVLINK_ERROR", "n7", 1));
  floor.told.clear();
  Hush(&floor, {"gpu-worker-08", "", "", ""}, minutes(5));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kSilenced);
  EXPECT_EQ(floor.told[0].severity, Severity::kNormal);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
  // A plain lamp shows what is left.
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kBreath);
  EXPECT_EQ(floor.book.Find(incident)->state, IncidentState::kOpen);
  floor.told.clear();
  floor.Pass(minutes(5));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].incident, incident);
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kFlash);
}

TEST(Silences, TheDarkReachesALampThatWasDownWhenTheIncidentEndedToo) {
  Floor floor;
  floor.Post(Make("XID_FATAL"));
  floor.lamp_up = false;
  Hush(&floor, {"gpu-worker-08", "", "", ""});
  ASSERT_THAT(floor.lost, SizeIs(1));
  Event over = Make("XID_FATAL");
  over.state = EventState::kResolved;
  floor.Post(over);
  // The lamp was lit and has not answered to going dark: that must not be called off.
  EXPECT_THAT(floor.cancelled, IsEmpty());
  EXPECT_EQ(floor.lost.back().message.light_mode, LightMode::kOff);
}

TEST(Silences, AnAcknowledgedIncidentComesBackSteadyAndSilent) {
  Floor floor;
  const std::string incident = floor.Post(Make("XID_FATAL")).incident;
  EXPECT_EQ(floor.book.AcknowledgeAs(kLi, {incident}, floor.now), 1);
  floor.Deliver();
  EXPECT_EQ(floor.told.back().reason, NotifyReason::kAcknowledged);
  EXPECT_THAT(floor.book.mutes(), IsEmpty());
  Hush(&floor, {"", "A03", "", ""}, minutes(5));
  floor.Pass(minutes(5));
  EXPECT_EQ(floor.told.back().reason, NotifyReason::kMuteEnded);
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kSteady);
  EXPECT_EQ(floor.told.back().message.audio_mode, AudioMode::kOff);
}

TEST(Silences, AHangIsSilencedByItsJobAndByItsPlace) {
  for (const SilenceMatcher& matcher :
       {SilenceMatcher{"", "", "", "job-*"}, SilenceMatcher{"n2", "", "", ""},
        SilenceMatcher{"", "", "NCCL_*", ""}}) {
    Floor floor;
    Hush(&floor, matcher);
    floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
    EXPECT_THAT(floor.told, IsEmpty());
    EXPECT_EQ(floor.book.open(), 1u);
  }
}

TEST(Silences, AHangThatTurnsOutToBeElsewhereRings) {
  Floor floor;
  Hush(&floor, {"n2", "", "", ""});
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_THAT(floor.told, IsEmpty());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck, "n3", 3));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kCycle);
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kOff);
}

TEST(Silences, ANodeOutOfServiceDoesNotRingAndAHangOfAJobThereDoes) {
  HostEntry drained;
  drained.name = "n2";
  drained.state = NodeState::kDrained;
  Floor floor({"hall"}, {drained});
  const std::string incident = floor.Post(Make("GPU_LOST", "n2", 1)).incident;
  EXPECT_EQ(floor.book.Find(incident)->quiet, (Quieting{QuietReason::kNodeState, "drained"}));
  floor.book.OnNodeSilent("n2", floor.now);
  floor.Deliver();
  EXPECT_THAT(floor.told, IsEmpty());
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_THAT(floor.told, SizeIs(1));
}

TEST(Silences, ANodeIsPutOutOfServiceAndBackWhileWeRun) {
  Floor floor;
  Silence silence;
  silence.matcher.host = "n2";
  silence.state = NodeState::kReserved;
  silence.author = "li";
  Result<Silence> added = floor.book.AddSilence(kLi, silence, floor.now);
  ASSERT_TRUE(added.ok());
  const std::string incident = floor.Post(Make("GPU_LOST", "n2", 1)).incident;
  EXPECT_EQ(floor.book.Find(incident)->quiet, (Quieting{QuietReason::kNodeState, added->id}));
  floor.Pass(minutes(9));
  EXPECT_THAT(floor.told, IsEmpty());
  EXPECT_TRUE(floor.book.EndSilence(kLi, added->id, floor.now).ok());
  floor.Deliver();
  EXPECT_THAT(floor.told, SizeIs(1));
}

TEST(Silences, ARestartKeepsThemAndSaysWhatBurnsIfTheyEndedMeanwhile) {
  Floor before;
  const std::string id = Hush(&before, {"", "A03", "", ""}, minutes(5));
  const std::string incident = before.Post(Make("XID_FATAL")).incident;
  const Incident kept = *before.book.Find(incident);
  const Silence silence = *before.book.silences().Find(id);

  Floor soon;
  soon.now = before.now;
  soon.now.wall = soon.now.wall + minutes(1);
  soon.book.RestoreSilence(silence, soon.now);
  soon.book.Restore({kept}, "", soon.now);
  soon.Pass(minutes(1));
  EXPECT_THAT(soon.told, IsEmpty());
  EXPECT_EQ(soon.book.Find(incident)->quiet, kept.quiet);
  soon.Pass(minutes(3));
  ASSERT_THAT(soon.told, SizeIs(1));

  Floor late;
  late.now.wall = before.now.wall + minutes(6);
  late.book.RestoreSilence(silence, late.now);
  late.book.Restore({kept}, "", late.now);
  late.book.Advance(late.now);
  EXPECT_THAT(late.book.TakeActions().silences_over, testing::ElementsAre(id));
  Floor gone;
  gone.book.Restore({kept}, "", gone.now);
  gone.Pass(seconds(0));
  ASSERT_THAT(gone.told, SizeIs(1));
  EXPECT_EQ(gone.told[0].reason, NotifyReason::kMuteEnded);
}

TEST(Silences, TheTrailSaysWhoDidWhatToWhichAndFromWhere) {
  Floor floor;
  const std::string first = floor.Post(Make("XID_FATAL", "n1", 1)).incident;
  floor.Post(Make("XID_FATAL", "n2", 1));
  floor.book.AcknowledgeAs(kLi, {first}, floor.now);
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  floor.book.UnmuteAs(kLi, "hall", floor.now);
  Silence silence;
  silence.matcher.host = "n1";
  silence.expires = floor.now.wall + minutes(5);
  silence.author = "li";
  silence.comment = "cable";
  const std::string id = floor.book.AddSilence(kLi, silence, floor.now)->id;
  EXPECT_TRUE(floor.book.EndSilence(kLi, id, floor.now).ok());
  std::vector<AuditRecord> trail = floor.book.TakeActions().audit;
  ASSERT_THAT(trail, SizeIs(6));
  EXPECT_EQ(trail[0].action, AuditAction::kAcknowledge);
  EXPECT_EQ(trail[0].subject, first);
  EXPECT_EQ(trail[0].actor.from, "10.0.0.7");
  EXPECT_EQ(trail[1].actor.by, "button");
  EXPECT_EQ(trail[1].actor.from, "hall");
  EXPECT_EQ(trail[2].action, AuditAction::kMute);
  EXPECT_EQ(trail[2].subject, "hall");
  EXPECT_EQ(trail[3].action, AuditAction::kUnmute);
  EXPECT_EQ(trail[4].action, AuditAction::kSilence);
  EXPECT_EQ(trail[4].subject, id);
  EXPECT_THAT(trail[4].detail, testing::HasSubstr("host=n1"));
  EXPECT_THAT(trail[4].detail, testing::HasSubstr("comment=cable"));
  EXPECT_EQ(trail[5].action, AuditAction::kSilenceEnd);
}

// ------------------------------------------------------------------------------------ Explain

TEST(Explain, SaysWhatAnEventWouldDoAndChangesNothing) {
  Floor floor({"hall", "office"});
  Explanation told = floor.book.Explain(Make("XID_FATAL"), JobPresence::kUnknown, floor.now);
  EXPECT_EQ(told.severity, Severity::kP0);
  EXPECT_EQ(told.severity_why, "the table's row for its type");
  EXPECT_EQ(told.what, "begins an incident");
  EXPECT_EQ(told.text, "硬件致命故障，机架 A03 节点 gpu-worker-08 发生驱动级报错");
  ASSERT_THAT(told.terminals, SizeIs(2));
  EXPECT_EQ(told.terminals[0].why, "there are no routes");
  EXPECT_TRUE(told.terminals[0].voice);
  EXPECT_EQ(floor.book.open(), 0u);

  const std::string incident = floor.Post(Make("XID_FATAL")).incident;
  told = floor.book.Explain(Make("XID_FATAL"), JobPresence::kUnknown, floor.now);
  EXPECT_EQ(told.incident, incident);
  EXPECT_TRUE(told.suppressed);
  EXPECT_FALSE(told.terminals[0].light);
  EXPECT_EQ(floor.book.Find(incident)->count, 1u);

  Event over = Make("XID_FATAL");
  over.state = EventState::kResolved;
  EXPECT_EQ(floor.book.Explain(over, JobPresence::kUnknown, floor.now).what, "ends 1 incident");
}

TEST(Explain, SaysWhyNothingWouldBeHeard) {
  Floor floor;
  EXPECT_THAT(floor.book.Explain(Make("LINK_FLAP"), JobPresence::kUnknown, floor.now).what,
              testing::HasSubstr("dashboard"));
  Event idle = Make("GPU_UTIL_DROP");
  idle.gpu_util = 2;
  EXPECT_THAT(floor.book.Explain(idle, JobPresence::kNone, floor.now).severity_why,
              testing::HasSubstr("no job runs"));
  const std::string id = Hush(&floor, {"", "A03", "", ""});
  Explanation told = floor.book.Explain(Make("XID_FATAL"), JobPresence::kUnknown, floor.now);
  EXPECT_TRUE(told.suppressed);
  EXPECT_EQ(told.quiet, (Quieting{QuietReason::kSilence, id}));
  EXPECT_THAT(told.terminals, IsEmpty());
}

}  // namespace
}  // namespace sentinel
