#include "floor/speech_queue.h"

#include <gtest/gtest.h>

#include "floor/floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::seconds;

Sentence Of(std::string incident, Severity severity, int times = 1) {
  Sentence sentence;
  sentence.text = "about " + incident;
  sentence.incident_id = std::move(incident);
  sentence.severity = severity;
  sentence.times = times;
  sentence.not_before = kStart;
  return sentence;
}

// Speaks for `length`, each sentence taking two seconds, and writes down what was begun and hushed.
std::vector<std::string> Listen(SpeechQueue* queue, Instant from, Duration length) {
  std::vector<std::string> heard;
  std::optional<uint64_t> saying;
  Instant ends;
  for (Instant t = from; t < from + length; t = t + std::chrono::milliseconds(100)) {
    if (saying && t >= ends) {
      queue->Finished(*saying, t);
      saying.reset();
    }
    for (const SpeechOrder& order : queue->Due(t)) {
      if (const auto* say = std::get_if<Say>(&order)) {
        EXPECT_FALSE(saying.has_value());
        heard.push_back(say->text);
        saying = say->id;
        ends = t + seconds(2);
      } else {
        EXPECT_EQ(std::get<Hush>(order).id, saying);
        heard.push_back("hush");
        saying.reset();
      }
    }
  }
  if (saying) queue->Finished(*saying, from + length);
  return heard;
}

using Heard = std::vector<std::string>;

TEST(SpeechQueue, ACycleIsSaidAsOftenAsAskedWithAGap) {
  SpeechQueue queue;
  queue.Add(Of("a", Severity::kP0, 3));
  ASSERT_EQ(queue.Due(kStart).size(), 1u);
  queue.Finished(1, kStart + seconds(2));
  EXPECT_TRUE(queue.Due(kStart + seconds(3)).empty());
  EXPECT_EQ(Listen(&queue, kStart + seconds(2) + kRepeatGap, seconds(30)),
            (Heard{"about a", "about a"}));
}

TEST(SpeechQueue, ASecondAlarmDoesNotWaitForTheRepeatsOfTheFirst) {
  SpeechQueue queue;
  queue.Add(Of("a", Severity::kP0, 3));
  queue.Add(Of("b", Severity::kP0, 2));
  EXPECT_EQ(Listen(&queue, kStart, seconds(60)),
            (Heard{"about a", "about b", "about a", "about b", "about a"}));
}

TEST(SpeechQueue, AP0InterruptsAWarningWhichIsSaidAgainFromItsStart) {
  SpeechQueue queue;
  queue.Add(Of("warning", Severity::kP1));
  EXPECT_EQ(queue.Due(kStart).size(), 1u);
  queue.Add(Of("fire", Severity::kP0));
  std::vector<SpeechOrder> orders = queue.Due(kStart);
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(std::get<Hush>(orders[0]).id, 1u);
  EXPECT_EQ(std::get<Say>(orders[1]).text, "about fire");
  queue.Finished(1, kStart);  // the hushed one reports late: it changes nothing
  EXPECT_TRUE(queue.busy());
  queue.Finished(2, kStart + seconds(2));
  EXPECT_EQ(Listen(&queue, kStart + seconds(2), seconds(10)), (Heard{"about warning"}));
}

TEST(SpeechQueue, ANewerSentenceOfAnIncidentReplacesTheOlderEvenWhileItIsSaid) {
  SpeechQueue queue;
  queue.Add(Of("a", Severity::kP0, 3));
  queue.Due(kStart);
  Sentence green = Of("a", Severity::kNormal);
  green.text = "recovered";
  queue.Add(green);
  std::vector<SpeechOrder> orders = queue.Due(kStart);
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(std::get<Say>(orders[1]).text, "recovered");
  queue.Finished(2, kStart + seconds(1));
  EXPECT_TRUE(Listen(&queue, kStart + seconds(1), seconds(10)).empty());
}

TEST(SpeechQueue, WhatIsDroppedFallsSilentAtOnce) {
  SpeechQueue queue;
  queue.Add(Of("a", Severity::kP0, 3));
  queue.Due(kStart);
  queue.DropAll();
  std::vector<SpeechOrder> orders = queue.Due(kStart);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Hush>(orders[0]));
  EXPECT_FALSE(queue.busy());
}

TEST(SpeechQueue, AtItsBoundTheLeastSevereIsDropped) {
  SpeechQueue queue;
  queue.Add(Of("fire", Severity::kP0));
  for (size_t i = 0; i < 2 * kSentencesMax; i++) {
    queue.Add(Of("w" + std::to_string(i), Severity::kP1));
  }
  EXPECT_EQ(queue.waiting(), kSentencesMax);
  EXPECT_EQ(std::get<Say>(queue.Due(kStart)[0]).text, "about fire");
}

}  // namespace
}  // namespace sentinel
