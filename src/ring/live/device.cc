#include "ring/live/device.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace sentinel {
namespace {

constexpr Duration kWaitMax = std::chrono::seconds(1);
// Of a slow kernel, between two slices. Inside a node, where slices are passed on through memory
// and no proxy counts them, an operation is soon over all the same.
constexpr Duration kSlowPause = std::chrono::milliseconds(500);
constexpr Duration kSlowPauseInNode = std::chrono::milliseconds(40);
// Its work is a card's, and no part of what the process's own threads do.
constexpr const char* kThreadName = "NCCL GPU";

uint64_t DeviceTime() {
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(now.count());
}

bool Reduces(Primitive primitive) {
  return primitive == Primitive::kRecvReduceSend || primitive == Primitive::kRecvReduceCopy ||
         primitive == Primitive::kRecvReduceCopySend;
}

bool Writes(Primitive primitive) {
  return primitive != Primitive::kSend && primitive != Primitive::kRecvReduceSend;
}

}  // namespace

Device::Device(KernelBell& bell, Bell& proxy, LiveLedger& ledger)
    : bell_(bell), proxy_(proxy), ledger_(ledger), thread_([this] { Body(); }) {}

Device::~Device() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  bell_.Ring();
  thread_.join();
}

void Device::Launch(Kernel kernel) {
  {
    const std::lock_guard lock(mutex_);
    launched_.push_back(std::move(kernel));
  }
  bell_.Ring();
}

void Device::Synchronize() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return launched_.empty(); });
}

void Device::Body() {
  pthread_setname_np(pthread_self(), kThreadName);
  for (;;) {
    const uint32_t seen = bell_.Count();
    Kernel* next = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
      if (!launched_.empty()) next = &launched_.front();  // a deque keeps it in its place
    }
    if (next == nullptr) {
      bell_.Wait(seen, kWaitMax);
      continue;
    }
    Run(*next);
    {
      const std::lock_guard lock(mutex_);
      launched_.pop_front();
    }
    ended_.notify_all();
  }
}

void Device::Run(Kernel& kernel) {
  for (Strand& strand : kernel) {
    strand.task->times(strand.channel).started.store(DeviceTime(), std::memory_order_release);
  }
  proxy_.Ring();
  size_t open = kernel.size();
  while (open > 0) {
    const uint32_t seen = bell_.Count();
    bool moved = false;
    std::optional<Duration> pause;
    for (Strand& strand : kernel) {
      if (strand.moved == strand.moves.size() || !Advance(strand, &pause)) continue;
      moved = true;
      if (strand.moved < strand.moves.size()) continue;
      strand.task->times(strand.channel).finished.store(DeviceTime(), std::memory_order_release);
      proxy_.Ring();
      --open;
    }
    if (!moved && open > 0) bell_.Wait(seen, pause ? std::min(*pause, kWaitMax) : kWaitMax);
  }
}

bool Device::Advance(Strand& strand, std::optional<Duration>* pause) {
  const Primitive primitive = strand.moves[strand.moved].primitive;
  if (Receives(primitive) && !strand.in->fifo.HasData()) return false;
  if (Sends(primitive) && !strand.out->fifo.HasRoom()) return false;
  if (HeldUp(strand, pause)) return false;
  Move(strand);
  ++strand.moved;
  if (slow_) strand.not_before = MonotonicNow() + (strand.crosses ? kSlowPause : kSlowPauseInNode);
  return true;
}

bool Device::HeldUp(Strand& strand, std::optional<Duration>* pause) {
  if (strand.task->fault) {
    const TaskFault fault = *strand.task->fault;
    const bool in_the_middle = strand.moved >= MiddleOf(strand.moves.size());
    if (fault.kind == LiveFault::kFreezeKernel && in_the_middle) {
      ledger_.FaultBegan(fault.index, MonotonicNow());
      return true;  // for ever; other channels come as far and no further
    }
    if (fault.kind == LiveFault::kStopMid && in_the_middle && !stopped_once_) {
      stopped_once_ = true;
      ledger_.FaultBegan(fault.index, MonotonicNow());
      raise(SIGSTOP);  // to this thread, which hence goes no further itself
      ledger_.FaultEnded(fault.index, MonotonicNow());  // somebody let it go on
    }
    if (fault.kind == LiveFault::kSlowKernel && !slow_) {
      slow_ = fault.index;
      ledger_.FaultBegan(fault.index, MonotonicNow());
    }
  }
  if (!slow_) return false;
  const Duration left = strand.not_before - MonotonicNow();
  if (left <= Duration(0)) return false;
  *pause = *pause ? std::min(**pause, left) : left;
  return true;
}

void Device::Move(Strand& strand) {
  const SliceMove& move = strand.moves[strand.moved];
  Task& task = *strand.task;
  const float* own = task.input() + move.input;
  float* result = task.output() + move.output;
  const size_t bytes = move.count * sizeof(float);
  const bool receives = Receives(move.primitive);
  const bool sends = Sends(move.primitive);
  // As a card does, it takes the length from its own call: what a neighbour that called with
  // another count has put into the slot is used as it lies there.
  const float* from = own;
  if (receives) {
    Fifo& fifo = strand.in->fifo;
    from = reinterpret_cast<const float*>(fifo.Slot(fifo.Consumed()));
  }
  float* to = nullptr;
  if (sends) {
    Fifo& fifo = strand.out->fifo;
    to = reinterpret_cast<float*>(fifo.Slot(fifo.Produced()));
  }
  if (Reduces(move.primitive)) {
    float* sum = to != nullptr ? to : result;
    for (size_t i = 0; i < move.count; ++i) sum[i] = from[i] + own[i];
    if (to != nullptr && Writes(move.primitive)) std::memcpy(result, to, bytes);
  } else {
    if (to != nullptr) std::memcpy(to, from, bytes);
    if (Writes(move.primitive)) std::memcpy(result, from, bytes);
  }
  if (receives) {
    strand.in->fifo.Consume();
    strand.in->other->Ring();
    if (strand.in_node) ledger_.Received(task.call().comm, MonotonicNow());
  }
  if (sends) {
    strand.out->fifo.Produce(bytes);
    strand.out->other->Ring();
  }
}

}  // namespace sentinel
