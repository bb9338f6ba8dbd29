#include "correlate/ring_model.h"

#include <algorithm>

namespace sentinel {

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kAbsent:
      return "absent";
    case Fault::kKernelNotStarted:
      return "kernel_not_started";
    case Fault::kKernelFrozen:
      return "kernel_frozen";
    case Fault::kProxyAbsent:
      return "proxy_absent";
    case Fault::kProxyFrozen:
      return "proxy_frozen";
    case Fault::kFlush:
      return "flush";
    case Fault::kOneWay:
      return "one_way";
    case Fault::kIsolate:
      return "isolate";
    case Fault::kStopped:
      return "stopped";
    case Fault::kKilled:
      return "killed";
  }
  return "";
}

RingModel::RingModel(RingOptions options, uint64_t seed) : options_(options), chance_(seed) {
  boards_.resize(static_cast<size_t>(options.ranks));
  for (Rank r = 0; r < options.ranks; ++r) {
    Board& b = boards_[static_cast<size_t>(r)];
    b.channels.resize(static_cast<size_t>(options.channels));
    const bool culprit = r == options.culprit;
    const auto among = [r](const std::vector<Rank>& ranks) {
      return std::find(ranks.begin(), ranks.end(), r) != ranks.end();
    };
    b.entered = !(culprit && options.fault == Fault::kAbsent) && !among(options.absent);
    b.proxy_started = b.entered && !(culprit && options.fault == Fault::kProxyAbsent);
    // Without its proxy nobody sees the kernel start.
    b.kernel_started = b.proxy_started && !among(options.not_started) &&
                       !(culprit && options.fault == Fault::kKernelNotStarted);
  }
}

bool RingModel::Hit(Rank rank, std::initializer_list<Fault> faults) const {
  return rank == options_.culprit && Faulty() &&
         std::find(faults.begin(), faults.end(), options_.fault) != faults.end();
}

bool RingModel::WireDead(Rank from) const {
  if (!Faulty()) return false;
  if (options_.fault == Fault::kOneWay) return from == options_.culprit;
  if (options_.fault != Fault::kIsolate) return false;
  return from == options_.culprit || (from + 1) % options_.ranks == options_.culprit;
}

// Sending slice j needs the slice that came c before it; the last c slices are only received.
bool RingModel::Kernel(Rank rank, Channel& c) {
  const Board& b = boards_[static_cast<size_t>(rank)];
  if (!b.entered || !b.kernel_started) return false;
  if (Hit(rank, {Fault::kKernelFrozen, Fault::kStopped, Fault::kKilled})) return false;
  if (c.filled < Steps()) {
    if (c.filled >= c.send_done + options_.fifo) return false;
    const bool own = c.filled < options_.slices_per_chunk;
    if (!own && c.published <= c.filled - options_.slices_per_chunk) return false;
    ++c.filled;
    if (!own) ++c.consumed;
    return true;
  }
  if (c.consumed >= c.published) return false;
  ++c.consumed;
  return true;
}

bool RingModel::SendProxy(Rank rank, int channel, Channel& c) {
  const Board& b = boards_[static_cast<size_t>(rank)];
  if (!b.proxy_started) return false;
  if (Hit(rank, {Fault::kProxyFrozen, Fault::kStopped, Fault::kKilled})) return false;
  const Channel& peer = boards_[static_cast<size_t>((rank + 1) % options_.ranks)]
                            .channels[static_cast<size_t>(channel)];
  // Credits cross the same wire backwards; they are lost only where all packets are.
  const bool credit_lost = options_.fault == Fault::kIsolate && WireDead(rank);
  if (c.transmitted < c.filled) {
    const bool credit = !options_.infiniband || (peer.posted > c.transmitted && !credit_lost);
    if (credit && c.transmitted < c.send_done + options_.fifo) {
      ++c.transmitted;
      return true;
    }
  }
  if (c.send_done < c.transmitted) {
    const bool done = options_.infiniband ? peer.received > c.send_done
                                          : c.send_done < peer.received + options_.socket_buffer;
    if (done) {
      ++c.send_done;
      return true;
    }
  }
  return false;
}

bool RingModel::RecvProxy(Rank rank, int channel, Channel& c) {
  const Board& b = boards_[static_cast<size_t>(rank)];
  if (!b.proxy_started) return false;
  if (Hit(rank, {Fault::kProxyFrozen, Fault::kStopped, Fault::kKilled})) return false;
  if (c.posted < std::min(Steps(), c.consumed + options_.fifo)) {
    ++c.posted;
    return true;
  }
  const Rank from = (rank + options_.ranks - 1) % options_.ranks;
  const Channel& sender = boards_[static_cast<size_t>(from)].channels[static_cast<size_t>(channel)];
  if (c.received < c.posted && c.received < sender.transmitted && !WireDead(from)) {
    ++c.received;
    return true;
  }
  if (c.published < c.received && !Hit(rank, {Fault::kFlush})) {
    ++c.published;
    return true;
  }
  return false;
}

