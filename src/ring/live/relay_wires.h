// The wires between ranks: every connection of an edge passes through here byte by byte, and each
// direction of each edge can be stopped or slowed, as a fabric would do it.
//
// It knows nothing of what it carries. One thread; what is on the way is bounded by one socket's
// buffer for each direction of a connection, besides what the kernel's sockets hold.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

enum class Flow : uint32_t {
  kPass,
  kStop,  // nothing arrives any more, not even that the other end has gone
  kSlow,  // WirePace::slow_bytes every kSlowPeriod
};

// Written by whoever commands the wire, read by the one who carries. Zeroed memory passes.
struct WireFlows {
  std::atomic<Flow> forward;  // from the connecting rank, whose edge it is, to the listening one
  std::atomic<Flow> backward;
};
static_assert(std::atomic<Flow>::is_always_lock_free);

struct Wire {
  int listener = -1;  // a listening socket, non-blocking; stays the caller's
  uint16_t target_port = 0;
  const WireFlows* flows = nullptr;
};

struct WirePace {
  size_t slow_bytes = 0;    // pass in each period where a direction is slow
  size_t socket_bytes = 0;  // SO_SNDBUF and SO_RCVBUF of what is connected; as much is on the way
};

class RelayWires {
 public:
  static constexpr Duration kSlowPeriod = std::chrono::milliseconds(500);
  // A rank that does not listen yet is tried again for so long.
  static constexpr Duration kConnectWithin = std::chrono::seconds(20);
  // Beyond it a connection is closed as soon as it comes.
  static constexpr size_t kConnectionsMax = 1024;

  RelayWires(std::vector<Wire> wires, WirePace pace);
  ~RelayWires();
  RelayWires(const RelayWires&) = delete;
  RelayWires& operator=(const RelayWires&) = delete;

  // Carries until `control` is at its end (or fails). A byte that comes there means that flows have
  // changed.
  Status Carry(int control);

 private:
  // One direction of one connection.
  struct Lane {
    int from = -1;
    int to = -1;
    const std::atomic<Flow>* flow = nullptr;
    std::vector<char> bytes;
    size_t begin = 0;
    size_t end = 0;
    bool ended = false;      // `from` says no more
    bool passed_on = false;  // ... and `to` knows
    size_t allowance = 0;    // while slow
    Instant refill;
  };
  struct Connection {
    size_t wire = 0;
    int client = -1;
    int server = -1;  // -1: not connected yet
    bool connecting = false;
    Instant next_try;
    Instant give_up;
    Lane forward;
    Lane backward;
    bool broken = false;
  };

  // What to wait for, and until when at most. The order is that of Act.
  std::optional<Instant> Ask(int control, Instant now, std::vector<pollfd>* polled);
  void AskFor(Connection* connection, std::optional<Instant>* wake, std::vector<pollfd>* polled);
  void Act(const std::vector<pollfd>& polled, Instant now);

  void Accept(size_t wire, Instant now);
  void Connect(Connection* connection, Instant now);
  void Connected(Connection* connection, Instant now);
  void Serve(Lane* lane, Connection* connection);
  void Refill(Lane* lane, Instant now);
  // Whether it takes in, or hands out, as things are.
  static bool Reads(const Lane& lane);
  static bool Writes(const Lane& lane);
  void Close(Connection* connection);

  std::vector<Wire> wires_;
  const WirePace pace_;
  std::list<Connection> connections_;
};

// A listening socket on a free loopback port, non-blocking and close-on-exec, whose connections
// inherit small buffers.
struct Listening {
  int fd = -1;
  uint16_t port = 0;
};
Result<Listening> ListenOnLoopback(size_t socket_bytes);

}  // namespace sentinel
