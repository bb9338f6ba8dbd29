#include "progress/board_watch.h"

#include <gtest/gtest.h>

#include <random>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Operation AllReduce(uint64_t index) {
  Operation op;
  op.index = index;
  op.call_index = index;
  op.seq = index;
  op.func = Func::kAllReduce;
  op.count = 4194304;
  op.datatype = DataType::kFloat32;
  op.channels = 1;
  return op;
}

// A process with one communicator of four ranks (this is rank 2), its board, and an agent that
// scans it every 20 ms and does the full reads asked of it.
class Process {
 public:
  Process() {
    image.header.generation = 1;
    image.header.kernels_watched = true;
    CommImage comm;
    comm.slot = 0;
    comm.comm_id = 0xabc;
    comm.nranks = 4;
    comm.nodes = 4;
    comm.rank = 2;
    comm.name = "dp";
    comm.pci = "0000:3b:00.0";
    comm.line.live = true;
    comm.line.generation = 1;
    image.comms.push_back(comm);
  }

  CommImage& comm() { return image.comms[0]; }
  OperationImage& current() { return comm().operations.back(); }

  void Enqueue() {
    CommLine& line = comm().line;
    OperationImage op;
    op.op = AllReduce(line.operations_started);
    op.enqueued = true;
    comm().operations.push_back(op);
    if (comm().operations.size() > 64) comm().operations.erase(comm().operations.begin());
    ++line.operations_started;
    line.open_func = Func::kAllReduce;
    line.open_size_log2 = 24;
  }
  void Inside(uint32_t received) {
    current().kernels_started = 1;
    current().proxies_started = 2;
    current().edges = {
        {0, Direction::kRecv, 1, 12, received + 1, received, StepState::kRecvWait, 1, {}},
        {0, Direction::kSend, 3, 12, received + 3, received + 1, StepState::kSendGpuWait, 2, {}}};
    ++comm().line.progress;
  }
  void Finish() {
    current().finished = true;
    current().kernels_completed = 1;
    current().edges.clear();
    ++comm().line.progress;
    ++comm().line.operations_finished;
  }
  void Iterate(int operations) {
    for (int i = 0; i < operations; ++i) {
      Enqueue();
      Run(milliseconds(20));
      Inside(3);
      Run(milliseconds(20));
      Finish();
      Run(milliseconds(20));
    }
  }

  BoardHeader Header() {
    image.header.comms.clear();
    for (CommImage& each : image.comms) {
      image.header.comms.resize(std::max<size_t>(image.header.comms.size(), each.slot + 1));
      image.header.comms[each.slot] = each.line;
    }
    return image.header;
  }
  void Scan() {
    if (watch.OnHeader(Header(), now)) {
      ++full_reads;
      watch.OnImage(image, now);
    }
    for (Digest& digest : watch.Due(vitals, now)) said.push_back(std::move(digest));
  }
  void Run(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      now = now + milliseconds(20);
      Scan();
    }
  }

  BoardImage image;
  Vitals vitals;
  Instant now{seconds(1000)};
  BoardWatch watch{{}, "slurm:7.0", JobScope::kCluster, {"gpu-08", 3, "", 4711}};
  std::vector<Digest> said;
  int full_reads = 0;
};

TEST(BoardWatch, KnowsItsMembersFromTheFirstScan) {
  Process process;
  process.Run(milliseconds(20));
  const std::vector<Member> members = process.watch.Members();
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(members[0],
            (Member{{"slurm:7.0", 0xabc, 4}, 2, 4, "dp", {"gpu-08", 3, "0000:3b:00.0", 4711}}));
}

TEST(BoardWatch, TheJobsSizeStandsInForACommunicatorsThatNcclDoesNotTell) {
  Process process;
  process.comm().nranks = 0;
  BoardWatch watch({}, "slurm:7.0", JobScope::kCluster, {"gpu-08", 3, "", 4711, /*job_rank=*/2}, 8);
  ASSERT_TRUE(watch.OnHeader(process.Header(), process.now));
  watch.OnImage(process.image, process.now);
  ASSERT_EQ(watch.Members().size(), 1u);
  EXPECT_EQ(watch.Members()[0].comm, (CommKey{"slurm:7.0", 0xabc, 8}));
  EXPECT_FALSE(watch.TakeUnsized());
}

