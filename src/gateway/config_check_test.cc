#include "gateway/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

GatewayOptions Written(const std::string& lines) {
  GatewayOptions options;
  options.config = *ParseGatewayConfig(lines, "gateway.toml");
  return options;
}

TEST(ConfigCheck, WhatTheStartWouldRefuseIsAnErrorAndWhatThisHostLacksAWarning) {
  const TestingFolder folder;
  const std::string path = folder.path().string();
  const std::string state = "site.timezone = 'UTC'\nstate_dir = '" + path + "'\n";
  std::vector<std::string> warnings;
  ASSERT_TRUE(CheckStart(Written(state + "listen = ['127.0.0.1:0', 'unix:" + path + "/g.sock']\n"),
                         &warnings)
                  .ok());
  EXPECT_THAT(warnings, IsEmpty());

  ASSERT_TRUE(CheckStart(Written("state_dir = '" + path + "/none'\n" +
                                 "listen = ['192.0.2.1', 'unix:" + path + "/none/g.sock']\n"),
                         &warnings)
                  .ok());
  EXPECT_THAT(warnings, Contains(HasSubstr("state_dir")));
  EXPECT_THAT(warnings, Contains(HasSubstr("192.0.2.1:8080: it is no address of this host")));
  EXPECT_THAT(warnings, Contains(HasSubstr("/none/g.sock: ")));

  const Status keyless = CheckStart(Written("key_file = '" + path + "/none.key'\n"), &warnings);
  ASSERT_FALSE(keyless.ok());
  EXPECT_THAT(keyless.error().message, HasSubstr("none.key"));
}

}  // namespace
}  // namespace sentinel
