#include "agent/node_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "board/decoder.h"
#include "board/writer.h"
#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A training process: its board as the plugin's writer makes it, in memory, and copied to its file
// before each scan.
class Rank {
 public:
  Rank(TestingProc& proc, int pid, int rank, int comm_size = 4)
      : proc_(proc),
        path_(proc.root() / "shm" / ("gpu-sentinel." + std::to_string(pid) + ".100")),
        board_(std::make_unique<board::Board>()),
        writer_(std::make_unique<board::Writer>()) {
    process_.pid = pid;
    process_.uid = getuid();
    proc_.Write(process_);
    board::BoardIdentity identity;
    identity.pid = pid;
    identity.start_ticks = 100;
    identity.generation = 1;
    identity.kernels_watched = identity.proxies_watched = true;
    writer_->Start(board_.get(), identity);
    comm_ = writer_->OpenComm({0xabc, comm_size, comm_size, rank, "dp", "0000:3b:00.0"});
    Save();
  }

  void Enqueue() {
    const board::CallRef call = writer_->EnterCall(comm_);
    const board::CallInfo info{static_cast<uint8_t>(Func::kAllReduce),
                               static_cast<uint8_t>(DataType::kFloat32), 4194304, 0, false};
    const board::OperationRef called = writer_->Call(comm_, call, info);
    board::OperationInfo enqueued;
    enqueued.call = info;
    enqueued.seq = ++seq_;
    enqueued.channels = 1;
    operation_ = writer_->Enqueue(comm_, called, enqueued);
    writer_->LeaveCall(call);
    writer_->StartKernel(operation_, 0);
    receive_ = writer_->StartProxy(operation_, {0, true, 1, 12, false});
    Step(0);
  }
  void Step(uint32_t step) {
    writer_->StartStep(receive_, step);
    writer_->ChangeStep(receive_, step, static_cast<uint8_t>(StepState::kRecvWait));
  }
  void Finish() {
    for (uint32_t step = 0; step < 12; ++step) {
      writer_->StartStep(receive_, step);
      writer_->StopStep(receive_, step);
    }
    writer_->StopProxy(receive_);
    writer_->CompleteKernel(operation_, 0);
  }
  void Close() { writer_->CloseComm(comm_); }
  void Save() {
    TestingProc::WriteFile(path_,
                           std::string(reinterpret_cast<const char*>(board_.get()), board::kBytes));
  }
  void SetState(char state) {
    process_.state = state;
    proc_.Write(process_);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  TestingProc::Process process_;
  TestingProc& proc_;
  std::filesystem::path path_;
  std::unique_ptr<board::Board> board_;
  std::unique_ptr<board::Writer> writer_;
  board::CommRef comm_;
  board::OperationRef operation_;
  board::ProxyRef receive_;
  uint64_t seq_ = 0;
};

class NodeWatchTest : public testing::Test {
 protected:
  NodeWatchTest() {
    std::filesystem::create_directories(proc.root() / "shm");
    Start();
  }

  void Start() {
    NodeWatchOptions options;
    options.host = "gpu-08";
    options.board_dir = proc.root() / "shm";
    watch.emplace(options, proc.files());
  }
  // Another agent takes over, with what this one has learned.
  void Restart() {
    const Learned learned = watch->Remember(now);
    Start();
    watch->Recall(learned);
  }
  bool Suspected() {
    for (const Digest& digest : Take<Digest>()) {
      if (digest.suspect) return true;
    }
    return false;
  }

  void Run(Duration duration, std::vector<Rank*> ranks) {
    const Instant end = now + duration;
    while (now < end) {
      now = now + milliseconds(20);
      for (Rank* rank : ranks) rank->Save();
      for (UpMessage& message : watch->Scan(now)) said.push_back(std::move(message));
    }
  }
  void Iterate(int operations, Rank& rank) {
    for (int i = 0; i < operations; ++i) {
      rank.Enqueue();
      Run(milliseconds(40), {&rank});
      rank.Finish();
      Run(milliseconds(20), {&rank});
    }
  }
  template <typename T>
  std::vector<T> Take() {
    std::vector<T> taken;
    for (UpMessage& message : said) {
      if (std::holds_alternative<T>(message)) taken.push_back(std::get<T>(message));
    }
    said.clear();
    return taken;
  }
  std::vector<Digest> Ask() {
    std::vector<Digest> answers;
    for (UpMessage& message : watch->Answer({5, {"", 0xabc, 4}, milliseconds(100)}, now)) {
      answers.push_back(std::get<Digest>(std::move(message)));
    }
    return answers;
  }

