// The button, and being silenced from afar.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/server.h"
#include "http/test_peer.h"
#include "terminal/terminal_testing.h"

namespace sentinel {
namespace {

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

TEST_F(TerminalTest, APressIsShorterWhereItsGatewaySaysSo) {
  auto gateway = HttpServer::Listen(
      io_, Endpoint{"127.0.0.1", 0, false}, {},
      [&](const HttpRequest& /*request*/, std::unique_ptr<HttpResponder> out) {
        out->Send(JsonResponse(200, R"({"acknowledged":1,"muted_for_ms":120000})"));
      });
  ASSERT_TRUE(gateway.ok());
  TerminalConfig config;
  config.gateway = Endpoint{"127.0.0.1", (*gateway)->port(), false};
  Start(config);
  Send(P0(), "m1", "i1");
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  ASSERT_EQ(Fetch(press).status, 200);
  ASSERT_TRUE(RunUntil(io_, [&] { return StatusNow()["gateway"]["ack_pending"] == false; }));
  const std::optional<WallTime> until =
      ParseRfc3339(StatusNow()["muted_until_at"].get<std::string>());
  ASSERT_TRUE(until.has_value());
  EXPECT_LE(until->since_epoch - WallNow().since_epoch, std::chrono::seconds(125));
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

}  // namespace
}  // namespace sentinel