// All of them, so that its members meet: were only those enrolled whose rank is the job's, a
// group's first rank would stand there alone and be blamed for everything.
TEST(BoardWatch, TheJobsSizeStandsInForEveryCommunicator) {
  Process process;
  process.comm().nranks = 0;
  BoardWatch watch({}, "slurm:7.0", JobScope::kCluster, {"gpu-08", 3, "", 4711, /*job_rank=*/6}, 8);
  ASSERT_TRUE(watch.OnHeader(process.Header(), process.now));
  watch.OnImage(process.image, process.now);
  ASSERT_EQ(watch.Members().size(), 1u);
  EXPECT_EQ(watch.Members()[0].comm, (CommKey{"slurm:7.0", 0xabc, 8}));
  EXPECT_EQ(watch.Members()[0].rank, 2);
}

struct Watched {
  int full_reads = 0;
  int said = 0;
};

Watched WatchFor(Duration duration, Process* process, BoardWatch* watch) {
  Watched seen;
  for (const Instant end = process->now + duration; process->now < end;) {
    process->now = process->now + milliseconds(20);
    if (watch->OnHeader(process->Header(), process->now)) {
      ++seen.full_reads;
      watch->OnImage(process->image, process->now);
    }
    if (watch->TakeUnsized()) ++seen.said;
    EXPECT_TRUE(watch->Due({}, process->now).empty());
  }
  return seen;
}

TEST(BoardWatch, ACommunicatorOfUnknownSizeIsSaidOnceAndNotWatched) {
  struct {
    int32_t job_rank, job_ranks;
  } environments[] = {{6, 0}, {0, 1}, {-1, 8}, {5, 2}};
  for (const auto& [job_rank, job_ranks] : environments) {
    Process process;
    process.comm().nranks = 0;
    process.Enqueue();  // and it stands still from then on
    BoardWatch watch({}, "slurm:7.0", JobScope::kCluster, {"gpu-08", 3, "", 4711, job_rank},
                     job_ranks);
    const Watched seen = WatchFor(seconds(10), &process, &watch);
    EXPECT_EQ(seen.said, 1) << job_rank << " of " << job_ranks;
    EXPECT_LE(seen.full_reads, 4) << job_rank << " of " << job_ranks;
    EXPECT_TRUE(watch.Members().empty()) << job_rank << " of " << job_ranks;
  }
}

TEST(BoardWatch, ACommunicatorThatIsNamedWithItsFirstOperationIsNotReadForUntilThen) {
  Process process;
  process.comm().nranks = 0;
  process.comm().comm_id = 0;
  BoardWatch watch({}, "slurm:7.0", JobScope::kCluster, {"gpu-08", 3, "", 4711, 2}, 8);
  EXPECT_LE(WatchFor(seconds(10), &process, &watch).full_reads, 4);
  process.comm().comm_id = 0xabc;
  ++process.comm().line.operations_started;
  WatchFor(milliseconds(200), &process, &watch);
  EXPECT_EQ(watch.Members().size(), 1u);
}

TEST(BoardWatch, AJobsSizeThatIsNotAboutThisProcessIsForgotten) {
  Process process;
  process.comm().nranks = 0;
  BoardWatch watch({}, "slurm:7.0", JobScope::kCluster, {"gpu-08", 3, "", 4711, 0}, 4);
  WatchFor(milliseconds(100), &process, &watch);
  ASSERT_EQ(watch.Members().size(), 1u);
  watch.ForgetJobSize();
  EXPECT_TRUE(watch.Members().empty());
  EXPECT_EQ(WatchFor(seconds(2), &process, &watch).said, 1);
}

