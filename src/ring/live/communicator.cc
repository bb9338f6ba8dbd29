#include "ring/live/communicator.h"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "base/check.h"
#include "ring/live/schedule.h"
#include "ring/live/shared_file.h"

namespace sentinel {
namespace {

constexpr size_t kAlignment = 64;

const LiveComm& CommOf(const JobPlan& plan, uint64_t id) {
  for (const LiveComm& comm : plan.comms) {
    if (comm.id == id) return comm;
  }
  CHECK(false);
}

FifoShape ShapeFor(const JobPlan& plan, WireUse use) {
  if (use == WireUse::kRing) return {kRingSlots, plan.slice_bytes};
  return {kMessageSlots, plan.slice_bytes / 2};
}

std::string FileOf(const std::string& folder, const WireName& name) {
  char file[96];
  std::snprintf(file, sizeof file, "/fifo-%016" PRIx64 "-%s-%d-%d-%d", name.comm,
                name.use == WireUse::kRing ? "ring" : "p2p", name.channel, name.from, name.to);
  return folder + file;
}

}  // namespace

std::vector<WireName> WiresOf(const JobPlan& plan, Rank rank) {
  std::set<WireName> names;
  for (const LiveGroup& group : plan.program[static_cast<size_t>(rank)]) {
    for (const LiveCall& call : group) {
      const LiveComm& comm = plan.comms[call.comm];
      const auto at = [&comm](int member) {
        const int size = static_cast<int>(comm.members.size());
        return comm.members[static_cast<size_t>((member + size) % size)];
      };
      if (call.func == LiveFunc::kSend) {
        names.insert({comm.id, WireUse::kP2p, 0, rank, at(call.peer)});
      } else if (call.func == LiveFunc::kRecv) {
        names.insert({comm.id, WireUse::kP2p, 0, at(call.peer), rank});
      } else {
        const Rank self = *comm.RankOf(rank);
        for (int channel = 0; channel < plan.channels; ++channel) {
          names.insert({comm.id, WireUse::kRing, channel, rank, at(self + 1)});
          names.insert({comm.id, WireUse::kRing, channel, at(self - 1), rank});
        }
      }
    }
  }
  return {names.begin(), names.end()};
}

void Links::Unmap::operator()(void* memory) const { munmap(memory, bytes); }
void Links::Free::operator()(void* memory) const { std::free(memory); }

Result<Links> Links::Make(const JobPlan& plan, Rank rank, Wires wires, const std::string& folder,
                          Bell& proxy) {
  Links links;
  for (const WireName& name : WiresOf(plan, rank)) {
    const LiveComm& comm = CommOf(plan, name.comm);
    const FifoShape shape = ShapeFor(plan, name.use);
    const size_t bytes = Fifo::BytesFor(shape);
    const bool sends = name.from == rank;
    const Rank other = sends ? name.to : name.from;
    if (plan.IsNetEdge(comm, name.from, name.to)) {
      const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      void* memory = std::aligned_alloc(kAlignment, rounded);
      CHECK(memory != nullptr);
      std::memset(memory, 0, rounded);
      links.own_.emplace_back(memory);
      const Fifo fifo(memory, shape);
      const Rank peer = *comm.RankOf(other);
      OwnedFd fd = std::move(wires[name]);
      auto end = std::make_unique<FifoEnd>(FifoEnd{fifo, &proxy});
      if (sends) {
        auto lane = std::make_unique<SendLane>(
            SendLane{SendConnection(std::move(fd), plan.transport), fifo, peer, {}});
        links.to_[name] = {std::move(lane), std::move(end)};
      } else {
        auto lane = std::make_unique<ReceiveLane>(
            ReceiveLane{ReceiveConnection(std::move(fd), plan.transport), fifo, peer, {}});
        links.from_[name] = {std::move(lane), std::move(end)};
      }
      continue;
    }
    void* memory = TRY(MapSharedFile(FileOf(folder, name), bytes));
    links.shared_.emplace_back(memory, Unmap{bytes});
    std::unique_ptr<KernelBell>& bell = links.neighbours_[other];
    if (bell == nullptr) {
      KernelBell opened = TRY(KernelBell::Open(folder, other));
      bell = std::make_unique<KernelBell>(std::move(opened));
    }
    auto end = std::make_unique<FifoEnd>(FifoEnd{Fifo(memory, shape), bell.get()});
    if (sends) {
      links.to_[name].end = std::move(end);
    } else {
      links.from_[name].end = std::move(end);
    }
  }
  return links;
}

SendLink& Links::To(const WireName& name) {
  auto found = to_.find(name);
  CHECK(found != to_.end());
  return found->second;
}

ReceiveLink& Links::From(const WireName& name) {
  auto found = from_.find(name);
  CHECK(found != from_.end());
  return found->second;
}

std::vector<SendLane*> Links::SendLanes() {
  std::vector<SendLane*> lanes;
  for (auto& [name, link] : to_) {
    if (link.lane) lanes.push_back(link.lane.get());
  }
  return lanes;
}

std::vector<ReceiveLane*> Links::ReceiveLanes() {
  std::vector<ReceiveLane*> lanes;
  for (auto& [name, link] : from_) {
    if (link.lane) lanes.push_back(link.lane.get());
  }
  return lanes;
}

}  // namespace sentinel
