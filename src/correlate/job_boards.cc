// What the boards of a JobModel show.
#include <fmt/format.h>

#include <algorithm>

#include "correlate/job_model.h"
#include "correlate/report.h"
#include "correlate/ring_model.h"

namespace sentinel {
namespace {

constexpr Duration kSuspectAfter = 400 * kMs;
constexpr uint32_t kTransferSteps = 16;
constexpr uint32_t kTransferOpen = 8;

}  // namespace

bool JobModel::Suspect(Rank rank, size_t comm) const {
  const Seen& seen = ranks_[static_cast<size_t>(rank)].comms.at(comm);
  return !seen.open.empty() && now_ - seen.changed >= kSuspectAfter;
}

const JobModel::Item* JobModel::ItemOf(Rank rank, size_t comm, uint64_t index) const {
  const RankState& state = ranks_[static_cast<size_t>(rank)];
  for (size_t at : state.comms.at(comm).open) {
    if (state.items[at].index == index) return &state.items[at];
  }
  return nullptr;
}

Digest JobModel::DigestOf(Rank rank, size_t comm) {
  const RankState& state = ranks_[static_cast<size_t>(rank)];
  const Seen& seen = state.comms.at(comm);
  Digest d;
  d.member.comm = {"job-1", comm + 1, static_cast<int32_t>(comms_[comm].members.size())};
  d.member.rank = seen.rank;
  d.member.nodes = comms_[comm].nodes;
  d.member.comm_name = comms_[comm].name;
  const int card = rank % options_.cards_per_node;
  d.member.place = {state.host, card, fmt::format("0000:{:02x}:00.0", card + 16), 1000 + rank};
  d.operations_started = seen.enqueued;
  d.operations_finished = seen.finished;
  d.age = now_ - seen.changed;
  d.suspect = Suspect(rank, comm);
  d.suspect_after = kSuspectAfter;
  d.vitals.state = state.fault == JobFault::kKilled    ? ProcessState::kDead
                   : state.fault == JobFault::kStopped ? ProcessState::kStopped
                                                       : ProcessState::kSleeping;
  // Measured over the last 500 ms.
  d.vitals.idle = state.fault != JobFault::kLate && now_ - state.worked >= 500 * kMs;
  d.history = {500, seen.gap_max};
  const size_t first =
      seen.recent.size() > kRecentCallsMax ? seen.recent.size() - kRecentCallsMax : 0;
  d.recent.assign(seen.recent.begin() + static_cast<long>(first), seen.recent.end());
  if (seen.open.empty()) {
    if (!seen.recent.empty()) d.op = seen.recent.back();
    return d;
  }
  const Item& item = state.items[seen.open.front()];
  for (const Operation& op : seen.recent) {
    if (op.index == item.index) d.op = op;
  }
  const bool started = item.is_started && !item.unseen;
  d.kernels = {true, 1, started ? 1 : 0, 0};
  d.phase = started ? Phase::kInside : Phase::kEnqueued;
  if (!item.taken_up) return d;
  if (item.kind == Kind::kCollective) {
    CollectiveEdges(comm, item.index, rank, &d);
  } else {
    TransferEdges(rank, item, &d);
  }
  if (!d.edges.empty()) d.phase = Phase::kInside;
  return d;
}

void JobModel::CollectiveEdges(size_t comm, uint64_t index, Rank rank, Digest* d) {
  if (comms_[comm].nodes <= 1) return;
  const auto found = meetings_.find({comm, index, -1, -1});
  const Meeting meeting = found == meetings_.end() ? Meeting{} : found->second;
  RingOptions ring;
  ring.ranks = static_cast<int>(comms_[comm].members.size());
  ring.channels = 1;
  ring.infiniband = options_.infiniband;
  std::string signature = fmt::format("{}", index);
  for (Rank member : comms_[comm].members) {
    const Seen& seen = ranks_[static_cast<size_t>(member)].comms.at(comm);
    const Item* item = ItemOf(member, comm, index);
    if (seen.enqueued <= index || (item != nullptr && !item->taken_up)) {
      ring.absent.push_back(seen.rank);
      signature += fmt::format(" a{}", seen.rank);
    } else if (item != nullptr && !item->is_started) {
      ring.not_started.push_back(seen.rank);
      signature += fmt::format(" n{}", seen.rank);
    }
  }
  if (meeting.broken) {
    ring.culprit = meeting.culprit;
    ring.fault = meeting.fault == JobFault::kGpuDead   ? Fault::kKernelFrozen
                 : meeting.fault == JobFault::kNetwork ? Fault::kOneWay
                 : meeting.fault == JobFault::kKilled  ? Fault::kKilled
                                                       : Fault::kProxyFrozen;
    ring.moves_before_fault =
        static_cast<int>((seed_ + index) % static_cast<uint64_t>(2 * ring.ranks));
    signature += fmt::format(" b{} {}", meeting.culprit, static_cast<int>(meeting.fault));
  }
  const Rank own = comms_[comm].Of(rank);
  auto& [made_of, boards] = rings_[comm];
  if (made_of != signature) {
    made_of = signature;
    boards.clear();
    RingModel model(ring, seed_ + index);
    // Under way and sound: nobody looks closely at what lasts a moment.
    if (!ring.absent.empty() || !ring.not_started.empty() || meeting.broken) {
      model.RunToRest();
      boards = model.Digests();
    }
  }
  if (boards.empty()) {
    d->truncated = true;
    return;
  }
  for (const EdgeProgress& e : boards[static_cast<size_t>(own)].edges) {
    if (!Crosses(comm, own, e.peer)) continue;
    d->edges.push_back(e);
    d->edges.back().age = d->age;
  }
}

void JobModel::TransferEdges(Rank rank, const Item& item, Digest* d) {
  const Rank own = comms_[item.comm].Of(rank);
  if (!Crosses(item.comm, own, item.peer)) return;
  const Rank other = comms_[item.comm].members[static_cast<size_t>(item.peer)];
  const auto found = meetings_.find(KeyOf(rank, item));
  const Meeting meeting = found == meetings_.end() ? Meeting{} : found->second;
  // The other end, as far as it has come.
  const RankState& there = ranks_[static_cast<size_t>(other)];
  bool other_posted = false;
  bool other_started = meeting.started >= 2 || (meeting.started == 1 && !item.is_started);
  for (size_t at : there.comms.at(item.comm).open) {
    const Item& candidate = there.items[at];
    other_posted |= candidate.kind != item.kind && candidate.peer == own &&
                    candidate.pair == item.pair && candidate.taken_up;
  }
  EdgeProgress e;
  e.direction = item.kind == Kind::kSend ? Direction::kSend : Direction::kRecv;
  e.peer = item.peer;
  e.steps = kTransferSteps;
  e.age = d->age;
  const bool gpu = meeting.broken && meeting.fault == JobFault::kGpuDead;
  if (item.kind == Kind::kSend) {
    if (!item.is_started || (gpu && meeting.culprit == own)) {
      e.state = StepState::kSendGpuWait;
    } else if (!other_posted) {
      e.state = StepState::kSendPeerWait;
    } else {
      e.state = StepState::kSendWait;
    }
  } else if ((meeting.broken && meeting.culprit == own && gpu) ||
             (!item.is_started && other_started)) {
    e.state = StepState::kRecvGpuWait;
  } else {
    e.state = StepState::kRecvWait;
  }
  e.in_state = 1;
  e.started = std::min(e.steps, e.done + kTransferOpen);
  d->edges.push_back(e);
}

std::string JobModel::Shown() {
  std::string words;
  for (Rank r = 0; r < ranks(); ++r) {
    words += fmt::format("\n  {}:", r);
    for (const auto& [comm, seen] : ranks_[static_cast<size_t>(r)].comms) {
      const Digest d = DigestOf(r, comm);
      words += fmt::format(" | {}{} {} {}", comms_[comm].name, comm, PhaseName(d.phase),
                           d.op ? d.op->index : 0);
      if (d.op) words += fmt::format(" {}", FuncName(d.op->func));
      if (d.op && d.op->peer >= 0) words += fmt::format(" peer {}", d.op->peer);
      if (IsOpen(d)) {
        words += fmt::format(" k{} o{} age{}", d.kernels.started, d.op->order, ToMillis(d.age));
      }
      for (const EdgeProgress& e : d.edges) {
        words += fmt::format(" {}{}={}:{}", e.direction == Direction::kRecv ? "R" : "S", e.peer,
                             e.done, StepStateName(e.state));
      }
    }
  }
  return words;
}

}  // namespace sentinel
