// What sentinel-ring --train does with processes and wires, seen from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class LiveProcesses : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "live-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Four ranks on two nodes, without a plugin.
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{
        "--train",  "--ranks", "4",         "--compute-ms",  "20", "--plugin", "none",
        "--events", "-",       "--run-dir", folder_ + "/run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // The process ids of the newest `event` that tells them, by rank.
  static std::vector<pid_t> Pids(const std::string& text, const std::string& event) {
    const size_t at = text.rfind("{\"event\":\"" + event + "\"");
    if (at == std::string::npos) return {};
    const auto json = nlohmann::json::parse(text.substr(at, text.find('\n', at) - at));
    return json["pids"].get<std::vector<pid_t>>();
  }
  static char State(pid_t pid) {
    const std::string stat = ReadAll("/proc/" + std::to_string(pid) + "/stat");
    const size_t at = stat.rfind(") ");
    return at == std::string::npos ? '-' : stat[at + 2];
  }
  static bool Gone(pid_t pid) { return kill(pid, 0) != 0 || State(pid) == 'Z'; }
  static std::string Environment(pid_t pid) {
    return ReadAll("/proc/" + std::to_string(pid) + "/environ");
  }

  std::string folder_;
};

TEST_F(LiveProcesses, AHealthyJobVerifiesItsResultsAndLeavesNothingBehind) {
  for (const std::string transport : {"socket", "ib"}) {
    Program ring(Arguments(
        {"--iterations", "4", "--transport", transport, "--json", folder_ + "/report.json"}));
    EXPECT_EQ(ring.Wait(), 0) << ring.text();
    EXPECT_THAT(ring.text(), HasSubstr(R"("event":"finished")"));
    EXPECT_THAT(ring.text(), Not(HasSubstr("stall")));
    const auto report = nlohmann::json::parse(ReadAll(folder_ + "/report.json"));
    EXPECT_EQ(report["iterations"], 4);
    EXPECT_GT(report["operations"], 0);
    EXPECT_EQ(report["elements_wrong"], 0);
    EXPECT_EQ(report["finished"], true);
    EXPECT_FALSE(fs::exists(folder_ + "/run"));
  }
}

TEST_F(LiveProcesses, RanksAreDealtToNodesAsOneTorchrunJob) {
  Program ring(Arguments());
  ASSERT_TRUE(ring.Says(R"("event":"healthy")")) << ring.text();
  const std::vector<pid_t> pids = Pids(ring.text(), "ready");
  ASSERT_EQ(pids.size(), 4u);
  const std::string third = Environment(pids[2]);
  for (const std::string& variable :
       {"SENTINEL_BOARD_DIR=" + folder_ + "/run/node-1", std::string("RANK=2"),
        std::string("LOCAL_RANK=0"), std::string("WORLD_SIZE=4"),
        std::string("TORCHELASTIC_RUN_ID=live-")}) {
    EXPECT_THAT(third, HasSubstr(variable));
  }
  ring.CloseInput();
  EXPECT_EQ(ring.Wait(), 0);
  for (const pid_t pid : pids) EXPECT_TRUE(Gone(pid));
}

