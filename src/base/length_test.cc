#include "base/length.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Length, IsReadAsPeopleWriteItAndWrittenBack) {
  EXPECT_EQ(*ParseLength("90s"), Duration(seconds(90)));
  EXPECT_EQ(*ParseLength("15m"), Duration(minutes(15)));
  EXPECT_EQ(*ParseLength("1h30m"), Duration(minutes(90)));
  EXPECT_EQ(*ParseLength("2d"), Duration(hours(48)));
  EXPECT_EQ(FormatLength(seconds(90)), "1m30s");
  EXPECT_EQ(FormatLength(hours(49)), "2d1h");
  EXPECT_EQ(FormatLength(std::chrono::milliseconds(20)), "0s");
}

TEST(Length, WhatIsNoLengthIsRefused) {
  for (const char* text : {"", "15", "m", "15x", "-5m", "1.5h", "0m", "15 m", "m15", "400d",
                           "99999999999999999999s", "366d1s"}) {
    EXPECT_FALSE(ParseLength(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sentinel
