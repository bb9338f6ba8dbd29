#include "terminal/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "terminal/history.h"
#include "terminal/terminal_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

TEST_F(TerminalTest, ASignedMessageLightsTheLampAndIsSpoken) {
  Start();
  HttpResponse response = Send(P0(), "m1", "i1");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Json::parse(response.body)["id"], "m1");
  EXPECT_EQ(StateOf(response), "playing");
  EXPECT_EQ(PixelAt(frame_, 0, 0), (Color{255, 0, 0}));
  Json status;
  RunUntil(io_, [&] {
    status = StatusNow();
    return !status["history"][0]["first_sound_mono_ms"].is_null();
  });
  Json entry = status["history"][0];
  EXPECT_EQ(entry["message_id"], "m1");
  EXPECT_EQ(entry["incident"], "i1");
  EXPECT_EQ(entry["spoken"], "机架 A 零三 节点 G P U worker 零八 触发通信死锁");
  double received = entry["received_mono_ms"];
  EXPECT_GE(entry["first_frame_mono_ms"].get<double>(), received);
  EXPECT_LT(entry["first_frame_mono_ms"].get<double>(), received + 1000);
  EXPECT_GE(entry["first_sound_mono_ms"].get<double>(), received);
  EXPECT_EQ(status["light"]["color"], "#FF0000");
  EXPECT_EQ(status["light"]["mode"], "flash");
  EXPECT_EQ(status["open"][0]["incident"], "i1");
  EXPECT_EQ(status["open"][0]["severity"], "P0");
}

TEST_F(TerminalTest, ASignedBodyThatIsNoMessageIs400) {
  Start();
  EXPECT_EQ(Send("").status, 400);
  EXPECT_EQ(Send("[]").status, 400);
  EXPECT_EQ(Send(R"({"text":"x"})").status, 400);
  EXPECT_EQ(Send(P0(), "", "", "-1").status, 400);
  EXPECT_EQ(Send(P0(), std::string(200, 'x')).status, 400);
  HttpRequest severity = Post("/api/v1/send_msg", P0());
  severity.headers["X-Severity"] = "P7";
  EXPECT_EQ(Fetch(Signed(severity)).status, 400);
  EXPECT_TRUE(StatusNow()["open"].empty());
}

TEST_F(TerminalTest, ABodyTooLargeIs413AndAnotherMethodIs405) {
  Start();
  EXPECT_EQ(Send(std::string(70 * 1024, 'x')).status, 413);
  HttpResponse get = Get("/api/v1/send_msg");
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.headers["Allow"], "POST");
  EXPECT_EQ(Get("/api/v1/nothing").status, 404);
}

TEST_F(TerminalTest, ARepeatIsAnsweredAsDoneAndAnOlderMessageAsSuperseded) {
  Start({}, /*endless_sound=*/true);
  EXPECT_EQ(StateOf(Send(P0(), "m2", "i1", "2")), "playing");
  EXPECT_EQ(StateOf(Send(P0(), "m2", "i1", "2")), "duplicate");
  EXPECT_EQ(StateOf(Send(P0(), "m1", "i1", "1")), "superseded");
}

TEST_F(TerminalTest, OfASenderWithoutIdsTheVeryBytesCountOnce) {
  Start({}, /*endless_sound=*/true);
  EXPECT_EQ(StateOf(Fetch(SignedV1("/api/v1/send_msg", P0()))), "playing");
  HttpRequest recorded = SignedV1("/api/v1/send_msg", P0("other"));
  EXPECT_NE(StateOf(Fetch(recorded)), "duplicate");
  EXPECT_EQ(StateOf(Fetch(recorded)), "duplicate");
}

TEST_F(TerminalTest, OfASenderWithoutIdsThatSignsV2EveryMessageIsHeard) {
  Start({}, /*endless_sound=*/true);
  EXPECT_EQ(StateOf(Send(P0())), "playing");
  EXPECT_NE(StateOf(Send(P0("other"))), "duplicate");
  EXPECT_THAT(StatusNow()["text"], HasSubstr("other"));
  // A field of v1 that somebody puts beside it names nothing.
  for (const char* host : {"third", "fourth"}) {
    HttpRequest request = Signed("/api/v1/send_msg", P0(host));
    request.headers["X-Signature"] = "0";
    EXPECT_NE(StateOf(Fetch(std::move(request))), "duplicate") << host;
  }
}

TEST_F(TerminalTest, KeepsABoundedHistory) {
  Start();
  for (size_t i = 0; i < kHistoryMax + 6; i++) {
    Send(P0("n" + std::to_string(i)), "m" + std::to_string(i), "i" + std::to_string(i));
  }
  Json history = StatusNow()["history"];
  EXPECT_EQ(history.size(), kHistoryMax);
  EXPECT_EQ(history.back()["message_id"], "m" + std::to_string(kHistoryMax + 5));
}

TEST_F(TerminalTest, WithoutAVoiceTheLampWorks) {
  TerminalConfig config;
  config.name = "hall-1";
  config.listen = Endpoint{"127.0.0.1", 0, false};
  TerminalParts parts;
  parts.keys = kKeys;
  auto made = Terminal::Create(io_, config, std::move(parts));
  ASSERT_TRUE(made.ok());
  terminal_ = std::move(made).value();
  Send(P0(), "m1", "i1");
  Json status = StatusNow();
  EXPECT_EQ(status["speech"]["backend"], "off");
  EXPECT_TRUE(status["history"][0]["first_frame_mono_ms"].is_number());
}

}  // namespace
}  // namespace sentinel
