// One of many: faults that follow from another, the reports of one standstill, what a host that is
// down says of its parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

Event Xid(int xid, std::string type, int gpu = 3, std::string host = "n1") {
  Event event = Make(std::move(type), std::move(host), gpu);
  event.xid = xid;
  return event;
}

Event Report(std::string type, std::string host, std::string job = "job-1") {
  Event event = Make(std::move(type), std::move(host));
  event.job_id = std::move(job);
  return event;
}

Event Over(Event event) {
  event.state = EventState::kResolved;
  return event;
}

const Incident& Of(Floor* floor, const std::string& id) { return *floor->book.Find(id); }

// ------------------------------------------------------------------------------------ one card

TEST(Folds, WhatFollowsFromAFaultOfItsCardIsPartOfIt) {
  Floor floor;
  const std::string root = floor.Post(Xid(79, "GPU_LOST")).incident;
  floor.Pass(seconds(2));
  for (int i = 0; i < 100; ++i) floor.Post(Xid(45, "XID_WARN"));
  const auto action = floor.Post(Xid(154, "XID_FATAL"));
  EXPECT_FALSE(action.begun);
  EXPECT_EQ(Of(&floor, action.incident).quiet, (Quieting{QuietReason::kFolded, root}));
  EXPECT_EQ(Of(&floor, root).count, 3u);
  EXPECT_EQ(Spoken(floor), 1u);
  // Another card, or much later, is another fault.
  EXPECT_FALSE(Of(&floor, floor.Post(Xid(154, "XID_FATAL", 4)).incident).quiet.has_value());
  EXPECT_EQ(Spoken(floor), 2u);
}

TEST(Folds, ARootThatComesLaterTakesItsFollowersIn) {
  Floor floor;
  const std::string follower = floor.Post(Xid(154, "XID_FATAL")).incident;
  ASSERT_THAT(floor.told, SizeIs(1));
  floor.Pass(milliseconds(1200));
  const std::string root = floor.Post(Xid(79, "GPU_LOST")).incident;
  EXPECT_EQ(Of(&floor, follower).quiet, (Quieting{QuietReason::kFolded, root}));
  EXPECT_EQ(Of(&floor, root).count, 2u);
  ASSERT_THAT(floor.told, SizeIs(3));
  EXPECT_EQ(floor.told[1].incident, root);
  EXPECT_EQ(floor.told[2].incident, follower);
  EXPECT_EQ(floor.told[2].reason, NotifyReason::kSilenced);
  EXPECT_EQ(floor.told[2].message.light_mode, LightMode::kFlash);  // the root's, on a plain lamp
  floor.told.clear();
  floor.Post(Over(Xid(79, "GPU_LOST")));
  EXPECT_EQ(floor.book.open(), 0u);
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.light_mode, LightMode::kOff);
}

TEST(Folds, AFollowerThatIsMoreSevereRaisesItsRoot) {
  Floor floor;
  const std::string root = floor.Post(Xid(48, "ECC_ERROR")).incident;
  floor.Pass(seconds(2));
  const std::string follower = floor.Post(Xid(154, "XID_FATAL")).incident;
  EXPECT_EQ(Of(&floor, root).severity, Severity::kP0);
  EXPECT_TRUE(Of(&floor, follower).quiet.has_value());
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].incident, root);
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kEscalated);
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kFlash);
  EXPECT_THAT(floor.told[1].message.text, HasSubstr("驱动级报错"));
}

TEST(Folds, WhatIsFoldedEndsWithItsRoot) {
  Floor floor;
  const std::string root = floor.Post(Xid(79, "GPU_LOST")).incident;
  floor.Pass(seconds(20));
  const std::string follower = floor.Post(Xid(154, "XID_FATAL")).incident;
  for (int i = 0; i < 10; ++i) floor.Pass(minutes(1));
  EXPECT_EQ(Of(&floor, root).close_reason, CloseReason::kExpired);
  EXPECT_EQ(Of(&floor, follower).close_reason, CloseReason::kExpired);
  EXPECT_EQ(Spoken(floor), 2u);  // once, and its repeat after five minutes
}

TEST(Folds, AFollowerAloneStandsForItself) {
  Floor floor;
  const std::string id = floor.Post(Xid(154, "XID_FATAL")).incident;
  EXPECT_FALSE(Of(&floor, id).quiet.has_value());
  EXPECT_EQ(Spoken(floor), 1u);
}