TEST(BoardWatch, MarksOfCallOrderAreTakenOnceAndWaitUntilTheMemberIsKnown) {
  Process process;
  process.comm().line.collectives = 1;
  process.comm().line.marks[0] = {1, 5};
  process.watch.OnHeader(process.Header(), process.now);
  std::vector<MemberCalls> told;
  process.watch.TakeCallOrder(&told);
  EXPECT_TRUE(told.empty());
  process.comm().line.collectives = 2;
  process.comm().line.marks[0] = {2, 6};
  process.Header();
  process.watch.OnImage(process.image, process.now);
  process.watch.TakeCallOrder(&told);
  process.watch.TakeCallOrder(&told);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].comm, (CommKey{"slurm:7.0", 0xabc, 4}));
  EXPECT_EQ(told[0].rank, 2);
  EXPECT_EQ(told[0].pid, 4711);
  EXPECT_EQ(told[0].marks, (std::vector<CallMark>{{1, 5}, {2, 6}}));
}

TEST(BoardWatch, ANewCommunicatorInASlotHasMarksOfItsOwn) {
  Process process;
  process.comm().line.marks[0] = {9, 5};
  process.Run(milliseconds(20));
  process.comm().line.generation = 3;
  process.comm().comm_id = 0xdef;
  process.comm().line.marks[0] = {1, 7};
  process.Run(milliseconds(100));
  std::vector<MemberCalls> told;
  process.watch.TakeCallOrder(&told);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].comm.comm_id, 0xdefu);
  EXPECT_EQ(told[0].marks, (std::vector<CallMark>{{1, 7}}));
}

TEST(BoardWatch, APodsNameIsNotGivenToACommunicatorOfSeveralNodes) {
  Process process;
  BoardWatch watch({}, "pod:1", JobScope::kNode, {});
  watch.OnHeader(process.Header(), process.now);
  watch.OnImage(process.image, process.now);
  EXPECT_EQ(watch.Members().at(0).comm.job, "");
  process.comm().nodes = 1;
  watch.OnImage(process.image, process.now);
  EXPECT_EQ(watch.Members().at(0).comm.job, "pod:1");
}

TEST(BoardWatch, AHealthyJobIsSilentAndItsBoardIsSeldomReadWhole) {
  Process process;
  process.Iterate(1000);  // a minute
  EXPECT_TRUE(process.said.empty());
  EXPECT_LE(process.full_reads, 10);
}

TEST(BoardWatch, AStuckOperationIsSaidOnceWithItsEdges) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Run(milliseconds(20));
  process.Inside(3);
  process.Run(milliseconds(500));
  ASSERT_EQ(process.said.size(), 1u);
  const Digest& digest = process.said[0];
  EXPECT_TRUE(digest.suspect);
  EXPECT_EQ(digest.request_id, 0u);
  EXPECT_EQ(digest.phase, Phase::kInside);
  ASSERT_TRUE(digest.op.has_value());
  EXPECT_EQ(digest.op->index, 10u);
  EXPECT_GE(digest.age, digest.suspect_after);
  ASSERT_EQ(digest.edges.size(), 2u);
  EXPECT_EQ(digest.edges[1].state, StepState::kRecvWait);
  EXPECT_GE(digest.edges[1].age, digest.age);
  EXPECT_TRUE(digest.kernels.watched);
  EXPECT_EQ(digest.kernels.started, 1);
  EXPECT_EQ(digest.kernels.completed, 0);
  EXPECT_EQ(digest.recent.size(), 11u);
  EXPECT_EQ(digest.operations_started, 11u);
  EXPECT_EQ(digest.operations_finished, 10u);
  EXPECT_EQ(digest.history.operations, 7u);
  EXPECT_FALSE(digest.truncated);
}

TEST(BoardWatch, WhatStaysStuckIsRepeatedEverySecondAndItsEndIsSaidOnce) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Run(milliseconds(4500));
  EXPECT_EQ(process.said.size(), 5u);
  process.said.clear();
  process.Finish();
  process.Run(seconds(3));
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_FALSE(process.said[0].suspect);
  EXPECT_EQ(process.said[0].operations_finished, 11u);
}

TEST(BoardWatch, AReconnectIsToldAgainWhatIsSuspect) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Run(milliseconds(500));
  process.said.clear();
  process.watch.Forget();
  process.Run(milliseconds(20));
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_TRUE(process.said[0].suspect);
}

