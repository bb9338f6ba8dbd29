// One lamp for one hang of a job.
#include "correlate/job_lamp.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{1000s};

Member Of(const std::string& job, Rank rank, int pid) {
  Member member;
  member.comm = {job, 1, 4};
  member.rank = rank;
  member.place = {"node", rank, "", pid};
  return member;
}

Verdict RedOf(const std::string& job, int pid) {
  Verdict verdict;
  verdict.comm = {job, 2, 4};
  verdict.stage = VerdictStage::kRed;
  verdict.members = {Of(job, 0, pid)};
  return verdict;
}

// A stall in which rank 1, process 101, is blamed, and which began `clock` ago.
class Stall {
 public:
  Stall(const std::string& job, HangClass hang_class, Duration clock) : group({job, 1, 4}, 0) {
    group.seats()[1].member = Of(job, 1, 101);
    judgement.hang_class = hang_class;
    judgement.finding.rank = 1;
    judgement.clock = clock;
  }
  bool ShownBy(const JobLamps& lamps, Instant now = kNow) const {
    return lamps.Shown(group, judgement, {}, now);
  }
  WatchedGroup group;
  Judgement judgement;
};

TEST(JobLamps, AStallFromBeforeTheLampWentOutIsARemnantForTwoSeconds) {
  JobLamps lamps;
  const Stall older("job", HangClass::kNotEntered, 3s);
  EXPECT_FALSE(older.ShownBy(lamps));
  lamps.Healed(RedOf("job", 100), kNow - 1s);
  EXPECT_TRUE(older.ShownBy(lamps));
  EXPECT_FALSE(older.ShownBy(lamps, kNow + 2s));
  EXPECT_FALSE(Stall("job", HangClass::kNotEntered, 500ms).ShownBy(lamps));
}

TEST(JobLamps, AnotherJobsHangHasItsOwnLamp) {
  JobLamps lamps;
  lamps.Healed(RedOf("other", 100), kNow - 1s);
  EXPECT_FALSE(Stall("job", HangClass::kNotEntered, 3s).ShownBy(lamps));
}

TEST(JobLamps, WhatIsSeenInsideAnOperationAtAnotherPlaceIsASecondFault) {
  JobLamps lamps;
  lamps.Healed(RedOf("job", 100), kNow - 1s);
  EXPECT_FALSE(Stall("job", HangClass::kGpuStuck, 3s).ShownBy(lamps));
  lamps.Healed(RedOf("job", 101), kNow - 1s);
  EXPECT_TRUE(Stall("job", HangClass::kGpuStuck, 3s).ShownBy(lamps));
}

TEST(JobLamps, JobsWithoutANameAreOneWhereTheirProcessesAre) {
  JobLamps lamps;
  lamps.Healed(RedOf("", 100), kNow - 1s);
  const Stall stall("", HangClass::kNotEntered, 3s);
  EXPECT_FALSE(stall.ShownBy(lamps));
  lamps.Healed(RedOf("", 101), kNow - 1s);
  EXPECT_TRUE(stall.ShownBy(lamps));
}

}  // namespace
}  // namespace sentinel
