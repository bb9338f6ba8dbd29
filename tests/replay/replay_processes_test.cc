// What sentinel-ring does with processes, seen from outside: they are there, called, stopped,
// killed and gone as recorded, and none survives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "program_testing.h"
#include "ring/script_text_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class ReplayProcesses : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "replay-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    setenv("FAKE_PROFILER_LOG", (folder_ + "/calls").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Two ranks of one AllReduce; without its last lines it is one that hangs.
  void Record(const std::string& summary, size_t lines_left_out) {
    for (Rank rank = 0; rank < 2; ++rank) {
      std::vector<std::string> lines = OneAllReduceLines(rank);
      lines.resize(lines.size() - lines_left_out);
      std::ofstream file(folder_ + "/rank" + std::to_string(rank) + ".jsonl");
      for (const std::string& line : lines) file << line << "\n";
    }
    std::ofstream(folder_ + "/summary.json") << summary;
  }
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"--replay",    folder_,      "--plugin",
                                       FAKE_PROFILER, "--no-judge", "--events",
                                       "-",           "--run-dir",  folder_ + "/run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // The rank processes of `parent`, by rank.
  static std::map<std::string, pid_t> Ranks(pid_t parent) {
    std::map<std::string, pid_t> ranks;
    const std::string of_parent = std::to_string(parent);
    std::ifstream children("/proc/" + of_parent + "/task/" + of_parent + "/children");
    for (pid_t pid = 0; children >> pid;) {
      const std::string environment = ReadAll("/proc/" + std::to_string(pid) + "/environ");
      const size_t at = environment.find(std::string("\0RANK=", 6));
      if (at != std::string::npos) ranks[environment.substr(at + 6, 1)] = pid;
    }
    return ranks;
  }
  static char State(pid_t pid) {
    const std::string stat = ReadAll("/proc/" + std::to_string(pid) + "/stat");
    const size_t at = stat.rfind(") ");
    return at == std::string::npos ? '-' : stat[at + 2];
  }
  static bool Gone(pid_t pid) { return kill(pid, 0) != 0 || State(pid) == 'Z'; }

  std::string folder_;
};

constexpr const char* kHealthy = R"({"fault":null,"states":{},"rc_before_kill":[0,0]})";
constexpr size_t kHangs = 7;

TEST_F(ReplayProcesses, AHealthyJobRunsToItsEndAndLeavesNothingBehind) {
  Record(kHealthy, 0);
  Program ring(Arguments({"--hold-ms", "0"}));
  EXPECT_EQ(ring.Wait(), 0);
  for (const char* event : {R"("event":"ready")", R"("event":"start")", R"("event":"healthy")",
                            R"("operations":1)", R"("event":"end")"}) {
    EXPECT_THAT(ring.text(), HasSubstr(event));
  }
  EXPECT_THAT(ring.text(), Not(HasSubstr("stall")));
  for (const char* log : {"/calls.0", "/calls.1"}) {
    EXPECT_THAT(ReadAll(folder_ + log), HasSubstr("init v6"));
    EXPECT_THAT(ReadAll(folder_ + log), HasSubstr("finalize"));
  }
  EXPECT_FALSE(fs::exists(folder_ + "/run"));
}

TEST_F(ReplayProcesses, EachRankLooksLikeOneOfATorchrunJobOnItsOwnNode) {
  Record(R"({"name":"tiny","fault":null})", kHangs);
  Program ring(Arguments({"--hold-ms", "0"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  const std::map<std::string, pid_t> ranks = Ranks(ring.pid());
  ASSERT_EQ(ranks.size(), 2u);
  const std::string environment = ReadAll("/proc/" + std::to_string(ranks.at("1")) + "/environ");
  for (const std::string& variable :
       {"SENTINEL_BOARD_DIR=" + folder_ + "/run/node-1", std::string("WORLD_SIZE=2"),
        std::string("LOCAL_RANK=0"), std::string("TORCHELASTIC_RUN_ID=replay-tiny-")}) {
    EXPECT_THAT(environment, HasSubstr(variable));
  }
  ring.CloseInput();
  EXPECT_EQ(ring.Wait(), 0);
  for (const auto& [rank, pid] : ranks) EXPECT_TRUE(Gone(pid)) << rank;
}

TEST_F(ReplayProcesses, AKilledRankIsDeadWhileTheOtherStays) {
  Record(R"({"fault":["1000000000000500000","kill","1","0"],
             "states":{"+1s":[{"state":"S","rc":null},{"state":"Z","rc":-9}]}})",
         kHangs);
  Program ring(Arguments({"--hold-ms", "0"}));
  ASSERT_TRUE(ring.Says(R"("kind":"kill")")) << ring.text();
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  EXPECT_TRUE(Eventually([&] { return Ranks(ring.pid()).size() == 1; }));
  EXPECT_EQ(Ranks(ring.pid()).count("0"), 1u);
  ring.Signal(SIGTERM);
  EXPECT_EQ(ring.Wait(), 0);
}

TEST_F(ReplayProcesses, AStoppedRankIsStoppedAndStillDiesWithTheRest) {
  Record(R"({"fault":["1000000000000500000","stop","1","0"],
             "states":{"+1s":[{"state":"S","rc":null},{"state":"T","rc":null}]}})",
         kHangs);
  Program ring(Arguments({"--hold-ms", "0"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  const std::map<std::string, pid_t> ranks = Ranks(ring.pid());
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_TRUE(Eventually([&] { return State(ranks.at("1")) == 'T'; }));
  EXPECT_NE(State(ranks.at("0")), 'T');
  ring.Signal(SIGINT);
  EXPECT_EQ(ring.Wait(), 0);
  EXPECT_TRUE(Gone(ranks.at("1")));
}

TEST_F(ReplayProcesses, ARankThatExitsLeavesWithItsCode) {
  Record(R"({"fault":["1000000000000500000","exit","1","0"],
             "states":{"+1s":[{"state":"S","rc":null},{"state":"Z","rc":3}]}})",
         kHangs);
  Program ring(Arguments({"--hold-ms", "200"}));
  EXPECT_EQ(ring.Wait(), 0) << ring.text();
}

