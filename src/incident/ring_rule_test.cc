#include "incident/ring_rule.h"

#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

JobFacts Job(std::optional<int> gpus, JobOwner owner = {}) { return {gpus, {}, std::move(owner)}; }

TEST(RingRule, EightGpusRingBySetting) {
  EXPECT_EQ(BarredBy({}, Job(7)), "gpus 7 of 8");
  EXPECT_FALSE(BarredBy({}, Job(8)).has_value());
  RingRule any;
  any.gpus_min = 1;
  EXPECT_FALSE(BarredBy(any, Job(1)).has_value());
}

TEST(RingRule, WhatIsNotKnownBarsNobody) {
  RingRule rule;
  rule.partitions = {"train"};
  rule.namespaces = {"prod"};
  rule.users = {"li"};
  EXPECT_FALSE(BarredBy(rule, Job(std::nullopt)).has_value());
}

TEST(RingRule, PartitionNamespaceAndUserMustEachBeListed) {
  RingRule rule;
  rule.partitions = {"train-*", "big"};
  rule.namespaces = {"prod"};
  rule.users = {"li", "svc-*"};
  EXPECT_FALSE(BarredBy(rule, Job(64, {"train-a", "prod", "svc-llm"})).has_value());
  EXPECT_EQ(BarredBy(rule, Job(64, {"debug", "", ""})), "partition debug");
  EXPECT_EQ(BarredBy(rule, Job(64, {"", "dev", ""})), "namespace dev");
  EXPECT_EQ(BarredBy(rule, Job(64, {"big", "", "wang"})), "user wang");
}

TEST(RingRule, AHangOfASmallJobIsANoticeAndSaysWhy) {
  Floor floor;
  floor.book.OnVerdict(Hang(VerdictStage::kRed, HangClass::kGpuStuck), Job(4), floor.now);
  floor.Deliver();
  EXPECT_TRUE(floor.told.empty());
  ASSERT_EQ(floor.book.open(), 1u);
  const Incident& incident = *floor.book.List(false, 1)[0];
  EXPECT_EQ(incident.severity, Severity::kNotice);
  EXPECT_EQ(incident.state, IncidentState::kOpen);
  EXPECT_EQ(incident.quiet, (Quieting{QuietReason::kJobRule, "gpus 4 of 8"}));
}

TEST(RingRule, AJobThatTurnsOutToBeLargerRingsAndNeverBecomesSmaller) {
  Floor floor;
  const Verdict hang = Hang(VerdictStage::kRed, HangClass::kGpuStuck);
  floor.book.OnVerdict(hang, Job(4), floor.now);
  floor.Deliver();
  floor.book.OnVerdict(hang, Job(16), floor.now);
  floor.Deliver();
  ASSERT_EQ(floor.told.size(), 1u);
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kEscalated);
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kFlash);
  // Half of its agents have died with their hosts.
  floor.book.OnVerdict(hang, Job(4), floor.now);
  floor.Deliver();
  EXPECT_EQ(floor.told.size(), 1u);
  EXPECT_EQ(floor.book.List(false, 1)[0]->severity, Severity::kP0);
}

TEST(RingRule, HardwareRingsWhateverRunsThere) {
  Floor floor;
  Event event = Make("XID_FATAL");
  event.job_id = "job-1";
  floor.book.OnVerdict(Hang(VerdictStage::kRed, HangClass::kGpuStuck), Job(1), floor.now);
  floor.Post(event);
  EXPECT_EQ(floor.told.size(), 1u);
}

TEST(RingRule, ARestartRemembersWhyItIsQuiet) {
  Floor before;
  before.book.OnVerdict(Hang(VerdictStage::kRed, HangClass::kGpuStuck), Job(4), before.now);
  Floor after;
  after.book.Restore({*before.book.List(false, 1)[0]}, "", after.now);
  after.Pass(std::chrono::seconds(1));
  EXPECT_TRUE(after.told.empty());
  EXPECT_EQ(after.book.List(false, 1)[0]->quiet->reason, QuietReason::kJobRule);
}

TEST(RingRule, AHangWhoseJobRunsOnNodesOutOfServiceAloneDoesNotRing) {
  std::vector<HostEntry> hosts(3);
  for (size_t i = 0; i < hosts.size(); ++i) hosts[i].name = "n" + std::to_string(i + 1);
  hosts[0].state = hosts[1].state = NodeState::kReserved;
  for (bool elsewhere : {false, true}) {
    Floor floor({"hall"}, hosts);
    JobFacts job = Job(16);
    job.hosts = {"n1", "n2"};
    if (elsewhere) job.hosts.push_back("n3");
    floor.book.OnVerdict(Hang(VerdictStage::kRed, HangClass::kGpuStuck), job, floor.now);
    floor.Deliver();
    EXPECT_EQ(floor.told.size(), elsewhere ? 1u : 0u);
  }
}

}  // namespace
}  // namespace sentinel
