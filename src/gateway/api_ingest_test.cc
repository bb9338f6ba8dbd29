// The other ways in, through a gateway: what is posted becomes incidents, and counts once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/testing_folder.h"
#include "gateway/gateway.h"
#include "http/client.h"
#include "http/test_peer.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using Json = nlohmann::json;

class IngestTest : public testing::Test {
 protected:
  IngestTest() { Start(); }

  void Start() {
    gateway_.reset();
    GatewayOptions options;
    options.config = DefaultGatewayConfig();
    options.config.listen = {{"127.0.0.1", 0, false}};
    options.config.agents = {{"127.0.0.1", 0, false}};
    options.config.state_dir = folder_.path();
    auto made = Gateway::Create(io_, std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    gateway_ = std::move(*made);
  }

  HttpResponse Fetch(HttpRequest request) {
    std::optional<HttpOutcome> outcome;
    HttpFetch(io_, {"127.0.0.1", gateway_->http_port(), false}, std::move(request), {},
              [&](HttpOutcome done) { outcome = std::move(done); });
    RunUntil(io_, [&] { return outcome.has_value(); });
    return outcome && outcome->response.ok() ? *outcome->response : HttpResponse{};
  }
  HttpResponse Post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.headers = std::move(headers);
    request.body = body;
    return Fetch(std::move(request));
  }
  Json Incidents() {
    HttpRequest request;
    request.method = "GET";
    request.path = "/api/v1/incidents";
    return Json::parse(Fetch(std::move(request)).body)["incidents"];
  }

  static std::string Alerts(const std::string& status, const std::string& starts) {
    Json alert = {{"status", status},
                  {"labels", {{"alertname", "GpuXid"}, {"Hostname", "gpu-07"}, {"gpu", "3"}}},
                  {"startsAt", starts},
                  {"fingerprint", "c5ba54a4e8e2c1f0"}};
    Json other = {{"status", status},
                  {"labels", {{"alertname", "PrometheusNotConnected"}}},
                  {"startsAt", starts}};
    return Json{{"version", "4"}, {"alerts", {alert, other}}}.dump();
  }

  TestingFolder folder_;
  boost::asio::io_context io_;
  std::unique_ptr<Gateway> gateway_;
};

constexpr const char* kAlerts = "/api/v1/alertmanager";
constexpr const char* kCloud = "/api/v1/cloudevents";

