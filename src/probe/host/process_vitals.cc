#include "probe/host/process_vitals.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>

namespace sentinel {
namespace {

// A SIGTERM that was pending once tells that the process is to end, also after it was caught. Not
// for ever: a job may save its state on it and go on.
constexpr Duration kEndingFor = std::chrono::seconds(30);
// A thread sets its own name just after it was made.
constexpr int kLooksAtName = 2;
constexpr size_t kThreadsRememberedMax = 16384;

}  // namespace

ProcessTree ProcessTree::Read(const ProcFiles& proc) {
  std::vector<std::pair<int, int>> parent_and_child;
  for (const int pid : proc.Pids()) {
    const Result<ProcStat> stat = proc.Stat(pid);
    if (stat.ok()) parent_and_child.emplace_back(stat->parent, pid);
  }
  return ProcessTree(std::move(parent_and_child));
}

ProcessTree::ProcessTree(std::vector<std::pair<int, int>> parent_and_child)
    : parent_and_child_(std::move(parent_and_child)) {
  std::sort(parent_and_child_.begin(), parent_and_child_.end());
}

std::vector<int> ProcessTree::Of(int pid) const {
  std::vector<int> tree{pid};
  std::set<int> seen{pid};  // the table was not read in one moment: it may hold a circle
  for (size_t at = 0; at < tree.size(); ++at) {
    auto it = std::lower_bound(parent_and_child_.begin(), parent_and_child_.end(),
                               std::pair<int, int>(tree[at], 0));
    for (; it != parent_and_child_.end() && it->first == tree[at]; ++it) {
      if (tree.size() >= kTreeMax) return tree;
      if (seen.insert(it->second).second) tree.push_back(it->second);
    }
  }
  return tree;
}

void IdleMeter::Add(const TreeCounters& counters, Instant now) {
  Sample sample{now};
  if (!samples_.empty()) {
    sample.cpu_ticks = samples_.back().cpu_ticks;
    sample.io_bytes = samples_.back().io_bytes;
    sample.run_delay_ns = samples_.back().run_delay_ns;
    const auto grown = [](uint64_t after, uint64_t before) {
      return after > before ? after - before : 0;
    };
    for (const auto& [pid, process] : counters.processes) {
      // One that was not there before has done all it did since: to start something is to work.
      const auto found = last_.processes.find(pid);
      const TreeCounters::Process before =
          found == last_.processes.end() ? TreeCounters::Process{} : found->second;
      uint64_t nccl = 0;
      for (const auto& [tid, ticks] : process.nccl_ticks) {
        const auto thread = before.nccl_ticks.find(tid);
        nccl += grown(ticks, thread == before.nccl_ticks.end() ? 0 : thread->second);
      }
      sample.cpu_ticks += grown(grown(process.cpu_ticks, before.cpu_ticks), nccl);
      sample.io_bytes += grown(process.io_bytes, before.io_bytes);
      sample.run_delay_ns += grown(process.run_delay_ns, before.run_delay_ns);
    }
  }
  // Nothing was measured for long: what lies between belongs to no window.
  if (!samples_.empty() && now - samples_.back().at > 2 * kWindow) samples_.clear();
  samples_.push_back(sample);
  while (samples_.size() > 2 && now - samples_[1].at >= kWindow) samples_.pop_front();
  last_ = counters;
}

void IdleMeter::Fill(Vitals* vitals, Instant now) const {
  if (samples_.empty() || now - samples_.back().at > kWindow) return;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  const Duration span = last.at - first.at;
  if (span < kWindow) return;
  const double seconds = std::chrono::duration<double>(span).count();
  vitals->cpu_cores =
      static_cast<double>(last.cpu_ticks - first.cpu_ticks) / ticks_per_second_ / seconds;
  vitals->io_bytes = last.io_bytes - first.io_bytes;
  if (!last_.io_known) return;
  // A window is half a second; one that came out longer is judged as if it were.
  const double io = static_cast<double>(vitals->io_bytes) *
                    std::chrono::duration<double>(kWindow).count() / seconds;
  const double cores_waited_for =
      static_cast<double>(last.run_delay_ns - first.run_delay_ns) / 1e9 / seconds;
  vitals->idle = vitals->cpu_cores + cores_waited_for < kIdleCoresMax &&
                 io < static_cast<double>(kIdleIoBytesMax);
}

ProcessVitals::ProcessVitals(ProcFiles proc, int pid, uint64_t start_ticks)
    : proc_(std::move(proc)),
      pid_(pid),
      start_ticks_(start_ticks),
      idle_(static_cast<double>(sysconf(_SC_CLK_TCK))) {
  if (proc_.proc() != "/proc") return;
  ends_ = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  // Only now is it certain that what the descriptor names is the process we mean.
  if (ends_.open() && !Read()) ends_.Close();
}

bool ProcessVitals::Alive() {
  if (dead_) return false;
  if (!ends_.open()) return Read();
  pollfd ended{ends_.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) == 0) return true;
  dead_ = true;
  ends_.Close();
  return false;
}

