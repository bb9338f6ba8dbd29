// What senders are answered.
#include "gateway/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gateway/gateway_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST_F(GatewayTest, AnEventOfAnExistingSenderReachesTheLamp) {
  StartTerminal();
  StartGateway();
  HttpResponse answer = Post(kHang);
  EXPECT_EQ(answer.status, 200);
  Json json = Json::parse(answer.body);
  EXPECT_EQ(json["status"], "accepted");
  EXPECT_THAT(json["incident"].get<std::string>(), SizeIs(16));
  EXPECT_FALSE(json["event_id"].get<std::string>().empty());
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  EXPECT_EQ(terminal_->requests.at(0).body,
            R"({"text":"训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起",)"
            R"("color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":3})");
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  Json incident = Incidents().at(0);
  EXPECT_EQ(incident["id"], json["incident"]);
  EXPECT_EQ(incident["state"], "open");
  EXPECT_EQ(incident["culprit"]["rack"], "A03");
  EXPECT_TRUE(incident["mono_ms"]["delivered"].is_number());
}

TEST_F(GatewayTest, ADuplicateIsSuppressedAndNamesTheIncident) {
  StartTerminal();
  StartGateway();
  std::string id = Json::parse(Post(kHang).body)["incident"];
  for (int i = 0; i < 50; ++i) {
    HttpResponse again = Post(kHang, i % 2 == 1);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(Json::parse(again.body)["status"], "suppressed");
    EXPECT_EQ(Json::parse(again.body)["incident"], id);
  }
  EXPECT_EQ(Incidents().at(0)["count"], 51);
  EXPECT_THAT(terminal_->messages, SizeIs(1));
}

TEST_F(GatewayTest, EveryAnswerCodeIsTheContractsOverTcpAndOverTheUnixSocket) {
  StartTerminal();
  StartGateway();
  const std::string large =
      R"({"node_host":"n","event_type":"X","pad":")" + std::string(65'536, 'a') + "\"}";
  for (const bool unix_socket : {false, true}) {
    SCOPED_TRACE(unix_socket ? "Unix socket" : "TCP");
    EXPECT_EQ(Post(kHang, unix_socket).status, 200);
    for (const char* bad :
         {"", "x", "[]", "null", "{}", R"({"node_host":"n"})", R"({"event_type":"X"})",
          R"({"node_host":"","event_type":"X"})", R"({"node_host":1,"event_type":"X"})",
          R"({"node_host":"n","event_type":"X","gpu_index":-2})",
          R"({"node_host":"n","event_type":"X","gpu_index":1.5})",
          R"({"node_host":"n","event_type":"X","gpu_util":101})",
          R"({"node_host":"n","event_type":"X","state":"maybe"})",
          R"({"node_host":"n","node_host":"m","event_type":"X"})"}) {
      const HttpResponse answer = Post(bad, unix_socket);
      EXPECT_EQ(answer.status, 400) << bad;
      EXPECT_THAT(answer.body, HasSubstr("Bad Request")) << bad;
    }
    EXPECT_EQ(Get("/api/v1/gpu_event", "", unix_socket).status, 405);
    EXPECT_EQ(Post(large, unix_socket).status, 413);
    EXPECT_EQ(Get("/nowhere", "", unix_socket).status, 404);
    EXPECT_EQ(Get("/healthz", "", unix_socket).status, 200);
    EXPECT_EQ(Get("/readyz", "", unix_socket).status, 200);
  }
}

