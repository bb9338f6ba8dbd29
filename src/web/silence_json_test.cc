#include "web/silence_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::HasSubstr;

constexpr WallTime kNow{std::chrono::milliseconds(1'795'996'334'250)};

TEST(SilenceJson, WhatIsShownCanBeReadBack) {
  Silence silence;
  silence.id = "0123456789abcdef";
  silence.matcher = {"gpu-worker-*", "A03", "XID_FATAL", "job \"7\""};
  silence.created = kNow;
  silence.starts = kNow + std::chrono::hours(1);
  silence.expires = kNow + std::chrono::hours(3);
  silence.author = "李";
  silence.comment = "换光模块";
  const std::string json = SilenceJson(silence, SilencePhase::kPending);
  EXPECT_THAT(json, HasSubstr(R"("phase":"pending")"));
  Result<Silence> read = ParseSilence(json, WallTime{});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->id, silence.id);
  EXPECT_EQ(read->matcher, silence.matcher);
  EXPECT_EQ(read->created, silence.created);
  EXPECT_EQ(read->starts, silence.starts);
  EXPECT_EQ(read->expires, silence.expires);
  EXPECT_EQ(read->author, silence.author);
  EXPECT_EQ(read->comment, silence.comment);
}

TEST(SilenceJson, ANodeStateNeedsNoEnd) {
  Result<Silence> read = ParseSilence(R"({"matcher":{"host":"n1"},"node_state":"drained"})", kNow);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->state, NodeState::kDrained);
  EXPECT_FALSE(read->expires.has_value());
  EXPECT_EQ(read->starts, kNow);
  EXPECT_THAT(SilenceJson(*read, SilencePhase::kActive), HasSubstr(R"("node_state":"drained")"));
}

TEST(SilenceJson, ADurationStandsForAnEnd) {
  Result<Silence> read = ParseSilence(R"({"matcher":{"rack":"A03"},"for_ms":7200000})", kNow);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->expires, kNow + std::chrono::hours(2));
}

TEST(SilenceJson, WhatIsNoSilenceIsRefusedInWords) {
  for (const char* body :
       {"", "[]", R"({"matcher":"n1"})", R"({"matcher":{"host":7}})",
        R"({"matcher":{"host":"n1"},"starts_at":"tomorrow"})",
        R"({"matcher":{"host":"n1"},"node_state":"in-service"})",
        R"({"matcher":{"host":"n1"},"for_ms":-1})", R"({"matcher":{"host":"n1"},"for_ms":1e99})",
        R"({"matcher":{"host":"n1"},"for_ms":18446744073709551615})",
        R"({"matcher":{"host":"n1"},"for_ms":9,"expires_at":"2026-08-17T08:30:00Z"})"}) {
    Result<Silence> read = ParseSilence(body, kNow);
    ASSERT_FALSE(read.ok()) << body;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument) << body;
  }
}

TEST(SilenceJson, AMisspeltFieldIsNotTakenForOneThatIsMissing) {
  for (const char* body : {R"({"matcher":{"host":"*","tpye":"LINK_FLAP"},"for_ms":9})",
                           R"({"matcher":{"host":"n1"},"for_mss":9})"}) {
    const Status known = CheckSilenceFields(body);
    ASSERT_FALSE(known.ok()) << body;
    EXPECT_THAT(known.error().message, HasSubstr("there is no field"));
  }
  EXPECT_TRUE(
      CheckSilenceFields(R"({"matcher":{"host":"n1","rack":null},"for_ms":9,"author":"li"})").ok());
  Silence silence;
  silence.matcher.host = "n1";
  EXPECT_TRUE(CheckSilenceFields(SilenceJson(silence, SilencePhase::kActive)).ok());
}

TEST(SilenceJson, TheTrailSaysWhoDidWhatFromWhereAndWhen) {
  EXPECT_EQ(
      AuditJson({{kNow, {"button", "hall-1"}, AuditAction::kAcknowledge, "0123", "NCCL_TIMEOUT"}}),
      R"({"audit":[{"at":"2026-11-29T23:52:14.250Z","by":"button","from":"hall-1",)"
      R"("action":"acknowledge","subject":"0123","detail":"NCCL_TIMEOUT"}]})");
}

}  // namespace
}  // namespace sentinel
