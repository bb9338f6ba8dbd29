#include "gateway/alert_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

TEST(AlertConfig, TheSitesRulesStandBeforeTheUsualOnes) {
  Result<GatewayConfig> config = ParseGatewayConfig(R"(
[alerts]
host_labels = ["machine"]
unknown = "ignore"
lease_ms = 600000
[[alerts.rules]]
alertname = "GpuDead*"
labels = { severity = "critical" }
event_type = "GPU_LOST"
)",
                                                    "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const AlertMapping& alerts = config->alerts;
  EXPECT_EQ(alerts.rules.at(0).event_type, "GPU_LOST");
  EXPECT_EQ(alerts.rules.at(0).labels.at("severity"), "critical");
  EXPECT_EQ(alerts.rules.size(), UsualAlertRules().size() + 1);
  EXPECT_EQ(alerts.host, std::vector<std::string>{"machine"});
  EXPECT_FALSE(alerts.take_unknown);
  EXPECT_EQ(alerts.lease, std::chrono::minutes(10));
}

TEST(AlertConfig, NothingWrittenIsTheUsual) {
  EXPECT_EQ(ParseGatewayConfig("", "gateway.toml")->alerts.rules.size(), UsualAlertRules().size());
}

TEST(AlertConfig, ARuleSaysWhichEventItIs) {
  auto error = [](const char* text) { return ParseGatewayConfig(text, "g.toml").error().message; };
  EXPECT_THAT(error("[[alerts.rules]]\nalertname = \"x\"\n"),
              HasSubstr("event_type: it is missing"));
  EXPECT_THAT(error("[alerts]\nhost_labels = []\n"), HasSubstr("host_labels: at least one"));
  EXPECT_THAT(error("[alerts]\nunknown = \"drop\"\n"), HasSubstr("event, ignore"));
}

}  // namespace
}  // namespace sentinel
