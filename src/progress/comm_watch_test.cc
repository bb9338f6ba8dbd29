#include "progress/comm_watch.h"

#include <gtest/gtest.h>

#include <random>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint8_t kSize = 24;  // 16 MiB

// A communicator's line and the agent that scans it every 20 ms.
class Scanned {
 public:
  explicit Scanned(uint64_t finished_before = 0) {
    line.live = true;
    line.operations_started = line.operations_finished = finished_before;
    watch.emplace(options, line, now);
  }

  void Run(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      now = now + milliseconds(20);
      watch->Scan(line, now);
    }
  }
  void Enqueue() {
    if (line.operations_started == line.operations_finished) Open(Func::kAllReduce, kSize);
    ++line.operations_started;
  }
  void Open(Func func, uint8_t size) {
    line.open_func = func;
    line.open_size_log2 = size;
  }
  void Step() { ++line.progress; }
  void Finish() {
    ++line.progress;
    if (++line.operations_finished == line.operations_started) Open(Func::kUnknown, 0);
  }
  // Operations of 60 ms with a step every 20.
  void Complete(int operations) {
    for (int i = 0; i < operations; ++i) {
      Enqueue();
      Run(milliseconds(20));
      Step();
      Run(milliseconds(40));
      Finish();
      Run(milliseconds(20));
    }
  }
  // How long until it is a suspect, or a minute.
  Duration UntilSuspect() {
    const Instant start = now;
    while (!watch->Suspect(now) && now - start < seconds(70)) Run(milliseconds(20));
    return now - start;
  }

  WatchOptions options;
  CommLine line;
  Instant now{seconds(1000)};
  std::optional<CommWatch> watch;
};

TEST(CommWatch, AnOperationThatStopsMovingIsSuspectWithinFourHundredMilliseconds) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.Run(milliseconds(20));
  const Duration until = job.UntilSuspect();
  EXPECT_GE(until, milliseconds(180));
  EXPECT_LE(until, milliseconds(400));
}

TEST(CommWatch, SuspicionComesAtFourTimesTheUsualPauseWithinItsLimits) {
  for (const auto& [pause_ms, limit_ms] : {std::pair{20, 200}, {80, 320}, {160, 400}}) {
    Scanned job;
    for (int i = 0; i < 30; ++i) {
      job.Enqueue();
      job.Run(milliseconds(20));
      job.Step();
      job.Run(milliseconds(pause_ms));
      job.Finish();
      job.Run(milliseconds(20));
    }
    job.Enqueue();
    job.Run(milliseconds(20));
    EXPECT_NEAR(ToMillis(job.watch->Limit()), limit_ms, limit_ms * 0.01) << pause_ms;
  }
}

TEST(CommWatch, TheFirstThreeOfAKindMayTakeAMinute) {
  Scanned job;
  job.Complete(2);
  job.Enqueue();
  job.Run(seconds(59));
  EXPECT_FALSE(job.watch->Suspect(job.now));
  job.Run(seconds(2));
  EXPECT_TRUE(job.watch->Suspect(job.now));
}

TEST(CommWatch, ANewSizeWarmsUpAnew) {
  Scanned job;
  job.Complete(20);
  job.Enqueue();
  job.Open(Func::kAllReduce, kSize + 4);
  job.Run(seconds(30));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, ASlowOperationThatMovesIsNeverSuspect) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  for (int i = 0; i < 300; ++i) {
    job.Run(milliseconds(180));
    EXPECT_FALSE(job.watch->Suspect(job.now));
    job.Step();
  }
}

TEST(CommWatch, EnqueuingBehindAStuckOperationDoesNotRestartItsClock) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.Run(milliseconds(100));
  for (int i = 0; i < 20; ++i) {
    job.Enqueue();
    job.line.api_calls += 1;
    job.Run(milliseconds(20));
  }
  EXPECT_TRUE(job.watch->Suspect(job.now));
  EXPECT_GE(job.watch->Age(job.now), milliseconds(480));
}

