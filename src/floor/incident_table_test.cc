#include "floor/incident_table.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using Admission = IncidentTable::Admission;

FloorMessage Message(std::string incident, uint64_t sequence, Severity severity = Severity::kP0) {
  FloorMessage message;
  message.incident_id = std::move(incident);
  message.sequence = sequence;
  message.severity = severity;
  message.body.text = "x";
  message.body.light_mode = severity == Severity::kNormal ? LightMode::kSteady : LightMode::kFlash;
  return message;
}

TEST(IncidentTable, ARepeatedMessageIdIsADuplicateEvenAfterItsIncidentClosed) {
  IncidentTable table;
  FloorMessage message = Message("a", 1);
  message.message_id = "m1";
  EXPECT_EQ(table.Admit(message, 1).admission, Admission::kTaken);
  EXPECT_EQ(table.Admit(message, 2).admission, Admission::kDuplicate);
  EXPECT_TRUE(table.Admit(Message("a", 2, Severity::kNormal), 3).closed);
  EXPECT_EQ(table.Admit(message, 4).admission, Admission::kDuplicate);
  EXPECT_TRUE(table.Open().empty());
}

TEST(IncidentTable, ALateAlarmDoesNotReopenWhatHasRecovered) {
  IncidentTable table;
  table.Admit(Message("a", 1), 1);
  table.Admit(Message("a", 3, Severity::kNormal), 2);
  EXPECT_EQ(table.Admit(Message("a", 2), 3).admission, Admission::kSuperseded);
  EXPECT_TRUE(table.Open().empty());
  EXPECT_EQ(table.Admit(Message("b", 2), 4).admission, Admission::kTaken);
}

TEST(IncidentTable, TheMostSevereComesFirstThenTheUnacknowledgedThenTheNewest) {
  IncidentTable table;
  table.Admit(Message("old", 1), 1);
  table.Acknowledge();
  table.Admit(Message("warning", 1, Severity::kP1), 2);
  table.Admit(Message("new", 1), 3);
  table.Admit(Message("newer", 1), 4);
  std::vector<std::string> order;
  for (const OpenIncident* incident : table.Open()) order.push_back(incident->id);
  EXPECT_EQ(order, (std::vector<std::string>{"newer", "new", "old", "warning"}));
}

TEST(IncidentTable, AnAcknowledgementHoldsForRepeatsAndNotForARiseInSeverity) {
  IncidentTable table;
  table.Admit(Message("a", 1, Severity::kP1), 1);
  table.Acknowledge();
  EXPECT_TRUE(table.Admit(Message("a", 2, Severity::kP1), 2).acknowledged);
  EXPECT_FALSE(table.Admit(Message("a", 3, Severity::kP0), 3).acknowledged);
}

TEST(IncidentTable, InTheAnonymousPlaceTheNewestStandsAndAnotherTextIsAnotherAlarm) {
  IncidentTable table;
  FloorMessage message = Message("", 0);
  message.sequence.reset();
  table.Admit(message, 1);
  table.Acknowledge();
  EXPECT_TRUE(table.Admit(message, 2).acknowledged);
  message.body.text = "elsewhere";
  EXPECT_FALSE(table.Admit(message, 3).acknowledged);
  ASSERT_EQ(table.Open().size(), 1u);
  EXPECT_EQ(table.Open()[0]->message.body.text, "elsewhere");
}

TEST(IncidentTable, AtItsBoundTheClosedGoFirstThenTheLeastSevere) {
  IncidentTable table;
  uint64_t serial = 1;
  table.Admit(Message("fire", 1), serial++);
  table.Admit(Message("closed", 1), serial++);
  table.Admit(Message("closed", 2, Severity::kNormal), serial++);
  for (size_t i = 0; i < 2 * kFloorIncidentsMax; i++) {
    table.Admit(Message("w" + std::to_string(i), 1, Severity::kP1), serial++);
  }
  EXPECT_EQ(table.size(), kFloorIncidentsMax);
  EXPECT_EQ(table.Open().front()->id, "fire");
}

TEST(IncidentTable, ForgetsTheIdHeardLongestAgo) {
  IncidentTable table;
  FloorMessage message = Message("a", 1);
  for (size_t i = 0; i <= kMessageIdsMax; i++) {
    message.message_id = "m" + std::to_string(i);
    EXPECT_EQ(table.Admit(message, i + 1).admission, Admission::kTaken);
  }
  message.message_id = "m1";
  EXPECT_EQ(table.Admit(message, 5000).admission, Admission::kDuplicate);
  message.message_id = "m0";
  EXPECT_EQ(table.Admit(message, 5001).admission, Admission::kTaken);
}

}  // namespace
}  // namespace sentinel
