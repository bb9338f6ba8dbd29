#include "ring/live/plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sentinel {
namespace {

template <typename T>
using Names = std::pair<T, std::string_view>;

constexpr std::array<Names<LiveTransport>, 2> kTransports{
    {{LiveTransport::kSocket, "socket"}, {LiveTransport::kIb, "ib"}}};

constexpr std::array<Names<LiveLayout>, 3> kLayouts{{{LiveLayout::kRing, "ring"},
                                                     {LiveLayout::kSendRecv, "sendrecv"},
                                                     {LiveLayout::kMixed, "mixed"}}};

constexpr std::array<Names<LiveFunc>, 5> kFuncs{{{LiveFunc::kAllReduce, "AllReduce"},
                                                 {LiveFunc::kReduceScatter, "ReduceScatter"},
                                                 {LiveFunc::kAllGather, "AllGather"},
                                                 {LiveFunc::kSend, "Send"},
                                                 {LiveFunc::kRecv, "Recv"}}};

constexpr std::array<Names<LiveFault>, 15> kFaults{
    {{LiveFault::kAbsent, "absent"},
     {LiveFault::kStopMid, "stop-mid"},
     {LiveFault::kFreezeKernel, "freeze-kernel"},
     {LiveFault::kFreezeProxy, "freeze-proxy"},
     {LiveFault::kFreezeProxyMid, "freeze-proxy-mid"},
     {LiveFault::kMismatch, "mismatch"},
     {LiveFault::kMismatchOrder, "mismatch-order"},
     {LiveFault::kMissingSend, "missing-send"},
     {LiveFault::kSlowKernel, "slow-kernel"},
     {LiveFault::kLate, "late"},
     {LiveFault::kCheckpoint, "checkpoint"},
     {LiveFault::kEval, "eval"},
     {LiveFault::kFirstIteration, "first-iteration"},
     {LiveFault::kLoader, "loader"},
     {LiveFault::kExit, "exit"}}};

template <typename T, size_t kSize>
std::string_view NameIn(const std::array<Names<T>, kSize>& names, T value) {
  for (const Names<T>& entry : names) {
    if (entry.first == value) return entry.second;
  }
  return "?";
}

template <typename T, size_t kSize>
std::optional<T> FindIn(const std::array<Names<T>, kSize>& names, std::string_view name) {
  for (const Names<T>& entry : names) {
    if (entry.second == name) return entry.first;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Rank> LiveComm::RankOf(Rank world) const {
  auto found = std::find(members.begin(), members.end(), world);
  if (found == members.end()) return std::nullopt;
  return static_cast<Rank>(found - members.begin());
}

int JobPlan::NodeOf(Rank rank) const { return rank * static_cast<int>(hosts.size()) / ranks; }

int JobPlan::LocalRankOf(Rank rank) const {
  int local = 0;
  while (local < rank && NodeOf(rank - local - 1) == NodeOf(rank)) ++local;
  return local;
}

const std::string& JobPlan::HostOf(Rank rank) const {
  return hosts[static_cast<size_t>(NodeOf(rank))];
}

bool JobPlan::IsNetEdge(const LiveComm& comm, Rank from, Rank to) const {
  switch (comm.kind) {
    case LiveCommKind::kNet:
      return true;
    case LiveCommKind::kInNode:
      return false;
    case LiveCommKind::kByPlace:
      return NodeOf(from) != NodeOf(to);
  }
  return true;
}

uint16_t JobPlan::PortFor(Rank from, Rank to) const {
  for (const LiveEdge& edge : edges) {
    if (edge.from == from && edge.to == to) return edge.port;
  }
  return listen_ports[static_cast<size_t>(to)];
}

std::vector<LiveEdge> NetworkEdges(const JobPlan& plan) {
  std::set<std::pair<Rank, Rank>> pairs;
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    for (const LiveGroup& group : plan.program[static_cast<size_t>(rank)]) {
      for (const LiveCall& call : group) {
        const LiveComm& comm = plan.comms[call.comm];
        const std::optional<Rank> place = comm.RankOf(rank);
        if (!place || call.func == LiveFunc::kRecv) continue;
        const size_t to = IsP2p(call.func) ? static_cast<size_t>(call.peer)
                                           : static_cast<size_t>(*place + 1) % comm.members.size();
        if (plan.IsNetEdge(comm, rank, comm.members[to])) pairs.insert({rank, comm.members[to]});
      }
    }
  }
  std::vector<LiveEdge> edges;
  for (const auto& [from, to] : pairs) {
    const bool known = plan.listen_ports.size() > static_cast<size_t>(to);
    edges.push_back({from, to, known ? plan.listen_ports[static_cast<size_t>(to)] : uint16_t{0}});
  }
  return edges;
}

std::string_view Name(LiveTransport transport) { return NameIn(kTransports, transport); }
std::string_view Name(LiveFunc func) { return NameIn(kFuncs, func); }
std::string_view Name(LiveFault fault) { return NameIn(kFaults, fault); }
std::optional<LiveTransport> ParseLiveTransport(std::string_view name) {
  return FindIn(kTransports, name);
}
std::optional<LiveFunc> ParseLiveFunc(std::string_view name) { return FindIn(kFuncs, name); }
std::optional<LiveFault> ParseLiveFault(std::string_view name) { return FindIn(kFaults, name); }
std::optional<LiveLayout> ParseLiveLayout(std::string_view name) { return FindIn(kLayouts, name); }

}  // namespace sentinel
