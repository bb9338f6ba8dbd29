// The shapes of job that can be asked for.
#include <string>

#include "ring/live/plan.h"
#include "ring/live/schedule.h"

namespace sentinel {
namespace {

constexpr int kRanksMax = 64;
constexpr int kChannels = 2;
constexpr size_t kSliceBytes = 4 * 1024;
// A few slices fit into a connection and no operation does, so that a sender feels it when nobody
// reads.
constexpr size_t kSocketBytes = 8 * 1024;
constexpr size_t kFloatsPerSlice = kSliceBytes / sizeof(float);
constexpr size_t kMessageSteps = 12;  // of half a slice
constexpr size_t kMessage = kMessageSteps * kFloatsPerSlice / 2;
constexpr uint64_t kCommIdStep = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: spreads well

constexpr size_t kChunk = kSlicesPerChunk * kFloatsPerSlice;

size_t AddComm(JobPlan* plan, std::string name, LiveCommKind kind, std::vector<Rank> members) {
  LiveComm comm;
  comm.id = (plan->seed + 1) * kCommIdStep + plan->comms.size() * (kCommIdStep >> 7);
  comm.name = std::move(name);
  comm.kind = kind;
  comm.members = std::move(members);
  comm.nodes = 1;
  for (size_t i = 1; i < comm.members.size(); ++i) {
    if (plan->NodeOf(comm.members[i]) != plan->NodeOf(comm.members[i - 1])) ++comm.nodes;
  }
  plan->comms.push_back(std::move(comm));
  return plan->comms.size() - 1;
}

LiveGroup Shift(size_t comm, Rank rank, int size) {
  return {{comm, LiveFunc::kSend, kMessage, (rank + 1) % size},
          {comm, LiveFunc::kRecv, kMessage, (rank + size - 1) % size}};
}

std::vector<Rank> EveryRank(int ranks) {
  std::vector<Rank> members;
  for (Rank rank = 0; rank < ranks; ++rank) members.push_back(rank);
  return members;
}

void LayOutRing(JobPlan* plan, bool collectives) {
  const size_t world = AddComm(plan, "world", LiveCommKind::kNet, EveryRank(plan->ranks));
  const size_t all = kChannels * kChunk * static_cast<size_t>(plan->ranks);  // one loop
  for (Rank rank = 0; rank < plan->ranks; ++rank) {
    std::vector<LiveGroup>& groups = plan->program[static_cast<size_t>(rank)];
    if (collectives) {
      groups.push_back({{world, LiveFunc::kAllReduce, all, -1}});
      groups.push_back({{world, LiveFunc::kReduceScatter, kChunk, -1}});
      groups.push_back({{world, LiveFunc::kAllGather, kChunk, -1}});
    }
    groups.push_back(Shift(world, rank, plan->ranks));
  }
}

// As a job with tensor, pipeline and data parallelism has them: pairs (0 1) (2 3) … inside a node;
// the even and the odd ranks each as a pipeline and as a ring. An iteration goes down the pipeline,
// with the pair's AllReduce at every stage, and ends with the data-parallel gradients.
void LayOutMixed(JobPlan* plan) {
  std::vector<std::vector<Rank>> chains(2);
  for (Rank rank = 0; rank < plan->ranks; ++rank) {
    chains[static_cast<size_t>(rank % 2)].push_back(rank);
  }
  std::vector<size_t> pairs;
  for (Rank rank = 0; rank < plan->ranks; rank += 2) {
    pairs.push_back(
        AddComm(plan, "tp" + std::to_string(rank / 2), LiveCommKind::kInNode, {rank, rank + 1}));
  }
  std::vector<size_t> pipes;
  std::vector<size_t> rings;
  for (size_t i = 0; i < chains.size(); ++i) {
    pipes.push_back(AddComm(plan, "pp" + std::to_string(i), LiveCommKind::kByPlace, chains[i]));
  }
  for (size_t i = 0; i < chains.size(); ++i) {
    rings.push_back(AddComm(plan, "dp" + std::to_string(i), LiveCommKind::kByPlace, chains[i]));
  }
  const Rank stages = plan->ranks / 2;
  for (Rank rank = 0; rank < plan->ranks; ++rank) {
    std::vector<LiveGroup>& groups = plan->program[static_cast<size_t>(rank)];
    const size_t chain = static_cast<size_t>(rank % 2);
    const Rank stage = rank / 2;
    if (stage > 0) groups.push_back({{pipes[chain], LiveFunc::kRecv, kMessage, stage - 1}});
    const size_t pair = pairs[static_cast<size_t>(stage)];
    groups.push_back({{pair, LiveFunc::kAllReduce, 3 * kChannels * kChunk, -1}});
    if (stage + 1 < stages) {
      groups.push_back({{pipes[chain], LiveFunc::kSend, kMessage, stage + 1}});
    }
    const size_t all = kChannels * kChunk * static_cast<size_t>(stages);
    groups.push_back({{rings[chain], LiveFunc::kAllReduce, all, -1}});
  }
}

}  // namespace

Result<JobPlan> LayOutJob(const LayoutOptions& options) {
  const auto refuse = [](std::string why) {
    return Error{ErrorCode::kInvalidArgument, std::move(why)};
  };
  if (options.ranks < 2 || options.ranks > kRanksMax) {
    return refuse("a live ring has 2 to " + std::to_string(kRanksMax) + " ranks");
  }
  const int nodes = options.hosts.empty() ? options.nodes : static_cast<int>(options.hosts.size());
  if (nodes < 1 || options.ranks % nodes != 0) {
    return refuse("ranks are dealt to nodes evenly: " + std::to_string(options.ranks) + " over " +
                  std::to_string(nodes) + " does not go");
  }
  if (options.layout == LiveLayout::kMixed &&
      (options.ranks < 4 || options.ranks / nodes % 2 != 0)) {
    return refuse(
        "the mixed layout needs at least 4 ranks and an even number of them on each node");
  }
  JobPlan plan;
  plan.ranks = options.ranks;
  plan.hosts = options.hosts;
  for (int node = static_cast<int>(plan.hosts.size()); node < nodes; ++node) {
    plan.hosts.push_back("node-" + std::to_string(node));
  }
  plan.transport = options.transport;
  plan.compute = options.compute;
  plan.seed = options.seed;
  plan.channels = kChannels;
  plan.slice_bytes = kSliceBytes;
  plan.socket_bytes = kSocketBytes;
  plan.program.resize(static_cast<size_t>(plan.ranks));
  switch (options.layout) {
    case LiveLayout::kRing:
      LayOutRing(&plan, true);
      break;
    case LiveLayout::kSendRecv:
      LayOutRing(&plan, false);
      break;
    case LiveLayout::kMixed:
      plan.sync = LiveSync::kEachIteration;
      LayOutMixed(&plan);
      break;
  }
  if (plan.comms.size() > JobPlan::kCommsMax) {
    return refuse("that many ranks need more than " + std::to_string(JobPlan::kCommsMax) +
                  " communicators in this layout");
  }
  return plan;
}

}  // namespace sentinel
