// What lamps are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gateway/gateway_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(GatewayTest, AnAlarmIsTriedUntilTheLampHasAnswered) {
  StartTerminal();
  terminal_->status = 500;
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 200);
  RunUntil(io_, [&] { return terminal_->requests.size() >= 2; });
  terminal_->status = 401;
  size_t before = terminal_->requests.size();
  RunUntil(io_, [&] { return terminal_->requests.size() > before; });
  terminal_->status = 200;
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  // The same message each time, under one id.
  std::set<std::string> ids;
  for (const HttpRequest& request : terminal_->requests) {
    ids.insert(std::string(request.Header("X-Message-Id")));
  }
  EXPECT_THAT(ids, SizeIs(1));
}

TEST_F(GatewayTest, ARefusedMessageIsFinalAndSaysWhy) {
  StartTerminal();
  terminal_->status = 400;
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "failed"; });
  EXPECT_THAT(Incidents().at(0)["notifications"][0]["error"].get<std::string>(), HasSubstr("400"));
}

TEST_F(GatewayTest, ARecoveryTurnsTheLampGreen) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  EXPECT_EQ(
      Post(R"({"cluster_rack":"A03","node_host":"gpu-worker-08","event_type":"RECOVERED"})").status,
      200);
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(terminal_->messages[1].text, "训练集群已恢复正常");
  EXPECT_EQ(Incidents().at(0)["close_reason"], "moved");
  EXPECT_THAT(Json::parse(Get("/api/v1/incidents", "state=open").body)["incidents"], SizeIs(0));
}

TEST_F(GatewayTest, APlainLampKeepsTheLightOfTheWorst) {
  StartTerminal(/*ours=*/false);
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(ColorHex(terminal_->messages[1].color), "#FF0000");
  EXPECT_THAT(terminal_->messages[1].text, HasSubstr("NVLink"));
}

TEST_F(GatewayTest, ALampThatAnswersWhateverItIsSentIsAPlainOne) {
  StartTerminal(/*ours=*/false);
  terminal_->plain_pong = 200;
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 1; });
  EXPECT_EQ(Json::parse(Get("/api/v1/terminals").body)["terminals"][0]["kind"], "plain");
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1,"state":"resolved"})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 3; });
  for (const TerminalMessage& message : terminal_->messages) {
    EXPECT_EQ(ColorHex(message.color), "#FF0000") << message.text;
  }
}

TEST_F(GatewayTest, APlainLampKeepsTheLightOfTheWorstThatArrivedAMomentBefore) {
  StartTerminal(/*ours=*/false);
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  terminal_->status = 503;
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  Post(kHang);
  terminal_->status = 200;
  auto last_two = [&] {
    const auto& all = terminal_->messages;
    return all.size() >= 2 && all.back().text.find("NVLink") != std::string::npos &&
           all[all.size() - 2].light_mode == LightMode::kFlash;
  };
  RunUntil(io_, last_two);
  ASSERT_TRUE(last_two());
  EXPECT_EQ(ColorHex(terminal_->messages.back().color), "#FF0000");
}

TEST_F(GatewayTest, ATerminalOfOursIsToldEachIncidentAsItIs) {
  StartTerminal();
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 1; });
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(ColorHex(terminal_->messages[1].color), "#FFA500");
  EXPECT_EQ(terminal_->messages[1].light_mode, LightMode::kBreath);
}

TEST_F(GatewayTest, WhileAP0BurnsATerminalIsAskedTwiceASecondWhetherItHasBeenStartedAnew) {
  StartTerminal();
  ping_every_ = std::chrono::minutes(10);
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings == 1; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  for (const size_t told : {4, 6}) {
    terminal_->boot_id += "-again";
    EXPECT_TRUE(RunUntil(io_, [&] { return terminal_->messages.size() == told; }));
  }
}

TEST_F(GatewayTest, APlainLampIsNotAskedMoreOftenUnderAP0) {
  StartTerminal(/*ours=*/false);
  ping_every_ = std::chrono::minutes(10);
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings == 1; });
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  io_.restart();
  io_.run_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(terminal_->pings, 1);
}

TEST_F(GatewayTest, ATerminalThatWasStartedAnewIsToldAgainWhatBurns) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  RunUntil(io_, [&] { return terminal_->pings > 1; });
  std::string id(terminal_->requests.at(0).Header("X-Message-Id"));
  terminal_->boot_id = "two";
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(terminal_->requests.at(1).Header("X-Message-Id"), id);
  int pings = terminal_->pings;
  RunUntil(io_, [&] { return terminal_->pings > pings + 2; });
  EXPECT_THAT(terminal_->messages, SizeIs(2));

  // Also if it was started anew while the gateway was not there to see it.
  gateway_.reset();
  terminal_->boot_id = "three";
  StartGateway();
  RunUntil(io_, [&] { return terminal_->messages.size() == 3; });
  EXPECT_EQ(terminal_->requests.at(2).Header("X-Message-Id"), id);
}

TEST_F(GatewayTest, ATerminalThatIsGoneIsAnIncidentUntilItIsBack) {
  StartTerminal();
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  terminal_.reset();
  RunUntil(io_, [&] {
    Json incidents = Incidents();
    return !incidents.empty() && incidents[0]["event_type"] == "TERMINAL_UNREACHABLE";
  });
  EXPECT_FALSE(Json::parse(Get("/api/v1/terminals").body)["terminals"][0]["reachable"].get<bool>());
  StartTerminal();
  RunUntil(io_, [&] { return Incidents().at(0)["state"] == "closed"; });
}

}  // namespace
}  // namespace sentinel
