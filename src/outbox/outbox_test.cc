#include "outbox/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Notification Make(const std::string& id, const std::string& incident, Severity severity,
                  const std::string& terminal = "hall") {
  Notification n;
  n.id = id;
  n.incident = incident;
  n.terminal = terminal;
  n.severity = severity;
  n.urgency = severity;
  return n;
}

const DeliveryError kDown{DeliveryFailure::kRetry, "refused", std::nullopt};

// Turns the hands of the clock until `until`; every attempt is answered by `answer` at once.
template <typename Answer>
std::vector<std::pair<Instant, Delivery>> Play(Outbox* outbox, Instant from, Instant until,
                                               Answer answer) {
  std::vector<std::pair<Instant, Delivery>> attempts;
  Instant now = from;
  while (now <= until) {
    for (const Delivery& delivery : outbox->Due(now)) {
      attempts.emplace_back(now, delivery);
      answer(delivery, now);
    }
    std::optional<Instant> wake = outbox->NextWake();
    if (!wake) break;
    now = std::max(*wake, now + milliseconds(1));
  }
  return attempts;
}

TEST(Outbox, AnAlarmSurvivesALampThatIsDownForAnHour) {
  Outbox outbox({});
  Instant start{seconds(100)};
  Instant up = start + hours(1);
  outbox.Accept(Make("m1", "i1", Severity::kP0), start);
  Instant delivered{};
  auto attempts = Play(&outbox, start, start + hours(2), [&](const Delivery& d, Instant now) {
    if (now < up) {
      outbox.Failed(d.id, kDown, now);
    } else {
      delivered = now;
      outbox.Delivered(d.id, now);
    }
  });
  EXPECT_GE(delivered, up);
  EXPECT_LE(delivered, up + seconds(38));  // the longest pause with its jitter
  EXPECT_GT(attempts.size(), 90u);         // it never stopped trying
  EXPECT_LT(attempts.size(), 180u);
  auto outcomes = outbox.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].message, "m1");
  EXPECT_EQ(outcomes[0].terminal, "hall");
  EXPECT_EQ(outcomes[0].state, NotificationState::kDelivered);
  EXPECT_EQ(outbox.waiting(), 0u);
}

TEST(Outbox, PausesGrowAsTheContractSays) {
  RetryPolicy policy;
  policy.jitter = 0;
  Outbox outbox(policy);
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  auto attempts = Play(&outbox, {}, {seconds(120)},
                       [&](const Delivery& d, Instant now) { outbox.Failed(d.id, kDown, now); });
  std::vector<int64_t> at;
  for (const auto& [when, d] : attempts) at.push_back(ToMillis(when.since_boot));
  EXPECT_EQ(at, (std::vector<int64_t>{0, 200, 700, 1700, 3700, 7700, 15700, 31700, 61700, 91700}));
}

TEST(Outbox, TheSameSeedGivesTheSamePauses) {
  auto run = [](uint64_t seed) {
    RetryPolicy policy;
    policy.seed = seed;
    Outbox outbox(policy);
    outbox.Accept(Make("m1", "i1", Severity::kP0), {});
    std::vector<Duration> at;
    for (const auto& [when, d] :
         Play(&outbox, {}, {seconds(60)},
              [&](const Delivery&d2, Instant now) { outbox.Failed(d2.id, kDown, now); })) {
      at.push_back(when.since_boot);
    }
    return at;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(Outbox, ANewerNotificationOfTheIncidentSupersedesTheOneThatWaits) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  outbox.Accept(Make("m2", "i1", Severity::kP0), {});
  auto due = outbox.Due({});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].notification.id, "m2");
  auto outcomes = outbox.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].message, "m1");
  EXPECT_EQ(outcomes[0].state, NotificationState::kSuperseded);
}

TEST(Outbox, AnIncidentKeepsItsOrderWhileAnAttemptIsUnderWay) {
  Outbox outbox({});
  outbox.Accept(Make("alarm", "i1", Severity::kP0), {});
  auto first = outbox.Due({});
  ASSERT_EQ(first.size(), 1u);
  outbox.Accept(Make("over", "i1", Severity::kP0), {});
  EXPECT_TRUE(outbox.Due({}).empty());
  // The attempt fails: the older one is not tried again, the newer one goes.
  outbox.Failed(first[0].id, kDown, {});
  auto second = outbox.Due({seconds(1)});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].notification.id, "over");
}

TEST(Outbox, TheMostUrgentGoesFirst) {
  Outbox outbox({});
  outbox.Accept(Make("warning", "i1", Severity::kP1), {});
  outbox.Accept(Make("alarm", "i2", Severity::kP0), {});
  auto due = outbox.Due({});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].notification.id, "alarm");
}

TEST(Outbox, ADeadLampDoesNotHoldUpAnother) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0, "hall"), {});
  outbox.Accept(Make("m2", "i1", Severity::kP0, "office"), {});
  auto due = outbox.Due({});
  ASSERT_EQ(due.size(), 2u);
  outbox.Delivered(due[1].id, {});
  outbox.Accept(Make("m3", "i2", Severity::kP0, "office"), {});
  ASSERT_EQ(outbox.Due({}).size(), 1u);
}

