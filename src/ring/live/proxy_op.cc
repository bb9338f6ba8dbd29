#include "ring/live/proxy_op.h"

#include <utility>

#include "base/clock.h"

namespace sentinel {
namespace {

// NCCL shows the buffer's size there, not the step's: four slices of it.
constexpr size_t kChunkPerSlot = 4;

}  // namespace

ProxyOp::ProxyOp(ProxySurroundings& around, std::shared_ptr<Task> task, int channel, Rank peer,
                 size_t steps, size_t chunk_bytes, bool is_send)
    : around_(around),
      task_(std::move(task)),
      steps_(steps),
      event_(around.profiler.ProxyOp(task_->event, {channel, peer, steps, chunk_bytes, is_send})) {}

void ProxyOp::Begin() {
  begun_ = true;
  around_.profiler.State(event_, nccl::kProxyOpInProgress);
}

void ProxyOp::OpenStep() {
  step_events_[posted_ % step_events_.size()] = around_.profiler.ProxyStep(event_, posted_);
}

void ProxyOp::CloseStep() {
  around_.profiler.Stop(Step(done_));
  ++done_;
}

void ProxyOp::CloseIfFinished() {
  if (Finished()) around_.profiler.Stop(event_);
}

bool ProxyOp::FreezesNow() const {
  return task_->fault && task_->fault->kind == LiveFault::kFreezeProxyMid && begun_ &&
         done_ >= MiddleOf(steps_);
}

void ProxyOp::Received() { around_.ledger.Received(task_->call().comm, MonotonicNow()); }

SendOp::SendOp(ProxySurroundings& around, std::shared_ptr<Task> task, int channel, size_t steps,
               SendLane& lane, uint64_t number)
    : ProxyOp(around, std::move(task), channel, lane.peer, steps,
              kChunkPerSlot * lane.fifo.slot_bytes(), true),
      lane_(lane),
      number_(number) {
  lane_.turns.push_back(number_);
}

bool SendOp::Progress() {
  if (Finished() || lane_.turns.front() != number_) return false;
  bool moved = false;
  if (!begun_) {
    Begin();
    first_ = lane_.fifo.Consumed();
    moved = true;
  }
  if (posted_ < steps_ && posted_ < done_ + lane_.fifo.slots()) {
    OpenStep();
    around_.profiler.StepState(Step(posted_), nccl::kStepSendGpuWait, bytes_last_);
    ++posted_;
    moved = true;
  }
  if (transmitted_ < posted_ && lane_.fifo.Produced() > first_ + transmitted_) {
    // Said again on every pass until the network takes the step, as NCCL does.
    around_.profiler.StepState(Step(transmitted_), nccl::kStepSendPeerWait, bytes_last_);
    if (lane_.wire.MayPost()) {
      const uint64_t slice = first_ + transmitted_;
      bytes_last_ = lane_.fifo.Bytes(slice);
      lane_.wire.Post(lane_.fifo.Slot(slice), bytes_last_);
      around_.profiler.StepState(Step(transmitted_), nccl::kStepSendWait, bytes_last_);
      ++transmitted_;
      moved = true;
    }
  }
  if (done_ < transmitted_ && lane_.wire.Done() > first_ + done_) {
    CloseStep();
    lane_.fifo.Consume();
    around_.kernel_due = true;
    moved = true;
  }
  if (Finished()) {
    CloseIfFinished();
    lane_.turns.pop_front();
  }
  return moved;
}

ReceiveOp::ReceiveOp(ProxySurroundings& around, std::shared_ptr<Task> task, int channel,
                     size_t steps, ReceiveLane& lane, uint64_t number)
    : ProxyOp(around, std::move(task), channel, lane.peer, steps,
              kChunkPerSlot * lane.fifo.slot_bytes(), false),
      lane_(lane),
      number_(number) {
  lane_.turns.push_back(number_);
}

bool ReceiveOp::Progress() {
  if (Finished() || lane_.turns.front() != number_) return false;
  bool moved = false;
  if (!begun_) {
    Begin();
    first_ = lane_.fifo.Produced();
    moved = true;
  }
  if (posted_ < steps_ && posted_ < done_ + lane_.fifo.slots()) {
    OpenStep();
    lane_.wire.Post(lane_.fifo.Slot(first_ + posted_), lane_.fifo.slot_bytes());
    around_.profiler.StepState(Step(posted_), nccl::kStepRecvWait, bytes_last_);
    ++posted_;
    Received();
    moved = true;
  }
  if (received_ < posted_ && lane_.wire.Arrived() > first_ + received_) {
    bytes_last_ = lane_.wire.BytesOf(first_ + received_);
    around_.profiler.StepState(Step(received_), nccl::kStepRecvFlushWait, bytes_last_);
    ++received_;
    Received();
    moved = true;
  }
  if (transmitted_ < received_) {  // nothing has to be flushed into host memory
    around_.profiler.StepState(Step(transmitted_), nccl::kStepRecvGpuWait, bytes_last_);
    lane_.fifo.Produce(lane_.wire.BytesOf(first_ + transmitted_));
    ++transmitted_;
    around_.kernel_due = true;
    moved = true;
  }
  if (done_ < transmitted_ && lane_.fifo.Consumed() > first_ + done_) {
    CloseStep();
    Received();
    moved = true;
  }
  if (Finished()) {
    CloseIfFinished();
    lane_.turns.pop_front();
  }
  return moved;
}

bool KernelWatch::Progress() {
  KernelTimes& times = task_->times(channel_);
  bool moved = false;
  if (!started_) {
    const uint64_t at = times.started.load(std::memory_order_acquire);
    if (at == 0) return false;
    event_ = around_.profiler.KernelCh(task_->event, channel_, at);
    started_ = true;
    moved = true;
  }
  if (started_ && !finished_) {
    const uint64_t at = times.finished.load(std::memory_order_acquire);
    if (at == 0) return moved;
    around_.profiler.KernelStopped(event_, at);
    around_.profiler.Stop(event_);
    finished_ = true;
    moved = true;
  }
  return moved;
}

}  // namespace sentinel
