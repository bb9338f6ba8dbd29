#include "correlate/job_model.h"

#include <algorithm>
#include <set>

namespace sentinel {
namespace {

constexpr int kHostCallsPerTick = 20;

}  // namespace

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

}  // namespace sentinel
