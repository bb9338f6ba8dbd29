#include "gateway/output_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/testing_folder.h"
#include "gateway/config.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string OutputError(std::string_view text) {
  Result<GatewayConfig> config = ParseGatewayConfig(text, "gateway.toml");
  return config.ok() ? "" : config.error().message;
}

TEST(OutputConfig, NamesReceivers) {
  Result<GatewayConfig> config = ParseGatewayConfig(R"(
[[webhook]]
name = "chat"
url = "http://10.0.0.5:8000/hook?team=gpu"
secret_file = "/etc/chat.secret"
level = "P0"
timeout_ms = 2000
[[alertmanager]]
name = "am-1"
url = "http://10.0.0.6:9093/prefix/"
renew_ms = 30000
labels = { site = "beijing" }
)",
                                                    "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_THAT(config->outputs, SizeIs(2));
  const OutputConfig& chat = config->outputs[0];
  EXPECT_EQ(chat.settings.post.url.ToString(), "http://10.0.0.5:8000/hook?team=gpu");
  EXPECT_EQ(chat.settings.level, Severity::kP0);
  EXPECT_EQ(chat.settings.post.attempt_timeout, std::chrono::seconds(2));
  EXPECT_EQ(chat.settings.post.connect_timeout, std::chrono::seconds(2));
  EXPECT_EQ(chat.secret_file, "/etc/chat.secret");
  const OutputSettings& am = config->outputs[1].settings;
  EXPECT_EQ(am.kind, OutputKind::kAlertmanager);
  EXPECT_EQ(am.post.url.ToString(), "http://10.0.0.6:9093/prefix/api/v2/alerts");
  EXPECT_EQ(am.labels.at("site"), "beijing");
  EXPECT_EQ(am.renew_every, std::chrono::seconds(30));
}

TEST(OutputConfig, AReceiverMayBeCalledThroughTls) {
  Result<GatewayConfig> config = ParseGatewayConfig(R"(
[[webhook]]
name = "chat"
url = "https://chat.example/hook"
secret_file = "/etc/chat.secret"
[[alertmanager]]
name = "am-1"
url = "https://am.example:9093/"
ca_file = "/etc/gpu-sentinel/ca.crt"
)",
                                                    "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->outputs[0].settings.post.url.ToString(), "https://chat.example:443/hook");
  EXPECT_EQ(config->outputs[0].ca_file, "");
  EXPECT_EQ(config->outputs[1].settings.post.url.ToString(),
            "https://am.example:9093/api/v2/alerts");
  EXPECT_EQ(config->outputs[1].ca_file, "/etc/gpu-sentinel/ca.crt");
}

TEST(OutputConfig, WhatIsWrongIsRefusedWithItsPlace) {
  EXPECT_THAT(OutputError("[[webhook]]\nname = \"a\"\nurl = \"ftp://x\"\n"),
              HasSubstr("gateway.toml:3:7: url: 'ftp://x' is not an address"));
  EXPECT_THAT(OutputError("[[webhook]]\nname = \"a\"\nurl = \"http://x\"\n"),
              HasSubstr("secret_file: it is missing"));
  EXPECT_THAT(OutputError("[[alertmanager]]\nurl = \"http://x\"\n"),
              HasSubstr("name: it is missing"));
  EXPECT_THAT(OutputError("[[alertmanager]]\nname = \"a\"\n"), HasSubstr("url: it is missing"));
  EXPECT_THAT(
      OutputError("[[alertmanager]]\nname = \"a\"\nurl = \"http://x\"\nca_file = \"/ca\"\n"),
      HasSubstr("gateway.toml:4:11: ca_file: nobody shows a certificate to an http:// url"));
  EXPECT_THAT(
      OutputError("[[alertmanager]]\nname = \"a\"\nurl = \"https://x\"\nca_file = \"ca\"\n"),
      HasSubstr("ca_file: "));
  EXPECT_THAT(OutputError("[[alertmanager]]\nname = \"a\"\nurl = \"http://x/api/v2/alerts\"\n"),
              HasSubstr("its base is expected"));
  EXPECT_THAT(
      OutputError("[[alertmanager]]\nname = \"a\"\nurl = \"http://x\"\nlabels = {a-b = \"1\"}"),
      HasSubstr("'a-b' is no name of a label"));
  EXPECT_THAT(OutputError("[[alertmanager]]\nname = \"a\"\nurl = \"http://x\"\nlevel = \"NORMAL\""),
              HasSubstr("P0, P1, NOTICE"));
  EXPECT_THAT(OutputError("[[alertmanager]]\nname = \"a\"\nurl = \"http://x\"\n"
                          "[[alertmanager]]\nname = \"a\"\nurl = \"http://y\"\n"),
              HasSubstr("gateway.toml:5:8: name: it is taken already"));
}

TEST(OutputConfig, ASecretThatOthersCanReadIsRefused) {
  TestingFolder folder;
  const std::string path = folder.path() / "chat.secret";
  std::ofstream(path) << "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";
  chmod(path.c_str(), 0600);
  OutputConfig chat;
  chat.secret_file = path;
  auto loaded = LoadOutputs({chat});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_THAT(loaded->at(0).post.secrets, SizeIs(1));
  chmod(path.c_str(), 0644);
  EXPECT_EQ(LoadOutputs({chat}).error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace sentinel
