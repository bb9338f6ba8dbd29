// Whom an operation lacks, and whether something else holds them up.
#include "correlate/job_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlate/blame_walk.h"
#include "correlate/scenario.h"

namespace sentinel {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

// Processes of one node, each with a rank in several communicators.
class Job {
 public:
  Job()
      : roster_([](const CommKey& key, uint32_t generation) {
          return std::unique_ptr<Group>(std::make_unique<WatchedGroup>(key, generation));
        }) {}

  // What `process` shows as `rank` of communicator `comm`, whose operation it enqueued as its
  // `order`-th.
  void Shows(int process, uint64_t comm, RankDigest shown, uint64_t order = 0) {
    Digest d = shown.Aged(2s);
    d.member.comm.comm_id = comm;
    d.member.comm_name = "comm" + std::to_string(comm);
    d.member.place = {"node", process, "", 1000 + process};
    if (d.op) d.op->order = order;
    for (Operation& op : d.recent) {
      if (d.op && op.index == d.op->index) op.order = order;
    }
    Group* group = nullptr;
    Seat* seat = roster_.SeatFor("agent", d.member, now_, &group);
    seat->report = std::make_unique<Report>();
    seat->report->Take(d, now_);
    groups_[comm] = static_cast<WatchedGroup*>(group);
  }
  // Nothing has been heard of it there yet.
  void HasNotAnswered(int process, uint64_t comm, RankDigest shown) {
    Shows(process, comm, shown);
    groups_[comm]->Find(shown.value().member.rank)->report.reset();
  }
  void Moved(uint64_t comm, Rank rank, Duration ago) {
    Seat* seat = groups_[comm]->Find(rank);
    Digest d = seat->report->digest();
    d.age = ago;
    seat->report = std::make_unique<Report>();
    seat->report->Take(d, now_);
  }

  struct Answer {
    Elsewhere elsewhere;
    Finding finding;
  };
  Answer Follow(uint64_t comm) {
    WatchedGroup& group = *groups_[comm];
    Scene scene(group.key().nranks, 1);
    for (const auto& [rank, seat] : group.seats()) {
      scene.Add({rank, seat.report.get(), seat.report == nullptr});
    }
    scene.op = OldestOpen(scene);
    Answer answer;
    answer.finding = JudgeCollective(scene);
    JobWaits waits(
        {&roster_, &options_, [](const Seat&) { return Duration{0}; }, [](WatchedGroup*) {}, now_});
    answer.elsewhere = waits.Follow(group, scene, &answer.finding);
    return answer;
  }

 private:
  CorrelateOptions options_;
  Roster roster_;
  Instant now_{1000s};
  std::map<uint64_t, WatchedGroup*> groups_;
};

RankDigest Member2(Rank rank) { return {rank, 2, 1}; }

TEST(JobWaits, ARankThatIsMissedAndWaitsElsewhereIsAVictim) {
  Job job;
  job.Shows(0, 1, Member2(0).Inside(10), 5);
  job.Shows(1, 1, Member2(1).Between(9));
  job.Shows(1, 2, Member2(0).Inside(7), 4);
  job.Shows(2, 2, Member2(1).Between(6));
  const Job::Answer victim = job.Follow(1);
  EXPECT_TRUE(victim.elsewhere.all);
  EXPECT_FALSE(victim.finding.rank);
  EXPECT_THAT(victim.finding.suspects, IsEmpty());
  EXPECT_EQ(victim.elsewhere.who, 1);
  EXPECT_EQ(victim.elsewhere.where_name, "comm2");
  const Job::Answer root = job.Follow(2);
  EXPECT_FALSE(root.elsewhere.all);
  EXPECT_EQ(root.finding.hang_class, HangClass::kNotEntered);
  EXPECT_EQ(root.finding.rank, 1);
  EXPECT_EQ(root.elsewhere.still, 2s);
}

TEST(JobWaits, WhatWasEnqueuedAfterTheMissedOperationHoldsNobodyUp) {
  Job job;
  job.Shows(0, 1, Member2(0).Inside(10), 5);
  job.Shows(1, 1, Member2(1).Inside(10).KernelNotStarted(), 3);
  job.Shows(1, 2, Member2(0).Inside(7), 4);
  job.Shows(2, 2, Member2(1).Between(6));
  const Job::Answer answer = job.Follow(1);
  EXPECT_EQ(answer.finding.hang_class, HangClass::kGpuNotStarted);
  EXPECT_EQ(answer.finding.rank, 1);
}

TEST(JobWaits, ARankThatHasJustMovedAnywhereIsOnItsWay) {
  Job job;
  job.Shows(0, 1, Member2(0).Inside(10), 5);
  job.Shows(1, 1, Member2(1).Between(9));
  job.Shows(1, 2, Member2(0).Between(7));
  job.Moved(2, 0, 100ms);
  const Job::Answer answer = job.Follow(1);
  EXPECT_TRUE(answer.elsewhere.all);
  EXPECT_TRUE(answer.elsewhere.comes);
  EXPECT_FALSE(answer.finding.rank);
}

TEST(JobWaits, WaitsInACircleAreAMismatchOfThoseOnIt) {
  Job job;
  job.Shows(0, 1, Member2(0).Inside(10), 5);
  job.Shows(1, 1, Member2(1).Between(9));
  job.Shows(1, 2, Member2(1).Inside(7), 4);
  job.Shows(0, 2, Member2(0).Between(6));
  const Job::Answer told = job.Follow(1);
  EXPECT_TRUE(told.elsewhere.circle);
  EXPECT_EQ(told.finding.hang_class, HangClass::kMismatch);
  EXPECT_TRUE(told.finding.by_waits);
  EXPECT_THAT(told.finding.suspects, UnorderedElementsAre(0, 1));
  // One operation of the circle tells it.
  EXPECT_TRUE(job.Follow(2).elsewhere.all);
}

TEST(JobWaits, NobodyIsBlamedBeforeItsOtherCommunicatorsWereHeard) {
  Job job;
  job.Shows(0, 1, Member2(0).Inside(10), 5);
  job.Shows(1, 1, Member2(1).Between(9));
  job.HasNotAnswered(1, 2, Member2(0).Between(7));
  const Job::Answer answer = job.Follow(1);
  EXPECT_TRUE(answer.elsewhere.unasked);
  EXPECT_FALSE(answer.finding.rank);
}

}  // namespace
}  // namespace sentinel
