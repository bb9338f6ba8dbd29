#include "terminal/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "http/client.h"
#include "http/signed_message.h"
#include "http/test_peer.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Json = nlohmann::json;

const KeyPair kKeys{"hall-key", "hall-secret"};

class ToneEngine : public SpeechEngine {
 public:
  Result<Pcm> Synthesise(const SpeechRun&) override { return Pcm(220, 8000); }
};

// Takes everything and says at once that it was heard, or never.
class FakeSound : public SoundSink {
 public:
  explicit FakeSound(bool endless) : endless_(endless) {}
  Status Begin(const std::string&) override { return {}; }
  Result<size_t> Write(const int16_t*, size_t count, Duration) override { return count; }
  bool Drained(Duration) override { return !endless_; }
  void Cut() override {}
  std::string name() const override { return "fake"; }

 private:
  bool endless_;
};

class LastFrame : public FrameSink {
 public:
  explicit LastFrame(Frame* frame) : frame_(frame) {}
  Status Show(const Frame& frame) override {
    *frame_ = frame;
    return {};
  }

 private:
  Frame* frame_;
};

class TerminalTest : public testing::Test {
 protected:
  void Start(TerminalConfig config = {}, bool endless_sound = false) {
    config.name = "hall-1";
    config.listen = Endpoint{"127.0.0.1", 0, false};
    TerminalParts parts;
    parts.keys = kKeys;
    parts.engine = std::make_unique<ToneEngine>();
    parts.sound = std::make_unique<FakeSound>(endless_sound);
    parts.light = std::make_unique<LastFrame>(&frame_);
    auto made = Terminal::Create(io_, config, std::move(parts));
    ASSERT_TRUE(made.ok()) << made.error().message;
    terminal_ = std::move(made).value();
  }

  HttpResponse Fetch(HttpRequest request) {
    std::optional<HttpOutcome> outcome;
    HttpFetch(io_, Endpoint{"127.0.0.1", terminal_->port(), false}, std::move(request), {},
              [&](HttpOutcome got) { outcome = std::move(got); });
    RunUntil(io_, [&] { return outcome.has_value(); });
    if (!outcome || !outcome->response.ok()) {
      ADD_FAILURE() << (outcome ? outcome->response.error().message : "no answer");
      return {};
    }
    return *outcome->response;
  }

  HttpResponse Get(const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    return Fetch(std::move(request));
  }

  static HttpRequest Post(const std::string& path, std::string body) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.headers["Content-Type"] = "application/json";
    request.body = std::move(body);
    return request;
  }
  // As an existing sender does it.
  static HttpRequest SignedV1(const std::string& path, std::string body,
                              seconds skew = seconds(0)) {
    HttpRequest request = Post(path, std::move(body));
    auto now = std::chrono::duration_cast<seconds>(WallNow().since_epoch) + skew;
    AddSignatureV1(&request, kKeys, now.count());
    return request;
  }
  static HttpRequest Signed(HttpRequest request) {
    AddSignatureV2(&request, "hall-1", {kKeys}, WallNow().since_epoch.count());
    return request;
  }
  static HttpRequest Signed(const std::string& path, std::string body) {
    return Signed(Post(path, std::move(body)));
  }

  static std::string P0(const std::string& host = "gpu-worker-08") {
    return WriteTerminalMessage({"机架 A03 节点 " + host + " 触发通信死锁", Color{255, 0, 0},
                                 LightMode::kFlash, AudioMode::kCycle, 3});
  }

  HttpResponse Send(const std::string& body, const std::string& message_id = "",
                    const std::string& incident = "", const std::string& sequence = "") {
    HttpRequest request = Post("/api/v1/send_msg", body);
    if (!message_id.empty()) request.headers["X-Message-Id"] = message_id;
    if (!incident.empty()) request.headers["X-Incident-Id"] = incident;
    if (!sequence.empty()) request.headers["X-Sequence"] = sequence;
    return Fetch(Signed(std::move(request)));
  }

  static std::string StateOf(const HttpResponse& response) {
    return Json::parse(response.body)["state"];
  }
  Json StatusNow() { return Json::parse(Get("/api/v1/status").body); }

  boost::asio::io_context io_;
  Frame frame_{};
  std::unique_ptr<Terminal> terminal_;
};

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

TEST_F(TerminalTest, APressSilencesTellsTheGatewayAndShowsSteadyRed) {
  std::vector<HttpRequest> told;
  auto gateway = HttpServer::Listen(io_, Endpoint{"127.0.0.1", 0, false}, {},
                                    [&](HttpRequest request, std::unique_ptr<HttpResponder> out) {
                                      told.push_back(std::move(request));
                                      out->Send(TextResponse(200, ""));
                                    });
  ASSERT_TRUE(gateway.ok());
  TerminalConfig config;
  config.gateway = Endpoint{"127.0.0.1", (*gateway)->port(), false};
  Start(config, /*endless_sound=*/true);
  Send(P0(), "m1", "i1");
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  Json answer = Json::parse(Fetch(press).body);
  EXPECT_EQ(answer["acknowledged"], true);
  EXPECT_EQ(answer["incidents"], Json::array({"i1"}));
  EXPECT_TRUE(answer["muted_until_at"].is_string());
  RunUntil(io_, [&] { return !told.empty(); });
  EXPECT_EQ(Json::parse(told[0].body)["terminal"], "hall-1");
  Json status = StatusNow();
  EXPECT_EQ(status["light"]["mode"], "steady");
  EXPECT_EQ(status["open"][0]["acknowledged"], true);
  RunUntil(io_, [&] { return StatusNow()["speech"]["busy"] == false; });
  EXPECT_EQ(StateOf(Send(P0(), "m2", "i1", "2")), "muted");
}

