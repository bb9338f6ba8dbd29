#include "wire/alert_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/event_json.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

AlertMapping Usual() {
  AlertMapping mapping;
  mapping.rules = UsualAlertRules();
  return mapping;
}

ReceivedAlert Make(const std::string& name, std::map<std::string, std::string> labels) {
  ReceivedAlert alert;
  alert.labels = std::move(labels);
  alert.labels["alertname"] = name;
  alert.fingerprint = "f1";
  alert.starts_at = WallTime{std::chrono::milliseconds(1'786'955'400'250)};
  return alert;
}

std::string TypeOf(const std::string& name, std::map<std::string, std::string> labels = {}) {
  labels.emplace("Hostname", "n1");
  MappedAlert mapped = MapAlert(Make(name, std::move(labels)), Usual());
  return mapped.event ? mapped.event->event_type : "(" + mapped.why + ")";
}

TEST(MatchesPattern, StarsStandForAnything) {
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("GpuXid*", "gpuxiderrors"));
  EXPECT_TRUE(MatchesPattern("*gpu*temp*", "DcgmGPUMemoryTemperatureHigh"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "aXbbYc"));
  EXPECT_FALSE(MatchesPattern("a*b*c", "aXbY"));
  EXPECT_FALSE(MatchesPattern("", "x"));
  EXPECT_FALSE(MatchesPattern("abc", "abcd"));
}

TEST(MapAlert, TheUsualNamesMeanWhatTheySay) {
  EXPECT_EQ(TypeOf("DcgmXidErrors", {{"xid", "79"}}), "XID_FATAL");
  EXPECT_EQ(TypeOf("GPUXidError", {{"err_code", "31"}}), "XID_WARN");
  EXPECT_EQ(TypeOf("NvidiaNVLinkErrors"), "NVLINK_ERROR");
  EXPECT_EQ(TypeOf("DCGMDoubleBitECC"), "ECC_ERROR");
  EXPECT_EQ(TypeOf("GpuTemperatureHigh"), "THERMAL");
  EXPECT_EQ(TypeOf("NodeNetworkReceiveErrs", {{"device", "mlx5_0"}}), "NIC_ERROR");
  EXPECT_EQ(TypeOf("NodeNetworkInterfaceFlapping"), "LINK_FLAP");
  EXPECT_EQ(TypeOf("InfinibandPortDown"), "LINK_DOWN");
  EXPECT_EQ(TypeOf("KubeNodeNotReady"), "NODE_SILENT");
  EXPECT_EQ(TypeOf("OpticalModuleTempHigh"), "OPTICS_HOT");
  EXPECT_EQ(TypeOf("FanSlow"), "FanSlow");
  EXPECT_EQ(TypeOf("FanSlow", {{"severity", "info"}}), "(its severity is only information)");
  EXPECT_EQ(TypeOf("Watchdog"), "(a rule passes it over)");
}

TEST(MapAlert, LabelsOfTheExportersSayWhere) {
  ReceivedAlert alert = Make("DcgmXidErrors", {{"instance", "10.0.0.7:9400"},
                                               {"Hostname", "gpu-07"},
                                               {"gpu", "3"},
                                               {"UUID", "GPU-6f1c"},
                                               {"pci_bus_id", "00000000:3B:00.0"},
                                               {"device", "nvidia3"},
                                               {"rack", "A03"},
                                               {"job", "dcgm-exporter"},
                                               {"slurm_job_id", "4711"},
                                               {"xid", "79"}});
  alert.annotations["summary"] = "fallen off the bus";
  Event event = *MapAlert(alert, Usual()).event;
  EXPECT_EQ(event.node_host, "gpu-07");
  EXPECT_EQ(event.cluster_rack, "A03");
  EXPECT_EQ(event.gpu_index, 3);
  EXPECT_EQ(event.gpu_uuid, "GPU-6f1c");
  EXPECT_EQ(event.job_id, "4711");  // `job` is of the scrape
  EXPECT_EQ(event.xid, 79);
  EXPECT_EQ(event.nic, "");
  EXPECT_EQ(event.evidence, "fallen off the bus");
  EXPECT_EQ(event.observed_at, "2026-08-17T08:30:00.250Z");
  EXPECT_EQ(event.lease, std::chrono::hours(5));
  // What is written is read again as the same.
  EXPECT_EQ(WriteEvent(*ParseEvent(WriteEvent(event))), WriteEvent(event));
}