TEST(CommWatch, TheNextOperationHasItsOwnClock) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.Enqueue();
  job.Run(milliseconds(160));
  job.Finish();
  job.Run(milliseconds(100));
  EXPECT_LE(job.watch->Age(job.now), milliseconds(100));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, ProgressEndsSuspicion) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.UntilSuspect();
  job.Step();
  job.Run(milliseconds(20));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, AnIdleCommunicatorIsNeverSuspect) {
  Scanned job;
  job.Complete(10);
  job.Run(seconds(600));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, ACallThatEnqueuesNothingHasAClockOfItsOwn) {
  Scanned job;
  job.Complete(10);
  job.Run(seconds(5));
  job.line.api_calls_open = 1;
  ++job.line.api_calls;
  job.Run(milliseconds(300));
  EXPECT_TRUE(job.watch->calling());
  EXPECT_LE(job.watch->Age(job.now), milliseconds(300));
  EXPECT_FALSE(job.watch->Suspect(job.now));
  job.Run(milliseconds(140));
  EXPECT_TRUE(job.watch->Suspect(job.now));
}

TEST(CommWatch, CallAfterCallIsNotOneLongCall) {
  Scanned job;
  job.Complete(10);
  job.line.api_calls_open = 1;
  for (int i = 0; i < 100; ++i) {
    ++job.line.api_calls;
    job.Run(milliseconds(100));
    EXPECT_FALSE(job.watch->Suspect(job.now));
  }
}

TEST(CommWatch, TheFirstCallOfAllMayConnectForAMinute) {
  Scanned job;
  job.line.api_calls_open = 1;
  job.line.api_calls = 1;
  job.Run(seconds(50));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, AFinalizedCommunicatorIsNotSuspect) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.UntilSuspect();
  job.line.finalized = true;
  job.Run(milliseconds(20));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, EightScansAreNeededHoweverMuchTimeHasPassed) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.Run(milliseconds(20));
  for (int i = 0; i < 7; ++i) {
    job.now = job.now + milliseconds(150);
    job.watch->Scan(job.line, job.now);
    EXPECT_FALSE(job.watch->Suspect(job.now)) << i;
  }
  job.now = job.now + milliseconds(150);
  job.watch->Scan(job.line, job.now);
  EXPECT_TRUE(job.watch->Suspect(job.now));
}

TEST(CommWatch, TimeTheReaderSleptIsForgiven) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.Run(milliseconds(60));
  job.now = job.now + seconds(5);
  job.watch->Forgive(seconds(5));
  job.watch->Scan(job.line, job.now);
  EXPECT_LE(job.watch->Age(job.now), milliseconds(60));
}

TEST(CommWatch, HistoryLeavesWarmUpOut) {
  Scanned job;
  job.Enqueue();
  job.Run(seconds(3));
  job.Finish();
  job.Run(milliseconds(20));
  job.Complete(12);
  EXPECT_EQ(job.watch->history().operations, 10u);
  EXPECT_LE(job.watch->history().gap_p999, milliseconds(60));
}

TEST(CommWatch, HistoryKnowsTheLongestWaitInsideAnOperation) {
  Scanned job;
  job.Complete(10);
  job.Enqueue();
  job.Run(milliseconds(500));
  job.Step();
  job.Run(milliseconds(40));
  job.Finish();
  job.Run(milliseconds(20));
  EXPECT_GE(job.watch->history().gap_p999, milliseconds(480));
  EXPECT_LE(job.watch->history().gap_p999, milliseconds(520));
}

TEST(CommWatch, OperationsThatComeAndGoBetweenScansCount) {
  Scanned job;
  for (int i = 0; i < 100; ++i) {
    job.line.operations_started += 5;
    job.line.operations_finished += 5;
    job.line.progress += 50;
    job.Run(milliseconds(20));
  }
  EXPECT_EQ(job.watch->history().operations, 497u);
  EXPECT_LE(job.watch->history().gap_p999, milliseconds(22));
}

OperationImage Finished(uint64_t index, uint64_t count) {
  OperationImage image;
  image.op.index = index;
  image.op.func = Func::kAllReduce;
  image.op.count = count;
  image.op.datatype = DataType::kFloat32;
  image.enqueued = true;
  image.finished = true;
  return image;
}

