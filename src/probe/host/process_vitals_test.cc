#include "probe/host/process_vitals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kTicks = 100;

TreeCounters Counters(uint64_t cpu_ticks, uint64_t io_bytes = 0, uint64_t nccl_ticks = 0) {
  TreeCounters counters;
  counters.processes[7] = {cpu_ticks, {{8, nccl_ticks}}, io_bytes, 0};
  return counters;
}

std::optional<bool> IdleOf(const IdleMeter& meter, Instant now) {
  Vitals vitals;
  meter.Fill(&vitals, now);
  return vitals.idle;
}

TEST(IdleMeter, KnowsNothingBeforeHalfASecondHasBeenObserved) {
  IdleMeter meter(kTicks);
  Instant now{seconds(5)};
  meter.Add(Counters(1000), now);
  EXPECT_EQ(IdleOf(meter, now), std::nullopt);
  meter.Add(Counters(1000), now + milliseconds(250));
  EXPECT_EQ(IdleOf(meter, now + milliseconds(250)), std::nullopt);
  meter.Add(Counters(1000), now + milliseconds(500));
  EXPECT_EQ(IdleOf(meter, now + milliseconds(500)), true);
}

TEST(IdleMeter, ATreeThatComputesOrReadsIsNotIdle) {
  for (const auto& [cpu, io, idle] :
       {std::tuple{9u, 0u, true}, {11u, 0u, false}, {0u, 60000u, true}, {0u, 70000u, false}}) {
    IdleMeter meter(kTicks);
    meter.Add(Counters(1000, 500), Instant{});
    meter.Add(Counters(1000 + cpu, 500 + io), Instant{milliseconds(500)});
    EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), idle) << cpu << " " << io;
  }
}

TEST(IdleMeter, ATreeThatWaitsForACpuIsNotIdle) {
  IdleMeter meter(kTicks);
  TreeCounters counters = Counters(1000);
  meter.Add(counters, Instant{});
  counters = Counters(1005);
  counters.processes[7].run_delay_ns = 60'000'000;
  meter.Add(counters, Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), false);
}

TEST(IdleMeter, NcclsOwnThreadsSpinAndProveNothing) {
  IdleMeter meter(kTicks);
  meter.Add(Counters(1000, 0, 900), Instant{});
  meter.Add(Counters(1045, 0, 940), Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), true);
}

TEST(IdleMeter, AnNcclThreadThatEndsIsNotTakenForWork) {
  IdleMeter meter(kTicks);
  meter.Add(Counters(1000, 0, 900), Instant{});
  TreeCounters gone;
  gone.processes[7] = {1002, {}, 0, 0};
  meter.Add(gone, Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), true);
}

TEST(IdleMeter, AChildThatStartsIsWork) {
  IdleMeter meter(kTicks);
  meter.Add(Counters(1000), Instant{});
  TreeCounters more = Counters(1000);
  more.processes[9] = {30, {}, 0, 0};
  meter.Add(more, Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), false);
}

TEST(IdleMeter, TheWindowMovesOn) {
  IdleMeter meter(kTicks);
  Instant now{};
  uint64_t cpu = 0;
  for (int i = 0; i < 20; ++i, now = now + milliseconds(250)) meter.Add(Counters(cpu += 25), now);
  EXPECT_EQ(IdleOf(meter, now - milliseconds(250)), false);
  for (int i = 0; i < 3; ++i, now = now + milliseconds(250)) meter.Add(Counters(cpu), now);
  EXPECT_EQ(IdleOf(meter, now - milliseconds(250)), true);
}

TEST(IdleMeter, OldMeasurementsAreForgotten) {
  IdleMeter meter(kTicks);
  meter.Add(Counters(1000), Instant{});
  meter.Add(Counters(1000), Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{seconds(3)}), std::nullopt);
  meter.Add(Counters(1000), Instant{seconds(10)});
  EXPECT_EQ(IdleOf(meter, Instant{seconds(10)}), std::nullopt) << "one look after a long pause";
}

TEST(IdleMeter, IoThatCannotBeReadLeavesIdleUnknown) {
  IdleMeter meter(kTicks);
  TreeCounters blind = Counters(1000);
  blind.io_known = false;
  meter.Add(blind, Instant{});
  meter.Add(blind, Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), std::nullopt);
}

TEST(ProcessTree, HoldsDescendantsAndSurvivesACircle) {
  const ProcessTree tree({{1, 7}, {7, 8}, {8, 9}, {7, 10}, {2, 11}, {9, 7}});
  EXPECT_EQ(tree.Of(7), (std::vector<int>{7, 8, 10, 9}));
  EXPECT_EQ(tree.Of(11), (std::vector<int>{11}));
}

