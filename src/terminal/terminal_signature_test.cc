// Who is heard.
#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.h"
#include "http/signed_message.h"
#include "terminal/terminal_testing.h"

namespace sentinel {
namespace {

using std::chrono::seconds;

TEST_F(TerminalTest, AnExistingSenderIsHeardByTheContractsOwnExample) {
  Start();
  EXPECT_EQ(
      Fetch(
          SignedV1(
              "/api/v1/send_msg",
              R"({"text":"训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起","color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":3})"))
          .status,
      200);
  EXPECT_EQ(StatusNow()["open"][0]["severity"], "P0");
}

TEST_F(TerminalTest, WhatTheOldSignatureDoesNotCoverIsNotBelieved) {
  Start({}, /*endless_sound=*/true);
  HttpRequest captured = SignedV1("/api/v1/send_msg", P0());
  HttpRequest lesser = captured;
  lesser.headers["X-Severity"] = "NOTICE";
  EXPECT_EQ(StateOf(Fetch(lesser)), "playing");
  EXPECT_EQ(StatusNow()["open"][0]["severity"], "P0");
  lesser.headers["X-Message-Id"] = "m-2";
  EXPECT_EQ(StateOf(Fetch(lesser)), "duplicate");
  // A captured message is neither a ping nor a press.
  captured.path = "/api/v1/ping";
  EXPECT_EQ(Fetch(captured).status, 401);
  captured.path = "/api/v1/ack";
  EXPECT_EQ(Fetch(captured).status, 403);
  EXPECT_EQ(StatusNow()["open"][0]["acknowledged"], false);
}

TEST_F(TerminalTest, ACapturedP0IsNotReplayedAsANoticeNorACapturedPingAsAPress) {
  Start({}, /*endless_sound=*/true);
  HttpRequest captured = Post("/api/v1/send_msg", P0());
  captured.headers["X-Severity"] = "P0";
  captured.headers["X-Message-Id"] = "m-1";
  captured = Signed(captured);
  EXPECT_EQ(StateOf(Fetch(captured)), "playing");
  captured.headers["X-Severity"] = "NOTICE";
  captured.headers["X-Message-Id"] = "m-2";
  EXPECT_EQ(Fetch(captured).status, 401);
  HttpRequest ping = Signed("/api/v1/ping", "{}");
  HttpRequest press = ping;
  press.path = "/api/v1/ack";
  EXPECT_EQ(Fetch(press).status, 403);
  EXPECT_EQ(Fetch(ping).status, 200);
  EXPECT_EQ(Fetch(ping).status, 401);  // taken before
  Json open = StatusNow()["open"];
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0]["severity"], "P0");
  EXPECT_EQ(open[0]["acknowledged"], false);
}

TEST_F(TerminalTest, OnceSpokenToWithV2AKeyIsNotHeardWithV1Alone) {
  Start();
  EXPECT_EQ(Fetch(SignedV1("/api/v1/send_msg", P0())).status, 200);
  EXPECT_EQ(Send(P0(), "m-1").status, 200);
  EXPECT_EQ(Fetch(SignedV1("/api/v1/send_msg", P0("other"))).status, 401);
}

TEST_F(TerminalTest, ItsAnswersAndItsTimeAreSigned) {
  Start();
  HttpRequest message = Post("/api/v1/send_msg", P0());
  message.headers["X-Message-Id"] = "m-1";
  message = Signed(message);
  HttpResponse answer = Fetch(message);
  EXPECT_EQ(Json::parse(answer.body)["id"], "m-1");
  EXPECT_TRUE(IsAnswerOf(QuestionOf(message), "hall-1", KeyRing(kKeys), WallNow(), answer));
  HttpRequest question;
  question.method = "GET";
  question.path = "/api/v1/time";
  question.headers["X-Nonce"] = MakeNonce();
  question.headers["X-Key-Ids"] = kKeys.key;
  HttpResponse time = Fetch(question);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(question), "hall-1", KeyRing(kKeys), WallNow(), time));
  Json json = Json::parse(time.body);
  EXPECT_EQ(json["boot_id"], terminal_->boot_id());
  EXPECT_EQ(json["nonce"], question.headers["X-Nonce"]);
  EXPECT_NEAR(json["unix_ms"].get<double>(), static_cast<double>(WallNow().since_epoch.count()),
              2000);
}

TEST_F(TerminalTest, WhatIsNotSignedByUsIsRefusedWithoutBeingRead) {
  Start();
  for (const char* header : {"X-API-Key", "X-Timestamp", "X-Signature"}) {
    HttpRequest missing = SignedV1("/api/v1/send_msg", "not even JSON");
    missing.headers.erase(header);
    EXPECT_EQ(Fetch(missing).status, 401) << header;
    HttpRequest wrong = SignedV1("/api/v1/send_msg", "not even JSON");
    wrong.headers[header] = "123";
    EXPECT_EQ(Fetch(wrong).status, 401) << header;
  }
  HttpRequest changed = SignedV1("/api/v1/send_msg", P0());
  changed.body.back() = ' ';
  EXPECT_EQ(Fetch(changed).status, 401);
  EXPECT_EQ(Fetch(SignedV1("/api/v1/send_msg", P0(), seconds(40))).status, 401);
  EXPECT_EQ(Fetch(SignedV1("/api/v1/send_msg", P0(), seconds(-40))).status, 401);
  EXPECT_EQ(Fetch(SignedV1("/api/v1/send_msg", P0(), seconds(-20))).status, 200);
  EXPECT_EQ(StatusNow()["history"].size(), 1u);
}

TEST_F(TerminalTest, HearsAGatewayThatPingsOrLooksSigned) {
  TerminalConfig config;
  config.gateway = Endpoint{"127.0.0.1", 1, false};
  Start(config);
  EXPECT_TRUE(StatusNow()["gateway"]["heard_ms_ago"].is_null());
  HttpRequest unsigned_ping = Post("/api/v1/ping", "");
  EXPECT_EQ(Fetch(unsigned_ping).status, 401);
  EXPECT_TRUE(StatusNow()["gateway"]["heard_ms_ago"].is_null());
  HttpResponse pong = Fetch(Signed("/api/v1/ping", ""));
  EXPECT_EQ(pong.status, 200);
  EXPECT_EQ(Json::parse(pong.body)["boot_id"], terminal_->boot_id());
  EXPECT_TRUE(StatusNow()["gateway"]["heard_ms_ago"].is_number());
}

}  // namespace
}  // namespace sentinel
