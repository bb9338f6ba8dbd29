// The progress thread of a live rank: one for all its communicators, as in NCCL. It takes up what
// the host enqueued, moves slices between the kernel's buffers and the network, and makes every
// callback that is not the host's. The faults of a proxy strike here.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ring/live/bell.h"
#include "ring/live/proxy_op.h"

namespace sentinel {

// What the host hands over for one channel of a task. A lane is null where that side has none: the
// operation does not use it, or the neighbour is in the node.
struct ProxyRequest {
  std::shared_ptr<Task> task;
  int channel = 0;
  size_t receive_steps = 0;
  ReceiveLane* receive = nullptr;
  size_t send_steps = 0;
  SendLane* send = nullptr;
};

class Proxy {
 public:
  // `bell` wakes the thread, `kernel` the card. `comm` is the one in whose name the thread's own
  // doings are announced. Lanes outlive it. `local_ranks` is what NCCL numbers the thread by.
  Proxy(ProxyBell& bell, Bell& kernel, const Profiler& profiler, LiveLedger& ledger,
        const ProfiledComm& comm, std::vector<SendLane*> send_lanes,
        std::vector<ReceiveLane*> receive_lanes, int local_ranks);
  ~Proxy();  // once it has finished all that was appended

  // One call of the host's: taken up in this order.
  void Append(std::vector<ProxyRequest> requests);

 private:
  void Body();
  bool TakeUp();
  bool Pass();
  bool Flush();
  void Wait();
  void TellBroken();
  bool Idle() const { return works_.empty(); }
  [[noreturn]] void Freeze(size_t fault);

  ProxyBell& bell_;
  Bell& kernel_;
  const Profiler& profiler_;
  LiveLedger& ledger_;
  ProxySurroundings around_;
  const ProfiledComm& comm_;
  const std::vector<SendLane*> send_lanes_;
  const std::vector<ReceiveLane*> receive_lanes_;
  const int local_ranks_;
  // The thread's own.
  uint64_t taken_up_ = 0;  // numbers operations in their order
  std::vector<std::unique_ptr<ProxyWork>> works_;
  std::vector<const ProxyOp*> ops_;  // those of works_ that can freeze the thread
  std::vector<int> told_broken_;     // connections, by descriptor
  std::mutex mutex_;
  std::deque<std::vector<ProxyRequest>> appended_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace sentinel
