#include "incident/event_table.h"

#include <gtest/gtest.h>

#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

Event Of(std::string type, std::optional<double> util = std::nullopt) {
  Event event;
  event.node_host = "n1";
  event.event_type = std::move(type);
  event.gpu_util = util;
  return event;
}

Severity Level(const Event& event, JobPresence presence = JobPresence::kUnknown) {
  return LevelOf(EventTable(), event, presence).severity;
}

TEST(EventTable, EveryTypeHasTheContractsLevelAndWordsInBothLanguages) {
  struct {
    Severity severity;
    std::vector<std::string> types;
  } rows[] = {
      {Severity::kP0,
       {"NCCL_TIMEOUT", "RANK_STALLED", "XID_FATAL", "GPU_LOST", "RANK_DEAD", "COLLECTIVE_MISMATCH",
        "NVSWITCH_ERROR", "GPU_UTIL_DROP"}},
      {Severity::kP1,
       {"NVLINK_ERROR", "OPTICS_ERROR", "OPTICS_HOT", "LINK_DOWN", "PFC_STORM", "NIC_ERROR",
        "PCIE_ERROR", "ECC_ERROR", "THERMAL", "NODE_SILENT", "TERMINAL_UNREACHABLE"}},
      {Severity::kNotice, {"XID_WARN", "STRAGGLER", "LINK_FLAP"}},
      {Severity::kNormal, {"RECOVERED"}},
  };
  EventTable table;
  for (const auto& row : rows) {
    for (const std::string& type : row.types) {
      EXPECT_EQ(Level(Of(type)), row.severity) << type;
      ASSERT_NE(table.Find(type), nullptr) << type;
      EXPECT_FALSE(table.Find(type)->chinese.empty()) << type;
      EXPECT_FALSE(table.Find(type)->english.empty()) << type;
    }
  }
}

TEST(EventTable, SentencesAreTheContracts) {
  EventTable table;
  SpeechFields f;
  f.rack = "A03";
  f.host = "gpu-worker-08";
  f.gpu = "3";
  f.util = "2";
  f.type = "FAN";
  f.job = "llm-7";
  f.suspects = "A03 n1、A04 n2";
  auto say = [&](const EventKind& kind) { return FillIn(kind.chinese, f); };
  EXPECT_EQ(say(*table.Find("NCCL_TIMEOUT")),
            "训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起");
  EXPECT_EQ(say(*table.Find("XID_FATAL")),
            "硬件致命故障，机架 A03 节点 gpu-worker-08 第 3 号卡发生驱动级报错");
  EXPECT_EQ(say(*table.Find("NVLINK_ERROR")),
            "链路降级预警，机架 A03 节点 gpu-worker-08 第 3 号卡 NVLink 降速，请排查互联链路");
  EXPECT_EQ(say(*table.Find("OPTICS_ERROR")),
            "光链路预警，机架 A03 节点 gpu-worker-08 光模块误码告警，请排查光纤跳线");
  EXPECT_EQ(say(*table.Find("GPU_UTIL_DROP")),
            "算力水准预警，机架 A03 节点 gpu-worker-08 算力利用率突降至百分之 2");
  EXPECT_EQ(say(table.unknown()), "设备告警，机架 A03 节点 gpu-worker-08 FAN");
  EXPECT_EQ(say(table.unlocated()), "任务 llm-7 通信停滞，故障点未定位，疑似 A03 n1、A04 n2");
}

TEST(EventTable, AMissingCardOrRackReadsWell) {
  EventTable table;
  SpeechFields f;
  f.host = "n1";
  EXPECT_EQ(FillIn(table.Find("XID_FATAL")->chinese, f), "硬件致命故障，节点 n1 发生驱动级报错");
  EXPECT_EQ(FillIn(table.Find("NVLINK_ERROR")->chinese, f),
            "链路降级预警，节点 n1 NVLink 降速，请排查互联链路");
  EXPECT_EQ(FillIn(table.unlocated().chinese, SpeechFields{}), "通信停滞，故障点未定位");
}

TEST(EventTable, LowUtilisationIsCriticalOnlyForTypesWithoutALevelOfTheirOwn) {
  EXPECT_EQ(Level(Of("GPU_UTIL_DROP", 2)), Severity::kP0);
  EXPECT_EQ(Level(Of("GPU_UTIL_DROP", 40)), Severity::kP1);
  EXPECT_EQ(Level(Of("SOMETHING", 2)), Severity::kP0);
  EXPECT_EQ(Level(Of("SOMETHING", 5)), Severity::kP1);
  EXPECT_EQ(Level(Of("SOMETHING")), Severity::kP1);
  EXPECT_EQ(Level(Of("NVLINK_ERROR", 0)), Severity::kP1);
  EXPECT_EQ(Level(Of("NCCL_TIMEOUT", 100)), Severity::kP0);
}

