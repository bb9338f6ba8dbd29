// What the state of one edge says by itself: who waits for whom on it, and whether it is frozen in
// a state that no victim shows. The judges of collectives share it.
#pragma once

#include <optional>
#include <vector>

#include "correlate/finding.h"

namespace sentinel {

// Its data has not arrived.
bool WaitsForSender(const EdgeProgress& e);
// The slice is the wire's, or waits for the receiver's credit.
bool HandedToNic(const EdgeProgress& e);
HangClass GpuClass(const Digest& d);

Finding Blame(HangClass hang_class, Rank rank, std::optional<Rank> waiter);
Finding Frozen(Rank from, Rank to);

// Edges whose receiver waits for data that its sender believes gone, or that the sender has handed
// to its NIC: frozen in a state that no victim shows. Finding.edges of a NETWORK comes from here.
std::vector<Edge> GuiltyEdges(const Scene& scene);

// Lays a NETWORK at the door of one rank where several frozen edges meet in it.
void ShareEdges(const Scene& scene, Finding* f);

}  // namespace sentinel