TEST_F(LiveProcesses, AStoppedRankStallsTheRingUntilItIsHealed) {
  Program ring(Arguments({"--fault", "stop,rank=1,at=3"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  const pid_t stopped = Pids(ring.text(), "ready")[1];
  EXPECT_EQ(State(stopped), 'T');
  ring.Tell("heal\n");
  EXPECT_TRUE(ring.Says(R"("event":"moving")")) << ring.text();
  EXPECT_NE(State(stopped), 'T');
  ring.Signal(SIGTERM);
  EXPECT_EQ(ring.Wait(), 0);
}

TEST_F(LiveProcesses, AWireThatIsCutStallsTheRingAndLosesNothing) {
  for (const std::string transport : {"socket", "ib"}) {
    Program ring(Arguments({"--transport", transport, "--fault", "net-isolate,rank=2,for=2"}));
    ASSERT_TRUE(ring.Says(R"("iterations":2)")) << ring.text();
    ring.Tell("fault\n");
    ASSERT_TRUE(ring.Says(R"("kind":"net-isolate","rank":2,"edges":[[1,2],[2,3]])")) << ring.text();
    ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
    ASSERT_TRUE(ring.Says(R"("event":"moving")")) << ring.text();
    ring.CloseInput();
    EXPECT_EQ(ring.Wait(), 0) << ring.text();  // 1, had a result been wrong
  }
}

TEST_F(LiveProcesses, AKilledRankLeavesTheOthersWaiting) {
  Program ring(Arguments({"--fault", "kill,rank=3,at=2"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  const std::vector<pid_t> pids = Pids(ring.text(), "ready");
  EXPECT_TRUE(Gone(pids[3]));
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(Gone(pids[static_cast<size_t>(rank)])) << rank;
  ring.CloseInput();
  EXPECT_EQ(ring.Wait(), 0);
}

TEST_F(LiveProcesses, ARestartedJobIsTheSameJobAndTrainsOn) {
  Program ring(Arguments({"--fault", "restart,rank=1,at=2"}));
  ASSERT_TRUE(ring.Says(R"("event":"restarted")")) << ring.text();
  const std::vector<pid_t> before = Pids(ring.text(), "ready");
  const std::vector<pid_t> after = Pids(ring.text(), "restarted");
  ASSERT_EQ(after.size(), 4u);
  for (const pid_t pid : before) EXPECT_TRUE(Gone(pid));
  EXPECT_THAT(Environment(after[0]), HasSubstr("TORCHELASTIC_RESTART_COUNT=1"));
  ASSERT_TRUE(ring.Says(R"("iterations":6)")) << ring.text();
  ring.CloseInput();
  EXPECT_EQ(ring.Wait(), 0);
}

TEST_F(LiveProcesses, ACancelledJobEndsWithAllItsRanks) {
  Program ring(Arguments({"--fault", "cancel,at=2"}));
  EXPECT_EQ(ring.Wait(), 0) << ring.text();
  EXPECT_THAT(ring.text(), HasSubstr(R"("kind":"cancel")"));
  for (const pid_t pid : Pids(ring.text(), "ready")) EXPECT_TRUE(Gone(pid));
}

TEST_F(LiveProcesses, ADebuggerHoldsEveryThread) {
  Program ring(Arguments({"--fault", "debugger,rank=1,at=2"}));
  ASSERT_TRUE(ring.Says(R"("kind":"debugger")")) << ring.text();
  const pid_t held = Pids(ring.text(), "ready")[1];
  EXPECT_EQ(State(held), 't');
  EXPECT_THAT(ReadAll("/proc/" + std::to_string(held) + "/status"),
              HasSubstr("TracerPid:\t" + std::to_string(ring.pid())));
  ring.CloseInput();
  EXPECT_EQ(ring.Wait(), 0);
}

TEST_F(LiveProcesses, NothingOutlivesAParentThatIsKilled) {
  Program ring(Arguments({"--fault", "net-oneway,rank=1"}));
  ASSERT_TRUE(ring.Says(R"("event":"healthy")")) << ring.text();
  const std::vector<pid_t> ranks = Pids(ring.text(), "ready");
  std::vector<pid_t> children;
  const std::string parent = std::to_string(ring.pid());
  std::ifstream list("/proc/" + parent + "/task/" + parent + "/children");
  for (pid_t pid = 0; list >> pid;) children.push_back(pid);
  EXPECT_EQ(children.size(), ranks.size() + 1);  // and the relay
  ring.Signal(SIGKILL);
  EXPECT_EQ(ring.Wait(), -SIGKILL);
  for (const pid_t pid : children) {
    EXPECT_TRUE(Eventually([pid] { return Gone(pid); })) << pid;
  }
}

TEST_F(LiveProcesses, ARankThatDiesUnaskedIsReported) {
  Program ring(Arguments());
  ASSERT_TRUE(ring.Says(R"("event":"healthy")")) << ring.text();
  kill(Pids(ring.text(), "ready")[2], SIGKILL);
  EXPECT_EQ(ring.Wait(), 1);
  EXPECT_THAT(ring.text(), HasSubstr("rank 2: its process ended by signal 9"));
}

TEST_F(LiveProcesses, WhatCannotBeIsToldApartFromFailures) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--fault", "melt"},
                                               {"--fault", "kill,rank=4"},
                                               {"--nodes", "3"},
                                               {"--transport", "pigeon"},
                                               {"--layout", "star"},
                                               {"--replay", folder_}}) {
    Program ring(Arguments(more));
    EXPECT_EQ(ring.Wait(), 2) << more.back() << ": " << ring.text();
  }
}

}  // namespace
}  // namespace sentinel
