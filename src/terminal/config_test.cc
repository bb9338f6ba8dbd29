#include "terminal/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing_folder.h"
#include "config/refusals_testing.h"
#include "floor/frame.h"

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
  EXPECT_THAT(ErrorOf(""), StartsWith("t.toml:1:1: key_file: it is missing"));
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

Status ParseTestedTerminal(const std::string& text) {
  TRY(ParseTerminalConfig(text, "f.toml"));
  return {};
}

TEST(TerminalConfig, EveryKeyRefusesAValueThatItDoesNotTakeWithItsPlace) {
  ExpectEveryKeyToTellThePlace({{"", {{"key_file", "'k'"}}},
                                {"[audio]", {}},
                                {"[button]", {}},
                                {"[site]", {}},
                                {"[tls]", {}}},
                               ParseTestedTerminal);
}

TEST(TerminalConfig, WhatTheStartCouldNotUseIsRefusedWithItsPlace) {
  const std::string key = "key_file = 'k'\n";
  ExpectRefusedInTheLastLine(
      {{key + "listen = '10.0.0.300'", "listen", "not an IPv4 address"},
       {key + "listen = 'unix:t.sock'", "listen", "absolute path"},
       {key + "gateway = '0.0.0.0:8080'", "gateway", "every address of a host"},
       {key + "gateway = '[::1:8080'", "gateway", "']' is missing"},
       {key + "gateway = '10.0.0.1:0'", "gateway", "a port from 1 to 65535"},
       {"key_file = ''", "key_file", "a path is expected"},
       {key + "frame = ''", "frame", "a path is expected"},
       {key + "[audio]\nwav_dir = ''", "wav_dir", "a path is expected"},
       {key + "[audio]\nnormal_db = -60.5", "normal_db", "-60 to 0"},
       {key + "[site]\ntimezone = ''", "timezone", "such as Asia/Shanghai"}},
      ParseTestedTerminal);
}

TEST(TerminalConfig, WhatAFrameWouldOverwriteKeepsTheStartBack) {
  const TestingFolder folder;
  const std::string root = folder.path().string();
  TerminalConfig config;
  config.audio = AudioOutput::kOff;
  const auto complaint = [&config] {
    const Status here = CheckHere(config);
    return here.ok() ? "" : here.error().message;
  };
  EXPECT_EQ(complaint(), "");
  config.frame = root + "/frame";
  EXPECT_EQ(complaint(), "");
  std::ofstream(config.frame) << std::string(kFrameBytes, 'x');
  EXPECT_EQ(complaint(), "");
  std::ofstream(config.frame) << "";
  EXPECT_EQ(complaint(), "");
  std::ofstream(config.frame) << "key = 'k1'\n";
  EXPECT_THAT(complaint(), HasSubstr("a file of 11 bytes lies there, which is no frame"));
  std::ofstream(config.frame) << std::string(kFrameBytes + 1, 'x');
  EXPECT_THAT(complaint(), HasSubstr("a file of 769 bytes lies there, which is no frame"));
  config.frame = root;
  EXPECT_EQ(complaint(), "frame = \"" + root + "\": it is a folder");
}

TEST(TerminalConfig, AFolderForSpeechThatCannotBeMadeKeepsTheStartBack) {
  const TestingFolder folder;
  const std::string root = folder.path().string();
  std::ofstream(root + "/file") << "x";
  TerminalConfig config;
  config.audio = AudioOutput::kWav;
  config.wav_dir = root + "/none/speech";
  EXPECT_TRUE(CheckHere(config).ok());
  EXPECT_FALSE(std::filesystem::exists(root + "/none")) << "and looking makes nothing";
  config.wav_dir = root + "/file/speech";
  ASSERT_FALSE(CheckHere(config).ok());
  EXPECT_EQ(CheckHere(config).error().message,
            "audio.wav_dir = \"" + config.wav_dir + "\": " + root + "/file: Not a directory");
  config.audio = AudioOutput::kOff;
  EXPECT_TRUE(CheckHere(config).ok()) << "nothing is spoken";
}

TEST(TerminalConfig, WhatThisHostDoesNotHaveIsAWarning) {
  TerminalConfig config;
  config.audio = AudioOutput::kOff;
  EXPECT_TRUE(WarningsHere(config).empty());
  config.listen.host = "192.0.2.1";  // of documents, no host's
  config.frame = "/no/such/folder/frame";
  const std::vector<std::string> warnings = WarningsHere(config);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], HasSubstr("192.0.2.1:8090: it is no address of this host now"));
  EXPECT_THAT(warnings[1], StartsWith("frame: /no/such/folder: "));
}

}  // namespace
}  // namespace sentinel
