// Every notification says why: the closed set, its names, and how each comes about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(NotifyReasons, AreTheseAndReadBack) {
  const std::vector<std::string> names = {"first",    "escalated",    "grouped",    "repeated",
                                          "resolved", "digest",       "mute-ended", "corrected",
                                          "spoken",   "acknowledged", "fallback",   "silenced"};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto reason = static_cast<NotifyReason>(i);
    EXPECT_EQ(NotifyReasonName(reason), names[i]);
    EXPECT_EQ(NotifyReasonFromName(names[i]), reason);
  }
  EXPECT_EQ(static_cast<size_t>(NotifyReason::kSilenced) + 1, names.size());
  EXPECT_FALSE(NotifyReasonFromName("").has_value());
}

class Reasons : public testing::Test {
 protected:
  Floor floor_{{"hall", "office"}, {}, Policy()};

  static IncidentPolicy Policy() {
    IncidentPolicy policy;
    policy.quiet.emplace(hours(22), hours(8), [](WallTime) { return hours(0); });
    return policy;
  }
  // What hall was told last.
  NotifyReason Last() const {
    for (auto it = floor_.told.rbegin(); it != floor_.told.rend(); ++it) {
      if (it->terminal == "hall") return it->reason;
    }
    ADD_FAILURE() << "it was told nothing";
    return NotifyReason::kFirst;
  }
  void SetHour(int hour) {
    constexpr int64_t kDay = 86'400;
    const int64_t today = floor_.now.wall.since_epoch.count() / 1000 / kDay * kDay;
    floor_.now.wall = WallTime{seconds(today) + hours(hour)};
    floor_.Pass(seconds(0));
  }
};

TEST_F(Reasons, FirstAndRepeatedAndResolved) {
  SetHour(12);
  floor_.Post(Make("XID_FATAL", "n1", 1));
  EXPECT_EQ(Last(), NotifyReason::kFirst);
  floor_.Pass(minutes(3));
  floor_.Post(Make("XID_FATAL", "n1", 1));
  EXPECT_EQ(Last(), NotifyReason::kRepeated);
  floor_.Post(Make("RECOVERED", "n1"));
  EXPECT_EQ(Last(), NotifyReason::kResolved);
}

TEST_F(Reasons, Escalated) {
  SetHour(12);
  Event event = Make("GPU_UTIL_DROP", "n1", 1);
  event.gpu_util = 50;
  floor_.Post(event);
  event.gpu_util = 1;
  floor_.Post(event);
  EXPECT_EQ(Last(), NotifyReason::kEscalated);
}

TEST_F(Reasons, Grouped) {
  SetHour(12);
  floor_.Post(Make("XID_FATAL", "n1", 1));
  floor_.Post(Make("XID_FATAL", "n1", 2));
  EXPECT_EQ(Last(), NotifyReason::kGrouped);
}

TEST_F(Reasons, DigestAfterTheNight) {
  SetHour(23);
  floor_.book.OnNodeSilent("n1", floor_.now);
  floor_.Deliver();
  EXPECT_EQ(Last(), NotifyReason::kFirst);
  floor_.Pass(hours(9));
  EXPECT_EQ(Last(), NotifyReason::kDigest);
}

TEST_F(Reasons, AcknowledgedAndMuteEnded) {
  SetHour(12);
  floor_.book.OnNodeSilent("n1", floor_.now);
  floor_.Deliver();
  floor_.book.Acknowledge("office", {}, "button", floor_.now.wall, floor_.now);
  floor_.Deliver();
  EXPECT_EQ(Last(), NotifyReason::kAcknowledged);
  floor_.book.MuteAs({"li", ""}, "hall", floor_.now.wall + minutes(5), floor_.now);
  floor_.Pass(minutes(6));
  EXPECT_EQ(Last(), NotifyReason::kMuteEnded);
}

TEST_F(Reasons, CorrectedAndSpoken) {
  SetHour(12);
  floor_.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck));
  floor_.Judge(Hang(VerdictStage::kRed, HangClass::kGpuStuck, "n3", 3));
  EXPECT_EQ(Last(), NotifyReason::kCorrected);
  floor_.Post(Make("LINK_DOWN", "n7"));
  floor_.Pass(seconds(10));
  EXPECT_EQ(Last(), NotifyReason::kSpoken);
}

TEST_F(Reasons, FallbackAndSilenced) {
  SetHour(12);
  HostEntry host;
  host.name = "n1";
  host.terminals = {"office"};
  Floor routed({"hall", "office"}, {host});
  routed.lamp_up = false;
  routed.Post(Make("XID_FATAL", "n1", 1));
  ASSERT_EQ(routed.lost.size(), 1u);
  routed.book.OnAttempt(routed.lost[0].id);
  routed.lamp_up = true;
  routed.book.OnFailed(routed.lost[0].id, "time-out", true, routed.now);
  routed.Deliver();
  ASSERT_EQ(routed.told.size(), 1u);
  EXPECT_EQ(routed.told[0].reason, NotifyReason::kFallback);

  floor_.Post(Make("XID_FATAL", "n1", 1));
  Silence silence;
  silence.matcher.host = "n1";
  silence.author = "li";
  silence.expires = floor_.now.wall + minutes(5);
  ASSERT_TRUE(floor_.book.AddSilence({"li", ""}, silence, floor_.now).ok());
  floor_.Deliver();
  EXPECT_EQ(Last(), NotifyReason::kSilenced);
}

}  // namespace
}  // namespace sentinel
