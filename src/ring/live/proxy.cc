#include "ring/live/proxy.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.h"

namespace sentinel {
namespace {

// Slices come in swarms, one or two on every channel. Waiting so long for the rest of a swarm costs
// a hop less than waking every thread on the way for each slice by itself would.
constexpr Duration kGather = std::chrono::microseconds(200);
constexpr size_t kThreadNameMax = 15;  // the kernel's limit, to which NCCL's names are cut too

}  // namespace

Proxy::Proxy(ProxyBell& bell, Bell& kernel, const Profiler& profiler, LiveLedger& ledger,
             const ProfiledComm& comm, std::vector<SendLane*> send_lanes,
             std::vector<ReceiveLane*> receive_lanes, int local_ranks)
    : bell_(bell),
      kernel_(kernel),
      profiler_(profiler),
      ledger_(ledger),
      around_{profiler, ledger, false},
      comm_(comm),
      send_lanes_(std::move(send_lanes)),
      receive_lanes_(std::move(receive_lanes)),
      local_ranks_(local_ranks),
      thread_([this] { Body(); }) {}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  bell_.Ring();
  thread_.join();
}

void Proxy::Append(std::vector<ProxyRequest> requests) {
  {
    const std::lock_guard lock(mutex_);
    appended_.push_back(std::move(requests));
  }
  bell_.Ring();
}

void Proxy::Body() {
  char name[kThreadNameMax + 1];
  std::snprintf(name, sizeof name, "NCCL Progress%2d", local_ranks_);
  pthread_setname_np(pthread_self(), name);
  ProfilerEvent asleep;  // open while there is nothing to do
  const auto fall_asleep = [&] {
    asleep = profiler_.ProxyCtrl(comm_);
    profiler_.CtrlState(asleep, nccl::kCtrlSleep, 0);
  };
  fall_asleep();
  bool sleeping = true;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_ && appended_.empty() && works_.empty()) return;
      if (sleeping && !appended_.empty()) sleeping = false;
    }
    if (!sleeping && asleep.comm != nullptr) {
      profiler_.CtrlState(asleep, nccl::kCtrlWakeup, 0);
      profiler_.Stop(asleep);
      asleep = {};
    }
    bool moved = TakeUp();
    moved = Pass() || moved;
    if (!sleeping && Idle()) {
      fall_asleep();
      sleeping = true;
    }
    if (!moved && !Flush()) Wait();
  }
}

bool Proxy::TakeUp() {
  std::deque<std::vector<ProxyRequest>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(appended_);
  }
  if (taken.empty()) return false;
  const ProfilerEvent append = profiler_.ProxyCtrl(comm_);
  profiler_.CtrlState(append, nccl::kCtrlAppend, 0);
  int count = 0;
  for (std::vector<ProxyRequest>& requests : taken) {
    for (ProxyRequest& request : requests) {
      const std::optional<TaskFault>& fault = request.task->fault;
      if (fault && fault->kind == LiveFault::kFreezeProxy) {
        // Sends of the operation before may still wait for room: without them its receiver would
        // hang there, a whole operation earlier.
        while (!works_.empty()) {
          if (!Pass() && !Flush()) Wait();
        }
        Freeze(fault->index);
      }
      if (request.receive != nullptr && request.receive_steps > 0) {
        auto op = std::make_unique<ReceiveOp>(around_, request.task, request.channel,
                                              request.receive_steps, *request.receive, taken_up_++);
        ops_.push_back(op.get());
        works_.push_back(std::move(op));
        ++count;
      }
      if (request.send != nullptr && request.send_steps > 0) {
        auto op = std::make_unique<SendOp>(around_, request.task, request.channel,
                                           request.send_steps, *request.send, taken_up_++);
        ops_.push_back(op.get());
        works_.push_back(std::move(op));
        ++count;
      }
      works_.push_back(std::make_unique<KernelWatch>(around_, request.task, request.channel));
      ++count;
    }
  }
  profiler_.CtrlState(append, nccl::kCtrlAppendEnd, count);
  profiler_.Stop(append);
  return true;
}

bool Proxy::Pass() {
  bool moved = false;
  for (const std::unique_ptr<ProxyWork>& work : works_) moved = work->Progress() || moved;
  for (const ProxyOp* op : ops_) {
    if (op->FreezesNow()) Freeze(op->task().fault->index);
  }
  if (!moved) return false;
  std::erase_if(ops_, [](const ProxyOp* op) { return op->Finished(); });
  std::erase_if(works_, [](const std::unique_ptr<ProxyWork>& work) { return work->Finished(); });
  return true;
}

// Whether that completed a slice.
bool Proxy::Flush() {
  bool done = false;
  for (SendLane* lane : send_lanes_) {
    const uint64_t before = lane->wire.Done();
    lane->wire.Flush();
    done = done || lane->wire.Done() != before;
  }
  for (ReceiveLane* lane : receive_lanes_) lane->wire.Flush();
  return done;
}

// NCCL's thread would spin; ours leaves the machine to others. Connections are waited for only
// where something is to be sent or received, the kernel and the host ring.
void Proxy::Wait() {
  TellBroken();
  // Once for all that came forward: waking the card costs more than a slice.
  if (std::exchange(around_.kernel_due, false)) kernel_.Ring();
  std::vector<pollfd> polled{{bell_.fd(), POLLIN, 0}};
  std::vector<SendLane*> sending;
  std::vector<ReceiveLane*> receiving;
  for (SendLane* lane : send_lanes_) {
    if (lane->turns.empty() || lane->wire.Wants() == 0) continue;
    polled.push_back({lane->wire.fd(), lane->wire.Wants(), 0});
    sending.push_back(lane);
  }
  for (ReceiveLane* lane : receive_lanes_) {
    if (lane->turns.empty() || lane->wire.Wants() == 0) continue;
    polled.push_back({lane->wire.fd(), lane->wire.Wants(), 0});
    receiving.push_back(lane);
  }
  const int ready = poll(polled.data(), polled.size(), -1);
  if (ready > 0 && polled[0].revents == 0) std::this_thread::sleep_for(kGather);
  if (polled[0].revents != 0) bell_.Hush();
  for (size_t i = 0; i < sending.size(); ++i) {
    if (polled[1 + i].revents != 0) sending[i]->wire.Progress();
  }
  for (size_t i = 0; i < receiving.size(); ++i) {
    if (polled[1 + sending.size() + i].revents != 0) receiving[i]->wire.Progress();
  }
}

// Where NCCL would note a remote error for the host to find: the operations stay as they are, and
// so does the rank, as a job does without a watchdog.
void Proxy::TellBroken() {
  const auto look = [this](const auto& lane) {
    const auto& wire = lane.wire;
    if (lane.turns.empty() || !wire.Broken() ||
        std::find(told_broken_.begin(), told_broken_.end(), wire.fd()) != told_broken_.end()) {
      return;
    }
    told_broken_.push_back(wire.fd());
    std::fprintf(stderr, "comm=%s rank=%d peer=%d what=\"connection closed by the remote peer\"\n",
                 comm_.comm->name.c_str(), comm_.rank, lane.peer);
  };
  for (const SendLane* lane : send_lanes_) look(*lane);
  for (const ReceiveLane* lane : receive_lanes_) look(*lane);
}

void Proxy::Freeze(size_t fault) {
  ledger_.FaultBegan(fault, MonotonicNow());
  for (;;) pause();
}

}  // namespace sentinel
