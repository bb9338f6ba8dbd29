// What the book does by the clock: repeats, mutes, quiet hours; and cards that fail together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<NotifyReason> Reasons(const Floor& floor) {
  std::vector<NotifyReason> reasons;
  for (const Notification& n : floor.told) reasons.push_back(n.reason);
  return reasons;
}

// Minute by minute, because an event's lease and the book's timers all want to be seen.
void PassRenewed(Floor* floor, minutes time) {
  for (minutes passed{0}; passed < time; ++passed) {
    floor->Pass(minutes(1));
    floor->Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  }
}

TEST(IncidentHours, AnUnacknowledgedP0RingsAgainAt5And15AndThenEvery60Minutes) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  std::vector<int> rang;
  for (int minute = 1; minute <= 140; ++minute) {
    floor.told.clear();
    PassRenewed(&floor, minutes(1));
    if (floor.told.empty()) continue;
    rang.push_back(minute);
    EXPECT_EQ(floor.told[0].reason, NotifyReason::kRepeated);
    EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kCycle);
  }
  EXPECT_THAT(rang, testing::ElementsAre(5, 15, 75, 135));
}

TEST(IncidentHours, AnAcknowledgedP0DoesNotRepeat) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  floor.Deliver();
  PassRenewed(&floor, minutes(140));
  EXPECT_THAT(Reasons(floor), Not(Contains(NotifyReason::kRepeated)));
}

TEST(IncidentHours, AP1DoesNotRepeat) {
  Floor floor;
  floor.Post(Make("OPTICS_ERROR"));
  for (int i = 0; i < 9; ++i) floor.Pass(minutes(1));
  EXPECT_THAT(floor.told, SizeIs(1));
}

TEST(IncidentHours, RepeatsCountFromDelivery) {
  Floor floor;
  floor.lamp_up = false;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  PassRenewed(&floor, minutes(7));
  floor.lamp_up = true;
  ASSERT_THAT(floor.lost, SizeIs(1));  // nothing was added while it waited
  floor.book.OnAttempt(floor.lost[0].id);
  floor.book.OnDelivered(floor.lost[0].id, floor.now);
  PassRenewed(&floor, minutes(4));
  EXPECT_THAT(floor.told, IsEmpty());
  PassRenewed(&floor, minutes(1));
  EXPECT_THAT(Reasons(floor), testing::ElementsAre(NotifyReason::kRepeated));
}

TEST(IncidentHours, APressMutesForAQuarterOfAnHourAndEndsWithOneReminder) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  ASSERT_TRUE(floor.book.mutes().contains("hall"));
  floor.Deliver();
  floor.told.clear();
  PassRenewed(&floor, minutes(15));
  EXPECT_THAT(floor.told, IsEmpty());
  floor.Pass(kMuteMargin);
  ASSERT_THAT(Reasons(floor), testing::ElementsAre(NotifyReason::kMuteEnded));
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOnce);
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kSteady);  // it stays acknowledged
  EXPECT_THAT(floor.book.mutes(), IsEmpty());
  PassRenewed(&floor, minutes(60));
  EXPECT_THAT(floor.told, SizeIs(1));
}

TEST(IncidentHours, AMuteThatOutlastsTheFireEndsWithoutAWord) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  floor.Heal(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  floor.told.clear();
  for (int i = 0; i < 16; ++i) floor.Pass(minutes(1));
  EXPECT_THAT(floor.told, IsEmpty());
  EXPECT_THAT(floor.book.mutes(), IsEmpty());
}

TEST(IncidentHours, WhileMutedANewP0IsHeardOnceAndAtMostOneAMinute) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  floor.Deliver();
  floor.told.clear();
  floor.Post(Make("XID_FATAL", "n7", 1));
  floor.Post(Make("XID_FATAL", "n8", 1));
  floor.Post(Make("OPTICS_ERROR", "n9"));
  ASSERT_THAT(floor.told, SizeIs(3));
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOnce);
  EXPECT_EQ(floor.told[0].message.repeat_times, 1);
  EXPECT_EQ(floor.told[1].message.audio_mode, AudioMode::kOff);
  EXPECT_EQ(floor.told[2].message.audio_mode, AudioMode::kOff);
  floor.Pass(seconds(59));
  EXPECT_THAT(floor.told, SizeIs(3));
  floor.Pass(seconds(1));
  ASSERT_THAT(floor.told, SizeIs(4));
  EXPECT_EQ(floor.told[3].incident, floor.told[1].incident);
  EXPECT_EQ(floor.told[3].message.audio_mode, AudioMode::kOnce);
}

