// One training process as its progress board shows it, decoded. What the board format means:
// docs/formats/board.md.
//
// Values only: the agent adds the time at which it saw them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/progress.h"

namespace sentinel {

// One communicator's line in the board's header: all that a routine scan reads.
struct CommLine {
  uint32_t generation = 0;  // of the slot: a new communicator in the same slot has another one
  bool live = false;        // initialised and not finalized
  bool finalized = false;
  // Counts every change of a receive step or its state, of a kernel's start or stop, and every
  // operation that finishes. Send side changes are not in it: a socket sender goes on finishing
  // sends after the ring has stopped.
  uint64_t progress = 0;
  uint64_t operations_started = 0;  // enqueued
  uint64_t operations_finished =
      0;  // as far as the board can tell (kernels completed on all channels, proxies done)
  // The oldest unfinished operation, for thresholds by kind and size; kUnknown and 0 when none is
  // open.
  Func open_func = Func::kUnknown;
  uint8_t open_size_log2 = 0;   // floor(log2(bytes))
  uint32_t api_calls_open = 0;  // threads inside an NCCL call that has not returned
  uint64_t api_calls = 0;       // calls entered, ever
  // Collectives called whose order is the same on all ranks, and marks of that order; mark i is of
  // the last call whose number is a multiple of 8 to the i.
  uint64_t collectives = 0;
  std::array<CallMark, 5> marks;
};

struct BoardHeader {
  uint32_t format = 0;
  int64_t pid_as_seen = 0;       // inside its own pid namespace
  uint64_t generation = 0;       // of the board: set once when it is made
  uint64_t dropped = 0;          // things that did not fit and were only counted
  bool kernels_watched = false;  // KernelCh is in the mask
  bool proxies_watched = false;  // ProxyOp and ProxyStep are in the mask
  uint32_t nccl_version = 0;     // 22809 for 2.28.9; 0 unknown
  std::vector<CommLine> comms;   // by slot
};

struct OperationImage {
  Operation op;
  bool enqueued = false;         // Coll/P2p seen; false: only the API call so far
  uint32_t kernels_started = 0;  // channels
  uint32_t kernels_completed = 0;
  uint32_t proxies_started = 0;  // ProxyOps
  uint32_t proxies_finished = 0;
  bool finished = false;
  std::vector<EdgeProgress>
      edges;  // ages are zero; unfinished ProxyOps and those finished but still on the board
};

struct CommImage {
  CommLine line;
  uint64_t comm_id = 0;
  int32_t nranks = 0;
  int32_t nodes = 0;
  Rank rank = -1;
  std::string name;
  std::string pci;
  std::vector<OperationImage> operations;  // what the ring still holds, by op.index, oldest first
  bool truncated = false;                  // an operation or edge of this communicator did not fit
  int slot = -1;                           // its index in BoardHeader::comms
};

struct BoardImage {
  BoardHeader header;
  std::vector<CommImage> comms;  // live and finalized ones, by slot
};

}  // namespace sentinel