bool RingModel::Move(Rank rank, int channel, int actor) {
  Channel& c = boards_[static_cast<size_t>(rank)].channels[static_cast<size_t>(channel)];
  switch (actor) {
    case 0:
      return Kernel(rank, c);
    case 1:
      return SendProxy(rank, channel, c);
    default:
      return RecvProxy(rank, channel, c);
  }
}

bool RingModel::Done(Rank rank) const {
  for (const Channel& c : boards_[static_cast<size_t>(rank)].channels) {
    if (c.consumed < Steps() || c.send_done < Steps()) return false;
  }
  return true;
}

bool RingModel::AnyDone() const {
  for (Rank r = 0; r < options_.ranks; ++r) {
    if (Done(r)) return true;
  }
  return false;
}

void RingModel::RunMoves(int moves) {
  int idle = 0;
  while (moves > 0 && idle < 1000) {
    const Rank rank = static_cast<Rank>(chance_() % static_cast<uint64_t>(options_.ranks));
    const int channel = static_cast<int>(chance_() % static_cast<uint64_t>(options_.channels));
    if (Move(rank, channel, static_cast<int>(chance_() % 3))) {
      ++moves_;
      --moves;
      idle = 0;
    } else {
      ++idle;
    }
  }
}

bool RingModel::RunToRest() {
  RunMoves(options_.moves_before_fault);
  moves_ = std::max(moves_, options_.moves_before_fault);
  // Around and around in a different order each time, until a round changes nothing.
  bool moved = true;
  while (moved) {
    moved = false;
    const uint64_t offset = chance_();
    for (int i = 0; i < options_.ranks * options_.channels * 3; ++i) {
      const int at =
          static_cast<int>((offset + static_cast<uint64_t>(i)) %
                           static_cast<uint64_t>(options_.ranks * options_.channels * 3));
      moved |= Move(at % options_.ranks, at / options_.ranks % options_.channels,
                    at / options_.ranks / options_.channels);
    }
  }
  // A rank cut off after it was through would show it in the next operation, which has no wires
  // here.
  if (options_.fault == Fault::kIsolate && Done(options_.culprit)) return false;
  for (Rank r = 0; r < options_.ranks; ++r) {
    if (!Done(r)) return true;
  }
  return false;
}

std::vector<Digest> RingModel::Digests() const {
  std::vector<Digest> digests;
  for (Rank r = 0; r < options_.ranks; ++r) {
    const Board& b = boards_[static_cast<size_t>(r)];
    RankDigest d(r, options_.ranks);
    if (!b.entered) {
      d.Between(9);
    } else if (!b.proxy_started) {
      d.Enqueued(10, options_.channels);
    } else if (Done(r)) {
      // On to the next operation, where it starves behind the nearest rank that is not there.
      Rank behind = 0;
      const auto upstream = [this, r](Rank hops) {
        return (r + 2 * options_.ranks - 1 - hops) % options_.ranks;
      };
      while (behind < options_.ranks && Done(upstream(behind))) ++behind;
      if (behind == options_.ranks) {  // everybody is through
        digests.push_back(d.Between(10));
        continue;
      }
      const uint32_t step =
          std::min(Steps(), static_cast<uint32_t>(behind) * options_.slices_per_chunk);
      d.Inside(11, options_.channels)
          .Steps(Steps())
          .Recv(step, StepState::kRecvWait, options_.fifo)
          .Send(std::min(Steps(), step + options_.slices_per_chunk), StepState::kSendGpuWait);
    } else {
      d.Inside(10, options_.channels).Steps(Steps());
      if (!b.kernel_started) d.KernelNotStarted();
      for (int i = 0; i < options_.channels; ++i) {
        const Channel& c = b.channels[static_cast<size_t>(i)];
        StepState recv = StepState::kRecvWait;
        if (c.received > c.consumed) recv = StepState::kRecvFlushWait;
        if (c.published > c.consumed) recv = StepState::kRecvGpuWait;
        if (recv == StepState::kRecvWait && c.posted <= c.consumed) recv = StepState::kNone;
        StepState send = StepState::kSendGpuWait;
        if (c.filled > c.send_done) send = StepState::kSendPeerWait;
        if (c.transmitted > c.send_done) send = StepState::kSendWait;
        const uint32_t held = recv == StepState::kRecvGpuWait ? c.published - c.consumed : 1;
        d.RecvOn(i, c.consumed, recv, held);
        d.SendOn(i, c.send_done, send);
        // What is finished need not be on the board any more.
        std::vector<EdgeProgress>& edges = d.value().edges;
        std::erase_if(edges,
                      [](const EdgeProgress& e) { return e.done >= e.steps && e.peer % 2 == 0; });
      }
    }
    if (r == options_.culprit && options_.fault == Fault::kStopped) {
      d.Process(ProcessState::kStopped);
    }
    if (r == options_.culprit && options_.fault == Fault::kKilled) d.Process(ProcessState::kDead);
    digests.push_back(d);
  }
  return digests;
}

}  // namespace sentinel