TEST(ProcessVitals, SeesStateTracerFreezerAndPendingEnd) {
  TestingProc proc;
  TestingProc::Process process;
  process.pid = 7;
  process.state = 'T';
  proc.Write(process);
  ProcessVitals vitals(proc.files(), 7, 100);
  EXPECT_EQ(vitals.Look({}).state, ProcessState::kStopped);
  EXPECT_FALSE(vitals.Look({}).traced);
  process.state = 't';
  process.more_status = "TracerPid:\t5\nShdPnd:\t0000000000004000\n";
  proc.Write(process);
  TestingProc::WriteFile(proc.root() / "cgroup/job/cgroup.events", "populated 1\nfrozen 1\n");
  const Vitals seen = vitals.Look(Instant{seconds(1)});
  EXPECT_TRUE(seen.traced);
  EXPECT_TRUE(seen.frozen);
  EXPECT_TRUE(seen.ending);
  process.more_status = "";
  proc.Write(process);
  EXPECT_TRUE(vitals.Look(Instant{seconds(2)}).ending) << "caught a moment ago";
  EXPECT_FALSE(vitals.Look(Instant{seconds(60)}).ending);
}

TEST(ProcessVitals, DeadIsGoneOrZombieOrAnotherProcessAndStaysDead) {
  TestingProc proc;
  TestingProc::Process process;
  process.pid = 7;
  proc.Write(process);
  ProcessVitals gone(proc.files(), 7, 100);
  ProcessVitals zombie(proc.files(), 7, 100);
  ProcessVitals reused(proc.files(), 7, 99);
  EXPECT_TRUE(gone.Alive());
  EXPECT_FALSE(reused.Alive());
  process.state = 'Z';
  proc.Write(process);
  EXPECT_FALSE(zombie.Alive());
  proc.Remove(7);
  EXPECT_FALSE(gone.Alive());
  process.state = 'S';
  proc.Write(process);
  EXPECT_FALSE(gone.Alive());
  EXPECT_EQ(gone.Look({}).state, ProcessState::kDead);
}

TEST(ProcessVitals, WhoHasBeenKilledIsDeadThoughTheKernelIsNotDoneWithIt) {
  TestingProc proc;
  TestingProc::Process process;
  process.pid = 7;
  process.state = 'D';
  proc.Write(process);
  ProcessVitals killed(proc.files(), 7, 100);
  ProcessVitals exiting(proc.files(), 7, 100);
  EXPECT_EQ(killed.Look({}).state, ProcessState::kDiskWait);
  process.more_status = "SigPnd:\t0000000000000100\n";
  proc.Write(process);
  EXPECT_EQ(killed.Look({}).state, ProcessState::kDead);
  EXPECT_FALSE(killed.Look({}).ending) << "a kill -9 does not mean that the job is to end";
  process.more_status = "";
  process.state = 'R';
  process.flags = 0x404004;
  proc.Write(process);
  EXPECT_EQ(killed.Look({}).state, ProcessState::kDead) << "the signal has been taken up";
  EXPECT_EQ(exiting.Look({}).state, ProcessState::kDead);
  EXPECT_TRUE(exiting.Alive()) << "its board is still read";
}

// The cgroup of the testing process is /job, in the v2 hierarchy.
class EndingTest : public testing::Test {
 protected:
  EndingTest() {
    process.pid = 7;
    proc.Write(process);
  }
  void Memory(int oom_kills, const char* file = "cgroup/job/memory.events") {
    TestingProc::WriteFile(proc.root() / file, "low 0\nhigh 0\nmax 7\noom 3\noom_kill " +
                                                   std::to_string(oom_kills) +
                                                   "\noom_group_kill 0\n");
  }
  void Events(const char* text) {
    TestingProc::WriteFile(proc.root() / "cgroup/job/cgroup.events", text);
  }
  TestingProc proc;
  TestingProc::Process process;
};

TEST_F(EndingTest, AKillForMemoryIsToldByItsCgroupAlsoAfterItsEnd) {
  Memory(2);
  ProcessVitals vitals(proc.files(), 7, 100);
  vitals.Remember();
  proc.Remove(7);
  EXPECT_FALSE(vitals.HowItEnded().out_of_memory) << "the kills of before were others";
  Memory(3);
  EXPECT_TRUE(vitals.HowItEnded().out_of_memory);
  EXPECT_EQ(vitals.HowItEnded().cgroup, "/job");
  vitals.Remember();
  EXPECT_TRUE(vitals.HowItEnded().out_of_memory) << "the dead have nothing new to remember";
}