  TestingProc proc;
  std::optional<NodeWatch> watch;
  std::vector<UpMessage> said;
  Instant now{seconds(1000)};
};

TEST_F(NodeWatchTest, AHangIsToldWithTheBoardsOwnEvidence) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  const std::vector<Inventory> inventories = Take<Inventory>();
  ASSERT_FALSE(inventories.empty());
  ASSERT_EQ(inventories.back().members.size(), 1u);
  EXPECT_EQ(inventories.back().members[0].place, (Place{"gpu-08", -1, "0000:3b:00.0", 7}));
  rank.Enqueue();
  Run(milliseconds(600), {&rank});
  const std::vector<Digest> digests = Take<Digest>();
  ASSERT_EQ(digests.size(), 1u);
  EXPECT_TRUE(digests[0].suspect);
  EXPECT_EQ(digests[0].phase, Phase::kInside);
  EXPECT_EQ(digests[0].member.rank, 2);
  ASSERT_EQ(digests[0].edges.size(), 1u);
  EXPECT_EQ(digests[0].edges[0].state, StepState::kRecvWait);
  EXPECT_EQ(digests[0].vitals.state, ProcessState::kSleeping);
  EXPECT_GE(digests[0].history.operations, 6u);
}

// NCCL up to 2.26 does not tell a communicator's size, and of processes that were started as one
// the environment does not tell the job's.
TEST_F(NodeWatchTest, AJobsSizeIsBelievedOfProcessesThatHaveRanksOfTheirOwn) {
  const auto says = [&](int pid, const std::string& rank) {
    const std::string zero(1, '\0');
    TestingProc::WriteFile(proc.Folder(pid) / "environ",
                           "RANK=" + rank + zero + "WORLD_SIZE=2" + zero);
  };
  Rank first(proc, 7, 0, /*comm_size=*/0);
  Rank second(proc, 8, 1, /*comm_size=*/0);
  says(7, "0");
  says(8, "1");
  Iterate(3, first);
  Run(milliseconds(200), {&first, &second});
  EXPECT_EQ(watch->inventory().members.size(), 2u);
  for (const Member& member : watch->inventory().members) EXPECT_EQ(member.comm.nranks, 2);
  Rank third(proc, 9, 1, /*comm_size=*/0);
  says(9, "1");
  Run(milliseconds(1200), {&first, &second, &third});
  const std::vector<Member> left = watch->inventory().members;
  ASSERT_EQ(left.size(), 1u) << "two say that they are rank 1";
  EXPECT_EQ(left[0].rank, 0);
}

TEST_F(NodeWatchTest, ABoardIsFoundSoonAfterItHasAppeared) {
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(proc.root() / "shm", old);
  Run(milliseconds(20), {});
  Run(milliseconds(400), {});
  Rank rank(proc, 7, 2);
  Run(milliseconds(20), {&rank});
  EXPECT_EQ(watch->boards(), 0u) << "it may be being made";
  Run(milliseconds(60), {&rank});
  EXPECT_EQ(watch->boards(), 1u);
  // A folder that changes all the time is gone through four times a second.
  Rank next(proc, 8, 3);
  Run(milliseconds(120), {&rank, &next});
  EXPECT_EQ(watch->boards(), 1u);
  Run(milliseconds(140), {&rank, &next});
  EXPECT_EQ(watch->boards(), 2u);
}

TEST_F(NodeWatchTest, CallOrderIsToldFourTimesASecondAndOnlyWhatIsNew) {
  Rank rank(proc, 7, 2);
  Rank other(proc, 8, 3);
  Run(milliseconds(300), {&rank, &other});
  EXPECT_TRUE(Take<CallOrder>().empty()) << "nobody has called";
  std::vector<CallMark> marks;
  for (int i = 0; i < 10; ++i) {
    rank.Enqueue();
    Run(milliseconds(40), {&rank, &other});
    rank.Finish();
    Run(milliseconds(20), {&rank, &other});
  }
  Run(milliseconds(260), {&rank, &other});
  const std::vector<CallOrder> told = Take<CallOrder>();
  EXPECT_GE(told.size(), 2u);
  EXPECT_LE(told.size(), 4u);
  for (const CallOrder& order : told) {
    ASSERT_EQ(order.members.size(), 1u) << "the other rank has nothing to tell";
    EXPECT_EQ(order.members[0].comm, (CommKey{"", 0xabc, 4}));
    EXPECT_EQ(order.members[0].rank, 2);
    EXPECT_EQ(order.members[0].pid, 7);
    marks.insert(marks.end(), order.members[0].marks.begin(), order.members[0].marks.end());
  }
  ASSERT_EQ(marks.size(), 10u);
  for (size_t i = 0; i < marks.size(); ++i) EXPECT_EQ(marks[i].calls, i + 1);
  Run(milliseconds(600), {&rank, &other});
  EXPECT_TRUE(Take<CallOrder>().empty());
}

