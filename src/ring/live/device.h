// The card of a live rank: a thread that runs what is launched, in order, one kernel after another.
//
// A kernel's channels move slice by slice between its buffers and the rank's input and output, each
// as far as data and room allow. The faults of a kernel strike here.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "ring/live/fifo.h"
#include "ring/live/live_ledger.h"
#include "ring/live/task.h"

namespace sentinel {

// One channel of one task. `in` and `out` are null where its moves need none.
struct Strand {
  std::shared_ptr<Task> task;
  int channel = 0;
  std::vector<SliceMove> moves;
  FifoEnd* in = nullptr;
  FifoEnd* out = nullptr;
  bool in_node = false;  // nobody but the kernel sees what it receives
  bool crosses = false;  // a proxy serves one of its ends

  size_t moved = 0;
  Instant not_before{};  // of the next move, where the kernel is slow
};
using Kernel = std::vector<Strand>;

class Device {
 public:
  // `bell` wakes the card, `proxy` is told when kernels start and end.
  Device(KernelBell& bell, Bell& proxy, LiveLedger& ledger);
  ~Device();  // only once all kernels have ended

  void Launch(Kernel kernel);
  void Synchronize();  // until all that was launched has ended

 private:
  void Body();
  void Run(Kernel& kernel);
  bool Advance(Strand& strand, std::optional<Duration>* pause);
  bool HeldUp(Strand& strand, std::optional<Duration>* pause);
  void Move(Strand& strand);

  KernelBell& bell_;
  Bell& proxy_;
  LiveLedger& ledger_;
  bool stopped_once_ = false;   // the thread's own
  std::optional<size_t> slow_;  // the fault that makes it slow; the thread's own
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Kernel> launched_;  // the first is running
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace sentinel
