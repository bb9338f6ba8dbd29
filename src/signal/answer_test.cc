#include "signal/answer.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

HttpOutcome Answered(int status) {
  HttpOutcome outcome;
  outcome.response = TextResponse(status, "words");
  outcome.sent = true;
  return outcome;
}

HttpOutcome Silent(ErrorCode code, bool sent) {
  HttpOutcome outcome;
  outcome.response = Error{code, "why"};
  outcome.sent = sent;
  return outcome;
}

SendOutcome Plain(const HttpOutcome& outcome) {
  return JudgeAnswer(outcome, TerminalKind::kPlain).outcome;
}
SendOutcome Ours(const HttpOutcome& outcome) {
  return JudgeAnswer(outcome, TerminalKind::kSentinel).outcome;
}

TEST(JudgeAnswer, Only200IsDelivered) {
  EXPECT_EQ(Plain(Answered(200)), SendOutcome::kDelivered);
  EXPECT_EQ(Plain(Answered(202)), SendOutcome::kUnconfirmed);
  EXPECT_EQ(Ours(Answered(202)), SendOutcome::kUnavailable);
  EXPECT_EQ(JudgeAnswer(Answered(200), TerminalKind::kPlain).error, "");
}

TEST(JudgeAnswer, ARefusalOfTheKeyIsNeverFinalAndARefusalOfTheMessageIs) {
  for (int status : {401, 403}) EXPECT_EQ(Plain(Answered(status)), SendOutcome::kRefused);
  for (int status : {400, 413}) EXPECT_EQ(Plain(Answered(status)), SendOutcome::kRejected);
}

TEST(JudgeAnswer, EverythingElseIsTriedAgain) {
  for (int status : {302, 404, 405, 408, 429, 500, 502, 503}) {
    EXPECT_EQ(Plain(Answered(status)), SendOutcome::kUnavailable) << status;
    EXPECT_EQ(Ours(Answered(status)), SendOutcome::kUnavailable) << status;
  }
  EXPECT_EQ(JudgeAnswer(Answered(503), TerminalKind::kPlain).error, "answered 503: words");
}

TEST(JudgeAnswer, WhatIsAnsweredEndsNoValueAndNoLineOfALog) {
  HttpOutcome outcome = Answered(500);
  outcome.response->body = "no\" event=output_told output=\"other\r\n\x1b[31mred\xff";
  EXPECT_EQ(JudgeAnswer(outcome, TerminalKind::kPlain).error,
            "answered 500: no' event=output_told output='other   [31mred ");
}

TEST(JudgeAnswer, SilenceOfAPlainTerminalThatHasTheMessageIsUnconfirmed) {
  for (ErrorCode code : {ErrorCode::kTimeout, ErrorCode::kUnavailable, ErrorCode::kCorrupt}) {
    EXPECT_EQ(Plain(Silent(code, true)), SendOutcome::kUnconfirmed);
    EXPECT_EQ(Ours(Silent(code, true)), SendOutcome::kUnavailable);  // it knows a repeat
    EXPECT_EQ(Plain(Silent(code, false)), SendOutcome::kUnavailable);
  }
}

TEST(JudgeReceiver, TheStatusCountsWhateverBecomesOfTheBody) {
  HttpOutcome cut = Silent(ErrorCode::kExhausted, true);
  cut.status = 200;
  EXPECT_EQ(JudgeReceiver(cut).outcome, SendOutcome::kDelivered);
  EXPECT_EQ(JudgeReceiver(cut).error, "");
  // A terminal's answer is its body, signed.
  EXPECT_EQ(Ours(cut), SendOutcome::kUnavailable);
  EXPECT_EQ(Plain(cut), SendOutcome::kUnconfirmed);
  cut.status = 400;
  EXPECT_EQ(JudgeReceiver(cut).outcome, SendOutcome::kRejected);
  cut.status = 503;
  EXPECT_EQ(JudgeReceiver(cut).outcome, SendOutcome::kUnavailable);
  EXPECT_EQ(JudgeReceiver(cut).error, "answered 503");
  cut.status = 0;
  EXPECT_EQ(JudgeReceiver(cut).error, "why");
}

TEST(JudgeAnswer, TheTerminalsWishToWaitIsReadAndBounded) {
  auto asked = [](const std::string& text) {
    HttpResponse response = TextResponse(503, "");
    response.headers["retry-after"] = text;
    HttpOutcome outcome;
    outcome.response = response;
    return JudgeAnswer(outcome, TerminalKind::kPlain).retry_after;
  };
  EXPECT_EQ(asked("7"), std::chrono::seconds(7));
  EXPECT_EQ(asked("999999999"), std::chrono::hours(1));
  EXPECT_FALSE(asked("-1").has_value());
  EXPECT_FALSE(asked("soon").has_value());
  EXPECT_FALSE(asked("Mon, 17 Aug 2026 08:30:00 GMT").has_value());
}

}  // namespace
}  // namespace sentinel
