#include "incident/quiet_hours.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// 2026-03-28T00:00:00Z, the day before the clocks of Berlin are put forward at 01:00 UTC.
constexpr WallTime kSaturday{seconds(1'774'656'000)};
constexpr WallTime kForward = {kSaturday.since_epoch + hours(25)};
// 2026-10-25T01:00:00Z: they are put back.
constexpr WallTime kBack{seconds(1'792'890'000)};

seconds Shanghai(WallTime) { return hours(8); }
seconds Berlin(WallTime at) { return at < kForward || at >= kBack ? hours(1) : hours(2); }

QuietHours Night(UtcOffset offset) { return {hours(22), hours(8), std::move(offset)}; }

TEST(QuietHours, RunOverMidnightInTheZoneOfTheSite) {
  const QuietHours night = Night(Shanghai);
  EXPECT_FALSE(night.Quiet(kSaturday + (hours(14) - milliseconds(1))));  // 21:59:59.999
  EXPECT_TRUE(night.Quiet(kSaturday + hours(14)));
  EXPECT_TRUE(night.Quiet(kSaturday + hours(16)));                      // midnight
  EXPECT_TRUE(night.Quiet(kSaturday + (hours(24) - milliseconds(1))));  // 07:59:59.999
  EXPECT_FALSE(night.Quiet(kSaturday + hours(24)));
}

TEST(QuietHours, TellWhenTheyChange) {
  const QuietHours night = Night(Shanghai);
  EXPECT_EQ(night.NextChange(kSaturday + minutes(5)), kSaturday + hours(14));
  EXPECT_EQ(night.NextChange(kSaturday + hours(14)), kSaturday + hours(24));
  EXPECT_EQ(night.NextChange(kSaturday + (hours(24) - milliseconds(1))), kSaturday + hours(24));
}

TEST(QuietHours, AreAnHourShorterWhenClocksArePutForward) {
  const QuietHours night = Night(Berlin);
  const WallTime begin = kSaturday + hours(21);  // 22:00 at UTC+1
  EXPECT_EQ(night.NextChange(kSaturday + hours(12)), begin);
  EXPECT_EQ(night.NextChange(begin), kSaturday + hours(30));  // 08:00 at UTC+2, nine hours later
  EXPECT_EQ(night.EndedWithin(kSaturday + hours(31), hours(4)), kSaturday + hours(30));
}

TEST(QuietHours, AreAnHourLongerWhenClocksArePutBack) {
  const QuietHours night = Night(Berlin);
  const WallTime begin = kBack + -hours(5);  // 22:00 at UTC+2
  ASSERT_FALSE(night.Quiet(begin + -milliseconds(1)));
  EXPECT_EQ(night.NextChange(begin), kBack + hours(6));  // 08:00 at UTC+1, eleven hours later
  EXPECT_EQ(night.EndedWithin(kBack + hours(9), hours(4)), kBack + hours(6));
}

TEST(QuietHours, TellWhenTheyEndedLastIfThatIsNotLongAgo) {
  const QuietHours night = Night(Shanghai);
  const WallTime morning = kSaturday + hours(24);
  EXPECT_EQ(night.EndedWithin(morning, hours(4)), morning);
  EXPECT_EQ(night.EndedWithin(morning + seconds(90), hours(4)), morning);
  EXPECT_EQ(night.EndedWithin(morning + hours(4), hours(4)), morning);
  EXPECT_EQ(night.EndedWithin(morning + (hours(4) + milliseconds(1)), hours(4)), std::nullopt);
  EXPECT_EQ(night.EndedWithin(morning + -milliseconds(1), hours(4)), std::nullopt);  // still quiet
  EXPECT_EQ(night.EndedWithin(kSaturday + hours(13), hours(4)), std::nullopt);       // evening
}

TEST(QuietHours, WhoseEndTheClocksLeapOverEndedWhenTheyLeapt) {
  const QuietHours night(hours(22), hours(2) + minutes(30), Berlin);
  EXPECT_EQ(night.EndedWithin(kForward + minutes(10), hours(4)), kForward);
}

TEST(QuietHours, OfNoLengthNeverBegin) {
  const QuietHours none(hours(8), hours(8), Shanghai);
  for (int hour = 0; hour < 24; ++hour) EXPECT_FALSE(none.Quiet(kSaturday + hours(hour)));
  EXPECT_EQ(none.NextChange(kSaturday), kSaturday + hours(24));
  EXPECT_EQ(none.EndedWithin(kSaturday + hours(1), hours(4)), std::nullopt);
}

}  // namespace
}  // namespace sentinel
