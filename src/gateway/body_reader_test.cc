#include "gateway/body_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Asked {
  std::string terminal = "all";
  std::vector<std::string> incidents;
  bool quick = false;
  std::optional<Duration> length;
  std::optional<WallTime> at;
};

Result<Asked> Read(const std::string& body) {
  BodyReader reader = TRY(BodyReader::Parse(body));
  Asked asked;
  reader.Text("terminal", &asked.terminal);
  reader.Texts("incidents", &asked.incidents);
  reader.Flag("quick", &asked.quick);
  reader.Millis("for_ms", 1, 1000, &asked.length);
  reader.At("at", &asked.at);
  TRY(reader.Finish());
  return asked;
}

std::string ErrorOf(const std::string& body) {
  const Result<Asked> asked = Read(body);
  return asked.ok() ? "" : asked.error().message;
}

TEST(BodyReader, ReadsWhatIsThereAndLeavesTheRest) {
  const Result<Asked> asked = Read(
      R"({"incidents":["a","b"],"quick":true,"for_ms":5,"at":"2026-08-17T08:30:00Z","terminal":null})");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->terminal, "all");
  EXPECT_THAT(asked->incidents, ElementsAre("a", "b"));
  EXPECT_TRUE(asked->quick);
  EXPECT_EQ(asked->length, std::chrono::milliseconds(5));
  EXPECT_TRUE(asked->at.has_value());
  EXPECT_EQ(ErrorOf(""), "");
}

TEST(BodyReader, AMisspeltFieldIsNotAMissingOne) {
  EXPECT_EQ(ErrorOf(R"({"terminals":"hall-1"})"),
            "there is no field 'terminals' here; there are at, for_ms, incidents, quick, terminal");
}

TEST(BodyReader, AFieldThatComesTwiceIsRefused) {
  EXPECT_THAT(ErrorOf(R"({"terminal":"hall-1","terminal":"hall-2"})"), HasSubstr("comes twice"));
}

TEST(BodyReader, WhatIsOfAnotherTypeIsRefusedWithWhatIsExpected) {
  for (const char* body : {"[]", "null", "{", "1", "\xff"}) {
    EXPECT_THAT(ErrorOf(body), HasSubstr("a JSON object is expected")) << body;
  }
  EXPECT_THAT(ErrorOf(R"({"terminal":3})"), HasSubstr("terminal: a text"));
  EXPECT_THAT(ErrorOf(R"({"terminal":""})"), HasSubstr("terminal: a text"));
  EXPECT_THAT(ErrorOf(R"({"terminal":"a\u001b[2J"})"), HasSubstr("control characters"));
  EXPECT_THAT(ErrorOf(R"({"incidents":["a",3]})"), HasSubstr("incidents: a text"));
  EXPECT_THAT(ErrorOf(R"({"quick":1})"), HasSubstr("true or false"));
  for (const char* millis : {"0", "1001", "1.5", "\"5\"", "1e99", "18446744073709551615"}) {
    EXPECT_THAT(ErrorOf(R"({"for_ms":)" + std::string(millis) + "}"),
                HasSubstr("from 1 to 1000 (1s) are"))
        << millis;
  }
  EXPECT_THAT(ErrorOf(R"({"at":"yesterday"})"), HasSubstr("a time such as"));
}

}  // namespace
}  // namespace sentinel
