// How long what a sender reported stays open, and what its end ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_book.h"
#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

TEST(IncidentLease, AReportThatSaysHowLongItHoldsIsBelieved) {
  Floor floor;
  Event event = Make("GPU_LOST");
  event.lease = hours(5);
  std::string id = floor.Post(event).incident;
  for (int i = 0; i < 4 * 60 + 59; ++i) floor.Pass(minutes(1));
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kOpen);
  for (int i = 0; i < 2; ++i) floor.Pass(minutes(1));
  EXPECT_EQ(floor.book.Find(id)->close_reason, CloseReason::kExpired);
}

TEST(IncidentLease, TheSameReportOnceMoreGoesOnHoldingAndCountsOnce) {
  Floor floor;
  std::string id = floor.Post(Make("GPU_LOST")).incident;
  for (int i = 0; i < 60; ++i) {
    floor.Pass(minutes(1));
    if (i % 5 == 0) floor.book.Renew(Make("GPU_LOST"), floor.now);
  }
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kOpen);
  EXPECT_EQ(floor.book.Find(id)->count, 1u);
  for (int i = 0; i < 11; ++i) floor.Pass(minutes(1));
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kClosed);
}

TEST(IncidentLease, WhatNoTerminalHasShownYetDoesNotExpire) {
  Floor floor;
  floor.lamp_up = false;
  std::string id = floor.Post(Make("GPU_LOST")).incident;
  for (int i = 0; i < 60; ++i) floor.Pass(minutes(1));
  EXPECT_EQ(floor.book.Find(id)->state, IncidentState::kOpen);
  floor.book.OnAttempt(floor.lost[0].id);
  floor.book.OnDelivered(floor.lost[0].id, floor.now);
  for (int i = 0; i < 11; ++i) floor.Pass(minutes(1));
  EXPECT_EQ(floor.book.Find(id)->close_reason, CloseReason::kExpired);
}

TEST(IncidentLease, AnEndThatIsOnlyOfItselfLeavesTheRestOfTheHostOpen) {
  Floor floor;
  std::string lost = floor.Post(Make("GPU_LOST")).incident;
  std::string hot = floor.Post(Make("THERMAL")).incident;
  Event end = Make("THERMAL");
  end.state = EventState::kResolved;
  end.ends_only_this = true;
  EXPECT_EQ(floor.Post(end).incident, hot);
  EXPECT_EQ(floor.book.Find(hot)->close_reason, CloseReason::kResolved);
  EXPECT_EQ(floor.book.Find(lost)->state, IncidentState::kOpen);
  // What was never open is nobody's end.
  end.event_type = "NVLINK_ERROR";
  EXPECT_EQ(floor.Post(end).incident, "");
  EXPECT_EQ(floor.book.Find(lost)->state, IncidentState::kOpen);
}

}  // namespace
}  // namespace sentinel
