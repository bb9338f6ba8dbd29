#include "web/incident_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

Moment At(int64_t mono_ms, int64_t wall_ms) {
  return {Instant{std::chrono::milliseconds(mono_ms)},
          WallTime{std::chrono::milliseconds(wall_ms)}};
}

Incident Sample() {
  Incident i;
  i.id = "3f9c0a4b7d21e658";
  i.identity = R"({"comm":"0x39236b6fe26e2058","epoch":1,"job":"replay-1","nranks":4})";
  i.occurrence = 14'966'636;
  i.state = IncidentState::kAcknowledged;
  i.severity = Severity::kP0;
  i.event_type = "NCCL_TIMEOUT";
  i.hang_class = HangClass::kGpuStuck;
  i.job = "replay-1";
  i.comm = CommKey{"replay-1", 0x39236b6fe26e2058, 4};
  i.epoch = 1;
  Operation op;
  op.index = 10;
  op.seq = 10;
  op.func = Func::kAllReduce;
  op.count = 4'194'304;
  op.datatype = DataType::kFloat32;
  i.op = op;
  i.culprit.rank = 2;
  i.culprit.job_rank = 10;
  i.culprit.host = "replay-2";
  i.culprit.rack = "A03";
  i.culprit.unit = 12;
  i.culprit.edge = Edge{1, 2};
  i.culprit.job_edge = Edge{9, 10};
  i.suspects = {{1, "replay-1"}, {2, "replay-2", 10}};
  i.confidence = 0.95;
  i.evidence = {{"中文", "english"}};
  i.text = "训练集群紧急预警";
  i.count = 3;
  i.stalled = std::chrono::milliseconds(1612);
  i.suspected = At(182'100, 1'786'955'399'100);
  i.opened = i.red = At(183'350, 1'786'955'400'250);
  i.acknowledged = Acknowledgement{"button", "hall-1", WallTime{std::chrono::seconds(1)}};
  i.quiet = Quieting{QuietReason::kSilence, "0123456789abcdef"};
  NotificationRecord n;
  n.notification.id = "aaaa";
  n.notification.incident = i.id;
  n.notification.terminal = "hall-1";
  n.notification.severity = n.notification.urgency = Severity::kP0;
  n.notification.sequence = 1;
  n.notification.message = {"训练", {255, 0, 0}, LightMode::kFlash, AudioMode::kCycle, 3};
  n.notification.created = At(183'350, 1'786'955'400'250);
  n.state = NotificationState::kDelivered;
  n.attempts = 2;
  n.delivered = At(183'361, 1'786'955'400'261);
  i.notifications.push_back(n);
  i.lease = std::chrono::hours(5);
  i.speaks =
      Moment{Instant{std::chrono::seconds(12)}, WallTime{std::chrono::seconds(1'795'996'346)}};
  i.told["chat"] = {"msg_1", "msg_2"};
  return i;
}

TEST(IncidentJson, SaysWhatTheFormatPageSays) {
  auto json = nlohmann::json::parse(IncidentJson(Sample()));
  EXPECT_EQ(json["state"], "acknowledged");
  EXPECT_EQ(json["severity"], "P0");
  EXPECT_EQ(json["class"], "GPU_STUCK");
  EXPECT_TRUE(json["signature"].is_null());
  EXPECT_EQ(json["comm"]["id"], "0x39236b6fe26e2058");
  EXPECT_EQ(json["operation"]["func"], "AllReduce");
  EXPECT_EQ(json["operation"]["datatype"], "ncclFloat32");
  EXPECT_EQ(json["culprit"]["rank"], 2);
  EXPECT_EQ(json["culprit"]["edge"], nlohmann::json::array({1, 2}));
  EXPECT_EQ(json["culprit"]["job_rank"], 10);
  EXPECT_EQ(json["culprit"]["job_edge"], nlohmann::json::array({9, 10}));
  EXPECT_TRUE(json["suspects"][0]["job_rank"].is_null());
  EXPECT_EQ(json["suspects"][1]["job_rank"], 10);
  EXPECT_TRUE(json["culprit"]["gpu"].is_null());
  EXPECT_EQ(json["stalled_ms"], 1612);
  EXPECT_EQ(json["opened_at"], "2026-08-17T08:30:00.250Z");
  EXPECT_TRUE(json["closed_at"].is_null());
  EXPECT_EQ(json["mono_ms"]["red"], 183350.0);
  EXPECT_TRUE(json["mono_ms"]["delivered"].is_null());
  EXPECT_EQ(json["quiet"]["reason"], "silence");
  EXPECT_EQ(json["quiet"]["by"], "0123456789abcdef");
  EXPECT_EQ(json["acknowledged"]["by"], "button");
  EXPECT_EQ(json["notifications"][0]["state"], "delivered");
  EXPECT_TRUE(json["notifications"][0]["error"].is_null());
}

TEST(IncidentJson, WhatIsUnknownIsNull) {
  Incident event;
  event.id = "x";
  auto json = nlohmann::json::parse(IncidentJson(event));
  for (const char* key : {"class", "job", "comm", "operation", "confidence", "stalled_ms",
                          "opened_at", "close_reason", "acknowledged"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_TRUE(json["culprit"]["host"].is_null());
}

TEST(IncidentDocument, AnIncidentComesBackAsItWasKept) {
  std::string document = WriteIncidentDocument(Sample());
  auto back = ParseIncidentDocument(document);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(WriteIncidentDocument(*back), document);
  EXPECT_EQ(back->told.at("chat").at(1), "msg_2");
  EXPECT_EQ(back->lease, std::chrono::hours(5));
  EXPECT_EQ(back->boot, "");
  EXPECT_EQ(ParseIncidentDocument(WriteIncidentDocument(Sample(), "b1"))->boot, "b1");
  ASSERT_TRUE(back->speaks.has_value());
  EXPECT_EQ(back->speaks->wall.since_epoch, std::chrono::seconds(1'795'996'346));
  EXPECT_EQ(IncidentJson(*back), IncidentJson(Sample()));
  EXPECT_EQ(back->notifications.at(0).notification.message,
            Sample().notifications[0].notification.message);
}

TEST(IncidentDocument, OneFromBeforeTheJobsRanksWereKeptCanBeRead) {
  auto old = nlohmann::ordered_json::parse(WriteIncidentDocument(Sample()));
  old["culprit"].erase("job_rank");
  old["culprit"].erase("job_edge");
  for (auto& suspect : old["suspects"]) suspect.erase(2);
  auto back = ParseIncidentDocument(old.dump());
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->culprit.rank, 2);
  EXPECT_FALSE(back->culprit.job_rank);
  EXPECT_EQ(back->suspects.at(1), (Suspect{2, "replay-2"}));
}

TEST(IncidentDocument, WhateverBytesAreInItItCanBeReadBack) {
  Incident incident = Sample();
  incident.culprit.host = "a\"b\\c\n\x01";
  incident.job = "\xff\xe8\x8a \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf 节点";
  auto back = ParseIncidentDocument(WriteIncidentDocument(incident));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->culprit.host, incident.culprit.host);
  EXPECT_EQ(back->job, "??? ??? ???? ?? 节点");
}

TEST(IncidentDocument, WhatIsNotOneIsCorrupt) {
  for (const char* text : {"", "{}", "[1]", "{\"version\":2}", "null"}) {
    auto result = ParseIncidentDocument(text);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  }
  std::string document = WriteIncidentDocument(Sample());
  size_t at = document.find("\"acknowledged\"");
  document.replace(at, 14, "\"acknowledgem\"");
  EXPECT_FALSE(ParseIncidentDocument(document).ok());
}

}  // namespace
}  // namespace sentinel
