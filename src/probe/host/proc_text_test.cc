#include "probe/host/proc_text.h"

#include <gtest/gtest.h>

#include <random>

namespace sentinel {
namespace {

constexpr std::string_view kStat =
    "4711 (pt_main) R) S 4001 4711 4711 0 -1 4194304 100 200 0 0 350 50 7 8 20 0 96 0 1234567 "
    "88000000 5000 18446744073709551615 1 1 0 0 0 0 0 16781312 17642 0 0 0 17 3 0 0 0 0 0\n";

TEST(ProcText, AProcessNamesItselfAsItLikes) {
  const Result<ProcStat> stat = ParseProcStat(kStat);
  ASSERT_TRUE(stat.ok());
  EXPECT_EQ(stat->name, "pt_main) R");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 4001);
  EXPECT_EQ(stat->cpu_ticks, 400u);
  EXPECT_EQ(stat->start_ticks, 1234567u);
}

TEST(ProcText, AStatThatIsCutShortIsRefused) {
  const size_t start = kStat.find("1234567");
  for (size_t size = 0; size < start; ++size) {
    EXPECT_FALSE(ParseProcStat(kStat.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(ParseProcStat(kStat.substr(0, start + 7)).ok());
  EXPECT_FALSE(ParseProcStat("4711 (python) Sleeping 1").ok());
}

TEST(ProcText, StatesAreTheKernels) {
  EXPECT_EQ(ProcessStateOf('R'), ProcessState::kRunning);
  EXPECT_EQ(ProcessStateOf('D'), ProcessState::kDiskWait);
  EXPECT_EQ(ProcessStateOf('T'), ProcessState::kStopped);
  EXPECT_EQ(ProcessStateOf('t'), ProcessState::kTraced);
  EXPECT_EQ(ProcessStateOf('Z'), ProcessState::kDead);
  EXPECT_EQ(ProcessStateOf('?'), ProcessState::kUnknown);
}

TEST(ProcText, StatusTellsTracerNamespacesOwnerAndPendingEnd) {
  const ProcStatus status = ParseProcStatus(
      "Name:\tpython\nTracerPid:\t99\nUid:\t1000\t1001\t1000\t1001\nNSpid:\t4711\t12\t7\n"
      "SigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\nSigBlk:\tffffffffffffffff\n");
  EXPECT_EQ(status.tracer, 99);
  EXPECT_EQ(status.pids, (std::vector<int>{4711, 12, 7}));
  EXPECT_EQ(status.uids, (std::vector<uint32_t>{1000, 1001, 1000, 1001}));
  EXPECT_TRUE(status.sigterm_pending);
  EXPECT_FALSE(
      ParseProcStatus("ShdPnd:\t0000000000008000\nSigBlk:\t0000000000004000\n").sigterm_pending);
}

TEST(ProcText, TheQueueForACpuIsTold) {
  EXPECT_EQ(ParseRunDelayNs("11540648 102885010 18\n"), 102885010u);
  EXPECT_EQ(ParseRunDelayNs("11540648"), std::nullopt);
}

TEST(ProcText, IoCountsCalls) {
  const ProcIo io = ParseProcIo("rchar: 4096\nwchar: 512\nsyscr: 3\nread_bytes: 9\n");
  EXPECT_EQ(io.read, 4096u);
  EXPECT_EQ(io.written, 512u);
}

TEST(ProcText, CgroupKnowsBothHierarchies) {
  const ProcCgroup cgroup =
      ParseProcCgroup("9:name=systemd:/a\n6:freezer:/job:7\n0::/system.slice\n");
  EXPECT_EQ(cgroup.unified, "/system.slice");
  EXPECT_EQ(cgroup.freezer, "/job:7");
  EXPECT_EQ(cgroup.all.size(), 3u);
  EXPECT_TRUE(CgroupEventsFrozen("populated 1\nfrozen 1\n"));
  EXPECT_FALSE(CgroupEventsFrozen("populated 1\nfrozen 0\n"));
}

TEST(ProcText, EnvironIsExactAboutNames) {
  constexpr char kText[] = "A=1\0SLURM_JOB_ID_OLD=8\0SLURM_JOB_ID=7\0SLURM_JOB_ID=9\0EMPTY=\0";
  const std::string environ(kText, sizeof kText - 1);
  EXPECT_EQ(EnvironValue(environ, "SLURM_JOB_ID"), "7");
  EXPECT_EQ(EnvironValue(environ, "EMPTY"), "");
  EXPECT_EQ(EnvironValue(environ, "NONE"), std::nullopt);
}

TEST(ProcText, BoardNamesHaveAPidAndAStart) {
  const std::optional<BoardName> name = ParseBoardName("gpu-sentinel.12.3456");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->pid, 12);
  EXPECT_EQ(name->start_ticks, 3456u);
  for (const char* other :
       {"gpu-sentinel.12", "gpu-sentinel.-1.5", "gpu-sentinel.0.5", "gpu-sentinel.1.5.tmp",
        "gpu-sentinel.1.", "gpu-sentinel..5", "nccl.12.5", "", "gpu-sentinel.99999999999.5"}) {
    EXPECT_FALSE(ParseBoardName(other).has_value()) << other;
  }
}

TEST(ProcText, TakesAnyBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = "() :\n\t0159aZR\0"[random() % 14];
    static_cast<void>(ParseProcStat(text));
    ParseProcStatus("NSpid:" + text + "\nUid:" + text);
    ParseProcIo("rchar:" + text);
    ParseProcCgroup(text);
    EnvironValue(text, "a");
    ParseBoardName("gpu-sentinel." + text);
  }
}

}  // namespace
}  // namespace sentinel
