// Makes recorded callbacks into a profiler plugin as NCCL would make them: what the plugin's mask
// leaves out is not called, handles and contexts are the plugin's own, and older interfaces get
// what NCCL's own conversion would hand them.
//
// One caller per process, used by one thread at a time (whichever it is): recorded order is total.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ring/event_mask.h"
#include "ring/profiler_library.h"
#include "ring/recording.h"

namespace sentinel {

class NcclCaller {
 public:
  // `recorded_pid` is the process whose callbacks these are; in ProxyOps it becomes our own pid,
  // so that a proxy run for another process still looks foreign. All are references to what
  // outlives the caller. `events` is how many to expect.
  NcclCaller(const nccl::ProfilerTable& table, int abi, int64_t recorded_pid, nccl::Logger logger,
             size_t events);

  void Make(const Callback& callback);

  uint64_t calls() const { return calls_; }  // into the plugin
  // Every communicator that was initialised has been finalized: NCCL would unload the plugin.
  bool Released() const { return contexts_live_ == 0; }

 private:
  struct Event {
    void* handle = nullptr;
    void* parent_handle = nullptr;
    CallbackType type = CallbackType::kGroup;
    uint32_t mask = 0;  // as NCCL sampled it for the operation this belongs to
    size_t context = 0;
  };

  void Init(const Callback& callback, const InitCall& init);
  void Finalize();
  void Start(const Callback& callback);
  void State(const Callback& callback, const StateChange& change);
  void StopEvent(const Callback& callback);
  bool Wanted(const Callback& callback, const Event& event);
  nccl::Descriptor Describe(const Callback& callback, const Event& event) const;
  void DescribeColl(const CollStart& start, nccl::Descriptor& descriptor) const;
  void DescribeP2p(const P2pStart& start, nccl::Descriptor& descriptor) const;
  void* Handle(uint64_t id) const;

  struct Context {
    void* plugin = nullptr;
    InitCall init;
    bool live = false;
  };

  const nccl::ProfilerTable& table_;
  const int abi_;
  const int64_t recorded_pid_;
  const nccl::Logger logger_;
  int mask_ = 0;  // one for the process: the plugin may keep its address and change it
  uint32_t sampled_mask_ = 0;
  bool heard_of_calls_ = false;
  bool dropped_ = false;  // the plugin refused to start, and this NCCL gives up on it
  std::vector<Context> contexts_;
  size_t contexts_live_ = 0;
  std::unordered_map<uint64_t, Event> events_;
  uint64_t calls_ = 0;
};

}  // namespace sentinel
