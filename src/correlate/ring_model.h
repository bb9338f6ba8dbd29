// A small ring AllReduce, slice by slice, for tests: kernels, proxies, buffers and wires that a
// fault can stop, run by chance until nothing moves any more. What its boards then show is made
// into digests. It knows nothing of the rules that judge them.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "correlate/scenario.h"

namespace sentinel {

enum class Fault {
  kNone,
  kAbsent,
  kKernelNotStarted,
  kKernelFrozen,
  kProxyAbsent,  // its proxy thread never takes the operation up
  kProxyFrozen,  // in mid-operation
  kFlush,
  kOneWay,   // nothing arrives from the rank at its successor
  kIsolate,  // nothing arrives at the rank or from it
  kStopped,
  kKilled,
};
const char* FaultName(Fault fault);

struct RingOptions {
  int ranks = 4;
  int channels = 2;
  uint32_t slices_per_chunk = 2;
  uint32_t fifo = 4;           // slices open per direction
  bool infiniband = false;     // credits and acknowledgements; else sockets
  uint32_t socket_buffer = 4;  // slices the kernel takes on the way
  Fault fault = Fault::kNone;
  Rank culprit = 0;
  int moves_before_fault = 0;
  // Who else is not there, and whose kernel has not started.
  std::vector<Rank> absent;
  std::vector<Rank> not_started;
};

class RingModel {
 public:
  RingModel(RingOptions options, uint64_t seed);

  // Runs until nothing moves. False if the operation completed everywhere all the same, or if what
  // the fault does next is beyond this model.
  bool RunToRest();
  // Runs so many moves of a sound ring.
  void RunMoves(int moves);

  std::vector<Digest> Digests() const;
  bool AnyDone() const;  // some rank has completed the operation

 private:
  struct Channel {
    uint32_t filled = 0;       // send slices the kernel has filled
    uint32_t transmitted = 0;  // accepted by the wire
    uint32_t send_done = 0;
    uint32_t received = 0;   // landed, as the receive proxy knows
    uint32_t published = 0;  // flushed and shown to the kernel
    uint32_t consumed = 0;
    uint32_t posted = 0;  // receives posted: the credit
  };
  struct Board {
    std::vector<Channel> channels;
    bool entered = false;
    bool kernel_started = false;
    bool proxy_started = false;
  };

  bool Faulty() const { return moves_ >= options_.moves_before_fault; }
  bool Hit(Rank rank, std::initializer_list<Fault> faults) const;
  bool WireDead(Rank from) const;
  uint32_t Steps() const {
    return 2 * static_cast<uint32_t>(options_.ranks - 1) * options_.slices_per_chunk;
  }
  bool Move(Rank rank, int channel, int actor);
  bool Kernel(Rank rank, Channel& c);
  bool SendProxy(Rank rank, int channel, Channel& c);
  bool RecvProxy(Rank rank, int channel, Channel& c);
  bool Done(Rank rank) const;

  RingOptions options_;
  std::mt19937_64 chance_;
  std::vector<Board> boards_;
  int moves_ = 0;
};

}  // namespace sentinel