TEST(CommWatch, AFullReadMakesQuickKindsKnown) {
  Scanned job(1000);
  job.watch->Learn({Finished(997, 1024), Finished(998, 1024)});
  job.watch->Learn({Finished(997, 1024), Finished(998, 1024)});  // the same ones count once
  job.Enqueue();
  job.Open(Func::kAllReduce, 12);
  job.Run(seconds(1));
  EXPECT_TRUE(job.watch->Candidate(job.now)) << "a full read could tell";
  EXPECT_FALSE(job.watch->Suspect(job.now));
  job.watch->Learn({Finished(999, 1024)});
  EXPECT_FALSE(job.watch->Candidate(job.now));
  EXPECT_TRUE(job.watch->Suspect(job.now));
}

TEST(CommWatch, ACallOfANewKindIsGivenTimeToConnect) {
  Scanned job;
  job.Complete(10);
  job.line.api_calls_open = 1;
  ++job.line.api_calls;
  job.Run(seconds(1));
  EXPECT_TRUE(job.watch->Suspect(job.now));
  OperationImage call;
  call.op.func = Func::kAllGather;
  call.op.count = 4096;
  job.watch->Learn({call});
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, MoreKindsThanItHoldsAreOneKind) {
  Scanned job;
  std::vector<OperationImage> many;
  for (uint64_t i = 0; i < 64; ++i) many.push_back(Finished(i, uint64_t{1} << (i % 50)));
  job.watch->Learn(many);
  job.Enqueue();
  job.Open(Func::kBroadcast, 3);
  job.Run(seconds(1));
  EXPECT_TRUE(job.watch->Suspect(job.now));
}

TEST(CommWatch, CountersThatRunBackwardsTeachNothingAndBreakNothing) {
  Scanned job;
  job.Complete(10);
  const History before = job.watch->history();
  job.line.operations_finished = 2;
  job.Run(milliseconds(40));
  EXPECT_EQ(job.watch->history().operations, before.operations);
  job.line.operations_finished = UINT64_MAX;
  job.Run(milliseconds(40));
  job.line.operations_started = 0;
  job.Run(milliseconds(40));
  EXPECT_FALSE(job.watch->Suspect(job.now));
}

TEST(CommWatch, SizesAreBytes) {
  Operation op;
  op.func = Func::kAllReduce;
  op.count = 4194304;
  op.datatype = DataType::kFloat32;
  EXPECT_EQ(KindOf(op).size_log2, 24);
  op.count = UINT64_MAX;
  EXPECT_EQ(KindOf(op).size_log2, 63);
  op.count = 0;
  EXPECT_EQ(KindOf(op).size_log2, 0);
}

// Whatever a job does: a suspect has stood still for at least the shortest limit and through eight
// scans, and after a minute without any change an open operation is always one.
TEST(CommWatch, SuspicionIsSoundAndComplete) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Scanned job(random() % 2 * 100);
    Instant moved = job.now;
    int scans_since = 0;
    for (int i = 0; i < 3000; ++i) {
      const CommLine before = job.line;
      switch (random() % 12) {
        case 0:
          job.Enqueue();
          break;
        case 1:
          job.Step();
          break;
        case 2:
          if (job.watch->open()) job.Finish();
          break;
        default:
          break;
      }
      const bool was_open = before.operations_started > before.operations_finished;
      const bool is_open = job.line.operations_started > job.line.operations_finished;
      const bool changed = before.progress != job.line.progress ||
                           before.operations_finished != job.line.operations_finished ||
                           (is_open && !was_open);
      job.now = job.now + milliseconds(20 + random() % 3 * 10);
      job.watch->Scan(job.line, job.now);
      scans_since = changed ? 0 : scans_since + 1;
      if (changed) moved = job.now;
      if (job.watch->Suspect(job.now)) {
        ASSERT_TRUE(is_open);
        ASSERT_GE(job.now - moved, milliseconds(200));
        ASSERT_GE(scans_since, 8);
      }
    }
    job.Enqueue();
    job.Run(seconds(61));
    ASSERT_TRUE(job.watch->Suspect(job.now));
  }
}

}  // namespace
}  // namespace sentinel
