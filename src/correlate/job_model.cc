#include "correlate/job_model.h"

#include <algorithm>
#include <set>

#include "correlate/ring_model.h"

namespace sentinel {
namespace {

constexpr int kHostCallsPerTick = 20;

}  // namespace

const char* JobFaultName(JobFault fault) {
  switch (fault) {
    case JobFault::kNone:
      return "none";
    case JobFault::kHostAbsent:
      return "host_absent";
    case JobFault::kLate:
      return "late";
    case JobFault::kComputeStuck:
      return "compute_stuck";
    case JobFault::kGpuDead:
      return "gpu_dead";
    case JobFault::kProxyFrozen:
      return "proxy_frozen";
    case JobFault::kNetwork:
      return "network";
    case JobFault::kStopped:
      return "stopped";
    case JobFault::kKilled:
      return "killed";
    case JobFault::kMissingSend:
      return "missing_send";
    case JobFault::kMismatchOrder:
      return "mismatch_order";
  }
  return "";
}

Rank JobModel::Comm::Of(Rank world) const {
  const auto at = std::find(members.begin(), members.end(), world);
  return at == members.end() ? -1 : static_cast<Rank>(at - members.begin());
}

// Tensor parallel ranks are neighbours, then data parallel ones, then the stages of a pipeline.
JobModel::JobModel(JobOptions options, uint64_t seed)
    : options_(options), chance_(seed), seed_(seed), moved_(now_) {
  const int n = options.tensor * options.pipeline * options.data;
  ranks_.resize(static_cast<size_t>(n));
  tensor_of_.assign(static_cast<size_t>(n), kNoComm);
  pipeline_of_ = data_of_ = tensor_of_;
  for (Rank r = 0; r < n; ++r) {
    RankState& state = ranks_[static_cast<size_t>(r)];
    state.host = "node-" + std::to_string(r / options.cards_per_node);
    state.streams.resize(4);
  }
  const auto world = [&](int t, int d, int p) {
    return (p * options.data + d) * options.tensor + t;
  };
  const auto add = [&](const std::string& name, std::vector<Rank> members,
                       std::vector<size_t>* of) {
    if (members.size() < 2) return;
    const size_t comm = AddComm(name, members);
    for (Rank r : members) (*of)[static_cast<size_t>(r)] = comm;
  };
  for (int p = 0; p < options.pipeline; ++p) {
    for (int d = 0; d < options.data; ++d) {
      std::vector<Rank> members;
      for (int t = 0; t < options.tensor; ++t) members.push_back(world(t, d, p));
      add("tp", members, &tensor_of_);
    }
    for (int t = 0; t < options.tensor; ++t) {
      std::vector<Rank> members;
      for (int d = 0; d < options.data; ++d) members.push_back(world(t, d, p));
      add("dp", members, &data_of_);
    }
  }
  for (int d = 0; d < options.data; ++d) {
    for (int t = 0; t < options.tensor; ++t) {
      std::vector<Rank> members;
      for (int p = 0; p < options.pipeline; ++p) members.push_back(world(t, d, p));
      add("pp", members, &pipeline_of_);
    }
  }
  std::vector<Rank> all;
  for (Rank r = 0; r < n; ++r) all.push_back(r);
  world_ = AddComm("world", all);
}

size_t JobModel::AddComm(std::string name, std::vector<Rank> members) {
  Comm comm;
  comm.name = std::move(name);
  std::set<std::string> hosts;
  for (Rank r : members) hosts.insert(HostOf(r));
  comm.nodes = static_cast<int>(hosts.size());
  comm.members = std::move(members);
  const size_t id = comms_.size();
  for (size_t i = 0; i < comm.members.size(); ++i) {
    Seen& seen = ranks_[static_cast<size_t>(comm.members[i])].comms[id];
    seen.rank = static_cast<Rank>(i);
    seen.changed = now_;
  }
  comms_.push_back(std::move(comm));
  return id;
}

int JobModel::Pick(int low, int high) {
  return low + static_cast<int>(chance_() % static_cast<uint64_t>(high - low + 1));
}

uint64_t JobModel::Iterations() const {
  uint64_t least = UINT64_MAX;
  for (const RankState& state : ranks_) least = std::min(least, state.iterations);
  return least;
}

void JobModel::Tick() {
  now_ = now_ + kTick;
  for (Rank r = 0; r < ranks(); ++r) Host(r);
  for (Rank r = 0; r < ranks(); ++r) Device(r);
}

void JobModel::Host(Rank rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  switch (state.fault) {
    case JobFault::kHostAbsent:
    case JobFault::kLate:
    case JobFault::kStopped:
    case JobFault::kKilled:
      return;
    default:
      break;
  }
  for (int calls = 0; calls < kHostCallsPerTick; ++calls) {
    if (state.next >= state.items.size()) Program(rank);
    Item& item = state.items[state.next];
    if (item.kind == Kind::kSync) {
      // What has been enqueued is waited for.
      if (state.outstanding > 0) return;
      ++state.iterations;
      item.is_enqueued = item.is_started = item.is_finished = true;
      ++state.next;
      continue;
    }
    if (state.outstanding >= static_cast<size_t>(options_.run_ahead)) return;
    item.is_enqueued = true;
    item.enqueued = now_;
    item.taken_up = state.fault != JobFault::kProxyFrozen;
    ++state.outstanding;
    state.streams[static_cast<size_t>(item.stream)].push_back(state.next);
    if (item.kind != Kind::kCompute) {
      Seen& seen = state.comms[item.comm];
      Operation op;
      op.index = op.call_index = item.index;
      op.seq = item.peer < 0 ? item.index : item.pair + 1;
      op.func = item.func;
      op.count = item.peer < 0 ? 4096 : 1024;
      op.datatype = DataType::kFloat32;
      op.algorithm = item.peer < 0 ? Algorithm::kRing : Algorithm::kUnknown;
      op.protocol = Protocol::kSimple;
      op.channels = 1;
      op.peer = item.peer;
      op.order = ++state.order;
      seen.recent.push_back(op);
      if (seen.recent.size() > 300) seen.recent.erase(seen.recent.begin());
      if (seen.open.empty()) seen.changed = now_;
      seen.open.push_back(state.next);
      ++seen.enqueued;
    }
    ++state.next;
  }
}

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

void JobModel::Break(Rank rank, JobFault fault) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  if (fault == JobFault::kMissingSend || fault == JobFault::kMismatchOrder) {
    state.skip_send = fault == JobFault::kMissingSend;
    state.swap_order = fault == JobFault::kMismatchOrder;
    return;
  }
  state.fault = fault;
  if (fault != JobFault::kComputeStuck) return;
  for (size_t at : state.streams[kComputeStream]) {
    const Item& item = state.items[at];
    if (item.kind == Kind::kCompute && item.is_started && !item.is_finished) state.stuck_item = at;
  }
}

void JobModel::Heal(Rank rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  if (state.fault == JobFault::kLate) state.worked = now_;
  state.fault = JobFault::kNone;
  state.stuck_item = SIZE_MAX;
  for (auto& [key, meeting] : meetings_) {
    if (!meeting.broken) continue;
    const Comm& comm = comms_[std::get<0>(key)];
    if (comm.members[static_cast<size_t>(meeting.culprit)] == rank) meeting.broken = false;
  }
  for (auto& [comm, seen] : state.comms) {
    // What happened behind the progress thread's back is seen now.
    for (size_t at : seen.open) {
      if (state.items[at].is_finished) ++seen.finished;
      state.items[at].unseen = false;
    }
    std::erase_if(seen.open, [&](size_t at) { return state.items[at].is_finished; });
    seen.changed = now_;
  }
}

}  // namespace sentinel
