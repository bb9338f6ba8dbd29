// What a progress thread has in hand: for each channel of an operation the receiving and the
// sending side, stepped and announced as NCCL's network transport does it, and a watch on the
// kernel, which is announced by the same thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "ring/live/lane.h"
#include "ring/live/live_ledger.h"
#include "ring/live/task.h"

namespace sentinel {

// What all of them use.
struct ProxySurroundings {
  const Profiler& profiler;
  LiveLedger& ledger;
  bool kernel_due = false;  // the kernel has something new to see
};

class ProxyWork {
 public:
  virtual ~ProxyWork() = default;

  // One pass, as far as it goes without waiting: at most one step is posted, one handed on and one
  // completed. Whether anything moved.
  virtual bool Progress() = 0;
  virtual bool Finished() const = 0;
};

// The part of a step machine that both directions share.
class ProxyOp : public ProxyWork {
 public:
  // Announces it: its turn on the lane comes when those before it have finished.
  ProxyOp(ProxySurroundings& around, std::shared_ptr<Task> task, int channel, Rank peer,
          size_t steps, size_t chunk_bytes, bool is_send);

  bool Finished() const override { return done_ == steps_; }

  // The fault that strikes the thread in the middle of this operation has been reached.
  bool FreezesNow() const;
  const Task& task() const { return *task_; }

 protected:
  void Begin();      // its turn has come
  void OpenStep();   // step posted_ is announced
  void CloseStep();  // step done_ is over
  const ProfilerEvent& Step(size_t step) const { return step_events_[step % step_events_.size()]; }
  void CloseIfFinished();
  void Received();  // the receive side came forward

  ProxySurroundings& around_;
  std::shared_ptr<Task> task_;
  const size_t steps_;
  bool begun_ = false;
  size_t posted_ = 0;
  size_t transmitted_ = 0;
  size_t done_ = 0;
  size_t bytes_last_ = 0;  // what NCCL shows before it knows a step's own size

 private:
  ProfilerEvent event_;
  std::array<ProfilerEvent, FifoShape::kSlotsMax> step_events_;
};

class SendOp : public ProxyOp {
 public:
  SendOp(ProxySurroundings& around, std::shared_ptr<Task> task, int channel, size_t steps,
         SendLane& lane, uint64_t number);
  bool Progress() override;

 private:
  SendLane& lane_;
  const uint64_t number_;
  uint64_t first_ = 0;  // slice of the lane that is step 0
};

class ReceiveOp : public ProxyOp {
 public:
  ReceiveOp(ProxySurroundings& around, std::shared_ptr<Task> task, int channel, size_t steps,
            ReceiveLane& lane, uint64_t number);
  bool Progress() override;

 private:
  ReceiveLane& lane_;
  const uint64_t number_;
  uint64_t first_ = 0;
  size_t received_ = 0;
};

class KernelWatch : public ProxyWork {
 public:
  KernelWatch(ProxySurroundings& around, std::shared_ptr<Task> task, int channel)
      : around_(around), task_(std::move(task)), channel_(channel) {}
  bool Progress() override;
  bool Finished() const override { return finished_; }

 private:
  ProxySurroundings& around_;
  std::shared_ptr<Task> task_;
  const int channel_;
  bool started_ = false;
  bool finished_ = false;
  ProfilerEvent event_;
};

}  // namespace sentinel
