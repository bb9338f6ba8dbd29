// Ranks as processes of their own, with a profiler plugin that records what they call it with.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/testing_folder.h"
#include "ring/live/live_ledger.h"
#include "ring/live/nccl_rules_testing.h"
#include "ring/live/port_reservation.h"
#include "ring/live/rank.h"
#include "ring/recording_reader.h"

namespace sentinel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kWithin = std::chrono::seconds(60);
constexpr Duration kAtRest = std::chrono::milliseconds(500);  // nothing has moved for so long
constexpr Duration kPoll = std::chrono::milliseconds(5);

class Job {
 public:
  Job(LayoutOptions options, std::vector<PlannedFault> faults, uint64_t iterations)
      : ports_(PortReservation::Take(static_cast<size_t>(options.ranks)).value()) {
    options.compute = std::chrono::milliseconds(1);
    plan_ = LayOutJob(options).value();
    plan_.iterations = iterations;
    plan_.faults = std::move(faults);
    plan_.listen_ports = ports_.ports();
  }
  ~Job() {
    for (pid_t pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL);
      if (pid > 0) waitpid(pid, nullptr, 0);
    }
  }

  JobPlan& plan() { return plan_; }
  const LiveLedger& ledger(size_t rank) const { return ledgers_[rank]; }
  pid_t pid(size_t rank) const { return pids_[rank]; }

  void Start() {
    const std::string path = folder_.path() / "plan.json";
    std::ofstream(path) << JobPlanJson(plan_);
    std::filesystem::create_directory(folder_.path() / "scratch");
    for (Rank rank = 0; rank < plan_.ranks; ++rank) {
      ledgers_.push_back(LiveLedger::Create().value());
      const pid_t pid = fork();
      if (pid == 0) {
        setenv("RECORDING_DIR", folder_.path().c_str(), 1);
        setenv("RANK", std::to_string(rank).c_str(), 1);
        LiveRankOptions options;
        options.plan = path;
        options.rank = rank;
        options.plugin = RECORDING_PROFILER;
        options.ledger_fd = dup(ledgers_.back().fd());
        options.scratch = folder_.path() / "scratch";
        _exit(RunLiveRank(options));
      }
      pids_.push_back(pid);
    }
    Await([this] {
      for (const LiveLedger& ledger : ledgers_) {
        EXPECT_EQ(ledger.Failure(), std::nullopt);
        if (ledger.phase() != LiveLedger::Phase::kReady) return false;
      }
      return true;
    });
    for (LiveLedger& ledger : ledgers_) ledger.GoAhead();
  }

  template <typename Condition>
  void Await(Condition condition) const {
    const Instant limit = MonotonicNow() + kWithin;
    while (!condition()) {
      ASSERT_LT(MonotonicNow(), limit) << "it does not come about";
      std::this_thread::sleep_for(kPoll);
    }
  }

  // Exit codes of all ranks, minus the signal of one that was killed.
  std::vector<int> End() {
    std::vector<int> codes;
    for (pid_t& pid : pids_) {
      int status = 0;
      waitpid(pid, &status, 0);
      pid = -1;
      codes.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
    return codes;
  }

  // Until no rank has received anything for a while, once the fault has begun.
  void AwaitStandstill(Rank culprit) const {
    Await([&] {
      if (!ledger(static_cast<size_t>(culprit)).FaultBeganAt(0)) return false;
      Instant last = *ledger(static_cast<size_t>(culprit)).FaultBeganAt(0);
      for (const LiveLedger& ledger : ledgers_) {
        last = std::max(last, ledger.LastReceived().value_or(last));
      }
      return MonotonicNow() - last > kAtRest;
    });
  }

  RankRecording Recorded(Rank rank) const {
    return ReadRankRecording(folder_.path(), rank).value();
  }
  std::optional<OpenOperation> Open(Rank rank) const { return OldestOpen(Recorded(rank)); }

  size_t ElementsWrong() const {
    size_t wrong = 0;
    for (const LiveLedger& ledger : ledgers_) wrong += ledger.ElementsWrong();
    return wrong;
  }

 private:
  TestingFolder folder_;
  PortReservation ports_;
  JobPlan plan_;
  std::vector<LiveLedger> ledgers_;
  std::vector<pid_t> pids_;
};

LayoutOptions FourRanks(LiveTransport transport, LiveLayout layout = LiveLayout::kRing) {
  LayoutOptions options;
  options.ranks = 4;
  options.layout = layout;
  options.transport = transport;
  return options;
}

// "3 RecvGPUWait 4": the first open step, its state, how many are open; of channel 0.
std::string Text(const std::map<int, Standstill>& side) {
  if (!side.contains(0)) return "none";
  const Standstill& s = side.at(0);
  return std::to_string(s.step) + " " + s.state;
}