bool ProcessVitals::Read() {
  const Result<ProcStat> stat = proc_.Stat(pid_);
  if (!stat.ok()) {
    // Only "no such process" is death; that we cannot look is not.
    dead_ = stat.error().code == ErrorCode::kNotFound;
    return !dead_;
  }
  state_ = ProcessStateOf(stat->state);
  doomed_ = doomed_ || (stat->exiting && stat->start_ticks == start_ticks_);
  dead_ = stat->start_ticks != start_ticks_ || state_ == ProcessState::kDead;
  return !dead_;
}

Vitals ProcessVitals::Look(Instant now) {
  Vitals vitals;
  if (!Alive() || !Read()) {
    vitals.state = ProcessState::kDead;
    vitals.ending = sigterm_seen_.has_value() && now - *sigterm_seen_ < kEndingFor;
    return vitals;
  }
  vitals.state = state_;
  const Result<ProcStatus> status = proc_.Status(pid_);
  if (status.ok()) {
    vitals.traced = status->tracer != 0;
    if (status->sigterm_pending) sigterm_seen_ = now;
    doomed_ = doomed_ || status->sigkill_pending;
  }
  if (doomed_) vitals.state = ProcessState::kDead;
  vitals.ending = sigterm_seen_.has_value() && now - *sigterm_seen_ < kEndingFor;
  const Result<ProcCgroup> cgroup = proc_.Cgroup(pid_);
  vitals.frozen = cgroup.ok() && proc_.Frozen(*cgroup);
  idle_.Fill(&vitals, now);
  return vitals;
}

void ProcessVitals::Remember() {
  Result<ProcCgroup> cgroup = proc_.Cgroup(pid_);
  if (!cgroup.ok() || !Alive()) return;
  cgroup_ = std::move(cgroup).value();
  oom_kills_ = proc_.OomKills(cgroup_);
}

Ending ProcessVitals::HowItEnded() const {
  const std::optional<uint64_t> oom_kills = proc_.OomKills(cgroup_);
  Ending ending;
  ending.out_of_memory = oom_kills_ && oom_kills && *oom_kills > *oom_kills_;
  ending.cgroup_empty = proc_.Empty(cgroup_).value_or(false);
  ending.cgroup = cgroup_.unified.empty() ? cgroup_.memory : cgroup_.unified;
  return ending;
}

void ProcessVitals::Measure(const ProcessTree& tree, Instant now) {
  if (Alive()) idle_.Add(Count(tree), now);
}

TreeCounters ProcessVitals::Count(const ProcessTree& tree) {
  TreeCounters counters;
  if (not_nccl_.size() > kThreadsRememberedMax) not_nccl_.clear();
  for (const int pid : tree.Of(pid_)) {
    const Result<ProcStat> stat = proc_.Stat(pid);
    if (!stat.ok()) continue;
    TreeCounters::Process& process = counters.processes[pid];
    process.cpu_ticks = stat->cpu_ticks;
    process.run_delay_ns = proc_.RunDelayNs(pid);
    const Result<ProcIo> io = proc_.Io(pid);
    if (io.ok()) {
      process.io_bytes = io->read + io->written;
    } else if (io.error().code != ErrorCode::kNotFound) {
      counters.io_known = false;
    }
    for (const int tid : proc_.Threads(pid)) {
      const auto known = not_nccl_.find(tid);
      if (known != not_nccl_.end() && known->second >= kLooksAtName) continue;
      const Result<ProcStat> thread = proc_.ThreadStat(pid, tid);
      if (!thread.ok()) continue;
      if (thread->name.rfind("NCCL", 0) == 0) {
        process.nccl_ticks[tid] = thread->cpu_ticks;
      } else {
        ++not_nccl_[tid];
      }
    }
  }
  return counters;
}

}  // namespace sentinel