TEST(Folds, NothingIsHiddenBehindARootThatIsSilenced) {
  Floor floor;
  Silence silence;
  silence.matcher.type = "ECC_ERROR";
  silence.expires = floor.now.wall + minutes(60);
  silence.author = "li";
  ASSERT_TRUE(floor.book.AddSilence({"li", ""}, silence, floor.now).ok());
  floor.Post(Xid(48, "ECC_ERROR"));
  floor.Post(Xid(154, "XID_FATAL"));
  EXPECT_EQ(Spoken(floor), 1u);
}

TEST(Folds, TwoCardsThatHaveOnlyTheirAddressesAreTwo) {
  std::vector<HostEntry> hosts(1);
  hosts[0].name = "known";
  hosts[0].gpus = {{"0000:3b:00.0", 2}};
  Floor floor({"hall"}, hosts);
  auto at = [](std::string host, std::string pci) {
    Event event = Make("GPU_LOST", std::move(host));
    event.pci = std::move(pci);
    return event;
  };
  EXPECT_NE(floor.Post(at("n1", "0000:3b:00.0")).incident,
            floor.Post(at("n1", "0000:86:00.0")).incident);
  EXPECT_EQ(floor.Post(at("known", "0000:3b:00.0")).incident,
            floor.Post(Make("GPU_LOST", "known", 2)).incident);
}

TEST(Folds, ARestartKnowsWhatIsPartOfWhat) {
  Floor before;
  const std::string root = before.Post(Xid(79, "GPU_LOST")).incident;
  const std::string follower = before.Post(Xid(154, "XID_FATAL")).incident;
  Floor after;
  after.book.Restore({Of(&before, follower), Of(&before, root)}, "", after.now);
  after.Pass(seconds(1));
  EXPECT_EQ(Spoken(after), 0u);
  after.Post(Over(Xid(79, "GPU_LOST")));
  EXPECT_EQ(after.book.open(), 0u);
}

// ------------------------------------------------------------------------------------- one job

TEST(Folds, AJobsStandstillIsOneIncidentHoweverManyRanksReportIt) {
  Floor floor;
  const std::string first = floor.Post(Report("NCCL_TIMEOUT", "n0")).incident;
  for (int i = 1; i < 200; ++i) {
    const auto outcome = floor.Post(Report("NCCL_TIMEOUT", "n" + std::to_string(i)));
    EXPECT_TRUE(outcome.suppressed);
    EXPECT_EQ(outcome.incident, first);
  }
  floor.Post(Report("GPU_UTIL_DROP", "n7"));
  EXPECT_EQ(floor.book.open(), 1u);
  EXPECT_EQ(Spoken(floor), 1u);
  EXPECT_EQ(Of(&floor, first).count, 201u);
  EXPECT_THAT(Of(&floor, first).suspects, SizeIs(64));
  // Another job is another standstill, and so is one without a job.
  floor.Post(Report("NCCL_TIMEOUT", "m1", "job-2"));
  floor.Post(Report("NCCL_TIMEOUT", "m2", ""));
  EXPECT_EQ(floor.book.open(), 3u);
  floor.Post(Over(Report("NCCL_TIMEOUT", "n0")));
  EXPECT_EQ(floor.book.open(), 2u);
}

TEST(Folds, ReportsOfAHangWeKnowAreCountedThere) {
  Floor floor;
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  const std::string hang = floor.told[0].incident;
  for (const char* host : {"n1", "n2", "n3"}) {
    EXPECT_EQ(floor.Post(Report("NCCL_TIMEOUT", host)).incident, hang);
  }
  EXPECT_EQ(Of(&floor, hang).count, 4u);
  EXPECT_EQ(Spoken(floor), 1u);
  EXPECT_EQ(floor.book.open(), 1u);
}