TEST_F(EndingTest, AKillForMemoryThatItOutlivedIsNotItsEnd) {
  Memory(0);
  ProcessVitals vitals(proc.files(), 7, 100);
  vitals.Remember();
  Memory(1);  // a loader of the same cgroup
  vitals.Remember();
  proc.Remove(7);
  EXPECT_FALSE(vitals.HowItEnded().out_of_memory);
}

TEST_F(EndingTest, TheOlderHierarchyTellsItToo) {
  TestingProc::WriteFile(proc.Folder(7) / "cgroup", "9:memory:/slurm/job_5\n");
  Memory(0, "cgroup/memory/slurm/job_5/memory.oom_control");
  ProcessVitals vitals(proc.files(), 7, 100);
  vitals.Remember();
  Memory(1, "cgroup/memory/slurm/job_5/memory.oom_control");
  EXPECT_TRUE(vitals.HowItEnded().out_of_memory);
}

TEST_F(EndingTest, AWholeCgroupThatWasKilledIsEmpty) {
  Events("populated 1\nfrozen 0\n");
  ProcessVitals vitals(proc.files(), 7, 100);
  vitals.Remember();
  proc.Remove(7);
  EXPECT_FALSE(vitals.HowItEnded().cgroup_empty) << "one of several";
  Events("populated 0\nfrozen 0\n");
  EXPECT_TRUE(vitals.HowItEnded().cgroup_empty);
}

TEST_F(EndingTest, NothingIsToldWhereThereIsNothingToRead) {
  ProcessVitals vitals(proc.files(), 7, 100);
  EXPECT_FALSE(vitals.HowItEnded().out_of_memory) << "never looked at";
  vitals.Remember();
  Memory(5);
  EXPECT_FALSE(vitals.HowItEnded().out_of_memory) << "how many there were before is not known";
  Memory(5);
  vitals.Remember();
  std::filesystem::remove_all(proc.root() / "cgroup");
  EXPECT_FALSE(vitals.HowItEnded().out_of_memory);
  EXPECT_FALSE(vitals.HowItEnded().cgroup_empty);
  Memory(5);
  vitals.Remember();
  for (const char* rubbish : {"", "oom_kill", "oom_kill -1\n", "oom_kill x\n", "oom_killer 9\n"}) {
    TestingProc::WriteFile(proc.root() / "cgroup/job/memory.events", rubbish);
    EXPECT_FALSE(vitals.HowItEnded().out_of_memory) << rubbish;
  }
  TestingProc::WriteFile(proc.Folder(7) / "cgroup", "0::/../../etc\n");
  vitals.Remember();
  EXPECT_FALSE(vitals.HowItEnded().out_of_memory);
}

TEST(ProcessVitals, SeesARealProcessEnd) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const ProcFiles proc;
  const Result<ProcStat> stat = proc.Stat(child);
  ASSERT_TRUE(stat.ok());
  ProcessVitals vitals(proc, child, stat->start_ticks);
  ProcessVitals another(proc, child, stat->start_ticks + 1);
  EXPECT_TRUE(vitals.Alive());
  EXPECT_FALSE(another.Alive());
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // a zombie is dead enough
  EXPECT_FALSE(vitals.Alive());
  EXPECT_EQ(vitals.Look({}).state, ProcessState::kDead);
  waitpid(child, nullptr, 0);
}

TEST(ProcessVitals, MeasuresTheTreeWithoutNcclsThreads) {
  TestingProc proc;
  TestingProc::Process process;
  process.pid = 7;
  process.cpu_ticks = 1000;
  proc.Write(process);
  TestingProc::Process loader;
  loader.pid = 9;
  loader.parent = 7;
  proc.Write(loader);
  proc.WriteThread(7, 7, "python", 100);
  proc.WriteThread(7, 8, "NCCL Progress 1", 900);
  ProcessVitals vitals(proc.files(), 7, 100);
  const ProcessTree tree = ProcessTree::Read(proc.files());
  vitals.Measure(tree, Instant{});
  process.cpu_ticks = 1050;
  proc.Write(process);
  proc.WriteThread(7, 8, "NCCL Progress 1", 950);
  vitals.Measure(tree, Instant{milliseconds(500)});
  EXPECT_EQ(vitals.Look(Instant{milliseconds(500)}).idle, true);
  loader.io_bytes = 1 << 20;
  proc.Write(loader);
  vitals.Measure(tree, Instant{milliseconds(1000)});
  EXPECT_EQ(vitals.Look(Instant{milliseconds(1000)}).idle, false);
  EXPECT_EQ(vitals.Look(Instant{milliseconds(1000)}).io_bytes, uint64_t{1} << 20);
}

}  // namespace
}  // namespace sentinel