TEST_F(NodeWatchTest, ARequestIsAnsweredFromABoardReadNow) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  rank.Enqueue();
  rank.Step(1);
  rank.Save();
  now = now + milliseconds(50);
  const std::vector<Digest> answers = Ask();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request_id, 5u);
  EXPECT_EQ(answers[0].phase, Phase::kInside);
  EXPECT_EQ(answers[0].operations_started, 11u);
  EXPECT_TRUE(watch->Answer({5, {"", 0xdef, 4}, {}}, now).empty());
}

TEST_F(NodeWatchTest, IdleIsKnownHalfASecondAfterTheFirstQuestion) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  EXPECT_EQ(Ask().at(0).vitals.idle, std::nullopt);
  Run(milliseconds(600), {&rank});
  EXPECT_EQ(Ask().at(0).vitals.idle, true);
}

TEST_F(NodeWatchTest, ADeadProcessIsJudgedByItsLastBoardAndItsFileIsLetGo) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  rank.Enqueue();
  Run(milliseconds(40), {&rank});
  Take<Digest>();
  proc.Remove(7);
  Run(milliseconds(200), {&rank});
  const std::vector<Digest> last_words = Take<Digest>();
  ASSERT_EQ(last_words.size(), 1u);
  EXPECT_EQ(last_words[0].vitals.state, ProcessState::kDead);
  EXPECT_EQ(last_words[0].operations_started, 11u);
  EXPECT_EQ(watch->boards(), 0u);
  std::filesystem::remove(rank.path());
  const std::vector<Digest> answers = Ask();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].vitals.state, ProcessState::kDead);
  EXPECT_EQ(answers[0].edges.size(), 1u);
  Run(seconds(125), {});
  EXPECT_TRUE(Ask().empty()) << "nobody asks any more";
  EXPECT_TRUE(Take<Inventory>().back().members.empty());
}

TEST_F(NodeWatchTest, AFinalizedRankThatDiesHasEnded) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  rank.Close();
  Run(milliseconds(40), {&rank});
  proc.Remove(7);
  Run(milliseconds(200), {});
  const std::vector<Digest> last_words = Take<Digest>();
  ASSERT_FALSE(last_words.empty());
  EXPECT_TRUE(last_words.back().vitals.ending);
}

TEST_F(NodeWatchTest, ABoardThatIsGarbageTruncatedOrGoneHarmsNobody) {
  Rank good(proc, 7, 2);
  Rank bad(proc, 8, 3);
  Iterate(10, good);
  TestingProc::WriteFile(bad.path(), std::string(board::kBytes, '\xff'));
  Run(seconds(2), {});
  TestingProc::WriteFile(bad.path(), "short");
  Run(seconds(2), {});
  TestingProc::WriteFile(bad.path(), "");
  std::filesystem::remove(bad.path());
  Run(seconds(2), {});
  Take<Digest>();
  good.Enqueue();
  Run(milliseconds(600), {&good});
  EXPECT_EQ(Take<Digest>().size(), 1u);
  EXPECT_FALSE(watch->TakeNotes().empty());
}

TEST_F(NodeWatchTest, AnyBytesAtAllAreSurvived) {
  Rank rank(proc, 7, 2);
  Iterate(4, rank);
  std::string bytes;
  {
    std::ifstream in(rank.path());
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    uint32_t random = seed * 2654435761u;
    std::string torn = bytes;
    for (int i = 0; i < 3000; ++i) {
      random = random * 1664525u + 1013904223u;
      const size_t at = 16 + random % (torn.size() - 16);
      torn[at] = static_cast<char>(random >> 24);
    }
    for (int line = 512; line < 4096; line += 8) torn[line] ^= static_cast<char>(seed);
    TestingProc::WriteFile(rank.path(), torn);
    Run(milliseconds(500), {});
    for (const Member& member : watch->inventory().members) {
      EXPECT_GT(member.comm.nranks, 0);
    }
  }
}

TEST_F(NodeWatchTest, SomebodyNewHearsInventoryAndSuspectsAgain) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  rank.Enqueue();
  Run(milliseconds(600), {&rank});
  said.clear();
  watch->Greet();
  Run(milliseconds(20), {&rank});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Inventory>(said[0]));
  EXPECT_TRUE(std::get<Digest>(said[1]).suspect);
}

TEST_F(NodeWatchTest, AStoppedProcessIsSeenAsStopped) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  rank.Enqueue();
  rank.SetState('T');
  Run(milliseconds(600), {&rank});
  EXPECT_EQ(Take<Digest>().at(0).vitals.state, ProcessState::kStopped);
}

