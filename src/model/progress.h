// How far a rank has come: operations, proxy steps, kernels, and the digest an agent sends of one
// rank in one communicator.
//
// Progress is maxima and state changes, never callback counts (NCCL repeats callbacks on every
// spin). Ages, not times: hosts do not share a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/communicator.h"

namespace sentinel {

// NCCL's function names. The numbers are ours and part of the board format (docs/formats/board.md).
enum class Func : uint8_t {
  kUnknown = 0,
  kAllGather,
  kAllGatherV,
  kAllReduce,
  kAlltoAll,
  kBroadcast,
  kGather,
  kPutSignal,
  kRecv,
  kReduce,
  kReduceScatter,
  kScatter,
  kSend,
  kSendRecv,
  kSignal,
  kWaitSignal,
};
enum class DataType : uint8_t {
  kUnknown = 0,
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8e4m3,
  kFloat8e5m2,
};
enum class Algorithm : uint8_t {
  kUnknown = 0,
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
};
enum class Protocol : uint8_t { kUnknown = 0, kLl, kLl128, kSimple };

// NCCL's own spelling ("AllReduce", "ncclFloat32", "RING", "SIMPLE"); "Unknown" for what we do not
// know.
std::string_view FuncName(Func func);
std::string_view DataTypeName(DataType type);
std::string_view AlgorithmName(Algorithm algorithm);
std::string_view ProtocolName(Protocol protocol);

enum class Direction : uint8_t { kSend = 0, kRecv = 1 };

// The states of one proxy step in the order in which a step passes through them (NCCL 2.28
// transport/net.cc). The numbers are ours and part of the board format.
enum class StepState : uint8_t {
  kNone = 0,    // no step is open
  kPosted = 1,  // started, no state recorded yet
  kSendGpuWait = 2,
  kSendPeerWait = 3,
  kSendWait = 4,
  kRecvWait = 5,
  kRecvFlushWait = 6,
  kRecvGpuWait = 7,
};
std::string_view StepStateName(StepState state);  // "SendGPUWait" … as NCCL spells it

// One direction of one channel to one peer, within one operation.
struct EdgeProgress {
  int channel = 0;
  Direction direction = Direction::kSend;
  Rank peer = -1;
  uint32_t steps = 0;    // of the whole operation on this edge
  uint32_t started = 0;  // steps [0, started) have been started
  uint32_t done = 0;     // the first unfinished step; == steps when the edge is finished
  StepState state =
      StepState::kNone;   // of step `done`; kNone if it has not started or all is finished
  uint32_t in_state = 0;  // how many consecutive steps from `done` on are in that same state
  Duration age{0};        // since the agent last saw this edge change
};

// An operation as its caller asked for it. `index` counts the operations of one communicator in the
// order in which NCCL enqueued them, and is equal on all ranks that agree on the order;
// `call_index` counts the API calls.
struct Operation {  // thirty of them are kept for every rank: the narrow ones stand together
  uint64_t index = 0;
  uint64_t call_index = 0;
  // NCCL's own counter per (communicator, function). Of a Send its number among those to its peer,
  // of a Recv among those from it, from 1; 0: not known.
  uint64_t seq = 0;
  uint64_t count = 0;
  // Of two operations of one process the one with the greater order was enqueued later, whatever
  // their communicators. Compares with nothing else; 0: unknown.
  uint64_t order = 0;
  int32_t root = 0;
  Rank peer = -1;  // Send/Recv only
  int channels = 0;
  Func func = Func::kUnknown;
  DataType datatype = DataType::kUnknown;
  Algorithm algorithm = Algorithm::kUnknown;
  Protocol protocol = Protocol::kUnknown;

  // Whether two ranks meant the same call. Algorithm and channels are NCCL's choice and follow from
  // it.
  friend bool SameCall(const Operation& a, const Operation& b) {
    return a.func == b.func && a.count == b.count && a.datatype == b.datatype && a.root == b.root;
  }
};

// A mark of the order in which a rank called the collectives of a communicator: a sum over the
// first `calls` of them (function, count, datatype, root and number of each go in). Ranks that
// called the same have the same sum, and the difference of two marks tells of the calls between
// them alone. How it is made is the board's affair (docs/formats/board.md).
struct CallMark {
  uint64_t calls = 0;  // 0: no mark
  uint64_t sum = 0;    // modulo kCallSumModulus
  friend bool operator==(const CallMark&, const CallMark&) = default;
};
constexpr uint64_t kCallSumModulus = uint64_t{1} << 48;

// The device side of one operation, counted over its channels. `watched` is false where KernelCh is
// off: then zeros say nothing.
struct KernelProgress {
  bool watched = false;
  int channels = 0;   // how many the operation uses
  int started = 0;    // channels whose kernel has started it
  int completed = 0;  // channels whose kernel has completed it
};

enum class Phase : uint8_t {
  kBetween,   // no operation is open; `op` is the last one finished, if any
  kCalling,   // inside an API call that has not enqueued anything (queue full, first connect)
  kEnqueued,  // enqueued; neither proxy nor kernel has taken it up
  kInside,    // proxy or kernel has taken it up and it is not finished
};
std::string_view PhaseName(Phase phase);

enum class ProcessState : uint8_t {
  kUnknown,
  kRunning,
  kSleeping,
  kDiskWait,
  kStopped,
  kTraced,
  kDead
};
std::string_view ProcessStateName(ProcessState state);

// What the host says of a rank's process.
struct Vitals {
  ProcessState state = ProcessState::kUnknown;
  bool traced = false;  // a debugger is attached
  bool frozen = false;  // its cgroup is frozen
  bool ending = false;  // told to end (SIGTERM pending or caught just now, cgroup being killed), or
                        // finalize/abort seen
  // Idle, measured over the last 500 ms: the process tree, without threads named NCCL*, used < 20 %
  // CPU, its first threads' queueing for one included, and moved < 64 KiB of I/O. Unknown until
  // 500 ms have been observed.
  std::optional<bool> idle;
  double cpu_cores = 0;   // of the process tree without NCCL's threads
  uint64_t io_bytes = 0;  // moved in the same window
};

// What a rank has learned about a communicator: how long its operations usually stand still,
// warm-up left out.
struct History {
  uint64_t operations = 0;  // completed, after warm-up
  Duration gap_p999{0};  // of the largest pause without progress within each operation (arrival lag
                         // of others included)
};

struct Digest {
  uint64_t request_id = 0;  // of the DetailRequest it answers; 0: sent on the agent's own suspicion
  Member member;
  Phase phase = Phase::kBetween;
  std::optional<Operation> op;      // the oldest unfinished one; in kBetween the last finished one
  uint64_t operations_started = 0;  // of this communicator, ever
  uint64_t operations_finished = 0;
  Duration age{
      0};  // since the last receive-side change, kernel change or start of `op` that the agent saw
  bool suspect = false;             // the age is beyond this operation's own limit
  Duration suspect_after{0};        // that limit
  std::vector<EdgeProgress> edges;  // of `op`; unfinished ones first; empty in kBetween
  KernelProgress kernels;
  Vitals vitals;
  History history;
  std::vector<Operation> recent;  // the last calls, oldest first, at most kRecentCallsMax: what
                                  // call order is compared by
  bool truncated =
      false;  // the board could not hold everything; what is missing is unknown, not absent
};
constexpr size_t kRecentCallsMax = 32;
constexpr size_t kDigestEdgesMax = 512;

}  // namespace sentinel
