// The relay as its parent holds it: a process of its own that carries the wires of some edges, so
// that neither a stopped rank nor a busy parent holds anybody's bytes up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/communicator.h"
#include "ring/live/relay_wires.h"

namespace sentinel {

class Relay {
 public:
  struct Edge {
    Rank from = -1;  // connects
    Rank to = -1;    // listens
    uint16_t target_port = 0;
  };

  // Forks. From the main thread, while there is no other: the relay ends with it.
  // in each period (RelayWires::kSlowPeriod) where a direction is slow.
  static Result<Relay> Start(const std::vector<Edge>& edges, WirePace pace);

  Relay(Relay&& other) noexcept;
  Relay& operator=(Relay&&) = delete;
  ~Relay();  // ends it: every connection breaks

  size_t edges() const { return edges_.size(); }
  const Edge& edge(size_t index) const { return edges_[index]; }
  uint16_t port(size_t index) const { return ports_[index]; }

  // From now on (SIGPIPE is ignored or blocked), for what `from` sends to `to`, over whichever
  // edge: data of its own one, answers on the other's.
  void Set(Rank from, Rank to, Flow flow);

  bool Alive();

 private:
  Relay() = default;

  std::vector<Edge> edges_;
  std::vector<uint16_t> ports_;
  WireFlows* flows_ = nullptr;  // shared with the process, one an edge
  size_t flows_bytes_ = 0;
  int control_ = -1;
  int pid_ = -1;
};

}  // namespace sentinel