TEST_F(IngestTest, AnAlertCountsOnceForEachBeginningAlsoAfterARestart) {
  HttpResponse answer = Post(kAlerts, Alerts("firing", "2026-08-17T08:30:00Z"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json json = Json::parse(answer.body);
  ASSERT_THAT(json["events"], SizeIs(1));
  EXPECT_EQ(json["events"][0]["status"], "accepted");
  EXPECT_THAT(json["passed_over"][0]["why"].get<std::string>(), HasSubstr("names its host"));
  auto repeat = [&] {
    Json again = Json::parse(Post(kAlerts, Alerts("firing", "2026-08-17T08:30:00Z")).body);
    EXPECT_EQ(again["events"][0]["status"], "suppressed");
    EXPECT_EQ(Incidents().at(0)["count"], 1);
  };
  repeat();
  Start();
  repeat();
  EXPECT_EQ(Incidents().at(0)["culprit"]["host"], "gpu-07");
  EXPECT_EQ(Incidents().at(0)["culprit"]["gpu"], 3);

  EXPECT_EQ(Post(kAlerts, Alerts("resolved", "2026-08-17T08:30:00Z")).status, 200);
  EXPECT_EQ(Incidents().at(0)["close_reason"], "resolved");
  // Fired again: another beginning, which is heard.
  Json anew = Json::parse(Post(kAlerts, Alerts("firing", "2026-08-17T09:30:00Z")).body);
  EXPECT_EQ(anew["events"][0]["status"], "accepted");
  EXPECT_EQ(Incidents().at(0)["state"], "open");
}

TEST_F(IngestTest, AnAlertThatBurnsOnAfterItWasSaidToHaveEndedIsHeard) {
  // Prometheus was out of the Alertmanager's reach for a while: the same beginning all along.
  constexpr const char* kStarts = "2026-08-17T08:30:00Z";
  auto post = [&](const char* status) {
    return Json::parse(Post(kAlerts, Alerts(status, kStarts)).body)["events"][0]["status"];
  };
  EXPECT_EQ(post("firing"), "accepted");
  EXPECT_EQ(post("resolved"), "accepted");
  EXPECT_EQ(post("resolved"), "suppressed");
  EXPECT_EQ(post("firing"), "accepted");
  EXPECT_EQ(Incidents().at(0)["state"], "open");
  EXPECT_EQ(post("firing"), "suppressed");
  Start();
  EXPECT_EQ(Incidents().at(0)["state"], "open");
  EXPECT_EQ(post("resolved"), "accepted");
  EXPECT_EQ(Incidents().at(0)["state"], "closed");
}

TEST_F(IngestTest, WhatTheSenderLeftOutIsSaid) {
  Json json = Json::parse(Alerts("firing", "2026-08-17T08:30:00Z"));
  json["truncatedAlerts"] = 7;
  Json answer = Json::parse(Post(kAlerts, json.dump()).body);
  ASSERT_THAT(answer["passed_over"], SizeIs(2));
  EXPECT_THAT(answer["passed_over"][1]["why"].get<std::string>(), HasSubstr("7 more"));
}

TEST_F(IngestTest, OneMalformedAlertCostsTheGroupNothing) {
  Json group = Json::parse(Alerts("firing", "2026-08-17T08:30:00Z"));
  group["alerts"].insert(group["alerts"].begin(), Json{{"status", "on"}, {"fingerprint", "bad"}});
  // Well-formed, and larger than an event may be.
  Json large = group["alerts"][1];
  large["labels"]["dump"] = std::string(70'000, 'x');
  large["fingerprint"] = "large";
  group["alerts"].push_back(large);
  HttpResponse answer = Post(kAlerts, group.dump());
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json json = Json::parse(answer.body);
  EXPECT_EQ(json["taken"], 1);
  EXPECT_EQ(json["malformed"], 2);
  EXPECT_THAT(json["events"], SizeIs(1));
  EXPECT_THAT(json["passed_over"], SizeIs(1));
  ASSERT_THAT(json["refused"], SizeIs(2));
  EXPECT_EQ(json["refused"][0]["index"], 0);
  EXPECT_EQ(json["refused"][0]["name"], "bad");
  EXPECT_THAT(json["refused"][0]["why"].get<std::string>(), HasSubstr("alerts[0].status"));
  EXPECT_EQ(json["refused"][1]["index"], 3);
  EXPECT_EQ(json["refused"][1]["name"], "large");
  EXPECT_EQ(json["refused"][1]["why"], "longer than 65536 bytes");
  // On disk before it was answered.
  Start();
  EXPECT_EQ(Incidents().at(0)["culprit"]["host"], "gpu-07");
  HttpRequest metrics;
  metrics.method = "GET";
  metrics.path = "/metrics";
  EXPECT_THAT(Fetch(metrics).body,
              HasSubstr("sentinel_ingest_malformed_total{format=\"alertmanager\"} 0"));
  EXPECT_EQ(Post(kAlerts, group.dump()).status, 200);
  EXPECT_THAT(Fetch(metrics).body,
              HasSubstr("sentinel_ingest_malformed_total{format=\"alertmanager\"} 2"));
}

TEST_F(IngestTest, AGroupOfWhichEveryAlertIsMalformedIsRefused) {
  HttpResponse answer = Post(kAlerts, R"({"version":"4","alerts":[{"status":"on"},{}]})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("none of these can be used: alerts[0].status"));
}

TEST_F(IngestTest, OneMalformedEventCostsTheBatchNothing) {
  HttpHeaders batch = {{"Content-Type", "application/cloudevents-batch+json"}};
  const std::string good = R"({"specversion":"1.0","id":"1","source":"s","type":"t",)"
                           R"("data":{"node_host":"n1","event_type":"GPU_LOST"}})";
  HttpResponse answer = Post(kCloud, R"([{"id":"0"},)" + good + "]", batch);
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json json = Json::parse(answer.body);
  EXPECT_EQ(json["taken"], 1);
  EXPECT_EQ(json["malformed"], 1);
  EXPECT_EQ(json["refused"][0]["name"], "0");
  EXPECT_EQ(json["events"][0]["event_id"], "s#1");
  EXPECT_EQ(Post(kCloud, R"([{"id":"0"}])", batch).status, 400);
  EXPECT_EQ(
      Post(kCloud, R"({"id":"0"})", {{"Content-Type", "application/cloudevents+json"}}).status,
      400);
}

// As an Alertmanager without max_alerts sends what a switch takes down with it.
TEST_F(IngestTest, AGroupOfFiveHundredAlertsIsTakenWhole) {
  constexpr size_t kGroup = 500;
  Json alerts = Json::array();
  for (size_t i = 0; i < kGroup; ++i) {
    alerts.push_back({{"status", "firing"},
                      {"labels",
                       {{"alertname", "NicLinkDown"},
                        {"Hostname", "gpu-" + std::to_string(i)},
                        {"device", "mlx5_0"}}},
                      {"annotations", {{"description", std::string(2000, 'd')}}},
                      {"startsAt", "2026-08-17T08:30:00Z"},
                      {"fingerprint", std::to_string(i)}});
  }
  const std::string body = Json{{"version", "4"}, {"alerts", alerts}}.dump();
  ASSERT_GT(body.size(), 1'000'000u);
  HttpResponse answer = Post(kAlerts, body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(Json::parse(answer.body)["events"], SizeIs(kGroup));
  // Elsewhere a body is as small as it was.
  const std::string part = body.substr(0, 100'000);
  EXPECT_EQ(Post("/api/v1/gpu_event", part).status, 413);
  EXPECT_EQ(Post(kCloud, part).status, 413);
}

TEST_F(IngestTest, AlertsOfWhichNoneCanBeUsedAreRefusedWithWhatToDo) {
  HttpResponse answer =
      Post(kAlerts, R"({"version":"4","alerts":[{"status":"firing","labels":{"alertname":"X"},)"
                    R"("startsAt":"2026-08-17T08:30:00Z"}]})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("looked for Hostname"));
  EXPECT_THAT(answer.body, HasSubstr("gateway.toml"));
  EXPECT_EQ(Post(kAlerts, "{}").status, 400);
  // What is meant to be passed over is no mistake.
  EXPECT_EQ(Post(kAlerts, R"({"version":"4","alerts":[{"status":"firing","labels":)"
                          R"({"alertname":"Watchdog"},"startsAt":"2026-08-17T08:30:00Z"}]})")
                .status,
            200);
}

TEST_F(IngestTest, ABatchIsAnsweredAsOneHoweverItsTypeIsSpelt) {
  HttpHeaders odd = {{"Content-Type", "Application/CloudEvents-Batch+JSON; charset=UTF-8"}};
  HttpResponse none = Post(kCloud, "[]", odd);
  EXPECT_EQ(none.status, 200);
  EXPECT_THAT(Json::parse(none.body)["events"], SizeIs(0));
  const std::string event = R"({"specversion":"1.0","id":"1","source":"s","type":"t",)"
                            R"("data":{"node_host":"n1","event_type":"GPU_LOST"}})";
  EXPECT_THAT(Json::parse(Post(kCloud, "[" + event + "]", odd).body)["events"], SizeIs(1));
}

TEST_F(IngestTest, ACloudEventCountsOnce) {
  const std::string data = R"({"node_host":"n1","event_type":"GPU_LOST","gpu_index":1})";
  HttpHeaders headers = {
      {"ce-specversion", "1.0"}, {"ce-id", "1"}, {"ce-source", "s"}, {"ce-type", "t"}};
  Json first = Json::parse(Post(kCloud, data, headers).body);
  EXPECT_EQ(first["status"], "accepted");
  EXPECT_EQ(first["event_id"], "s#1");
  const std::string same =
      R"({"specversion":"1.0","id":"1","source":"s","type":"t","data":)" + data + "}";
  HttpHeaders structured = {{"Content-Type", "application/cloudevents+json"}};
  EXPECT_EQ(Json::parse(Post(kCloud, same, structured).body)["status"], "suppressed");
  HttpHeaders batch = {{"Content-Type", "application/cloudevents-batch+json"}};
  Json answers = Json::parse(Post(kCloud, "[" + same + "]", batch).body);
  EXPECT_EQ(answers["events"][0]["status"], "suppressed");
  EXPECT_EQ(Incidents().at(0)["count"], 1);
  EXPECT_EQ(Post(kCloud, data).status, 400);
}

}  // namespace
}  // namespace sentinel