TEST(IncidentHours, AMuteThatEndsAnnouncesNothingAnewWhereTheAlarmIsStillUnderWay) {
  Floor floor({"hall", "office"});
  floor.book.Mute("office", floor.now.wall + minutes(15), floor.now);
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  floor.told.clear();
  auto outcome = floor.book.OnEvent(Make("GPU_LOST", "n2", 1), JobPresence::kUnknown, floor.now);
  std::vector<Notification> first = floor.book.TakeActions().notifications;
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(first[0].terminal, "hall");
  floor.book.OnDelivered(first[1].id, floor.now);
  // The hall takes its time, and the office's turn to be heard comes.
  floor.Pass(seconds(61));
  for (const Notification& told : floor.told) {
    EXPECT_FALSE(told.terminal == "hall" && told.incident == outcome.incident) << told.id;
  }
  floor.book.OnDelivered(first[0].id, floor.now);
  EXPECT_EQ(floor.book.Find(outcome.incident)->notifications[0].state,
            NotificationState::kDelivered);
}

TEST(IncidentHours, AStrictMuteIsSilentAboutANewP0Too) {
  IncidentPolicy policy;
  policy.strict_mute = true;
  Floor floor({"hall"}, {}, policy);
  floor.Post(Make("XID_FATAL", "n7", 1));
  floor.book.Acknowledge("hall", {}, "button", floor.now.wall, floor.now);
  floor.Deliver();
  floor.told.clear();
  floor.Post(Make("XID_FATAL", "n8", 1));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
}

TEST(IncidentHours, APressThatWasToldLateMutesForWhatIsLeft) {
  Floor floor;
  floor.Post(Make("XID_FATAL", "n7", 1));
  const WallTime pressed = floor.now.wall + -minutes(10);
  floor.book.Acknowledge("hall", {}, "button", pressed, floor.now);
  ASSERT_TRUE(floor.book.mutes().contains("hall"));
  EXPECT_EQ(floor.book.mutes().at("hall").mono, floor.now.mono + minutes(5) + kPressClockSlack);
}

TEST(IncidentHours, NoClockMakesAMuteLongerThanItIs) {
  Floor floor;
  floor.book.Mute("hall", floor.now.wall + hours(48), floor.now);
  EXPECT_EQ(floor.book.mutes().at("hall").mono, floor.now.mono + minutes(15) + kMuteMargin);
}

IncidentPolicy Nights() {
  IncidentPolicy policy;
  policy.quiet.emplace(hours(22), hours(8), [](WallTime) { return hours(8); });
  return policy;
}
// The evening of a day in a zone eight hours ahead of UTC: 21:59:00.
constexpr WallTime kEvening{seconds(1'796'000'400 - 1'796'000'400 % 86'400) + hours(13) +
                            minutes(59)};

TEST(IncidentHours, AtNightAP1IsShownAndAP0IsSpoken) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening;
  floor.Pass(minutes(1));
  floor.Post(Make("OPTICS_ERROR", "n1"));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kBreath);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
  floor.Post(Make("XID_FATAL", "n2", 1));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentHours, AtNightGreenIsShownAndNotSpoken) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening;
  floor.Pass(minutes(1));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_EQ(Spoken(floor), 1u);
  floor.Heal(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_EQ(floor.told.back().severity, Severity::kNormal);
  EXPECT_EQ(floor.told.back().message.light_mode, LightMode::kSteady);
  EXPECT_EQ(Spoken(floor), 1u);
}

TEST(IncidentHours, AMinuteBeforeTheNightAP1IsSpoken) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening;
  floor.Pass(seconds(59));
  floor.Post(Make("OPTICS_ERROR", "n1"));
  EXPECT_EQ(Spoken(floor), 1u);
}