TEST_F(NodeWatchTest, ARestartedAgentKnowsARunningJobAndSuspectsNothing) {
  Rank rank(proc, 7, 2);
  Iterate(210, rank);
  const uint64_t operations = Ask().at(0).history.operations;
  EXPECT_GE(operations, 200u);
  rank.Enqueue();
  Run(milliseconds(20), {&rank});
  Take<Digest>();
  Restart();
  Run(milliseconds(40), {&rank});
  rank.Finish();
  Run(milliseconds(20), {&rank});
  Iterate(20, rank);
  EXPECT_FALSE(Suspected());
  EXPECT_GE(Ask().at(0).history.operations, operations + 20);
  EXPECT_LT(Ask().at(0).history.gap_p999, milliseconds(100));
}

TEST_F(NodeWatchTest, ARestartedAgentFindsAStallAgain) {
  Rank rank(proc, 7, 2);
  Iterate(210, rank);
  rank.Enqueue();
  Run(seconds(1), {&rank});
  EXPECT_TRUE(Suspected());
  Restart();
  Run(milliseconds(100), {&rank});
  EXPECT_FALSE(Suspected()) << "what nobody saw is no stall";
  Run(milliseconds(400), {&rank});
  EXPECT_TRUE(Suspected());
  EXPECT_GE(Ask().at(0).history.operations, 200u);
}

TEST_F(NodeWatchTest, WhatWasLearnedIsWorthNothingToAnotherProcessOrBoard) {
  Rank rank(proc, 7, 2);
  Iterate(50, rank);
  Learned learned = watch->Remember(now);
  ASSERT_EQ(learned.processes.size(), 1u);
  const auto history_with = [&](const Learned& other) {
    Start();
    watch->Recall(other);
    Run(milliseconds(40), {&rank});
    return Ask().at(0).history.operations;
  };
  EXPECT_GE(history_with(learned), 40u);
  for (const auto& change : std::vector<std::function<void(LearnedProcess&)>>{
           [](LearnedProcess& process) { ++process.start_ticks; },
           [](LearnedProcess& process) { ++process.pid; },
           [](LearnedProcess& process) { process.job = "slurm:2.0"; },
           [](LearnedProcess& process) { ++process.board; },
           [](LearnedProcess& process) { ++process.comms.at(0).generation; },
           [](LearnedProcess& process) { process.comms.at(0).operations_finished += 1000; }}) {
    Learned other = learned;
    change(other.processes[0]);
    EXPECT_EQ(history_with(other), 0u);
  }
}

TEST_F(NodeWatchTest, WhatWasLearnedOfAProcessNotFoundYetIsKeptForAWhile) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  const Learned learned = watch->Remember(now);
  std::filesystem::remove(rank.path());
  Start();
  watch->Recall(learned);
  Run(seconds(1), {});
  EXPECT_EQ(watch->Remember(now).processes.size(), 1u);
  now = now + NodeWatch::kUnclaimedKept;
  EXPECT_TRUE(watch->Remember(now).processes.empty());
}

TEST_F(NodeWatchTest, AKillForMemoryIsToldBeforeTheLastWords) {
  const auto memory = [this](const char* kills) {
    TestingProc::WriteFile(proc.root() / "cgroup/job/memory.events", kills);
  };
  memory("oom_kill 4\n");
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  rank.Enqueue();
  Run(milliseconds(40), {&rank});
  said.clear();
  memory("oom_kill 5\n");
  proc.Remove(7);
  Run(milliseconds(200), {&rank});
  ASSERT_GE(said.size(), 2u);
  std::vector<size_t> order;
  for (const UpMessage& message : said) {
    if (const auto* evidence = std::get_if<HostEvidence>(&message)) {
      EXPECT_EQ(evidence->kind, "oom");
      EXPECT_EQ(evidence->host, "gpu-08");
      EXPECT_EQ(evidence->pid, 7);
      EXPECT_EQ(evidence->detail, "cgroup /job");
      order.push_back(0);
    } else if (std::holds_alternative<Digest>(message)) {
      order.push_back(1);
    }
  }
  EXPECT_EQ(order, (std::vector<size_t>{0, 1}));
}

TEST_F(NodeWatchTest, OfTheDeadNothingIsRemembered) {
  Rank rank(proc, 7, 2);
  Iterate(10, rank);
  proc.Remove(7);
  Run(milliseconds(200), {&rank});
  EXPECT_TRUE(watch->Remember(now).processes.empty());
}

}  // namespace
}  // namespace sentinel
