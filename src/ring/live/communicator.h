// A communicator as one of its ranks holds it: who is before and after it, over which buffers and
// connections, and how many collectives it has called.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "ring/live/fifo.h"
#include "ring/live/lane.h"
#include "ring/live/plan.h"
#include "ring/live/profiler.h"
#include "ring/live/wiring.h"

namespace sentinel {

// What one rank uses of the plan: each connection and each buffer in a node, by name.
std::vector<WireName> WiresOf(const JobPlan& plan, Rank rank);

// One direction towards one neighbour on one channel. Either a lane of the proxy or, in a node,
// nothing but the kernel's end.
template <typename LaneType>
struct Link {
  std::unique_ptr<LaneType> lane;
  std::unique_ptr<FifoEnd> end;
};
using SendLink = Link<SendLane>;
using ReceiveLink = Link<ReceiveLane>;

// All links of a rank, to every communicator and neighbour.
class Links {
 public:
  // `wires` are those of WiresOf that cross the network, `folder` is where the node's ranks share
  // memory. `proxy` is our progress thread's bell and outlives this.
  static Result<Links> Make(const JobPlan& plan, Rank rank, Wires wires, const std::string& folder,
                            Bell& proxy);

  // CHECKs that there is one.
  SendLink& To(const WireName& name);
  ReceiveLink& From(const WireName& name);

  std::vector<SendLane*> SendLanes();
  std::vector<ReceiveLane*> ReceiveLanes();

 private:
  Links() = default;

  struct Unmap {
    size_t bytes = 0;
    void operator()(void* memory) const;
  };
  struct Free {
    void operator()(void* memory) const;
  };
  std::vector<std::unique_ptr<void, Unmap>> shared_;
  std::vector<std::unique_ptr<void, Free>> own_;
  std::map<Rank, std::unique_ptr<KernelBell>> neighbours_;  // of the node
  std::map<WireName, SendLink> to_;
  std::map<WireName, ReceiveLink> from_;
};

struct Communicator {
  size_t index = 0;  // into JobPlan::comms
  const LiveComm* comm = nullptr;
  Rank rank = 0;  // in it
  ProfiledComm profiled;
  std::map<LiveFunc, uint64_t> calls;  // collectives enqueued so far, by function
};

}  // namespace sentinel