TEST_F(ReplayProcesses, NoRankOutlivesAParentThatIsKilled) {
  Record(R"({"fault":null})", kHangs);
  Program ring(Arguments({"--hold-ms", "0"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  const std::map<std::string, pid_t> ranks = Ranks(ring.pid());
  ASSERT_EQ(ranks.size(), 2u);
  ring.Signal(SIGKILL);
  EXPECT_EQ(ring.Wait(), -SIGKILL);
  for (const auto& [rank, pid] : ranks) {
    EXPECT_TRUE(Eventually([pid = pid] { return Gone(pid); })) << rank;
  }
}

TEST_F(ReplayProcesses, AReaderThatHasSeenEnoughCostsNeitherReportNorTidiness) {
  Record(R"({"fault":null})", kHangs);
  Program ring({"--replay", folder_, "--plugin", FAKE_PROFILER, "--events", "-", "--hold-ms", "200",
                "--run-dir", folder_ + "/run", "--json", folder_ + "/report.json"});
  ASSERT_TRUE(ring.Says(R"("event":"ready")")) << ring.text();
  ring.CloseOutput();
  EXPECT_GE(ring.Wait(), 0);
  EXPECT_THAT(ReadAll(folder_ + "/report.json"), HasSubstr("\"ranks\": 2"));
  EXPECT_FALSE(fs::exists(folder_ + "/run"));
}

TEST_F(ReplayProcesses, AReplayThatIsCutShortDoesNotPassForOneWithoutAStall) {
  Record(R"({"fault":null})", kHangs);
  std::ofstream(folder_ + "/rank1.jsonl", std::ios::app)
      << R"({"t":1000000060000000000,"tid":7,"thr":"train","op":"start","id":99,)"
      << R"("type":"ProxyCtrl","parent":0})"
      << "\n";  // a minute later
  Program ring({"--replay", folder_, "--plugin", FAKE_PROFILER, "--events", "-", "--run-dir",
                folder_ + "/run"});
  ASSERT_TRUE(ring.Says(R"("event":"start")")) << ring.text();
  ring.Signal(SIGTERM);
  EXPECT_EQ(ring.Wait(), 1);
  EXPECT_THAT(ring.text(), HasSubstr("told to end before the recording was over"));
}

TEST_F(ReplayProcesses, ATerminalThatGoesAwayEndsItInOrder) {
  Record(R"({"fault":null})", kHangs);
  Program ring(Arguments({"--hold-ms", "0"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  ring.Signal(SIGHUP);
  EXPECT_EQ(ring.Wait(), 0) << ring.text();
  EXPECT_FALSE(fs::exists(folder_ + "/run"));
}

TEST_F(ReplayProcesses, ARankThatDiesUnrecordedIsReported) {
  Record(R"({"fault":null})", kHangs);
  Program ring(Arguments({"--hold-ms", "0"}));
  ASSERT_TRUE(ring.Says(R"("event":"stall")")) << ring.text();
  kill(Ranks(ring.pid()).at("0"), SIGKILL);
  EXPECT_EQ(ring.Wait(), 1);
  EXPECT_THAT(ring.text(), HasSubstr("rank 0: its process ended by signal 9"));
}

TEST_F(ReplayProcesses, APluginThatDoesNotLoadIsNamed) {
  Record(kHealthy, 0);
  Program ring({"--replay", folder_, "--plugin", folder_ + "/summary.json", "--no-judge"});
  EXPECT_EQ(ring.Wait(), 1);
  EXPECT_THAT(ring.text(), HasSubstr("summary.json"));
  Program missing({"--replay", folder_, "--plugin", folder_ + "/none.so"});
  EXPECT_EQ(missing.Wait(), 2);
  EXPECT_THAT(missing.text(), HasSubstr("none.so does not exist"));
}

TEST_F(ReplayProcesses, WrongUseAndWrongRecordingsAreToldApartFromFailures) {
  Program no_folder({});
  EXPECT_EQ(no_folder.Wait(), 2);
  Program nothing_there({"--replay", folder_});
  EXPECT_EQ(nothing_there.Wait(), 2);
  Record(kHealthy, 0);
  std::ofstream(folder_ + "/rank1.jsonl", std::ios::app) << "{}\n";
  Program bad_line({"--replay", folder_});
  EXPECT_EQ(bad_line.Wait(), 2);
  EXPECT_THAT(bad_line.text(), HasSubstr("rank1.jsonl:26: "));
}

}  // namespace
}  // namespace sentinel