TEST(BoardWatch, AnswersARequestForItsCommunicatorAndNoOther) {
  Process process;
  process.Iterate(5);
  const CommKey mine{"slurm:7.0", 0xabc, 4};
  const CommKey other{"slurm:8.0", 0xabc, 4};
  ASSERT_EQ(process.watch.Describe(&mine, 17, {}, process.now).size(), 1u);
  EXPECT_EQ(process.watch.Describe(&mine, 17, {}, process.now)[0].request_id, 17u);
  EXPECT_TRUE(process.watch.Describe(&other, 17, {}, process.now).empty());
}

TEST(BoardWatch, ARankThatHasNotArrivedIsBetweenWithItsLastOperation) {
  Process process;
  process.Iterate(10);
  process.Run(seconds(2));
  process.watch.OnImage(process.image, process.now);
  const Digest digest = process.watch.Describe(nullptr, 1, {}, process.now).at(0);
  EXPECT_EQ(digest.phase, Phase::kBetween);
  ASSERT_TRUE(digest.op.has_value());
  EXPECT_EQ(digest.op->index, 9u);
  EXPECT_FALSE(digest.suspect);
  EXPECT_TRUE(digest.edges.empty());
  EXPECT_FALSE(digest.truncated);
}

TEST(BoardWatch, SendsThatGoOnAreStampedWithoutRestartingTheClock) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Inside(3);
  process.Run(milliseconds(400));
  process.current().edges[1].done += 1;  // a socket sender finishes late
  process.Run(milliseconds(100));
  process.watch.OnImage(process.image, process.now);
  process.Run(milliseconds(100));
  const Digest digest = process.watch.Describe(nullptr, 1, {}, process.now).at(0);
  EXPECT_GE(digest.age, milliseconds(580));
  EXPECT_GE(digest.edges[1].age, milliseconds(580));
  EXPECT_EQ(digest.edges[0].age, milliseconds(100));
}

TEST(BoardWatch, UnfinishedEdgesComeFirstAndTheListIsBounded) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Inside(3);
  process.current().edges.clear();
  for (int channel = 0; channel < 600; ++channel) {
    const uint32_t done = channel < 550 ? 12 : 3;
    process.current().edges.push_back(
        {channel, Direction::kRecv, 1, 12, 12, done, StepState::kNone, 0, {}});
  }
  process.Run(milliseconds(600));
  const Digest& digest = process.said.at(0);
  ASSERT_EQ(digest.edges.size(), kDigestEdgesMax);
  EXPECT_EQ(digest.edges[49].done, 3u);
  EXPECT_EQ(digest.edges[50].done, 12u);
  EXPECT_TRUE(digest.truncated);
}

TEST(BoardWatch, TheReadersOwnSleepIsNotSilence) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Inside(3);
  process.Run(milliseconds(60));
  for (int i = 0; i < 6; ++i) {
    process.now = process.now + seconds(3);
    process.Scan();
  }
  EXPECT_TRUE(process.said.empty());
  EXPECT_EQ(process.watch.overslept(), 6u);
  process.Run(milliseconds(500));
  EXPECT_EQ(process.said.size(), 1u);
  EXPECT_LE(process.said.at(0).age, milliseconds(500));
}

TEST(BoardWatch, AFinalizedCommunicatorHasEndedAndIsNotSuspect) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Run(milliseconds(500));
  process.said.clear();
  process.comm().line.finalized = true;
  process.comm().line.live = false;
  process.Run(seconds(2));
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_FALSE(process.said[0].suspect);
  EXPECT_TRUE(process.said[0].vitals.ending);
}

TEST(BoardWatch, ANewCommunicatorInTheSameSlotStartsAfreshAndEndsTheOldSuspicion) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  process.Run(milliseconds(500));
  process.said.clear();
  const uint64_t version = process.watch.version();
  CommLine fresh;
  fresh.live = true;
  fresh.generation = 2;
  process.comm().line = fresh;
  process.comm().comm_id = 0xdef;
  process.comm().operations.clear();
  process.Run(milliseconds(200));
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_EQ(process.said[0].member.comm.comm_id, 0xabcu);
  EXPECT_FALSE(process.said[0].suspect);
  EXPECT_TRUE(process.said[0].vitals.ending);
  EXPECT_NE(process.watch.version(), version);
  EXPECT_EQ(process.watch.Members().at(0).comm.comm_id, 0xdefu);
  process.Enqueue();
  process.Run(seconds(10));
  EXPECT_EQ(process.said.size(), 1u) << "it warms up anew";
}