TEST_F(TerminalTest, APressWithNothingOpenAcknowledgesNothing) {
  Start();
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  Json answer = Json::parse(Fetch(press).body);
  EXPECT_EQ(answer["acknowledged"], false);
  EXPECT_TRUE(answer["muted_until_at"].is_null());
}

TEST_F(TerminalTest, AnotherSiteInTheSameBrowserCannotPress) {
  Start();
  auto press = [&](const std::string& host, const std::string& more) {
    RawClient browser(io_, terminal_->port());
    browser.Send("POST /api/v1/ack HTTP/1.1\r\nHost: " + host + "\r\n" + more +
                 "Content-Length: 0\r\nConnection: close\r\n\r\n");
    return browser.ReadToEnd().substr(0, 12);
  };
  EXPECT_EQ(press("127.0.0.1:8090", ""), "HTTP/1.1 200");
  EXPECT_EQ(press("127.0.0.1:8090", "Origin: http://127.0.0.1:8090\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(press("localhost:8090", "Origin: http://localhost:8090\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(press("127.0.0.1:8090", "Origin: http://elsewhere.example\r\n"), "HTTP/1.1 403");
  // A foreign name that resolves to this machine.
  EXPECT_EQ(press("elsewhere.example", "Origin: http://elsewhere.example\r\n"), "HTTP/1.1 403");
  EXPECT_EQ(press("127.0.0.1:8090", "X-Signature: 00\r\n"), "HTTP/1.1 403");
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

TEST_F(TerminalTest, LearnsOfAMuteThatItHasForgotten) {
  Start();
  EXPECT_EQ(Fetch(Signed("/api/v1/ping", R"({"muted_for_ms":"long"})")).status, 200);
  EXPECT_TRUE(StatusNow()["muted_until_at"].is_null());
  HttpResponse pong = Fetch(Signed("/api/v1/ping", R"({"muted_for_ms":600000})"));
  const Json until = Json::parse(pong.body)["muted_until_at"];
  ASSERT_TRUE(until.is_string());
  // The longer one stands.
  Fetch(Signed("/api/v1/ping", R"({"muted_for_ms":60000})"));
  EXPECT_EQ(StatusNow()["muted_until_at"], until);
}

TEST_F(TerminalTest, AMuteByCommandHushesItAndEndsByCommand) {
  Start({}, /*endless_sound=*/true);
  Send(P0());
  RunUntil(io_, [&] { return StatusNow()["speech"]["busy"] == true; });
  Fetch(Signed("/api/v1/ping", R"({"muted_for_ms":600000,"hush":true})"));
  RunUntil(io_, [&] { return StatusNow()["speech"]["busy"] == false; });
  EXPECT_TRUE(StatusNow()["muted_until_at"].is_string());
  EXPECT_EQ(StatusNow()["light"]["mode"], "flash");
  Fetch(Signed("/api/v1/ping", R"({"muted_for_ms":0})"));
  EXPECT_TRUE(StatusNow()["muted_until_at"].is_null());
}

TEST_F(TerminalTest, ServesThePageWithoutAnythingFromElsewhere) {
  Start();
  for (const char* path : {"/", "/terminal.js", "/terminal.css"}) {
    HttpResponse page = Get(path);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_GT(page.body.size(), 500u) << path;
    EXPECT_THAT(page.headers["Content-Security-Policy"], HasSubstr("default-src 'none'"));
    EXPECT_THAT(page.body, testing::Not(HasSubstr("https://")));
    EXPECT_THAT(page.body, testing::Not(HasSubstr("http://")));
  }
  EXPECT_EQ(Get("/healthz").status, 200);
}

TEST_F(TerminalTest, ThePageIsSentFramesAndWhatIsSaidAndCanFetchTheSound) {
  Start();
  RawClient page(io_, terminal_->port());
  page.Send("GET /api/v1/frames HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string head = page.ReadUntil("event: frame");
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  EXPECT_THAT(head, HasSubstr("event: status"));
  Send(P0());
  std::string feed = page.ReadUntil("\"state\":\"ready\"");
  size_t at = feed.find("\"sound\":\"");
  ASSERT_NE(at, std::string::npos);
  at += 9;
  std::string sound = feed.substr(at, feed.find('"', at) - at);
  HttpResponse wav = Get("/api/v1/speech/" + sound + ".wav");
  EXPECT_EQ(wav.status, 200);
  EXPECT_TRUE(ParseWav(wav.body).ok());
  EXPECT_EQ(Get("/api/v1/speech/none-1.wav").status, 404);
  EXPECT_EQ(Get("/api/v1/speech/..%2f..").status, 404);
}

TEST_F(TerminalTest, PagesAreBounded) {
  Start();
  std::vector<std::unique_ptr<RawClient>> pages;
  for (size_t i = 0; i < kPagesMax; i++) {
    pages.push_back(std::make_unique<RawClient>(io_, terminal_->port()));
    pages.back()->Send("GET /api/v1/frames HTTP/1.1\r\nHost: localhost\r\n\r\n");
    pages.back()->ReadUntil("event: status");
  }
  EXPECT_EQ(Get("/api/v1/frames").status, 503);
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
