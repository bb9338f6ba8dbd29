#include "http/http_date.h"

#include <gtest/gtest.h>

#include <string>

namespace sentinel {
namespace {

TEST(HttpDate, AFixedDateIsRead) {
  std::optional<WallTime> time = ParseHttpDate("Mon, 17 Aug 2026 08:30:00 GMT");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(FormatRfc3339(*time), "2026-08-17T08:30:00.000Z");
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:09 GMT")->since_epoch.count(), 9000);
}

TEST(HttpDate, AnythingElseIsNot) {
  for (const char* text : {"", "2026-08-17T08:30:00Z", "Mon, 17 Aug 2026 08:30:00 UTC",
                           "Mon, 32 Aug 2026 08:30:00 GMT", "Mon, 31 Feb 2026 08:30:00 GMT",
                           "Mon, 17 Foo 2026 08:30:00 GMT", "Mon, 17 Aug 2026 24:30:00 GMT",
                           "Mon, -7 Aug 2026 08:30:00 GMT", "Monday, 17-Aug-26 08:30:00 GMT"}) {
    EXPECT_FALSE(ParseHttpDate(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace sentinel
