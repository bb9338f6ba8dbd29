// How the devices of a JobModel work off what their hosts have called: who starts, meets and ends.
#include <algorithm>

#include "correlate/job_model.h"

namespace sentinel {

bool JobModel::MayStart(const RankState& state, const Item& item) const {
  return std::all_of(item.after.begin(), item.after.end(),
                     [&](size_t at) { return state.items[at].is_finished; });
}

void JobModel::Device(Rank rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  if (state.fault == JobFault::kGpuDead || state.fault == JobFault::kKilled) return;
  for (std::deque<size_t>& stream : state.streams) {
    bool first = true;
    int launch = 0;
    for (size_t i = 0; i < stream.size();) {
      Item& item = state.items[stream[i]];
      if (first) launch = item.launch;
      first = false;
      if (item.launch != launch) break;
      if (!item.is_started && MayStart(state, item)) Start(rank, stream[i]);
      if (item.is_started && !item.is_finished) TryFinish(rank, stream[i]);
      ++i;
    }
    const auto done = [&](size_t at) { return state.items[at].is_finished; };
    // A launch is over when all of it is.
    size_t over = 0;
    while (over < stream.size() && state.items[stream[over]].launch == launch) ++over;
    if (over > 0 && std::all_of(stream.begin(), stream.begin() + static_cast<long>(over), done)) {
      stream.erase(stream.begin(), stream.begin() + static_cast<long>(over));
    }
  }
}

JobModel::MeetingKey JobModel::KeyOf(Rank rank, const Item& item) const {
  if (item.kind == Kind::kCollective) return {item.comm, item.index, -1, -1};
  const Rank own = comms_[item.comm].Of(rank);
  return item.kind == Kind::kSend ? MeetingKey{item.comm, item.pair, own, item.peer}
                                  : MeetingKey{item.comm, item.pair, item.peer, own};
}

bool JobModel::Crosses(size_t comm, Rank a, Rank b) const {
  const std::vector<Rank>& members = comms_[comm].members;
  return HostOf(members[static_cast<size_t>(a)]) != HostOf(members[static_cast<size_t>(b)]);
}

// Whether the next rank of a ring is on another node.
bool JobModel::SendsOut(size_t comm, Rank rank) const {
  const Rank n = static_cast<Rank>(comms_[comm].members.size());
  return Crosses(comm, rank, (rank + 1) % n);
}

void JobModel::Progressed(Rank rank, size_t comm) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  Seen& seen = state.comms[comm];
  if (state.fault == JobFault::kProxyFrozen || state.fault == JobFault::kStopped) return;
  if (!seen.open.empty()) seen.gap_max = std::max(seen.gap_max, now_ - seen.changed);
  seen.changed = now_;
}

void JobModel::Start(Rank rank, size_t at) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  Item& item = state.items[at];
  item.is_started = true;
  item.started = now_;
  moved_ = now_;
  if (item.kind == Kind::kCompute) {
    if (state.fault == JobFault::kComputeStuck && item.length.count() > 0 &&
        state.stuck_item == SIZE_MAX) {
      state.stuck_item = at;
    }
    return;
  }
  const bool blind = state.fault == JobFault::kProxyFrozen || state.fault == JobFault::kStopped;
  item.unseen = blind;
  Progressed(rank, item.comm);
  Meeting& meeting = meetings_[KeyOf(rank, item)];
  ++meeting.started;
  if (item.kind == Kind::kCollective) {
    const Comm& comm = comms_[item.comm];
    if (meeting.started < static_cast<int>(comm.members.size())) return;
    meeting.ready = now_ + item.length;
    // Who is broken shows once everybody is there.
    for (Rank member : comm.members) {
      const RankState& other = ranks_[static_cast<size_t>(member)];
      const bool wires = comm.nodes > 1;
      const bool broken =
          other.fault == JobFault::kGpuDead || other.fault == JobFault::kKilled ||
          (wires && (other.fault == JobFault::kStopped || other.fault == JobFault::kProxyFrozen)) ||
          (other.fault == JobFault::kNetwork && SendsOut(item.comm, comm.Of(member)));
      if (!broken) continue;
      meeting.broken = true;
      meeting.fault = other.fault;
      meeting.culprit = comm.Of(member);
    }
  } else if (meeting.started == 2) {
    meeting.ready = now_ + item.length;
  }
}

void JobModel::TryFinish(Rank rank, size_t at) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  Item& item = state.items[at];
  if (item.kind == Kind::kCompute) {
    if (at != state.stuck_item && now_ - item.started >= item.length) Finish(rank, at);
    return;
  }
  Meeting& meeting = meetings_[KeyOf(rank, item)];
  const bool collective = item.kind == Kind::kCollective;
  const int members = collective ? static_cast<int>(comms_[item.comm].members.size()) : 2;
  if (!collective && item.kind == Kind::kSend && !options_.infiniband &&
      now_ - item.started >= item.length &&
      Crosses(item.comm, comms_[item.comm].Of(rank), item.peer)) {
    // The socket takes a small message whoever is there.
    if (state.fault != JobFault::kProxyFrozen && state.fault != JobFault::kStopped) {
      Finish(rank, at);
    }
    return;
  }
  if (meeting.started < members || now_ < meeting.ready || meeting.broken) return;
  if (!meeting.done) {
    // It is decided once for all whether it comes to its end.
    std::vector<Rank> parties = comms_[item.comm].members;
    bool wires = comms_[item.comm].nodes > 1;
    if (!collective) {
      const Rank own = comms_[item.comm].Of(rank);
      const Rank from = item.kind == Kind::kSend ? own : item.peer;
      const Rank to = item.kind == Kind::kSend ? item.peer : own;
      wires = Crosses(item.comm, from, to);
      parties = {comms_[item.comm].members[static_cast<size_t>(from)],
                 comms_[item.comm].members[static_cast<size_t>(to)]};
    }
    for (size_t i = 0; i < parties.size(); ++i) {
      const JobFault fault = ranks_[static_cast<size_t>(parties[i])].fault;
      const bool sends = collective || i == 0;
      if (fault == JobFault::kGpuDead || fault == JobFault::kKilled ||
          (wires && (fault == JobFault::kStopped || fault == JobFault::kProxyFrozen ||
                     (fault == JobFault::kNetwork && sends &&
                      (!collective || SendsOut(item.comm, static_cast<Rank>(i))))))) {
        meeting.broken = true;
        meeting.fault = fault;
        meeting.culprit = comms_[item.comm].Of(parties[i]);
        return;
      }
    }
    meeting.done = true;
  }
  Finish(rank, at);
}

void JobModel::Finish(Rank rank, size_t at) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  Item& item = state.items[at];
  item.is_finished = true;
  item.finished = now_;
  moved_ = now_;
  --state.outstanding;
  if (item.kind == Kind::kCompute) return;
  Progressed(rank, item.comm);
  if (state.fault == JobFault::kProxyFrozen || state.fault == JobFault::kStopped) {
    item.unseen = true;
    return;
  }
  Seen& seen = state.comms[item.comm];
  std::erase(seen.open, at);
  ++seen.finished;
}

}  // namespace sentinel