TEST(EventTable, AnIdleCardWithoutAJobIsNoEmergency) {
  EXPECT_EQ(Level(Of("GPU_UTIL_DROP", 2), JobPresence::kNone), Severity::kP1);
  EXPECT_EQ(Level(Of("GPU_UTIL_DROP", 2), JobPresence::kRunning), Severity::kP0);
}

TEST(EventTable, AnNvswitchErrorSaidNotToBeFatalIsAWarning) {
  Event event = Of("NVSWITCH_ERROR");
  event.fatal = false;
  EXPECT_EQ(Level(event), Severity::kP1);
}

TEST(EventTable, VerdictsBecomeTheContractsEvents) {
  EventTable table;
  EXPECT_EQ(table.TypeOf(HangClass::kMismatch), "COLLECTIVE_MISMATCH");
  EXPECT_EQ(table.TypeOf(HangClass::kProcessDead), "RANK_DEAD");
  EXPECT_EQ(table.TypeOf(HangClass::kWaiting), "RANK_STALLED");
  EXPECT_EQ(table.TypeOf(HangClass::kSlow), "STRAGGLER");
  for (HangClass c : {HangClass::kNotEntered, HangClass::kGpuNotStarted, HangClass::kGpuStuck,
                      HangClass::kProxyStuck, HangClass::kNetwork, HangClass::kPcie,
                      HangClass::kProcessStopped, HangClass::kUnknown}) {
    EXPECT_EQ(table.TypeOf(c), "NCCL_TIMEOUT");
  }
  for (size_t i = 0; i < kHangClasses; ++i) {
    const auto c = static_cast<HangClass>(i);
    EXPECT_NE(table.Find(table.TypeOf(c)), nullptr);
    EXPECT_EQ(HangClassFromName(HangClassName(c)), c);
  }
  table.SetTypeOf(HangClass::kPcie, "PCIE_ERROR");
  EXPECT_EQ(table.TypeOf(HangClass::kPcie), "PCIE_ERROR");
}

// What the contract says of each level: light and voice.
TEST(EventTable, EveryLevelHasTheContractsLightAndVoice) {
  const TerminalMessage p0 = AlarmMessage(Severity::kP0, "x");
  EXPECT_EQ(p0, (TerminalMessage{"x", {0xFF, 0, 0}, LightMode::kFlash, AudioMode::kCycle, 3}));
  const TerminalMessage p1 = AlarmMessage(Severity::kP1, "x");
  EXPECT_EQ(p1, (TerminalMessage{"x", {0xFF, 0xA5, 0}, LightMode::kBreath, AudioMode::kOnce, 1}));
  const TerminalMessage notice = AlarmMessage(Severity::kNotice, "x");
  EXPECT_EQ(notice.light_mode, LightMode::kOff);
  EXPECT_EQ(notice.audio_mode, AudioMode::kOff);
  EXPECT_EQ(RecoveredMessage(EventTable(), Language::kChinese),
            (TerminalMessage{
                "训练集群已恢复正常", {0, 0xFF, 0}, LightMode::kSteady, AudioMode::kOnce, 1}));
  EXPECT_EQ(LightMessage(Severity::kP0, true, "x").light_mode, LightMode::kSteady);
}

TEST(EventTable, ByTheSwitchLowUtilisationMakesAnythingP0) {
  EventTable table;
  auto level = [&](const Event& event, JobPresence presence = JobPresence::kUnknown) {
    return LevelOf(table, event, presence).severity;
  };
  const std::vector<std::string> types = {"NVLINK_ERROR", "THERMAL", "LINK_FLAP", "SOMETHING",
                                          "XID_WARN"};
  for (const std::string& type : types) {
    if (type == "SOMETHING") continue;
    EXPECT_LT(level(Of(type, 4.9)), Severity::kP0) << type;
  }
  table.SetLowUtilisationIsP0(true);
  for (const std::string& type : types) {
    EXPECT_EQ(level(Of(type, 4.9)), Severity::kP0) << type;
    EXPECT_EQ(level(Of(type, 4.9), JobPresence::kNone), Severity::kP0) << type;
    EXPECT_LT(level(Of(type, 5)), Severity::kP0) << type;
    EXPECT_LT(level(Of(type)), Severity::kP0) << type;
  }
  EXPECT_EQ(level(Of("RECOVERED", 0)), Severity::kNormal);
}

}  // namespace
}  // namespace sentinel
