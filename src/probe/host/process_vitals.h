// What the host says of one training process: its state, and whether its process tree does
// anything.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/progress.h"
#include "probe/host/proc_files.h"

namespace sentinel {

// Who is whose child, of all processes at one moment.
class ProcessTree {
 public:
  static ProcessTree Read(const ProcFiles& proc);
  explicit ProcessTree(std::vector<std::pair<int, int>> parent_and_child);

  // The process and its descendants, at most kTreeMax.
  static constexpr size_t kTreeMax = 1024;
  std::vector<int> Of(int pid) const;

 private:
  std::vector<std::pair<int, int>> parent_and_child_;  // sorted
};

// Counters of a process tree at one moment.
struct TreeCounters {
  struct Process {
    uint64_t cpu_ticks = 0;
    std::map<int, uint64_t> nccl_ticks;  // by thread
    uint64_t io_bytes = 0;
    uint64_t run_delay_ns = 0;  // of its first thread: it would have computed
  };
  std::map<int, Process> processes;
  bool io_known = true;  // false: not all of it could be read
};

// Idle or not, from counters over time. Pure. Who waits for a CPU is not idle: on a node with more
// to do than it can, a rank that evaluates is late and no stall.
class IdleMeter {
 public:
  static constexpr Duration kWindow = std::chrono::milliseconds(500);
  static constexpr double kIdleCoresMax = 0.2;
  static constexpr uint64_t kIdleIoBytesMax = 64 * 1024;

  explicit IdleMeter(double ticks_per_second) : ticks_per_second_(ticks_per_second) {}

  void Add(const TreeCounters& counters, Instant now);
  // Fills idle, cpu_cores and io_bytes; leaves idle unknown until a whole window has been observed,
  // and when the last look is older than a window.
  void Fill(Vitals* vitals, Instant now) const;

 private:
  struct Sample {
    Instant at;
    uint64_t cpu_ticks = 0;  // cumulative, as are the others
    uint64_t io_bytes = 0;
    uint64_t run_delay_ns = 0;
  };

  double ticks_per_second_;
  TreeCounters last_;
  std::deque<Sample> samples_;  // the newest first to reach back over one window, and those since
};

// What its cgroup says of a process that has ended.
struct Ending {
  // A process of its cgroup was killed for want of memory since Remember was last called.
  bool out_of_memory = false;
  bool cgroup_empty = false;  // all of its cgroup ended with it
  std::string cgroup;
};

class ProcessVitals {
 public:
  ProcessVitals(ProcFiles proc, int pid, uint64_t start_ticks);

  // Whether it is still the process it was.
  bool Alive();
  // A file descriptor that becomes readable when the process ends, so that one poll() can ask for
  // many; -1 where the kernel has none to give, then Alive must be asked.
  int ends() const { return ends_.get(); }
  // State, tracer, freezer and pending SIGTERM, read now; idle as last measured. A process that has
  // been killed is dead here although the kernel may need long to be done with it.
  Vitals Look(Instant now);
  // What will be needed to tell how it ended: its cgroup goes out of /proc with it. A few system
  // calls; to be called now and then while it lives.
  void Remember();
  Ending HowItEnded() const;
  // One more measurement towards `idle`.
  void Measure(const ProcessTree& tree, Instant now);

 private:
  TreeCounters Count(const ProcessTree& tree);
  bool Read();

  ProcFiles proc_;
  int pid_;
  uint64_t start_ticks_;
  OwnedFd ends_;
  bool dead_ = false;
  ProcessState state_ = ProcessState::kUnknown;
  bool doomed_ = false;  // killed, and not gone yet
  std::optional<Instant> sigterm_seen_;
  ProcCgroup cgroup_;
  std::optional<uint64_t> oom_kills_;
  IdleMeter idle_;
  std::map<int, int> not_nccl_;  // threads by how often they were seen with another name
};

}  // namespace sentinel
