// The bytes of a progress board, as writer and readers share them. docs/formats/board.md describes
// them with a worked example.
//
// Freestanding: a guest library in someone's training job includes this and the writer, and nothing
// else of ours. All numbers are little-endian, every structure has its natural alignment and no
// hidden padding.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sentinel::board {

constexpr uint64_t kMagic = 0x4452414F42535047;  // "GPSBOARD"
constexpr uint32_t kFormat = 1;

// The bounds of a board. What does not fit is counted (Header::dropped) and flagged where it is
// missing.
constexpr uint32_t kComms = 64;
constexpr uint32_t kOperations = 4096;  // of all communicators
constexpr uint32_t kEdges = 4096;       // of all communicators
constexpr uint32_t kChannels = 64;
constexpr uint32_t kStepsOpen = 8;  // NCCL keeps at most so many steps of an edge open
constexpr uint32_t kNameBytes = 96;
constexpr uint32_t kPciBytes = 32;

// Line::flags
constexpr uint32_t kLineLive = 1;
constexpr uint32_t kLineFinalized = 2;

// A line keeps marks of the order in which its collectives were called: mark i is of the last call
// whose number is a multiple of 8 to the i, so that one of them is slow enough for any reader.
constexpr uint32_t kMarks = 5;
constexpr uint32_t kMarkShift = 3;       // calls between two marks i: 1 << kMarkShift * i
constexpr uint32_t kMarkCallsBits = 16;  // of the word; above them, the sum

// One communicator in the header. Each word is read and written by itself.
struct Line {
  uint32_t generation;  // 0: never used
  uint32_t flags;
  uint64_t progress;
  uint64_t operations_started;
  uint64_t operations_finished;
  uint64_t open;  // kOpenValid | floor(log2(bytes)) << 8 | func
  uint64_t api_calls;
  uint32_t api_calls_open;
  uint32_t reserved;
  uint64_t collectives;    // called, of the kinds whose order is the same on all ranks
  uint64_t marks[kMarks];  // sum << kMarkCallsBits | number of the call's low bits; 0: none yet
};
static_assert(sizeof(Line) == 104);
constexpr uint64_t kOpenValid = 1u << 16;

// Header::flags
constexpr uint32_t kKernelsWatched = 1;
constexpr uint32_t kProxiesWatched = 2;
constexpr uint32_t kCallsWatched = 4;

struct Header {
  uint64_t magic;  // written last: zero while the board is being made
  uint32_t format;
  uint32_t flags;
  uint64_t size;  // of the whole file
  int64_t pid;    // as the process itself sees it
  uint64_t start_ticks;
  uint64_t generation;
  uint64_t dropped;
  uint32_t nccl_version;
  uint32_t abi;   // of the profiler interface NCCL speaks with us
  uint32_t mask;  // the events we asked for
  uint32_t comms;
  uint32_t operations;
  uint32_t edges;
  uint8_t reserved[432];
  Line lines[kComms];
};
static_assert(offsetof(Header, lines) == 512 && sizeof(Header) == 7168);

// A slot carries its version twice: a writer raises `begun` (at the end of the slot) before it
// changes the slot and copies it to `ended` (at the start) afterwards. A copy taken from low to
// high addresses in which both are equal is whole.

// Who a communicator is.
struct Comm {
  uint32_t ended;
  uint32_t generation;
  uint64_t comm_id;
  int32_t nranks;
  int32_t nodes;
  int32_t rank;
  uint32_t reserved0;
  uint64_t lost_index;  // 1 + index of the last operation that found no slot; by itself
  char name[kNameBytes];
  char pci[kPciBytes];
  uint8_t reserved[84];
  uint32_t begun;
};
static_assert(sizeof(Comm) == 256);

// Operation::status, by itself.
enum OperationStatus : uint32_t {
  kFree = 0,
  kCalled = 1,    // the API call was seen, no more
  kOpen = 2,      // enqueued
  kFinished = 3,  // as far as can be seen
  kChanging = 4,  // about to be one of them
};

// Operation::flags
constexpr uint32_t kGraph = 1;      // replayed from a captured graph, or captured into one
constexpr uint32_t kEdgesLost = 2;  // an edge of it found no slot
constexpr uint32_t kBlind = 4;  // nothing tells when it finishes until a proxy or kernel shows up

// Versions cover what describes the call. The words up to `proxies_finished` are each by
// themselves, and only grow while the slot belongs to one operation.
struct Operation {
  uint32_t ended;
  uint32_t status;
  uint64_t kernels_started;    // bit per channel
  uint64_t kernels_completed;  // bit per channel
  uint32_t proxies_started;
  uint32_t proxies_finished;
  uint64_t index;
  uint64_t call_index;
  uint64_t seq;
  uint64_t count;
  uint64_t tsc;         // time stamp counter at enqueue: the order between communicators
  uint32_t generation;  // of the slot
  uint32_t comm_generation;
  int32_t root;
  int32_t peer;
  uint32_t flags;  // by itself
  uint8_t comm;
  uint8_t func;
  uint8_t datatype;
  uint8_t algorithm;
  uint8_t protocol;
  uint8_t channels;
  uint8_t reserved[22];
  uint32_t begun;
};
static_assert(sizeof(Operation) == 128);

// Edge::flags
constexpr uint8_t kEdgeUsed = 1;

// One direction of one channel to one peer within one operation.
struct Edge {
  uint32_t ended;
  uint32_t operation_generation;
  uint16_t operation;  // slot
  uint8_t comm;
  uint8_t channel;
  uint8_t direction;
  uint8_t flags;
  uint8_t reserved0[2];
  int32_t peer;
  uint32_t steps;
  uint32_t started;
  uint32_t done;
  uint32_t states;  // four bits for step k at bit 4 * (k % kStepsOpen), steps done to started - 1
  uint32_t reserved1;
  uint64_t changes;
  uint8_t reserved[12];
  uint32_t begun;
};
static_assert(sizeof(Edge) == 64);

constexpr size_t kCommsAt = sizeof(Header);
constexpr size_t kOperationsAt = kCommsAt + kComms * sizeof(Comm);
constexpr size_t kEdgesAt = kOperationsAt + kOperations * sizeof(Operation);
constexpr size_t kBytes = kEdgesAt + kEdges * sizeof(Edge);

// The whole file.
struct Board {
  Header header;
  Comm comms[kComms];
  Operation operations[kOperations];
  Edge edges[kEdges];
};
static_assert(sizeof(Board) == kBytes && offsetof(Board, operations) == kOperationsAt &&
              offsetof(Board, edges) == kEdgesAt);

}  // namespace sentinel::board