TEST(IncidentHours, WhatWaitsForItsTerminalWhenTheNightBeginsArrivesSilently) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening;
  floor.Pass(seconds(1));
  floor.lamp_up = false;
  floor.Post(Make("OPTICS_ERROR", "n1"));
  floor.Post(Make("XID_FATAL", "n2", 1));
  ASSERT_THAT(floor.lost, SizeIs(2));
  floor.lamp_up = true;
  floor.Pass(minutes(1));
  ASSERT_THAT(floor.told, SizeIs(1));  // the P0 goes on as it is
  EXPECT_EQ(floor.told[0].incident, floor.lost[0].incident);
  EXPECT_GT(floor.told[0].sequence, floor.lost[0].sequence);
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kBreath);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOff);
}

TEST(IncidentHours, ATerminalThatIsStartedAnewOrAddedAtNightIsToldSilently) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening;
  floor.Pass(seconds(1));
  std::string id = floor.Post(Make("OPTICS_ERROR", "n1")).incident;
  EXPECT_EQ(Spoken(floor), 1u);
  floor.Pass(minutes(1));
  floor.told.clear();
  floor.book.OnTerminalForgot("hall", floor.now);
  floor.Deliver();
  floor.book.Reconfigure(Nights(), Site({"hall", "office"}, {}, {}), floor.now);
  floor.Deliver();
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].terminal, "office");
  EXPECT_EQ(Spoken(floor), 0u);
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kBreath);

  // Nor is it said by the next life of the gateway.
  Floor after({"hall", "office", "gate"}, {}, Nights());
  after.now = floor.now;
  after.book.Restore({*floor.book.Find(id)}, "", after.now);
  after.book.Rebegin(Make("THERMAL", "n2"), 1, after.now.wall, after.now);
  after.Deliver();
  EXPECT_THAT(after.told, SizeIs(4));
  EXPECT_EQ(Spoken(after), 0u);
}

TEST(IncidentHours, AClockThatIsSetIsBelievedAtOnce) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening + hours(2);  // a host that starts with a wrong clock
  floor.Pass(seconds(1));
  floor.Post(Make("OPTICS_ERROR", "n1"));
  EXPECT_EQ(Spoken(floor), 0u);
  EXPECT_FALSE(floor.book.ClockWasSet(floor.now));
  floor.now.wall = kEvening + hours(-8);
  EXPECT_TRUE(floor.book.ClockWasSet(floor.now));
  floor.Pass(seconds(1));
  EXPECT_EQ(floor.told.back().reason, NotifyReason::kDigest);
  floor.told.clear();
  floor.Post(Make("OPTICS_ERROR", "n2"));
  EXPECT_EQ(Spoken(floor), 1u);
  floor.now.wall = kEvening + hours(2);
  floor.Pass(seconds(1));
  floor.told.clear();
  floor.Post(Make("OPTICS_ERROR", "n3"));
  EXPECT_EQ(Spoken(floor), 0u);
}

TEST(IncidentHours, TheMorningHasOneDigestOfWhatIsOpen) {
  Floor floor({"hall", "office"}, {}, Nights());
  floor.now.wall = kEvening;
  floor.Pass(minutes(2));
  floor.book.OnNodeSilent("n1", floor.now);  // lasts as long as the silence
  floor.book.OnNodeSilent("n2", floor.now);
  floor.Deliver();
  EXPECT_EQ(Spoken(floor), 0u);
  floor.told.clear();
  for (int minute = 0; minute < 9 * 60 + 58; ++minute) floor.Pass(minutes(1));
  EXPECT_THAT(floor.told, IsEmpty());
  floor.Pass(minutes(1));
  ASSERT_THAT(floor.told, SizeIs(2));  // one a terminal
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kDigest);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kOnce);
  EXPECT_THAT(floor.told[0].message.text, testing::HasSubstr("2 项"));
  floor.Pass(hours(1));
  EXPECT_THAT(floor.told, SizeIs(2));
}

// A gateway that was not there when the night ended: what the next one tells of the night.
class MissedMorning : public testing::Test {
 protected:
  MissedMorning() : before_({"hall"}, {}, Nights()) {
    before_.now.wall = kEvening;
    before_.Pass(minutes(2));
    night_ = before_.Post(Make("OPTICS_ERROR", "n1")).incident;
    EXPECT_EQ(Spoken(before_), 0u);
  }

