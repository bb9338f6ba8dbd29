// Terminals that press, fall silent, refuse and forget.
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
using testing::SizeIs;

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
  Floor floor({"hall", "office"}, {HostShownAt("hall")});
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
  Floor floor({"hall", "office"}, {HostShownAt("hall")});
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
  const HostEntry host = HostShownAt("hall");
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
  Floor floor({"hall", "office"}, {HostShownAt("hall")});
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

}  // namespace
}  // namespace sentinel
