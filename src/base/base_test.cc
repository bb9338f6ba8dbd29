#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/result.h"
#include "base/time.h"

namespace sentinel {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return number / 2;
}

Result<int> Quarter(int number) {
  int half = TRY(Half(number));
  return Half(half);
}

TEST(Result, TryPassesTheErrorUpAndTheValueOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message, "odd");
}

TEST(ResultDeathTest, AskingAFailedResultForItsValueIsOurMistake) {
  EXPECT_DEATH((void)Half(3).value(), "CHECK failed");
}

TEST(Digest, SignatureMatchesTheContractsCheckValue) {
  EXPECT_EQ(HmacSha256Hex("AI#TrainSecureHMACSecretKey2026",
                          "1795996334\n"
                          "{\"text\":\"训练集群紧急预警，机架 A03 节点 gpu-worker-08 "
                          "触发通信死锁，全环算力挂起\",\"color\":\"#FF0000\",\"light_mode\":"
                          "\"flash\",\"audio_mode\":\"cycle\",\"repeat_times\":3}"),
            "d1aa293780f63fb5c4d2554d2ca90e260a79de23556dafb9963aaef4b6808b5a");
}

TEST(Digest, ComparesWholeStrings) {
  EXPECT_TRUE(ConstantTimeEqual("abc", "abc"));
  EXPECT_FALSE(ConstantTimeEqual("abc", "abd"));
  EXPECT_FALSE(ConstantTimeEqual("abc", "ab"));
}

TEST(Base64, GoesThereAndBack) {
  EXPECT_EQ(Base64Encode(""), "");
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("fo"), "Zm8=");
  EXPECT_EQ(Base64Encode("foo"), "Zm9v");
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(Base64Decode(Base64Encode(bytes)), bytes);
  }
}

TEST(Base64, WhatIsNoneIsNotRead) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm9-", "=m9v"}) {
    EXPECT_FALSE(Base64Decode(text).has_value()) << text;
  }
}

TEST(Time, IsReadInTheFormsThatRfc3339Has) {
  const WallTime at{std::chrono::milliseconds(1'787'041'800'250)};  // 2026-08-18T08:30:00.250Z
  EXPECT_EQ(ParseRfc3339(FormatRfc3339(at)), at);
  EXPECT_EQ(ParseRfc3339("2026-08-18T08:30:00.25Z"), at);
  EXPECT_EQ(ParseRfc3339("2026-08-18t08:30:00.2509999z"), at);
  EXPECT_EQ(ParseRfc3339("2026-08-18T16:30:00.250+08:00"), at);
  EXPECT_EQ(ParseRfc3339("2026-08-17T22:00:00.250-10:30"), at);
  EXPECT_EQ(ParseRfc3339("1969-12-31T23:59:59Z"), WallTime{std::chrono::seconds(-1)});
  EXPECT_EQ(ParseRfc3339("2024-02-29T00:00:00Z"), WallTime{std::chrono::seconds(1'709'164'800)});
}

TEST(Time, ThatIsNoTimeIsNotRead) {
  for (const char* text :
       {"", "2026", "2026-08-18", "2026-08-18 08:30:00Z", "2026-08-18T08:30Z",
        "2026-08-18T08:30:00", "2026-13-18T08:30:00Z", "2026-02-29T08:30:00Z",
        "2026-08-18T24:30:00Z", "2026-08-18T08:60:00Z", "2026-08-18T08:30:61Z",
        "2026-08-18T08:30:00.Z", "2026-08-18T08:30:00Zx", "2026-08-18T08:30:00+8:00",
        "2026-08-18T08:30:00+08", "-026-08-18T08:30:00Z", "2026-08-18T08:30:00+24:00"}) {
    EXPECT_FALSE(ParseRfc3339(text).has_value()) << text;
  }
}

TEST(Time, OfTheSiteFollowsItsZoneThroughTheYear) {
  const std::chrono::hours hour(1);
  const WallTime forward{std::chrono::seconds(1'774'746'000)};  // 2026-03-29T01:00:00Z
  UseTimeZone("Europe/Berlin");
  if (CivilOffset(forward) == std::chrono::seconds(0)) GTEST_SKIP() << "no zone files here";
  EXPECT_EQ(CivilOffset(forward + -std::chrono::milliseconds(1)), hour);
  EXPECT_EQ(CivilOffset(forward), 2 * hour);
  EXPECT_EQ(CivilOffset({std::chrono::seconds(1'792'890'000)}), hour);  // 2026-10-25T01:00:00Z
  UseTimeZone("Asia/Shanghai");
  EXPECT_EQ(CivilOffset(forward), 8 * hour);
}

TEST(Time, IsWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(FormatRfc3339({std::chrono::milliseconds(1795996334250)}), "2026-11-29T23:52:14.250Z");
  EXPECT_EQ(FormatRfc3339({std::chrono::milliseconds(-1)}), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace sentinel
