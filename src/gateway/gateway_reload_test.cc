// Another configuration while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "gateway/gateway_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(GatewayTest, AnotherConfigurationCountsWithoutAStart) {
  StartTerminal();
  StartGateway();
  std::string id = Json::parse(Post(kHang).body)["incident"];
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  FakeTerminal office(io_, true, 0, "office");
  GatewayConfig config = Options().config;
  config.terminals.push_back({"office", {"127.0.0.1", office.port(), false}, ""});
  config.incidents.language = Language::kEnglish;
  ASSERT_TRUE(gateway_->Reload(config).ok());
  // The new terminal is told what burns, the old one nothing twice.
  RunUntil(io_, [&] { return !office.messages.empty(); });
  EXPECT_THAT(terminal_->messages, SizeIs(1));
  EXPECT_EQ(Json::parse(Post(kHang).body)["status"], "suppressed");
  EXPECT_EQ(Incidents().at(0)["id"], id);
  Post(R"({"node_host":"n1","event_type":"GPU_LOST"})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2 && office.messages.size() == 2; });
  EXPECT_THAT(terminal_->messages[1].text, HasSubstr("node n1"));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_config_last_reload_successful 1\n"));
}

TEST_F(GatewayTest, AConfigurationThatCannotBeUsedChangesNothing) {
  StartTerminal();
  StartGateway();
  EXPECT_FALSE(gateway_->Reload(Error{ErrorCode::kInvalidArgument, "gateway.toml:1:1"}).ok());
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_config_last_reload_successful 0\n"));
  GatewayConfig config = Options().config;
  config.terminals.clear();
  config.key_file = In("nowhere");
  EXPECT_FALSE(gateway_->Reload(config).ok());
  config = Options().config;
  config.state_dir = "/tmp";
  Status refused = gateway_->Reload(config);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("state_dir cannot be changed"));
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  EXPECT_TRUE(gateway_->Reload(Options().config).ok());
  const Json trail = Json::parse(Get("/api/v1/audit").body)["audit"];
  ASSERT_GE(trail.size(), 2u);
  EXPECT_EQ(trail[0]["action"], "reload");
  EXPECT_EQ(trail[0]["detail"], "taken");
  EXPECT_THAT(trail[1]["detail"].get<std::string>(), HasSubstr("state_dir cannot be changed"));
}

TEST_F(GatewayTest, ASendUnderWayOutlivesAReloadAndIsNotRepeated) {
  StartTerminal();
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  terminal_->silent = true;
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->requests.size() == 1; });
  GatewayConfig config = Options().config;
  config.delivery.attempt_timeout = std::chrono::seconds(2);  // other drivers
  ASSERT_TRUE(gateway_->Reload(config).ok());
  io_.restart();
  io_.run_for(std::chrono::milliseconds(100));
  EXPECT_THAT(terminal_->requests, SizeIs(1));
  terminal_->AnswerHeld();
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  EXPECT_THAT(terminal_->requests, SizeIs(1));
}

}  // namespace
}  // namespace sentinel