TEST(NcclRules, HoldForTheRecordingsOfNcclItself) {
  const char* shared = std::getenv("SENTINEL_SHARED");
  const std::string folder = std::string(shared == nullptr ? "" : shared) + "/data/nccl-callbacks/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recordings here";
  for (const char* name : {"healthy-large", "healthy-small"}) {
    for (Rank rank = 0; rank < 4; ++rank) {
      const RankRecording recording = ReadRankRecording(folder + name, rank).value();
      EXPECT_THAT(BreaksOfNcclRules(recording, true), IsEmpty()) << name << " rank " << rank;
    }
  }
  const std::optional<OpenOperation> open =
      OldestOpen(ReadRankRecording(folder + "freeze-kernel-large", 2).value());
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(Text(open->receive), "3 RecvGPUWait");
  EXPECT_EQ(Text(open->send), "5 SendGPUWait");
}

class LiveRankOver : public testing::TestWithParam<std::tuple<LiveTransport, LiveLayout>> {};

TEST_P(LiveRankOver, ResultsAreRightAndCallsAreNccls) {
  const auto [transport, layout] = GetParam();
  Job job(FourRanks(transport, layout), {}, 5);
  job.Start();
  EXPECT_THAT(job.End(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(job.ElementsWrong(), 0U);
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(job.ledger(static_cast<size_t>(rank)).phase(), LiveLedger::Phase::kFinished);
    size_t calls = 0;
    for (const LiveGroup& group : job.plan().program[static_cast<size_t>(rank)]) {
      calls += group.size();
    }
    EXPECT_EQ(job.ledger(static_cast<size_t>(rank)).OperationsVerified(), 5 * calls);
    EXPECT_THAT(BreaksOfNcclRules(job.Recorded(rank), true), IsEmpty()) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLayout, LiveRankOver,
                         testing::Combine(testing::Values(LiveTransport::kSocket,
                                                          LiveTransport::kIb),
                                          testing::Values(LiveLayout::kRing, LiveLayout::kSendRecv,
                                                          LiveLayout::kMixed)));

// The stairs below are those recorded with NCCL 2.28.9.
TEST(LiveRank, AMissingRankLeavesTheStairThatNcclLeaves) {
  Job job(FourRanks(LiveTransport::kSocket), {{LiveFault::kAbsent, 2, 3, {}, {}}}, 0);
  job.Start();
  job.AwaitStandstill(2);
  EXPECT_EQ(job.Open(2), std::nullopt);
  for (Rank rank : {3, 0, 1}) {
    const std::optional<OpenOperation> open = job.Open(rank);
    ASSERT_TRUE(open.has_value());
    EXPECT_EQ(open->seq, 3U);
    const int hops = (rank + 4 - 3) % 4;
    EXPECT_EQ(Text(open->receive), std::to_string(2 * hops) + " RecvWait") << rank;
  }
  EXPECT_EQ(Text(job.Open(3)->send), "2 SendGPUWait");
  EXPECT_EQ(Text(job.Open(0)->send), "4 SendGPUWait");
}

TEST(LiveRank, WithCreditsTheSenderToAMissingRankWaitsForItsPeer) {
  Job job(FourRanks(LiveTransport::kIb), {{LiveFault::kAbsent, 2, 3, {}, {}}}, 0);
  job.Start();
  job.AwaitStandstill(2);
  EXPECT_EQ(Text(job.Open(1)->send), "0 SendPeerWait");
  EXPECT_EQ(Text(job.Open(3)->receive), "0 RecvWait");
}

TEST(LiveRank, AFrozenKernelLeavesTheStairThatNcclLeaves) {
  for (LiveTransport transport : {LiveTransport::kSocket, LiveTransport::kIb}) {
    Job job(FourRanks(transport), {{LiveFault::kFreezeKernel, 2, 3, {}, {}}}, 0);
    job.Start();
    job.AwaitStandstill(2);
    const std::optional<OpenOperation> stuck = job.Open(2);
    ASSERT_TRUE(stuck.has_value());
    EXPECT_TRUE(stuck->kernel);
    EXPECT_EQ(Text(stuck->receive), "3 RecvGPUWait");
    EXPECT_EQ(stuck->receive.at(0).open, 4);
    EXPECT_EQ(Text(stuck->send), "5 SendGPUWait");
    EXPECT_EQ(Text(job.Open(3)->receive), "5 RecvWait");
    EXPECT_EQ(Text(job.Open(3)->send), "7 SendGPUWait");
    EXPECT_EQ(Text(job.Open(0)->receive), "7 RecvWait");
    EXPECT_EQ(Text(job.Open(0)->send), "9 SendGPUWait");
    EXPECT_EQ(Text(job.Open(1)->receive), "9 RecvWait");
    for (Rank rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(BreaksOfNcclRules(job.Recorded(rank), false), IsEmpty());
    }
  }
}

TEST(LiveRank, AProxyThatDoesNotTakeItUpIsSeenByNeitherProxyNorKernel) {
  Job job(FourRanks(LiveTransport::kSocket), {{LiveFault::kFreezeProxy, 2, 3, {}, {}}}, 0);
  job.Start();
  job.AwaitStandstill(2);
  const std::optional<OpenOperation> stuck = job.Open(2);
  ASSERT_TRUE(stuck.has_value());
  EXPECT_EQ(stuck->seq, 3U);
  EXPECT_FALSE(stuck->proxies);
  EXPECT_FALSE(stuck->kernel);
  EXPECT_EQ(Text(job.Open(3)->receive), "0 RecvWait");
}

TEST(LiveRank, AProxyThatStopsInTheMiddleStopsTheRingThere) {
  Job job(FourRanks(LiveTransport::kIb), {{LiveFault::kFreezeProxyMid, 2, 3, {}, {}}}, 0);
  job.Start();
  job.AwaitStandstill(2);
  EXPECT_TRUE(job.Open(2)->proxies);
  EXPECT_GT(job.Open(3)->receive.at(0).step, 0);
}

TEST(LiveRank, StopsItselfInTheMiddleAndGoesOnWhenContinued) {
  Job job(FourRanks(LiveTransport::kSocket), {{LiveFault::kStopMid, 1, 2, {}, {}}}, 4);
  job.Start();
  job.AwaitStandstill(1);
  int status = 0;
  ASSERT_EQ(waitpid(job.pid(1), &status, WUNTRACED), job.pid(1));
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(job.ledger(1).FaultEndedAt(0), std::nullopt);
  kill(job.pid(1), SIGCONT);
  EXPECT_THAT(job.End(), ElementsAre(0, 0, 0, 0));
  EXPECT_NE(job.ledger(1).FaultEndedAt(0), std::nullopt);
  EXPECT_EQ(job.ElementsWrong(), 0U);
}

TEST(LiveRank, MismatchesGoThroughWithWrongResults) {
  for (LiveFault kind : {LiveFault::kMismatch, LiveFault::kMismatchOrder}) {
    Job job(FourRanks(LiveTransport::kSocket), {{kind, 2, 3, {}, {}}}, 5);
    job.Start();
    EXPECT_THAT(job.End(), ElementsAre(0, 0, 0, 0)) << Name(kind);
    EXPECT_GT(job.ElementsWrong(), 1000U) << Name(kind);
  }
}

TEST(LiveRank, WhatKeepsAHostFromItsNextCallEndsAndHarmsNothing) {
  constexpr Duration kShort = std::chrono::milliseconds(150);
  for (LiveFault kind : {LiveFault::kLate, LiveFault::kCheckpoint, LiveFault::kEval,
                         LiveFault::kFirstIteration, LiveFault::kLoader}) {
    Job job(FourRanks(LiveTransport::kIb), {{kind, 0, {}, kShort, {}}}, 4);
    job.plan().faults[0].iteration = 0;
    job.Start();
    EXPECT_THAT(job.End(), ElementsAre(0, 0, 0, 0)) << Name(kind);
    EXPECT_EQ(job.ElementsWrong(), 0U);
    ASSERT_TRUE(job.ledger(0).FaultEndedAt(0).has_value()) << Name(kind);
    EXPECT_GE(*job.ledger(0).FaultEndedAt(0) - *job.ledger(0).FaultBeganAt(0), kShort);
  }
}

TEST(LiveRank, ADeadPeerLeavesTheOthersWaiting) {
  Job job(FourRanks(LiveTransport::kSocket), {{LiveFault::kExit, 2, 3, {}, {}}}, 0);
  job.Start();
  job.AwaitStandstill(2);
  for (size_t rank : {0U, 1U, 3U}) {
    EXPECT_EQ(waitpid(job.pid(rank), nullptr, WNOHANG), 0) << rank;
    EXPECT_EQ(job.ledger(rank).phase(), LiveLedger::Phase::kRunning);
  }
}

TEST(LiveRank, WithAHandlerSigtermEndsItBeforeItsNextCallAndNotInAnOperation) {
  Job job(FourRanks(LiveTransport::kSocket), {{LiveFault::kAbsent, 2, 3, {}, {}}}, 0);
  job.plan().handle_sigterm = {0, 1, 2, 3};
  job.Start();
  job.AwaitStandstill(2);
  for (size_t rank = 0; rank < 4; ++rank) kill(job.pid(rank), SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(job.pid(2), &status, 0), job.pid(2));
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_EQ(waitpid(job.pid(0), nullptr, WNOHANG), 0);
}

}  // namespace
}  // namespace sentinel
