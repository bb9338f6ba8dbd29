// A rank that is connected and has its communicators: iterates, and takes itself apart in the end.
// Its threads live here: the caller's is the host thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ring/live/communicator.h"
#include "ring/live/device.h"
#include "ring/live/enqueue.h"
#include "ring/live/faults.h"
#include "ring/live/host_work.h"
#include "ring/live/live_ledger.h"
#include "ring/live/profiler.h"
#include "ring/live/proxy.h"

namespace sentinel {

class LiveRank {
 public:
  // Connects, loads the plugin, initialises the communicators and starts the threads. `plan` and
  // `ledger` outlive it.
  static Result<std::unique_ptr<LiveRank>> Start(const JobPlan& plan, Rank rank,
                                                 const std::string& plugin, int abi_max,
                                                 const std::string& scratch, LiveLedger& ledger);

  // Iterates until the plan or the parent says so. False if it was told to end (SIGTERM).
  bool Train();

  // Waits for its proxies, destroys the communicators and unloads the plugin, in NCCL's order.
  void Finish();

 private:
  LiveRank(const JobPlan& plan, Rank rank, const std::string& scratch, LiveLedger& ledger)
      : plan_(plan), rank_(rank), scratch_(scratch), ledger_(ledger), schedule_(plan, rank) {}

  Status Connect();
  Status Open(const std::string& plugin, int abi_max);
  bool Iterate(uint64_t iteration);
  bool HostFault(size_t index);
  void Verify();

  const JobPlan& plan_;
  const Rank rank_;
  const std::string scratch_;
  LiveLedger& ledger_;
  FaultSchedule schedule_;
  std::optional<Loader> loader_;
  std::optional<KernelBell> kernel_bell_;
  std::optional<ProxyBell> proxy_bell_;
  std::optional<Links> links_;
  std::unique_ptr<Profiler> profiler_;
  std::map<size_t, Communicator> comms_;
  std::optional<Device> device_;
  std::optional<Proxy> proxy_;
  std::optional<Enqueuer> enqueuer_;
  std::vector<std::shared_ptr<Task>> unverified_;
};

}  // namespace sentinel