  // It starts so long after 22:01, and finds this note.
  IncidentBook::Actions Start(Floor* floor, Duration after, std::optional<WallTime> told) {
    floor->now = before_.now;
    floor->now.mono = floor->now.mono + after;
    floor->now.wall =
        floor->now.wall + std::chrono::duration_cast<std::chrono::milliseconds>(after);
    floor->book.Restore({*before_.book.Find(night_)}, "", floor->now);
    floor->book.RestoreDigest(told, floor->now);
    return floor->book.TakeActions();
  }
  static size_t Digests(const std::vector<Notification>& told) {
    size_t digests = 0;
    for (const Notification& n : told) {
      if (n.reason != NotifyReason::kDigest) continue;
      EXPECT_EQ(n.message.audio_mode, AudioMode::kOnce);
      ++digests;
    }
    return digests;
  }

  Floor before_;
  std::string night_;
  Floor after_{{"hall"}, {}, Nights()};
  const WallTime told_ = kEvening + hours(-13);  // this morning
};

TEST_F(MissedMorning, IsMadeUpForOnce) {
  IncidentBook::Actions actions = Start(&after_, hours(10) + minutes(30), told_);  // 08:31
  EXPECT_EQ(Digests(actions.notifications), 1u);
  EXPECT_EQ(actions.digest_told, after_.now.wall);
  Floor next({"hall"}, {}, Nights());
  actions = Start(&next, hours(10) + minutes(40), actions.digest_told);
  EXPECT_EQ(Digests(actions.notifications), 0u);
  EXPECT_EQ(actions.digest_told, std::nullopt);
}

TEST_F(MissedMorning, IsNotTalkedOfInTheAfternoon) {
  EXPECT_EQ(Digests(Start(&after_, hours(13) + minutes(58), told_).notifications), 1u);  // 11:59
  Floor late({"hall"}, {}, Nights());
  EXPECT_EQ(Digests(Start(&late, hours(14), told_).notifications), 0u);  // 12:01
}

TEST_F(MissedMorning, IsNoneWhereItHasBeenToldOrTheNightGoesOn) {
  const WallTime at_eight = kEvening + (hours(10) + minutes(1));
  EXPECT_EQ(Digests(Start(&after_, hours(10), at_eight).notifications), 0u);
  Floor night({"hall"}, {}, Nights());
  EXPECT_EQ(Digests(Start(&night, hours(9) + minutes(58), told_).notifications), 0u);  // 07:59
  night.Pass(minutes(1));
  EXPECT_EQ(Digests(night.told), 1u);
}

TEST_F(MissedMorning, IsNotOwedByAFirstStart) {
  IncidentBook::Actions actions = Start(&after_, hours(11), std::nullopt);
  EXPECT_EQ(Digests(actions.notifications), 0u);
  EXPECT_EQ(actions.digest_told, after_.now.wall);  // the next one will be
}

TEST_F(MissedMorning, IsFoundByAHostThatLearnsTheTimeAfterItsStart) {
  EXPECT_EQ(Digests(Start(&after_, hours(-12), told_).notifications),
            0u);  // 10:01 of the day before
  after_.now.wall = kEvening + (hours(10) + minutes(30));
  EXPECT_TRUE(after_.book.ClockWasSet(after_.now));
  after_.Pass(seconds(1));
  EXPECT_EQ(Digests(after_.told), 1u);
}

TEST_F(MissedMorning, IsNoneOfHoursThatWereNotInForce) {
  Start(&after_, hours(11), kEvening + (hours(10) + minutes(1)));  // 09:01
  IncidentPolicy longer;
  longer.quiet.emplace(hours(22), hours(9), [](WallTime) { return hours(8); });
  after_.book.Reconfigure(longer, Site({"hall"}, {}, {}), after_.now);
  after_.Pass(seconds(1));
  EXPECT_EQ(Digests(after_.told), 0u);
  after_.book.Reconfigure(longer, Site({"hall"}, {}, {}), after_.now);
  EXPECT_EQ(after_.book.TakeActions().digest_told, after_.now.wall);
}

TEST(IncidentHours, AMorningWithoutAlarmsIsSilent) {
  Floor floor({"hall"}, {}, Nights());
  floor.now.wall = kEvening;
  for (int minute = 0; minute < 11 * 60; ++minute) floor.Pass(minutes(1));
  EXPECT_THAT(floor.told, IsEmpty());
}

