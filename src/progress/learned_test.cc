// An agent that is replaced by another in the middle of everything.
#include "progress/learned.h"

#include <gtest/gtest.h>

#include <optional>

#include "progress/comm_watch.h"
#include "progress/learned_text.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint8_t kSizeLog2 = 24;

// A job that goes on whoever watches it, and agents that come and go.
class Job {
 public:
  Job() { Watch(); }

  void Watch() { watch.emplace(options, line, now); }
  // What the agent knew goes through the file, as it would.
  Learned Leave() {
    LearnedProcess process;
    process.comms.push_back(watch->Remember(0, now));
    size_t left_out = 0;
    Result<Learned> kept = ReadLearned(WriteLearned({"boot", {process}}, &left_out));
    EXPECT_TRUE(kept.ok());
    watch.reset();
    return kept.ok() ? *kept : Learned{};
  }
  bool Return(const Learned& learned) {
    Watch();
    return watch->Recall(learned.processes.at(0).comms.at(0));
  }

  void Run(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      now = now + milliseconds(20);
      if (!watch) continue;
      watch->Scan(line, now);
      suspected = suspected || watch->Suspect(now);
    }
  }
  void Enqueue(Func func = Func::kAllReduce) {
    line.open_func = func;
    line.open_size_log2 = kSizeLog2;
    ++line.operations_started;
  }
  void Finish() {
    ++line.progress;
    ++line.operations_finished;
  }
  void Complete(int operations, Duration pause = milliseconds(40)) {
    for (int i = 0; i < operations; ++i) {
      Enqueue();
      Run(pause);
      Finish();
      Run(milliseconds(20));
    }
  }
  Duration UntilSuspect() {
    const Instant start = now;
    while (!watch->Suspect(now) && now - start < seconds(70)) Run(milliseconds(20));
    return now - start;
  }

  WatchOptions options;
  CommLine line;
  Instant now{seconds(1000)};
  std::optional<CommWatch> watch;
  bool suspected = false;
};

TEST(Learned, AJobThatWasKnownDoesNotWarmUpAgain) {
  Job job;
  job.Complete(10);
  const Learned learned = job.Leave();
  job.Complete(50);
  ASSERT_TRUE(job.Return(learned));
  job.Enqueue();
  EXPECT_LE(job.UntilSuspect(), milliseconds(400));
}

TEST(Learned, WithoutItTheSameJobWouldBeWaitedForAMinute) {
  Job job;
  job.Complete(10);
  job.Leave();
  job.Watch();
  job.Enqueue();
  EXPECT_GE(job.UntilSuspect(), seconds(59));
}

TEST(Learned, TheHistoryThatALateRankIsJudgedByGoesOnWhereItStood) {
  Job job;
  job.Complete(150);
  const History before = job.watch->history();
  ASSERT_TRUE(job.Return(job.Leave()));
  EXPECT_EQ(job.watch->history().operations, before.operations);
  EXPECT_EQ(job.watch->history().gap_p999, before.gap_p999);
  job.Complete(60);
  EXPECT_GE(job.watch->history().operations, 200u);
  EXPECT_LT(job.watch->history().gap_p999, milliseconds(100));
}

TEST(Learned, ARestartInTheMiddleOfARunningJobCausesNoSuspicion) {
  // Whenever it comes within an operation, and however long the agent is away.
  for (const int into_ms : {0, 20, 60, 100, 140}) {
    for (const Duration away :
         {Duration(milliseconds(20)), Duration(seconds(2)), Duration(seconds(90))}) {
      Job job;
      job.Complete(20, milliseconds(160));
      job.Enqueue();
      job.Run(milliseconds(into_ms));
      const Learned learned = job.Leave();
      job.Run(milliseconds(160 - into_ms));
      job.Finish();
      for (Duration gone{0}; gone < away; gone += milliseconds(180)) {
        job.Complete(1, milliseconds(160));
      }
      job.Enqueue();
      ASSERT_TRUE(job.Return(learned));
      job.Run(milliseconds(160));
      job.Finish();
      job.Complete(20, milliseconds(160));
      EXPECT_FALSE(job.suspected) << into_ms;
      EXPECT_LT(job.watch->history().gap_p999, milliseconds(190)) << into_ms;
    }
  }
}

TEST(Learned, ARestartInTheMiddleOfAStallFindsItAgain) {
  Job job;
  job.Complete(20);
  job.Enqueue();
  job.Run(seconds(1));
  const Learned learned = job.Leave();
  job.Run(seconds(3));
  ASSERT_TRUE(job.Return(learned));
  EXPECT_FALSE(job.watch->Suspect(job.now));
  EXPECT_EQ(job.watch->Age(job.now), Duration(0)) << "what nobody saw is no stall";
  EXPECT_LE(job.UntilSuspect(), milliseconds(400));
}

TEST(Learned, TheAbsenceOfTheAgentIsNoPauseOfTheJob) {
  Job job;
  job.Complete(300);
  const uint64_t operations = job.watch->history().operations;
  job.Enqueue();
  job.Run(milliseconds(20));
  const Learned learned = job.Leave();
  job.Run(seconds(5));  // also if nothing moved in it
  ASSERT_TRUE(job.Return(learned));
  job.Run(milliseconds(20));
  job.Finish();
  job.Run(milliseconds(20));
  EXPECT_EQ(job.watch->history().operations, operations);
  EXPECT_LT(job.watch->history().gap_p999, milliseconds(100));
}

TEST(Learned, APauseThatWasSeenBeforeAndAfterARestartTeachesPatience) {
  Job job;
  job.Complete(300);
  job.Enqueue();
  job.Run(seconds(3));
  ASSERT_TRUE(job.Return(job.Leave()));
  job.Run(milliseconds(100));
  job.Finish();
  job.Run(milliseconds(20));
  EXPECT_GE(job.watch->history().gap_p999, milliseconds(2900));
}

TEST(Learned, WarmUpIsNotCountedTwiceHoweverOftenTheAgentRestarts) {
  Job job;
  job.Complete(1);
  OperationImage shown;
  shown.op.func = Func::kAllReduce;
  shown.op.count = 1 << 22;
  shown.op.datatype = DataType::kFloat32;
  shown.enqueued = shown.finished = true;
  job.watch->Learn({shown});
  for (int restart = 0; restart < 5; ++restart) {
    ASSERT_TRUE(job.Return(job.Leave()));
    job.watch->Learn({shown});
  }
  job.Enqueue();
  job.Run(milliseconds(20));
  EXPECT_EQ(job.watch->Limit(), job.options.warmup_limit);
}

TEST(Learned, ALineThatIsBehindWhatWasLearnedIsAnother) {
  Job job;
  job.Complete(10);
  const Learned learned = job.Leave();
  job.line.operations_finished = job.line.operations_started = 5;
  EXPECT_FALSE(job.Return(learned));
  job.line.operations_finished = job.line.operations_started = 10;
  --job.line.progress;
  EXPECT_FALSE(job.Return(learned));
  EXPECT_EQ(job.watch->history().operations, 0u);
  ++job.line.progress;
  EXPECT_TRUE(job.Return(learned));
}

TEST(Learned, AKindThatIsNewSinceStillWarmsUp) {
  Job job;
  job.Complete(10);
  const Learned learned = job.Leave();
  ASSERT_TRUE(job.Return(learned));
  job.Enqueue(Func::kBroadcast);
  EXPECT_GE(job.UntilSuspect(), seconds(59));
}

}  // namespace
}  // namespace sentinel
