// The writer's half of the progress board: what a training process does, as stores to shared
// memory.
//
// Freestanding: no library, allocation, lock, system call or clock. A Writer is all zero bytes
// until Start and is meant to be static (it holds a few hundred KiB, touched as they are used).
// Every method may be called from any thread at any time, finds out for itself whether what a
// reference names still exists, and does nothing if not. Nothing here fails: what finds no room is
// counted.
#pragma once

#include <stdint.h>

#include "board/layout.h"
#include "board/words.h"

namespace sentinel::board {

// References stay harmless after what they name has gone: the generation tells.
struct CommRef {
  uint32_t slot = 0;
  uint32_t generation = 0;  // even (0 among them): nothing
};
struct OperationRef {
  uint32_t slot = 0;
  uint32_t generation = 0;
};
struct ProxyRef {
  uint32_t slot = 0;
  uint32_t generation = 0;
};
struct CallRef {
  uint32_t slot = 0;
  uint32_t generation = 0;
};

// How many bits of a generation a reference keeps; the rest may be cut off in between.
constexpr uint32_t kGenerationMask = (1u << 22) - 1;

struct BoardIdentity {
  int64_t pid = 0;
  uint64_t start_ticks = 0;
  uint64_t generation = 0;
  uint32_t nccl_version = 0;
  uint32_t abi = 0;
  uint32_t mask = 0;
  bool kernels_watched = false;
  bool proxies_watched = false;
  bool calls_watched = false;  // API calls of collectives are told, and in that order they count
};

struct CommIdentity {
  uint64_t comm_id = 0;
  int32_t nranks = 0;
  int32_t nodes = 0;
  int32_t rank = -1;
  const char* name = nullptr;
  const char* pci = nullptr;
};

// What an API call asks for.
struct CallInfo {
  uint8_t func = 0;
  uint8_t datatype = 0;
  uint64_t count = 0;
  int32_t root = 0;
  bool graph = false;
};

// What NCCL enqueues for it.
struct OperationInfo {
  CallInfo call;  // as NCCL has rewritten it; used where no API call is known
  uint64_t seq = 0;
  int32_t peer = -1;
  uint8_t algorithm = 0;
  uint8_t protocol = 0;
  uint8_t channels = 0;  // 0: not told
  bool unseen = false;   // runs where neither proxies nor kernels are reported
  uint32_t plan = 0;     // the launch it belongs to; rises from launch to launch; 0: not known
  uint64_t tsc = 0;
};

struct ProxyInfo {
  uint8_t channel = 0;
  bool receives = false;
  int32_t peer = -1;
  uint32_t steps = 0;
  // NCCL up to 2.26 does not tell when a received step was consumed: it then counts as done when
  // the next one has been posted after it arrived.
  bool stops_missing = false;
};

class Writer {
 public:
  // Makes `memory` (zero, kBytes long, not yet seen by others) a board. No other method may run
  // before; calling it again moves to new memory, for which there must be no communicator open.
  void Start(void* memory, const BoardIdentity& identity);

  // No slot: a reference to nothing, with which all goes on and nothing is written.
  CommRef OpenComm(const CommIdentity& identity);
  // False: it was not open.
  bool CloseComm(CommRef comm);
  // For interfaces that tell it only with the first operation: later tellings change nothing.
  void NameCommOnce(CommRef comm, const CommIdentity& identity);

  // A thread goes into NCCL and comes out again. Told once each; coming out twice is coming out.
  CallRef EnterCall(CommRef comm);
  void LeaveCall(CallRef call);

  OperationRef Call(CommRef comm, CallRef group, const CallInfo& info);
  // `call`: what Call gave; stale or nothing where NCCL enqueues without a call (graph replay).
  OperationRef Enqueue(CommRef comm, OperationRef call, const OperationInfo& info);

  void StartKernel(OperationRef operation, uint32_t channel);
  void CompleteKernel(OperationRef operation, uint32_t channel);

  ProxyRef StartProxy(OperationRef operation, const ProxyInfo& info);
  void ProgressProxy(ProxyRef proxy);
  void StopProxy(ProxyRef proxy);