TEST(Outbox, ANewP0ProbesATerminalThatIsInItsPause) {
  Outbox outbox({});
  Instant now{seconds(1000)};
  outbox.Accept(Make("m1", "i1", Severity::kP1), now);
  Play(&outbox, now, now + seconds(90),
       [&](const Delivery& d, Instant at) { outbox.Failed(d.id, kDown, at); });
  Instant later = now + seconds(91);
  outbox.Accept(Make("m2", "i2", Severity::kP0), later);
  ASSERT_TRUE(outbox.NextWake().has_value());
  EXPECT_LE(*outbox.NextWake(), later + milliseconds(200));
}

TEST(Outbox, ATerminalThatAsksForPatienceGetsIt) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  auto due = outbox.Due({});
  outbox.Failed(due[0].id, {DeliveryFailure::kRetry, "503", seconds(7)}, {});
  EXPECT_TRUE(outbox.Due({milliseconds(6900)}).empty());
  EXPECT_EQ(outbox.Due({seconds(7)}).size(), 1u);
}

TEST(Outbox, AnUnconfirmedAlarmIsRepeatedTwiceAndThenHandedOn) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  auto attempts = Play(&outbox, {}, {hours(1)}, [&](const Delivery& d, Instant now) {
    outbox.Failed(d.id, {DeliveryFailure::kUnconfirmed, "time-out", std::nullopt}, now);
  });
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[1].first.since_boot, seconds(10));
  EXPECT_EQ(attempts[2].first.since_boot, seconds(70));
  auto outcomes = outbox.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].state, NotificationState::kFailed);
  EXPECT_TRUE(outcomes[0].unconfirmed);
}

TEST(Outbox, ARefusedMessageIsFinalAndLeavesTheLineOpen) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  outbox.Accept(Make("m2", "i2", Severity::kP0), {});
  auto due = outbox.Due({});
  outbox.Failed(due[0].id, {DeliveryFailure::kRefused, "400", std::nullopt}, {});
  auto next = outbox.Due({});
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].notification.id, "m2");
  EXPECT_EQ(outbox.TakeOutcomes()[0].state, NotificationState::kFailed);
}

TEST(Outbox, AFullLineShedsTheLeastUrgentAndNeverAP0) {
  Outbox outbox({});
  outbox.Accept(Make("alarm", "p0", Severity::kP0), {});
  for (size_t i = 0; i < kOutboxWaitingMax + 10; ++i) {
    outbox.Accept(Make("w" + std::to_string(i), "p1-" + std::to_string(i), Severity::kP1), {});
  }
  EXPECT_EQ(outbox.waiting(), kOutboxWaitingMax);
  auto outcomes = outbox.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 11u);
  EXPECT_EQ(outcomes[0].message, "w0");
  for (size_t i = 0; i < kOutboxWaitingMax; ++i) {
    outbox.Accept(Make("a" + std::to_string(i), "p0-" + std::to_string(i), Severity::kP0), {});
  }
  for (const Outbox::Outcome& outcome : outbox.TakeOutcomes()) {
    // All warnings went; of the alarms only the one too many.
    if (outcome.message[0] == 'a') {
      EXPECT_EQ(outcome.message, "a" + std::to_string(kOutboxWaitingMax - 1));
    }
  }
  EXPECT_EQ(outbox.Due({})[0].notification.id, "alarm");
}

TEST(Outbox, ANewAlarmGoesBeforeThousandsOfEndingsOfTheSameUrgency) {
  Outbox outbox({});
  for (int i = 0; i < 3000; ++i) {
    Notification ending = Make("e" + std::to_string(i), "i" + std::to_string(i), Severity::kP0);
    ending.reason = NotifyReason::kResolved;
    outbox.Accept(ending, {});
  }
  outbox.Accept(Make("warning", "w", Severity::kP1), {});
  outbox.Accept(Make("alarm", "a", Severity::kP0), {});
  auto due = outbox.Due({});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].notification.id, "alarm");
  outbox.Delivered(due[0].id, {});
  EXPECT_EQ(outbox.Due({}).at(0).notification.id, "e0");
}

TEST(Outbox, WhatIsPointlessIsNotSent) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  outbox.Cancel("i1", "hall");
  EXPECT_TRUE(outbox.Due({}).empty());
  EXPECT_FALSE(outbox.NextWake().has_value());
  EXPECT_EQ(outbox.TakeOutcomes()[0].state, NotificationState::kSuperseded);
}

TEST(Outbox, ATerminalThatIsAbandonedIsSentNothingMore) {
  Outbox outbox({});
  outbox.Accept(Make("m1", "i1", Severity::kP0), {});
  outbox.Accept(Make("m2", "i2", Severity::kP1), {});
  outbox.Accept(Make("o1", "i1", Severity::kP0, "office"), {});
  auto due = outbox.Due({});
  ASSERT_EQ(due.size(), 2u);
  outbox.Abandon("hall", "gone");
  EXPECT_EQ(outbox.TakeOutcomes().at(0).error, "gone");
  outbox.Failed(due[0].id, kDown, {});
  EXPECT_EQ(outbox.TakeOutcomes().at(0).state, NotificationState::kSuperseded);
  outbox.Delivered(due[1].id, {});
  EXPECT_EQ(outbox.waiting(), 0u);
  EXPECT_FALSE(outbox.NextWake().has_value());
}

}  // namespace
}  // namespace sentinel
