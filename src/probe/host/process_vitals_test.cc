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
  counters.processes[7] = {cpu_ticks, {{8, nccl_ticks}}, io_bytes};
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
  gone.processes[7] = {1002, {}, 0};
  meter.Add(gone, Instant{milliseconds(500)});
  EXPECT_EQ(IdleOf(meter, Instant{milliseconds(500)}), true);
}

TEST(IdleMeter, AChildThatStartsIsWork) {
  IdleMeter meter(kTicks);
  meter.Add(Counters(1000), Instant{});
  TreeCounters more = Counters(1000);
  more.processes[9] = {30, {}, 0};
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