TEST(IncidentHours, CardsThatFailTogetherAreOneSentence) {
  Floor floor;
  floor.Post(Make("XID_FATAL", "gpu-worker-08", 5));
  floor.Pass(milliseconds(400));
  floor.Post(Make("XID_FATAL", "gpu-worker-08", 3));
  ASSERT_THAT(Reasons(floor), testing::ElementsAre(NotifyReason::kFirst, NotifyReason::kFirst,
                                                   NotifyReason::kGrouped));
  EXPECT_EQ(floor.told[1].message.audio_mode, AudioMode::kOff);
  EXPECT_EQ(floor.told[2].incident, floor.told[0].incident);
  EXPECT_EQ(floor.told[2].message.text,
            "硬件致命故障，机架 A03 节点 gpu-worker-08 第 3、5 号卡发生驱动级报错");
  EXPECT_EQ(floor.told[2].message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentHours, ACardThatIsWorseThanTheOthersIsNotToldInTheirVoice) {
  Floor floor;
  Event slow = Make("GPU_UTIL_DROP", "gpu-worker-08", 3);
  slow.gpu_util = 40;
  floor.Post(slow);
  Event idle = Make("GPU_UTIL_DROP", "gpu-worker-08", 5);
  idle.gpu_util = 1;
  floor.Post(idle);
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[0].severity, Severity::kP1);
  EXPECT_EQ(floor.told[1].severity, Severity::kP0);
  EXPECT_EQ(floor.told[1].message.audio_mode, AudioMode::kCycle);
}

TEST(IncidentHours, WhenTheCardThatSpokeForOthersEndsTheNextSpeaksForThem) {
  Floor floor;
  for (int card : {3, 5, 6}) floor.Post(Make("XID_FATAL", "gpu-worker-08", card));
  Event end = Make("XID_FATAL", "gpu-worker-08", 3);
  end.state = EventState::kResolved;
  end.ends_only_this = true;
  floor.Post(end);
  floor.told.clear();
  floor.Pass(minutes(5));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kRepeated);
  EXPECT_EQ(floor.told[0].message.audio_mode, AudioMode::kCycle);
  EXPECT_THAT(floor.told[0].message.text, testing::HasSubstr("第 5、6 号卡"));
}

TEST(IncidentHours, ACardWhoseFaultHasGoneIsNotNamedAgain) {
  Floor floor;
  for (int card : {3, 5}) floor.Post(Make("XID_FATAL", "gpu-worker-08", card));
  Event end = Make("XID_FATAL", "gpu-worker-08", 5);
  end.state = EventState::kResolved;
  end.ends_only_this = true;
  floor.Post(end);
  floor.told.clear();
  floor.Pass(minutes(5));
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_THAT(floor.told[0].message.text, testing::HasSubstr("第 3 号卡"));
}

TEST(IncidentHours, ACardThatFailsLaterOrElsewhereSpeaksForItself) {
  Floor floor;
  floor.Post(Make("XID_FATAL", "gpu-worker-08", 5));
  floor.Post(Make("XID_FATAL", "gpu-worker-09", 3));
  floor.Post(Make("NVLINK_ERROR", "gpu-worker-08", 3));
  floor.Pass(seconds(1));
  floor.Post(Make("XID_FATAL", "gpu-worker-08", 3));
  EXPECT_EQ(Spoken(floor), 4u);
  EXPECT_THAT(Reasons(floor), Not(Contains(NotifyReason::kGrouped)));
}

TEST(IncidentHours, ASourceThatComesAndGoesIsToldOnceAsUnstableAndThenRarely) {
  Floor floor;
  auto flap = [&floor] {
    Event event = Make("LINK_DOWN", "n1");
    floor.Post(event);
    floor.Pass(seconds(20));  // longer than its voice is held
    event.state = EventState::kResolved;
    floor.Post(event);
    floor.Pass(seconds(110));
  };
  for (size_t i = 1; i < kFlapsHigh; ++i) flap();
  EXPECT_EQ(Spoken(floor), kFlapsHigh - 1);
  floor.told.clear();
  flap();
  ASSERT_EQ(Spoken(floor), 1u);
  size_t said = 0;
  for (const Notification& n : floor.told)
    said += n.message.text.find("状态不稳") != std::string::npos;
  EXPECT_GE(said, 1u);
  floor.told.clear();
  for (int i = 0; i < 5; ++i) flap();
  EXPECT_EQ(Spoken(floor), 0u);             // eleven minutes: within the widened window
  EXPECT_THAT(floor.told, Not(IsEmpty()));  // the light still comes and goes
}

}  // namespace
}  // namespace sentinel
