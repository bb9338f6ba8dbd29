// What an NCCL call does on the host's side: announce it, launch the kernel, hand the proxy its
// part, in NCCL's order. Runs on the host thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ring/live/communicator.h"
#include "ring/live/device.h"
#include "ring/live/proxy.h"

namespace sentinel {

// Tells an iteration's operations apart, in the same way on all ranks that take part in one.
class OperationNames {
 public:
  OperationNames(const JobPlan& plan, Rank rank, uint64_t iteration)
      : plan_(plan), rank_(rank), iteration_(iteration) {}

  uint64_t Next(const LiveCall& call);

 private:
  const JobPlan& plan_;
  const Rank rank_;
  const uint64_t iteration_;
  std::map<size_t, uint64_t> collectives_;                                 // by communicator
  std::map<std::pair<size_t, std::pair<Rank, Rank>>, uint64_t> messages_;  // by sender and receiver
};

class Enqueuer {
 public:
  // All are references to what outlives it. `comms` holds the rank's own, by index.
  Enqueuer(const JobPlan& plan, Rank rank, const Profiler& profiler,
           std::map<size_t, Communicator>& comms, Links& links, Device& device, Proxy& proxy)
      : plan_(plan),
        rank_(rank),
        profiler_(profiler),
        comms_(comms),
        links_(links),
        device_(device),
        proxy_(proxy) {}

  // Makes the calls of one group, all of one communicator. `fault` strikes in its first task.
  std::vector<std::shared_ptr<Task>> Enqueue(const LiveGroup& group, OperationNames& names,
                                             const std::optional<TaskFault>& fault);

 private:
  std::shared_ptr<Task> MakeTask(const LiveCall& call, OperationNames& names) const;
  Kernel KernelFor(const std::vector<std::shared_ptr<Task>>& tasks);
  void Announce(const std::vector<std::shared_ptr<Task>>& tasks,
                const std::vector<ProfilerEvent>& apis, const ProfilerEvent& group_api,
                std::vector<ProxyRequest> requests);
  std::vector<ProxyRequest> RequestsFor(const Kernel& kernel);
  WireName Outgoing(const LiveCall& call, int channel) const;
  WireName Incoming(const LiveCall& call, int channel) const;

  const JobPlan& plan_;
  const Rank rank_;
  const Profiler& profiler_;
  std::map<size_t, Communicator>& comms_;
  Links& links_;
  Device& device_;
  Proxy& proxy_;
};

}  // namespace sentinel
