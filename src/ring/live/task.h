// One call on its way: enqueued by the host thread, carried out by the kernel thread, transported
// and announced by the progress thread. Each field has one writer, named here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ring/live/pattern.h"
#include "ring/live/profiler.h"
#include "ring/live/schedule.h"

namespace sentinel {

// When a channel's kernel began and ended, nanoseconds of the device's clock; 0: not yet.
struct KernelTimes {
  std::atomic<uint64_t> started{0};
  std::atomic<uint64_t> finished{0};
};

// A fault that strikes in this operation, in the kernel or the proxy.
struct TaskFault {
  LiveFault kind = LiveFault::kFreezeKernel;
  size_t index = 0;  // into JobPlan::faults
};

class Task {
 public:
  // `pattern` is that of the operation, the same on all its ranks. `rank` is ours in the
  // communicator, `channels` how many the operation uses.
  Task(const LiveCall& call, Pattern pattern, Rank rank, int ranks, int channels);

  const LiveCall& call() const { return call_; }
  int channels() const { return static_cast<int>(times_.size()); }
  OperationShape Shape(int channel, size_t slice) const;

  const float* input() const { return input_.data(); }
  float* output() { return output_.data(); }
  KernelTimes& times(int channel) { return times_[static_cast<size_t>(channel)]; }  // kernel thread

  // How many elements of the output are not what they must be. Once every kernel has finished.
  size_t Wrong() const;

  std::optional<TaskFault> fault;  // host thread, before it is enqueued
  ProfilerEvent event;             // host thread, before the progress thread gets it

 private:
  LiveCall call_;
  Pattern pattern_;
  Rank rank_;
  int ranks_;
  std::vector<float> input_;
  std::vector<float> output_;
  std::vector<KernelTimes> times_;
};

// How far into an operation of `steps` a fault in its middle strikes: as far as in the recordings,
// or half of it where it is short.
constexpr size_t MiddleOf(size_t steps) { return steps / 2 < 5 ? steps / 2 : 5; }

}  // namespace sentinel
