// What a restart goes on with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

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

}  // namespace
}  // namespace sentinel
