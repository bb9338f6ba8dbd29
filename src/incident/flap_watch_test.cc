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

}  // namespace
}  // namespace sentinel
