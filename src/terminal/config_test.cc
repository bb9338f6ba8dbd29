#include "terminal/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string ErrorOf(std::string_view text) {
  Result<TerminalConfig> config = ParseTerminalConfig(text, "t.toml");
  return config.ok() ? "" : config.error().message;
}

TEST(TerminalConfig, NeedsNothingButAKeyFile) {
  TerminalConfig config = *ParseTerminalConfig("key_file = '/etc/k'", "t.toml");
  EXPECT_EQ(config.listen.ToString(), "127.0.0.1:8090");
  EXPECT_FALSE(config.gateway.has_value());
  EXPECT_EQ(config.audio, AudioOutput::kAuto);
  EXPECT_THAT(ErrorOf(""), HasSubstr("key_file is missing"));
}

TEST(TerminalConfig, TakesEverySetting) {
  TerminalConfig config = *ParseTerminalConfig(R"(
name = "hall-1"
listen = "0.0.0.0"
gateway = "gw.example:9000"
key_file = "/etc/k"
frame = "/run/frame"
[audio]
output = "wav"
wav_dir = "/tmp/wav"
loud_db = 0
normal_db = -12.5
[button]
from = "network"
strict_mute = true
[site]
timezone = "Asia/Shanghai"
)",
                                               "t.toml");
  EXPECT_EQ(config.name, "hall-1");
  EXPECT_EQ(config.listen.ToString(), "0.0.0.0:8090");
  EXPECT_EQ(config.gateway->ToString(), "gw.example:9000");
  EXPECT_EQ(config.frame, "/run/frame");
  EXPECT_EQ(config.audio, AudioOutput::kWav);
  EXPECT_EQ(config.wav_dir, "/tmp/wav");
  EXPECT_EQ(config.normal_below_full_db, 12.5);
  EXPECT_EQ(config.button_from, ButtonFrom::kNetwork);
  EXPECT_TRUE(config.strict_mute);
  EXPECT_EQ(config.timezone, "Asia/Shanghai");
}

TEST(TerminalConfig, AnUnknownKeyIsRefusedWithItsPlaceAndWhatIsAllowed) {
  EXPECT_THAT(ErrorOf("key_file = 'k'\nlisten_on = 'x'"),
              testing::AllOf(StartsWith("t.toml:2:1:"), HasSubstr("listen_on"),
                             HasSubstr("name, listen, gateway")));
  EXPECT_THAT(ErrorOf("[audio]\nvolume = 3"),
              testing::AllOf(StartsWith("t.toml:2:1:"), HasSubstr("output, wav_dir")));
}

TEST(TerminalConfig, AWrongValueIsRefusedWithItsPlace) {
  EXPECT_THAT(ErrorOf("listen = 80"), StartsWith("t.toml:1:10: listen: a string"));
  EXPECT_THAT(ErrorOf("listen = 'a:b'"), StartsWith("t.toml:1:10: listen: "));
  EXPECT_THAT(ErrorOf("name = 'a b'"), StartsWith("t.toml:1:8: name: "));
  EXPECT_THAT(ErrorOf("audio = 1"), StartsWith("t.toml:1:9: audio: a table"));
  EXPECT_THAT(ErrorOf("[audio]\noutput = 'loud'"), HasSubstr("auto, card, wav, off"));
  EXPECT_THAT(ErrorOf("[audio]\nloud_db = 6"), HasSubstr("-60 to 0"));
  EXPECT_THAT(ErrorOf("[site]\ntimezone = '../../etc'"), HasSubstr("Asia/Shanghai"));
  EXPECT_THAT(ErrorOf("name = "), StartsWith("t.toml:1:"));
}

}  // namespace
}  // namespace sentinel
