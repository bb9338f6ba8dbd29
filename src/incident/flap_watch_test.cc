#include "incident/flap_watch.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kWindow = seconds(120);

class FlapWatchTest : public testing::Test {
 protected:
  // Opens `times` times, `apart` from each other; whether the last of them made it unstable.
  bool Open(size_t times, Duration apart) {
    bool became = false;
    for (size_t i = 0; i < times; ++i) {
      now_ = now_ + apart;
      became = watch_.OnOpened("port", now_);
    }
    return became;
  }

  FlapWatch watch_;
  Instant now_{seconds(1000)};
};

TEST_F(FlapWatchTest, AFaultThatComesNowAndThenIsStable) {
  EXPECT_FALSE(Open(50, minutes(4)));
  EXPECT_FALSE(watch_.Unstable("port", now_));
  EXPECT_EQ(watch_.Window("port", kWindow, now_), kWindow);
}

TEST_F(FlapWatchTest, TheFifthTimeInAQuarterOfAnHourIsUnstableAndNewsOnlyOnce) {
  EXPECT_FALSE(Open(kFlapsHigh - 1, minutes(2)));
  EXPECT_TRUE(Open(1, minutes(2)));
  EXPECT_TRUE(watch_.Unstable("port", now_));
  EXPECT_FALSE(watch_.Unstable("another", now_));
  EXPECT_FALSE(Open(1, minutes(2)));
}

TEST_F(FlapWatchTest, TheWindowOfAnUnstableSourceWidensToABound) {
  Open(kFlapsHigh, minutes(1));
  Duration before = watch_.Window("port", kWindow, now_);
  EXPECT_GT(before, kWindow);
  Open(20, seconds(10));
  EXPECT_EQ(watch_.Window("port", kWindow, now_), kFlapWindowMax);
}

TEST_F(FlapWatchTest, ItStaysUnstableUntilItOpensRarely) {
  Open(kFlapsHigh, minutes(1));
  Open(10, minutes(5));  // three within the span: between the two limits
  EXPECT_TRUE(watch_.Unstable("port", now_));
  Open(10, minutes(9));
  EXPECT_FALSE(watch_.Unstable("port", now_));
  EXPECT_FALSE(Open(kFlapsHigh - 3, minutes(1)));  // with two of those before, one short
  EXPECT_TRUE(Open(1, minutes(1)));
}

TEST_F(FlapWatchTest, AWindowThatWasWideAlreadyIsNotMadeNarrower) {
  Open(kFlapsHigh, minutes(1));
  EXPECT_EQ(watch_.Window("port", kFlapWindowMax, now_), kFlapWindowMax);
}

TEST(FlapWatch, ARestartKnowsWhatCameAndWent) {
  Moment now{Instant{std::chrono::seconds(1000)}, WallTime{std::chrono::seconds(1'795'996'334)}};
  FlapWatch before;
  for (size_t i = 0; i < kFlapsHigh; ++i) {
    before.OnOpened("link", now.mono);
    now.mono = now.mono + std::chrono::seconds(60);
    now.wall = now.wall + std::chrono::seconds(60);
  }
  before.OnOpened("once", now.mono);
  EXPECT_FALSE(before.Remember("once", now).has_value());
  std::optional<FlapMemory> memory = before.Remember("link", now);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->openings.size(), kFlapsHigh);

  FlapWatch after;
  const Moment later{Instant{std::chrono::seconds(5)}, now.wall + std::chrono::seconds(30)};
  ASSERT_TRUE(after.Recall(*memory, later));
  EXPECT_TRUE(after.Unstable("link", later.mono));
  EXPECT_EQ(after.Window("link", std::chrono::seconds(120), later.mono),
            before.Window("link", std::chrono::seconds(120), now.mono));
  EXPECT_FALSE(after.OnOpened("link", later.mono));  // it has been told
  EXPECT_TRUE(after.TakeForgotten(later.mono).empty());
  EXPECT_EQ(after.TakeForgotten(later.mono + kFlapSpan), std::vector<std::string>{"link"});

  FlapWatch much_later;
  EXPECT_FALSE(much_later.Recall(*memory, {later.mono, now.wall + std::chrono::minutes(16)}));
}

TEST(FlapWatch, WhatIsKeptIsBounded) {
  FlapWatch flaps;
  const Moment now{Instant{std::chrono::seconds(1000)}, WallTime{}};
  size_t kept = 0;
  for (size_t i = 0; i < kFlapsKeptMax + 10; ++i) {
    const std::string source = "s" + std::to_string(i);
    for (size_t n = 0; n < kFlapsLow; ++n) flaps.OnOpened(source, now.mono);
    kept += flaps.Remember(source, now).has_value() ? 1 : 0;
  }
  EXPECT_EQ(kept, kFlapsKeptMax);
  EXPECT_EQ(flaps.TakeForgotten(now.mono + kFlapSpan).size(), kFlapsKeptMax);
}

TEST(FlapWatch, BeyondItsBoundTheSourceThatOpenedLongestAgoIsForgotten) {
  FlapWatch flaps;
  const Instant start{std::chrono::seconds(1000)};
  for (size_t i = 0; i < kFlapsHigh; ++i) flaps.OnOpened("old", start);
  for (size_t i = 0; i < kFlapsHigh; ++i) flaps.OnOpened("a-late-one", start);
  for (size_t i = 0; i + 2 < kFlapSourcesMax; ++i) flaps.OnOpened("n" + std::to_string(i), start);
  flaps.OnOpened("a-late-one", start);
  EXPECT_TRUE(flaps.Unstable("old", start));
  flaps.OnOpened("one-more", start);
  EXPECT_FALSE(flaps.Unstable("old", start));
  EXPECT_TRUE(flaps.Unstable("a-late-one", start));
}

}  // namespace
}  // namespace sentinel
