#include "wire/terminal_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sentinel {
namespace {

constexpr char kExampleText[] =
    R"({"text":"训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起","color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":3})";

TerminalMessage Hang() {
  TerminalMessage message;
  message.text = "训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起";
  message.color = {0xFF, 0, 0};
  message.light_mode = LightMode::kFlash;
  message.audio_mode = AudioMode::kCycle;
  message.repeat_times = 3;
  return message;
}

TEST(TerminalJson, TheContractsCheckValueHolds) {
  EXPECT_EQ(WriteTerminalMessage(Hang()), kExampleText);
}

TEST(TerminalJson, WhatIsWrittenReadsBackTheSame) {
  Result<TerminalMessage> read = ParseTerminalMessage(kExampleText);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, Hang());
  for (AudioMode audio : {AudioMode::kCycle, AudioMode::kOnce, AudioMode::kOff}) {
    for (LightMode light :
         {LightMode::kFlash, LightMode::kBreath, LightMode::kSteady, LightMode::kOff}) {
      TerminalMessage message;
      message.text = "\"a\"\\\n<b>";
      message.color = {0xFF, 0xA5, 0x01};
      message.light_mode = light;
      message.audio_mode = audio;
      message.repeat_times = 100;
      EXPECT_EQ(*ParseTerminalMessage(WriteTerminalMessage(message)), message);
    }
  }
}

TEST(TerminalJson, TextThatIsNoUtf8IsReplacedSoThatTheAlarmIsSent) {
  TerminalMessage message = Hang();
  message.text = "a\xe6\x9c";
  Result<TerminalMessage> read = ParseTerminalMessage(WriteTerminalMessage(message));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->text, "a\xef\xbf\xbd");
}

TEST(TerminalJson, WhatIsNoMessageIsRefused) {
  for (
      const char* body : {
          "",
          "{}",
          "[]",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"cycle"})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":0})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"once","repeat_times":0})",
          R"({"repeat_times":0,"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"once"})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"off","repeat_times":-1})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"off","repeat_times":0.0})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":101})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":"3"})",
          R"({"text":"x","color":"#FF0000","light_mode":"flash","audio_mode":"loud","repeat_times":1})",
          R"({"text":"x","color":"#FF0000","light_mode":"strobe","audio_mode":"off","repeat_times":1})",
          R"({"text":"x","color":"red","light_mode":"flash","audio_mode":"off","repeat_times":1})",
          R"({"text":"x","color":"#FF00000","light_mode":"flash","audio_mode":"off","repeat_times":1})",
          R"({"text":"x","color":"#-F0000","light_mode":"flash","audio_mode":"off","repeat_times":1})",
          R"({"text":7,"color":"#FF0000","light_mode":"flash","audio_mode":"off","repeat_times":1})",
          R"({"text":"x","text":"y","color":"#FF0000","light_mode":"off","audio_mode":"off","repeat_times":1})",
      }) {
    Result<TerminalMessage> read = ParseTerminalMessage(body);
    ASSERT_FALSE(read.ok()) << body;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  }
  TerminalMessage message = Hang();
  message.text = std::string(4096, 'x');
  EXPECT_TRUE(ParseTerminalMessage(WriteTerminalMessage(message)).ok());
  message.text += 'x';
  EXPECT_FALSE(ParseTerminalMessage(WriteTerminalMessage(message)).ok());
}

TEST(TerminalJson, SilenceMayBeHeardNoTimeAtAll) {
  for (
      const char* body : {
          R"({"text":"","color":"#000000","light_mode":"off","audio_mode":"off","repeat_times":0})",
          R"({"repeat_times":0,"audio_mode":"off","light_mode":"off","color":"#000000","text":""})",
      }) {
    Result<TerminalMessage> read = ParseTerminalMessage(body);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->repeat_times, 0);
    EXPECT_EQ(*ParseTerminalMessage(WriteTerminalMessage(*read)), *read);
  }
}

TEST(TerminalJson, AFieldOfALaterVersionDoesNotSilenceTheAlarm) {
  std::string body = kExampleText;
  body.insert(body.size() - 1, R"(,"volume":{"db":3})");
  EXPECT_EQ(*ParseTerminalMessage(body), Hang());
}

}  // namespace
}  // namespace sentinel
