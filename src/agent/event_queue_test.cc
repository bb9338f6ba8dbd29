#include "agent/event_queue.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<uint64_t> Ids(const std::vector<SpooledEvent>& events) {
  std::vector<uint64_t> ids;
  for (const SpooledEvent& event : events) ids.push_back(event.spool_id);
  return ids;
}

uint64_t Put(EventQueue& queue, const std::string& body) {
  const uint64_t id = queue.Reserve(body.size()).value();
  queue.Add(id, body);
  return id;
}

TEST(EventQueue, SendsInOrderAndForgetsWhatWasAnswered) {
  EventQueue queue({}, 10);
  queue.Connected();
  EXPECT_EQ(Put(queue, "a"), 10u);
  EXPECT_EQ(Put(queue, "b"), 11u);
  EXPECT_EQ(Ids(queue.Due({})), (std::vector<uint64_t>{10, 11}));
  EXPECT_TRUE(queue.Due({}).empty());
  EXPECT_TRUE(queue.Answered({10, 200, ""}, {}));
  EXPECT_FALSE(queue.Answered({10, 200, ""}, {})) << "answered twice";
  EXPECT_EQ(queue.size(), 1u);
}

TEST(EventQueue, AnEventThatNobodyWantsIsNotSentForEver) {
  EventQueue queue({}, 1);
  queue.Connected();
  Put(queue, "a");
  queue.Due({});
  EXPECT_TRUE(queue.Answered({1, 400, ""}, {}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(EventQueue, LaterMeansLater) {
  EventQueue queue({}, 1);
  queue.Connected();
  Put(queue, "a");
  queue.Due({});
  EXPECT_FALSE(queue.Answered({1, 503, ""}, Instant{seconds(1)}));
  EXPECT_TRUE(queue.Due(Instant{seconds(2)}).empty());
  EXPECT_EQ(queue.Due(Instant{seconds(6)}).size(), 1u);
}

TEST(EventQueue, AnAnswerThatNeverComesIsAskedForAgain) {
  EventQueue queue({}, 1);
  queue.Connected();
  Put(queue, "a");
  queue.Due({});
  EXPECT_TRUE(queue.Due(Instant{milliseconds(4900)}).empty());
  EXPECT_EQ(queue.Due(Instant{seconds(5)}).size(), 1u);
}

TEST(EventQueue, AfterALostConnectionEverythingUnansweredGoesAgain) {
  EventQueue queue({}, 1);
  Put(queue, "a");
  EXPECT_TRUE(queue.Due({}).empty()) << "nobody is there";
  queue.Connected();
  EXPECT_EQ(queue.Due({}).size(), 1u);
  queue.Disconnected();
  EXPECT_TRUE(queue.Due({}).empty());
  queue.Connected();
  EXPECT_EQ(queue.Due({}).size(), 1u);
}

TEST(EventQueue, OnlySoManyAreUnanswered) {
  EventQueueOptions options;
  options.in_flight_max = 3;
  EventQueue queue(options, 1);
  queue.Connected();
  for (int i = 0; i < 10; ++i) Put(queue, "x");
  EXPECT_EQ(queue.Due({}).size(), 3u);
  queue.Answered({2, 200, ""}, {});
  EXPECT_EQ(Ids(queue.Due({})), (std::vector<uint64_t>{4}));
}

TEST(EventQueue, RefusesBeyondItsBounds) {
  EventQueueOptions options;
  options.events_max = 2;
  options.bytes_max = 10;
  EventQueue queue(options, 1);
  EXPECT_FALSE(queue.Reserve(11).ok());
  Put(queue, "12345");
  EXPECT_FALSE(queue.Reserve(6).ok());
  Put(queue, "1");
  EXPECT_EQ(queue.Reserve(1).error().code, ErrorCode::kExhausted);
}

TEST(EventQueue, IdsGoOnBehindWhatAnEarlierRunLeft) {
  EventQueue queue({}, 5);
  queue.Add(100, "old");
  EXPECT_EQ(Put(queue, "new"), 101u);
}

}  // namespace
}  // namespace sentinel
