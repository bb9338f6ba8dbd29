// A connection as a proxy serves it: the network end, the buffer towards the kernel, and whose turn
// it is. Operations of one lane go one after another, in the order in which they were enqueued.
#pragma once

#include <cstdint>
#include <deque>

#include "ring/live/connection.h"
#include "ring/live/fifo.h"

namespace sentinel {

template <typename Connection>
struct Lane {
  Connection wire;
  Fifo fifo;
  Rank peer = 0;               // in the communicator
  std::deque<uint64_t> turns;  // numbers of the operations taken up and not yet finished
};
using SendLane = Lane<SendConnection>;
using ReceiveLane = Lane<ReceiveConnection>;

}  // namespace sentinel