  // Steps are numbered within their proxy; once started, the low 16 bits of the number are enough.
  // False: no such proxy.
  bool StartStep(ProxyRef proxy, uint32_t step);
  void ChangeStep(ProxyRef proxy, uint32_t step, uint8_t state);
  void StopStep(ProxyRef proxy, uint32_t step);

  uint64_t dropped() const;

  static constexpr uint32_t kCallsMax = 256;        // threads inside NCCL at once
  static constexpr uint32_t kProxiesMax = 16384;    // started, and their operation not finished
  static constexpr uint32_t kOperationsKept = 64;   // per communicator, once finished
  static constexpr uint32_t kOperationsMax = 1024;  // per communicator
  static constexpr uint32_t kPairs = 2048;          // of a communicator, a peer and a direction
  static constexpr uint32_t kEdgesEager =
      kEdges / 2;  // beyond, an edge gets its slot when it moves

 private:
  struct CommState {
    uint32_t generation;  // odd: in use
    uint32_t named;       // NameCommOnce was here
    uint64_t calls;
    uint64_t collectives;            // whose order counts
    uint64_t order_sum;              // over them
    uint64_t head;                   // serials [head, tail) are on the board
    uint64_t tail;                   // the next serial
    uint64_t oldest;                 // no serial before it is open
    uint64_t order[kOperationsMax];  // serial << 12 | slot
  };
  struct OperationState {
    uint32_t generation;  // odd: in use
    uint32_t comm;
    uint64_t serial;
    CallRef group;
    uint32_t plan;
    uint32_t proxies;  // 1 + first of its list
  };
  struct ProxyState {
    uint32_t generation;  // odd: in use
    uint32_t next;        // 1 + next in the operation's list
    uint32_t operation;
    uint32_t operation_generation;
    uint32_t edge;  // 1 + slot
    uint32_t steps;
    int32_t peer;
    uint8_t channel;
    uint8_t receives;
    uint8_t stops_missing;
    uint8_t stopped;
    uint8_t lost;  // found no edge slot
  };
  // Sends to a peer or receives from it, counted. What finds no place is not numbered.
  struct PairState {
    uint64_t key;  // 0: free
    uint64_t calls;
  };
  struct CallState {
    uint32_t generation;  // odd: open
    uint32_t comm;
    uint32_t comm_generation;
  };

  bool Valid(CommRef ref) const;
  bool Valid(OperationRef ref) const;
  ProxyState* Find(ProxyRef ref);
  bool Closed(CallRef group) const;
  bool Abandoned(uint32_t operation) const;
  Line& LineOf(uint32_t comm) { return board_->header.lines[comm]; }
  void Drop() { Add(board_->header.dropped, 1); }

  uint32_t ChooseComm();
  void Identify(uint32_t comm, const CommIdentity& identity);
  OperationRef Claim(uint32_t comm, CallRef group, const CallInfo& info);
  bool ReclaimOldest(uint32_t comm);
  void Free(uint32_t operation);
  void FreeAll(uint32_t comm);
  void CountCall(uint32_t comm, const CallInfo& info);
  uint64_t CountPair(uint32_t comm, const OperationInfo& info);

  void FinishIfDone(uint32_t operation);
  bool Finish(uint32_t operation);
  void FinishOlder(uint32_t operation);
  void Reopen(uint32_t operation);
  void ReleaseProxies(uint32_t operation);
  int32_t OldestOpen(uint32_t comm);
  void RefreshOpen(uint32_t comm);

  Edge* EdgeOf(ProxyState& proxy, bool must);
  void CountStep(const ProxyState& proxy);

  Board* board_;
  uint32_t kernels_watched_;
  uint32_t calls_watched_;
  uint32_t comms_used_;
  CommState comms_[kComms];
  Pool<kOperations> operation_pool_;
  OperationState operations_[kOperations];
  Pool<kEdges> edge_pool_;
  Pool<kProxiesMax> proxy_pool_;
  ProxyState proxies_[kProxiesMax];
  Pool<kCallsMax> call_pool_;
  CallState calls_[kCallsMax];
  PairState pairs_[kPairs];
};

}  // namespace sentinel::board
