// A book that goes on under another configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_book.h"
#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::SizeIs;

TEST(IncidentReconfigure, WhatIsOpenStaysOpenWithItsWindowAndItsRepeats) {
  Floor floor;
  std::string id = floor.Post(Make("NCCL_TIMEOUT")).incident;
  floor.Pass(seconds(60));
  floor.book.Reconfigure(IncidentPolicy{}, Site({"hall"}, {}, {}), floor.now);
  floor.Deliver();
  EXPECT_THAT(floor.told, SizeIs(1));
  EXPECT_TRUE(floor.Post(Make("NCCL_TIMEOUT")).suppressed);
  floor.Pass(minutes(4));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kRepeated);
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kOpen);
}

TEST(IncidentReconfigure, ANewTerminalIsToldWhatBurnsAndOneThatIsGoneIsNot) {
  Floor floor;
  floor.Post(Make("NCCL_TIMEOUT"));
  floor.book.Reconfigure(IncidentPolicy{}, Site({"office"}, {}, {}), floor.now);
  floor.Deliver();
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].terminal, "office");
  Event end = Make("NCCL_TIMEOUT");
  end.state = EventState::kResolved;
  floor.Post(end);
  ASSERT_THAT(floor.told, SizeIs(3));
  EXPECT_EQ(floor.told[2].terminal, "office");
}

TEST(IncidentReconfigure, WhatWaitsForATerminalThatIsGoneIsGivenUp) {
  Floor floor;
  floor.lamp_up = false;
  std::string id = floor.Post(Make("NCCL_TIMEOUT")).incident;
  floor.book.Reconfigure(IncidentPolicy{}, Site({}, {}, {}), floor.now);
  const NotificationRecord& record = floor.book.Find(id)->notifications.at(0);
  EXPECT_EQ(record.state, NotificationState::kFailed);
  EXPECT_EQ(record.error, "the terminal is no longer configured");
}

TEST(IncidentReconfigure, AnotherDebounceCountsAtOnce) {
  Floor floor;
  floor.Post(Make("NVLINK_ERROR"));
  IncidentPolicy policy;
  policy.debounce = seconds(10);
  floor.book.Reconfigure(policy, Site({"hall"}, {}, {}), floor.now);
  floor.Pass(seconds(11));
  EXPECT_FALSE(floor.Post(Make("NVLINK_ERROR")).suppressed);
}

}  // namespace
}  // namespace sentinel