TEST(BoardWatch, ABoardMadeAnewIsAnotherBoard) {
  Process process;
  process.Iterate(10);
  process.image.header.generation = 2;
  process.comm().line.operations_started = process.comm().line.operations_finished = 0;
  process.comm().operations.clear();
  process.Run(milliseconds(200));
  process.Enqueue();
  process.Run(seconds(10));
  EXPECT_TRUE(process.said.empty());
}

TEST(BoardWatch, SuspicionDoesNotWaitForAFullReadThatFails) {
  Process process;
  process.Iterate(10);
  process.Enqueue();
  for (int i = 0; i < 40; ++i) {
    process.now = process.now + milliseconds(20);
    process.watch.OnHeader(process.Header(), process.now);
    for (Digest& digest : process.watch.Due({}, process.now)) process.said.push_back(digest);
  }
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_TRUE(process.said[0].suspect);
  EXPECT_TRUE(process.said[0].truncated) << "what the board holds is unknown";
}

TEST(BoardWatch, AFullReadOfWarmUpIsNotRepeatedEachScan) {
  Process process;
  process.Run(milliseconds(100));
  const int before = process.full_reads;
  process.Enqueue();
  process.Run(seconds(50));
  EXPECT_TRUE(process.said.empty());
  EXPECT_LE(process.full_reads - before, 2);
}

TEST(BoardWatch, HoldsNoMoreSlotsThanItsBound) {
  Process process;
  for (int slot = 1; slot < 200; ++slot) {
    CommImage other = process.comm();
    other.slot = slot;
    other.comm_id = slot;
    process.image.comms.push_back(other);
  }
  process.Run(milliseconds(200));
  EXPECT_EQ(process.watch.Members().size(), BoardWatch::kSlotsMax);
}

// Any board, however absurd: nothing breaks, and only what is open or calling is ever said.
TEST(BoardWatch, TakesWhateverABoardClaims) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    BoardWatch watch({}, "", JobScope::kCluster, {});
    Instant now{seconds(1)};
    for (int i = 0; i < 400; ++i) {
      BoardImage image;
      image.header.generation = random() % 50 == 0;
      image.header.comms.resize(random() % 4);
      for (CommLine& line : image.header.comms) {
        line.generation = random() % 2;
        line.live = random() % 8 != 0;
        line.finalized = random() % 8 == 0;
        line.progress = random() % 20 == 0 ? random() : 5;
        line.operations_started = random() % 20 == 0 ? random() : 9;
        line.operations_finished = random() % 20 == 0 ? random() : 8;
        line.api_calls_open = random() % 2;
      }
      for (int comms = random() % 5; comms > 0; --comms) {
        CommImage comm;
        comm.slot = static_cast<int>(random() % 8) - 2;
        comm.line.generation = random() % 2;
        comm.line.operations_started = random() % 12;
        comm.nranks = static_cast<int32_t>(random());
        for (int operations = random() % 5; operations > 0; --operations) {
          OperationImage operation;
          operation.op = AllReduce(random() % 4 == 0 ? random() : random() % 20);
          operation.enqueued = random() % 2;
          operation.finished = random() % 2;
          for (int edges = random() % 6; edges > 0; --edges) {
            EdgeProgress edge;
            edge.channel = random() % 2;
            edge.peer = random() % 2;
            edge.done = random() % 3;
            operation.edges.push_back(edge);
          }
          comm.operations.push_back(operation);
        }
        image.comms.push_back(comm);
      }
      now = now + milliseconds(random() % 40);
      if (watch.OnHeader(image.header, now)) watch.OnImage(image, now);
      for (const Digest& digest : watch.Due({}, now)) {
        if (digest.suspect) {
          ASSERT_NE(digest.phase, Phase::kBetween);
        }
      }
      watch.Describe(nullptr, 1, {}, now);
    }
  }
}

}  // namespace
}  // namespace sentinel
