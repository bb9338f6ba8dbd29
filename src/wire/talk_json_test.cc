#include "wire/talk_json.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::milliseconds;

TEST(TalkJson, APressNamesItsTerminalAndWhatItCovers) {
  const Result<PressBody> press = ParsePress(
      R"({"terminal":"hall-1","pressed_at":"2026-08-17T08:30:04.250Z","incidents":["a","b"]})");
  ASSERT_TRUE(press.ok()) << press.error().message;
  EXPECT_EQ(press->terminal, "hall-1");
  ASSERT_TRUE(press->pressed.has_value());
  EXPECT_EQ(press->incidents, (std::vector<std::string>{"a", "b"}));
  const Result<PressBody> bare = ParsePress(R"({"terminal":"hall-1","incidents":null})");
  ASSERT_TRUE(bare.ok());
  EXPECT_FALSE(bare->pressed.has_value());
  EXPECT_TRUE(bare->incidents.empty());
  for (const char* wrong :
       {"", "[]", "{}", R"({"terminal":7})", R"({"terminal":"a","terminal":"b"})",
        R"({"terminal":"a","pressed_at":"today"})", R"({"terminal":"a","pressed_at":7})",
        R"({"terminal":"a","incidents":"x"})", R"({"terminal":"a","incidents":[7]})"}) {
    EXPECT_FALSE(ParsePress(wrong).ok()) << wrong;
  }
  std::string many = R"({"terminal":"a","incidents":[""])";
  many.insert(many.size() - 1, [] {
    std::string more;
    for (size_t i = 0; i < kPressIncidentsMax; ++i) more += R"(,"")";
    return more;
  }());
  EXPECT_FALSE(ParsePress(many + "}").ok()) << "one too many";
}

TEST(TalkJson, OfAPingWhatIsNotUnderstoodIsPassedOver) {
  EXPECT_FALSE(ParsePing("{}").muted_for.has_value());
  EXPECT_EQ(ParsePing(R"({"muted_for_ms":0})").muted_for, Duration(0));
  EXPECT_EQ(ParsePing(R"({"muted_for_ms":1500})").muted_for, milliseconds(1500));
  EXPECT_EQ(ParsePing(R"({"muted_for_ms":18446744073709551615})").muted_for, kMutedForMax);
  EXPECT_TRUE(ParsePing(R"({"muted_for_ms":5,"hush":true,"new":[1]})").hush);
  EXPECT_FALSE(ParsePing(R"({"muted_for_ms":0,"hush":true})").hush);
  EXPECT_FALSE(ParsePing(R"({"muted_for_ms":5,"hush":1})").hush);
  for (const char* odd : {"", "x", "[]", R"({"muted_for_ms":-1})", R"({"muted_for_ms":"5"})",
                          R"({"muted_for_ms":1.5})", R"({"muted_for_ms":1,"muted_for_ms":2})"}) {
    EXPECT_FALSE(ParsePing(odd).muted_for.has_value()) << odd;
  }
}

TEST(TalkJson, APongSaysWhichLifeOfTheTerminalItIs) {
  EXPECT_EQ(*ParsePong(R"({"name":"hall-1","boot_id":"c5f90462b2a1e07d"})"), "c5f90462b2a1e07d");
  EXPECT_TRUE(ParsePong(R"({"boot_id":")" + std::string(64, 'a') + R"("})").ok());
  EXPECT_FALSE(ParsePong(R"({"boot_id":")" + std::string(65, 'a') + R"("})").ok());
  for (const char* wrong :
       {"", "{}", "null", R"({"boot_id":""})", R"({"boot_id":7})", R"({"boot_id":"a b"})",
        R"({"boot_id":"a\n"})", R"({"boot_id":"机房"})", R"({"boot_id":"a","boot_id":"b"})"}) {
    EXPECT_FALSE(ParsePong(wrong).ok()) << wrong;
  }
}

TEST(TalkJson, AClockIsOfOurDaysAndOfOneLife) {
  const Result<TimeAnswer> answer = ParseTimeAnswer(R"({"unix_ms":1795996334000,"boot_id":"one"})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->since_epoch, milliseconds(1'795'996'334'000));
  EXPECT_EQ(answer->boot_id, "one");
  for (const char* wrong :
       {"{}", R"({"unix_ms":1})", R"({"boot_id":"one"})", R"({"unix_ms":-1,"boot_id":"one"})",
        R"({"unix_ms":1.5,"boot_id":"one"})", R"({"unix_ms":"1","boot_id":"one"})",
        R"({"unix_ms":253402300800000,"boot_id":"one"})",
        R"({"unix_ms":18446744073709551615,"boot_id":"one"})",
        R"({"unix_ms":1,"boot_id":"one","unix_ms":2})"}) {
    EXPECT_FALSE(ParseTimeAnswer(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace sentinel