TEST(Folds, AVerdictTakesInTheReportsThatWereThereBefore) {
  Floor floor;
  const std::string report = floor.Post(Report("NCCL_TIMEOUT", "n3")).incident;
  floor.Pass(seconds(1));
  floor.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  const std::string hang = Of(&floor, report).quiet->by;
  EXPECT_EQ(Of(&floor, hang).hang_class, HangClass::kGpuStuck);
  EXPECT_EQ(Of(&floor, hang).count, 2u);
  floor.told.clear();
  floor.Heal(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  EXPECT_EQ(floor.book.open(), 0u);
  ASSERT_THAT(floor.told, SizeIs(1));
  EXPECT_EQ(floor.told[0].message.text, "训练集群已恢复正常");
}

TEST(Folds, AReportIsNotHiddenBehindAHangThatMayNotRing) {
  Floor floor;
  floor.book.OnVerdict(Hang(VerdictStage::kRed, HangClass::kGpuStuck), {4, {}, {}}, floor.now);
  floor.Deliver();
  floor.Post(Report("NCCL_TIMEOUT", "n2"));
  EXPECT_EQ(Spoken(floor), 1u);
}

// ------------------------------------------------------------------------------------ one host

TEST(Folds, AHostThatIsDownSaysItAllForItsParts) {
  Floor floor;
  floor.book.OnNodeSilent("n1", floor.now);
  floor.Deliver();
  const std::string host = floor.told[0].incident;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const auto outcome = floor.Post(Make("THERMAL", "n1", gpu));
    EXPECT_EQ(Of(&floor, outcome.incident).quiet, (Quieting{QuietReason::kHostDown, host}));
  }
  floor.Post(Make("THERMAL", "n2", 1));
  EXPECT_EQ(Of(&floor, host).count, 9u);
  EXPECT_EQ(Spoken(floor), 2u);
}

TEST(Folds, WhatIsMoreSevereThanAHostThatIsDownMakesItSo) {
  Floor floor;
  floor.book.OnNodeSilent("n1", floor.now);
  floor.Deliver();
  for (int gpu = 0; gpu < 8; ++gpu) floor.Post(Make("GPU_LOST", "n1", gpu));
  ASSERT_THAT(floor.told, SizeIs(2));
  EXPECT_EQ(floor.told[1].reason, NotifyReason::kEscalated);
  EXPECT_EQ(floor.told[1].message.light_mode, LightMode::kFlash);
  EXPECT_THAT(floor.told[1].message.text, HasSubstr("失去联系"));
}

TEST(Folds, AStandstillIsNotHiddenByAHost) {
  Floor floor;
  floor.book.OnNodeSilent("n1", floor.now);
  floor.Post(Make("NCCL_TIMEOUT", "n1"));
  EXPECT_EQ(Spoken(floor), 2u);
}

TEST(Folds, WhatStillBurnsAWhileAfterTheHostIsBackIsTold) {
  Floor floor;
  floor.book.OnNodeSilent("n1", floor.now);
  floor.Post(Make("GPU_LOST", "n1", 1));
  floor.Post(Make("GPU_LOST", "n1", 2));
  floor.Pass(minutes(1));
  floor.book.OnNodeBack("n1", floor.now);
  floor.Deliver();
  floor.told.clear();
  floor.Pass(seconds(29));
  EXPECT_EQ(Spoken(floor), 0u);
  floor.Pass(seconds(1));
  EXPECT_EQ(Spoken(floor), 2u);
  EXPECT_EQ(floor.told[0].reason, NotifyReason::kMuteEnded);
}

TEST(Folds, WhatEndedWithTheHostIsNeverHeardOf) {
  Floor floor;
  floor.book.OnNodeSilent("n1", floor.now);
  floor.Post(Make("THERMAL", "n1", 1));
  floor.book.OnNodeBack("n1", floor.now);
  floor.Deliver();
  floor.told.clear();
  floor.Post(Over(Make("THERMAL", "n1", 1)));
  for (int i = 0; i < 15; ++i) floor.Pass(minutes(1));
  EXPECT_THAT(floor.told, SizeIs(0));
}

TEST(Folds, ASenderMaySayThatAHostIsDownUnderItsOwnName) {
  IncidentPolicy policy;
  EventKind kind = *policy.table.Find("NODE_SILENT");
  policy.table.Set("HOST_DOWN", kind);
  Floor floor({"hall"}, {}, policy);
  floor.Post(Make("HOST_DOWN", "n1"));
  floor.Post(Make("THERMAL", "n1", 1));
  EXPECT_EQ(Spoken(floor), 1u);
}

}  // namespace
}  // namespace sentinel