TEST_F(GatewayTest, ARepeatedEventIdCountsOnceAlsoAfterARestart) {
  StartTerminal();
  StartGateway();
  std::string body =
      R"({"node_host":"n1","event_type":"XID_FATAL","gpu_index":1,"event_id":"e-1"})";
  Json first = Json::parse(Post(body).body);
  EXPECT_EQ(first["status"], "accepted");
  EXPECT_EQ(first["event_id"], "e-1");
  Json second = Json::parse(Post(body).body);
  EXPECT_EQ(second["status"], "suppressed");
  EXPECT_EQ(second["event_id"], "e-1");
  EXPECT_EQ(Incidents().at(0)["count"], 1);
  gateway_.reset();
  StartGateway();
  HttpResponse third = Post(body);
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(Json::parse(third.body)["status"], "suppressed");
  EXPECT_EQ(Json::parse(third.body)["incident"], first["incident"]);
  EXPECT_EQ(Incidents().at(0)["count"], 1);
}

TEST_F(GatewayTest, TheEndUnderTheBeginningsEventIdStillEnds) {
  StartTerminal();
  StartGateway();
  std::string fields =
      R"("node_host":"n1","event_type":"XID_FATAL","gpu_index":1,"event_id":"e-1")";
  std::string id = Json::parse(Post("{" + fields + "}").body)["incident"];
  std::string end = "{" + fields + R"(,"state":"resolved"})";
  Json ended = Json::parse(Post(end).body);
  EXPECT_EQ(ended["status"], "accepted");
  EXPECT_EQ(ended["incident"], id);
  EXPECT_EQ(ended["event_id"], "e-1");
  EXPECT_EQ(Incidents().at(0)["close_reason"], "resolved");
  // Neither of them counts again, also after a restart.
  EXPECT_EQ(Json::parse(Post("{" + fields + "}").body)["status"], "suppressed");
  gateway_.reset();
  StartGateway();
  EXPECT_EQ(Json::parse(Post("{" + fields + "}").body)["status"], "suppressed");
  EXPECT_EQ(Json::parse(Post(end).body)["status"], "suppressed");
  EXPECT_THAT(Json::parse(Get("/api/v1/incidents", "state=open").body)["incidents"], SizeIs(0));
}

TEST_F(GatewayTest, TheSameEventIdOfAnotherHostIsAnotherEvent) {
  StartGateway();
  for (const char* host : {"n1", "n2", "n3-5f7c9d8b4a"}) {
    std::string body =
        R"({"node_host":")" + std::string(host) + R"(","event_type":"GPU_LOST","event_id":"1"})";
    EXPECT_EQ(Json::parse(Post(body).body)["status"], "accepted") << host;
    EXPECT_EQ(Json::parse(Post(body).body)["status"], "suppressed") << host;
  }
  EXPECT_EQ(
      Json::parse(
          Post(R"({"node_host":"n1","event_type":"XID_FATAL","event_id":"1"})").body)["status"],
      "accepted");
  EXPECT_THAT(Incidents(), SizeIs(4));
}

TEST_F(GatewayTest, SendersCannotMakeMetricsGrow) {
  StartGateway();
  Post(R"({"node_host":"n1","event_type":"XID_FATAL"})");
  for (int i = 0; i < 5; ++i) {
    Post(R"({"node_host":"n1","event_type":"MADE_UP_)" + std::to_string(i) + "\"}");
  }
  std::string text = Get("/metrics").body;
  EXPECT_THAT(text, HasSubstr(R"(opened_total{severity="P0",type="XID_FATAL"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(opened_total{severity="P1",type="other"} 5)"));
  EXPECT_THAT(text, Not(HasSubstr("MADE_UP")));
}

TEST_F(GatewayTest, WithoutTerminalsItStillTakesAndShows) {
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 200);
  EXPECT_THAT(Incidents(), SizeIs(1));
}

TEST_F(GatewayTest, MetricsCountWhatHappened) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  Post(kHang);
  std::string text = Get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("sentinel_events_total{outcome=\"accepted\"} 1"));
  EXPECT_THAT(text, HasSubstr("sentinel_events_total{outcome=\"suppressed\"} 1"));
  EXPECT_THAT(text, HasSubstr("# TYPE sentinel_delivery_seconds histogram"));
}

}  // namespace
}  // namespace sentinel