TEST(MapAlert, WithoutALabelForTheHostTheScrapesTargetIsOneLessItsPort) {
  auto host = [](const std::string& instance) {
    return MapAlert(Make("GpuLost", {{"instance", instance}}), Usual()).event->node_host;
  };
  EXPECT_EQ(host("gpu-07:9400"), "gpu-07");
  EXPECT_EQ(host("gpu-07"), "gpu-07");
  EXPECT_EQ(host("[fe80::1]:9400"), "fe80::1");
  EXPECT_EQ(host("fe80::1"), "fe80::1");
}

TEST(MapAlert, OneThatNamesNoHostSaysWhereItLooked) {
  MappedAlert mapped = MapAlert(Make("GpuLost", {}), Usual());
  EXPECT_FALSE(mapped.event.has_value());
  EXPECT_TRUE(mapped.lost);
  EXPECT_THAT(mapped.why, HasSubstr("looked for Hostname, "));
}

TEST(MapAlert, ARepeatHasTheSameIdAndANewBeginningAnother) {
  ReceivedAlert alert = Make("GpuLost", {{"node", "n1"}});
  std::string first = MapAlert(alert, Usual()).event->event_id;
  alert.annotations["summary"] = "still";
  EXPECT_EQ(MapAlert(alert, Usual()).event->event_id, first);
  alert.firing = false;
  Event end = *MapAlert(alert, Usual()).event;
  EXPECT_EQ(end.event_id, first);
  EXPECT_EQ(end.state, EventState::kResolved);
  alert.starts_at = alert.starts_at + std::chrono::milliseconds(1);
  EXPECT_NE(MapAlert(alert, Usual()).event->event_id, first);
}

TEST(MapAlert, WhatWeHaveToldComesBackAsNoNews) {
  EXPECT_EQ(TypeOf("XID_FATAL", {{"incident", "3f9c0a4b7d21e658"}, {"level", "P0"}}),
            "(it is an incident of ours)");
  EXPECT_EQ(TypeOf("GpuXid", {{"incident", "INC-4711"}}), "XID_FATAL");  // somebody else's word
  EXPECT_EQ(TypeOf("SentinelTerminalUnreachable"), "(a rule passes it over)");
}

TEST(MapAlert, TheSitesOwnRulesComeFirst) {
  AlertMapping mapping = Usual();
  mapping.rules.insert(mapping.rules.begin(),
                       {{"*xid*", {{"severity", "info*"}}, ""}, {"FanSlow", {}, "THERMAL"}});
  auto type = [&](const std::string& name, const std::string& severity) {
    MappedAlert mapped = MapAlert(Make(name, {{"node", "n1"}, {"severity", severity}}), mapping);
    return mapped.event ? mapped.event->event_type : "(" + mapped.why + ")";
  };
  EXPECT_EQ(type("GpuXid", "info"), "(a rule passes it over)");
  EXPECT_EQ(type("GpuXid", "critical"), "XID_FATAL");
  EXPECT_EQ(type("FanSlow", "critical"), "THERMAL");
  mapping.take_unknown = false;
  EXPECT_EQ(type("DiskFull", "critical"), "(no rule knows it)");
}

TEST(MapAlert, ALongSentenceIsCutBetweenCharacters) {
  ReceivedAlert alert = Make("GpuLost", {{"node", "n1"}});
  std::string text = "x";
  while (text.size() < 2000) text += "机";
  alert.annotations["summary"] = text;
  Event event = *MapAlert(alert, Usual()).event;
  EXPECT_EQ(event.evidence, text.substr(0, event.evidence.size()));
  EXPECT_EQ((event.evidence.size() - 1) % 3, 0u);
  EXPECT_TRUE(ParseEvent(WriteEvent(event)).ok());
}

}  // namespace
}  // namespace sentinel
