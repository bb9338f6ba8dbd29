// What a live job is to do: its ranks, where they live, whom they talk to, and what goes wrong.
// The parent writes it once as a file, every rank process reads it. Values alone; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/communicator.h"

namespace sentinel {

enum class LiveTransport {
  kSocket,  // no credits: a sender runs ahead into the connection, a send is done when it took it
  kIb,      // a send needs the receiver's credit first and is done on its acknowledgement
};

enum class LiveCommKind {
  kNet,      // every edge through proxies and connections
  kInNode,   // kernels pass data through shared memory: no proxies, no steps
  kByPlace,  // each edge by whether its two ends share a node
};

enum class LiveFunc { kAllReduce, kReduceScatter, kAllGather, kSend, kRecv };

inline bool IsP2p(LiveFunc func) { return func == LiveFunc::kSend || func == LiveFunc::kRecv; }

// One communicator. `members` are world ranks; a member's place in it is its rank there.
struct LiveComm {
  uint64_t id = 0;
  std::string name;
  LiveCommKind kind = LiveCommKind::kNet;
  int nodes = 1;
  std::vector<Rank> members;

  std::optional<Rank> RankOf(Rank world) const;  // nothing if not a member
};

// One call of a rank. `count` means what it means to NCCL: AllReduce all elements, ReduceScatter
// those each receives, AllGather those each sends. `peer` is a rank of the communicator.
struct LiveCall {
  size_t comm = 0;  // index into JobPlan::comms
  LiveFunc func = LiveFunc::kAllReduce;
  size_t count = 0;
  Rank peer = -1;  // Send and Recv alone
};

// Calls made between one ncclGroupStart and ncclGroupEnd; a single call is a group of its own.
using LiveGroup = std::vector<LiveCall>;

// When a rank's host thread waits for what it has enqueued.
enum class LiveSync { kEachGroup, kEachIteration };

// What a rank does to itself. Where it says S, it lasts PlannedFault::lasting, then all goes on.
enum class LiveFault {
  kAbsent,          // the host thread sleeps for ever and does not enter the operation
  kStopMid,         // SIGSTOP to itself in the middle of an operation
  kFreezeKernel,    // the kernel stops in the middle of an operation
  kFreezeProxy,     // the proxy thread stops before it takes the operation up
  kFreezeProxyMid,  // the proxy thread stops in the middle of an operation
  kMismatch,        // calls with an eighth less of the count
  kMismatchOrder,   // calls two collectives in the other order
  kMissingSend,     // leaves out one Send
  kSlowKernel,      // from then on a slice every half second, inside a node every 40 ms
  kLate,            // enters S later than the others
  kCheckpoint,      // writes a file for S before its next call
  kEval,            // computes for S before its next call
  kFirstIteration,  // computes for S before the first call of all
  kLoader,          // waits S for a child process that reads and decodes
  kExit,            // the process leaves with 1 before its next call, as on an exception
};

struct PlannedFault {
  LiveFault kind = LiveFault::kAbsent;
  Rank rank = -1;
  // The iteration (from 0) in which it happens; none: the one the parent arms (LiveLedger::Arm).
  std::optional<uint64_t> iteration;
  Duration lasting{};
  // The communicator in whose first operation of the iteration it happens; none: the first
  // operation of all that suits the fault.
  std::optional<size_t> comm;
};

// Where a rank's connections to another rank go: the other's own port, or the relay's for them.
struct LiveEdge {
  Rank from = -1;  // world ranks
  Rank to = -1;
  uint16_t port = 0;
};

struct JobPlan {
  int ranks = 0;
  std::vector<std::string> hosts;  // one per node; ranks are dealt to nodes in equal blocks
  LiveTransport transport = LiveTransport::kSocket;
  uint64_t iterations = 0;  // 0: until the parent says so
  Duration compute{};       // asleep, before each iteration's first call
  LiveSync sync = LiveSync::kEachGroup;
  uint64_t seed = 0;
  int channels = 1;
  size_t slice_bytes = 0;   // one step of a collective; of Send and Recv half of it
  size_t socket_bytes = 0;  // SO_SNDBUF of a connection, and half its SO_RCVBUF
  std::vector<LiveComm> comms;
  std::vector<std::vector<LiveGroup>> program;  // of each rank, one iteration
  std::vector<PlannedFault> faults;             // at most kFaultsMax
  std::vector<uint16_t> listen_ports;           // of each rank, on 127.0.0.1
  std::vector<LiveEdge> edges;                  // whoever is not named is reached directly
  // How long each rank stays between its last iteration and the destruction of its communicators;
  // empty: not at all.
  std::vector<Duration> leave_after;
  // Ranks that handle SIGTERM as a Python program with a handler does: they leave before their next
  // call, with 143, but as long as they wait for an operation they go on waiting. The others die.
  std::vector<Rank> handle_sigterm;

  static constexpr size_t kFaultsMax = 4;
  static constexpr size_t kCommsMax = 32;

  int NodeOf(Rank rank) const;
  int LocalRankOf(Rank rank) const;  // the card's index on its node
  const std::string& HostOf(Rank rank) const;
  bool IsNetEdge(const LiveComm& comm, Rank from, Rank to) const;  // world ranks
  uint16_t PortFor(Rank from, Rank to) const;  // where `from` connects in order to send to `to`
};

// What a connection's sender writes first: one line `SENTINEL <comm id hex> <channel> <from>
// <to>\n` (world ranks). Nothing else in the stream is for a relay to understand; both directions
// carry bytes.

enum class LiveLayout {
  kRing,      // one communicator of all ranks, every edge through the network: AllReduce,
              // ReduceScatter, AllGather and a ring of Send and Recv in each iteration
  kSendRecv,  // the same communicator, and only the ring of Send and Recv
  kMixed,     // tensor-parallel pairs in a node, pipelines of Send and Recv over every other rank,
              // data-parallel rings over the same; hosts wait once an iteration
};

struct LayoutOptions {
  LiveLayout layout = LiveLayout::kRing;
  int ranks = 8;
  int nodes = 2;
  std::vector<std::string> hosts;  // empty: node-0, node-1, …
  LiveTransport transport = LiveTransport::kSocket;
  Duration compute = std::chrono::milliseconds(100);
  uint64_t seed = 1;
};

// A job of this shape, with no ports and no faults yet. kInvalidArgument if it cannot be laid out.
Result<JobPlan> LayOutJob(const LayoutOptions& options);

// The directed pairs of world ranks between which `plan` has connections, each once, in order; the
// ports are those of the receivers themselves.
std::vector<LiveEdge> NetworkEdges(const JobPlan& plan);

std::string JobPlanJson(const JobPlan& plan);
Result<JobPlan> ParseJobPlan(std::string_view json);

std::string_view Name(LiveTransport transport);  // socket, ib
std::string_view Name(LiveFunc func);            // AllReduce … as NCCL says them
std::string_view Name(LiveFault fault);          // absent, stop-mid …
std::optional<LiveTransport> ParseLiveTransport(std::string_view name);
std::optional<LiveFunc> ParseLiveFunc(std::string_view name);
std::optional<LiveFault> ParseLiveFault(std::string_view name);
std::optional<LiveLayout> ParseLiveLayout(std::string_view name);  // ring, sendrecv, mixed

}  // namespace sentinel
