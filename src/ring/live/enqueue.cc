#include "ring/live/enqueue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sentinel {
namespace {

size_t Count(const std::vector<SliceMove>& moves, bool (*which)(Primitive)) {
  return static_cast<size_t>(
      std::count_if(moves.begin(), moves.end(),
                    [which](const SliceMove& move) { return which(move.primitive); }));
}

}  // namespace

uint64_t OperationNames::Next(const LiveCall& call) {
  const LiveComm& comm = plan_.comms[call.comm];
  const uint64_t name = MixName(comm.id, iteration_);
  if (!IsP2p(call.func)) return MixName(name, 2 * collectives_[call.comm]++);
  const Rank self = *comm.RankOf(rank_);
  const std::pair<Rank, Rank> edge =
      call.func == LiveFunc::kSend ? std::pair(self, call.peer) : std::pair(call.peer, self);
  const auto ends = static_cast<uint64_t>(edge.first) << 32 | static_cast<uint32_t>(edge.second);
  return MixName(MixName(name, ends), 2 * messages_[{call.comm, edge}]++ + 1);
}

std::vector<std::shared_ptr<Task>> Enqueuer::Enqueue(const LiveGroup& group, OperationNames& names,
                                                     const std::optional<TaskFault>& fault) {
  CHECK(!group.empty());
  const ProfiledComm& comm = comms_.at(group.front().comm).profiled;
  // A single call opens its own group; one that is written out makes it two deep.
  const ProfilerEvent group_api = profiler_.GroupApi(comm, group.size() == 1 ? 1 : 2);
  profiler_.State(group_api, nccl::kGroupStartApiStop);
  std::vector<std::shared_ptr<Task>> tasks;
  std::vector<ProfilerEvent> apis;
  for (const LiveCall& call : group) {
    const ProfilerEvent api =
        IsP2p(call.func) ? profiler_.P2pApi(group_api, call) : profiler_.CollApi(group_api, call);
    tasks.push_back(MakeTask(call, names));
    apis.push_back(api);
    profiler_.Stop(api);
  }
  tasks.front()->fault = fault;
  profiler_.State(group_api, nccl::kGroupEndApiStart);

  Kernel kernel = KernelFor(tasks);
  std::vector<ProxyRequest> requests = RequestsFor(kernel);
  const ProfilerEvent launch = profiler_.KernelLaunch(group_api);
  device_.Launch(std::move(kernel));
  profiler_.Stop(launch);
  Announce(tasks, apis, group_api, std::move(requests));
  profiler_.Stop(group_api);
  return tasks;
}

// What NCCL does once a plan's kernel is launched. An operation's stop says no more than that it
// was enqueued.
void Enqueuer::Announce(const std::vector<std::shared_ptr<Task>>& tasks,
                        const std::vector<ProfilerEvent>& apis, const ProfilerEvent& group_api,
                        std::vector<ProxyRequest> requests) {
  const ProfilerEvent group = profiler_.Group(group_api);
  for (size_t i = 0; i < tasks.size(); ++i) {
    Task& task = *tasks[i];
    const LiveCall& call = task.call();
    if (IsP2p(call.func)) {
      void* buffer =
          call.func == LiveFunc::kRecv ? task.output() : const_cast<float*>(task.input());
      task.event = profiler_.P2p(apis[i], group, call, buffer);
    } else {
      Communicator& comm = comms_.at(call.comm);
      uint64_t& seq = comm.calls[call.func];
      task.event = profiler_.Coll(
          apis[i], group,
          {seq, call.func, task.input(), task.output(), call.count, task.channels()});
      ++seq;
    }
  }
  proxy_.Append(std::move(requests));
  for (const std::shared_ptr<Task>& task : tasks) profiler_.Stop(task->event);
  profiler_.Stop(group);
}

std::shared_ptr<Task> Enqueuer::MakeTask(const LiveCall& call, OperationNames& names) const {
  const Communicator& comm = comms_.at(call.comm);
  const int ranks = static_cast<int>(comm.comm->members.size());
  const int channels =
      ChannelsFor(call.func, call.count, ranks, plan_.channels, plan_.slice_bytes / sizeof(float));
  return std::make_shared<Task>(call, Pattern(plan_.seed, names.Next(call)), comm.rank, ranks,
                                channels);
}

Kernel Enqueuer::KernelFor(const std::vector<std::shared_ptr<Task>>& tasks) {
  Kernel kernel;
  for (const std::shared_ptr<Task>& task : tasks) {
    for (int channel = 0; channel < task->channels(); ++channel) {
      Strand strand;
      strand.task = task;
      strand.channel = channel;
      strand.moves = MovesOf(task->Shape(channel, plan_.slice_bytes / sizeof(float)));
      if (Count(strand.moves, Receives) > 0) {
        ReceiveLink& link = links_.From(Incoming(task->call(), channel));
        strand.in = link.end.get();
        strand.in_node = link.lane == nullptr;
        strand.crosses = link.lane != nullptr;
      }
      if (Count(strand.moves, Sends) > 0) {
        SendLink& link = links_.To(Outgoing(task->call(), channel));
        strand.out = link.end.get();
        strand.crosses |= link.lane != nullptr;
      }
      kernel.push_back(std::move(strand));
    }
  }
  return kernel;
}

std::vector<ProxyRequest> Enqueuer::RequestsFor(const Kernel& kernel) {
  std::vector<ProxyRequest> requests;
  for (const Strand& strand : kernel) {
    ProxyRequest request;
    request.task = strand.task;
    request.channel = strand.channel;
    const LiveCall& call = strand.task->call();
    if (strand.in != nullptr) {
      request.receive = links_.From(Incoming(call, strand.channel)).lane.get();
      request.receive_steps = Count(strand.moves, Receives);
    }
    if (strand.out != nullptr) {
      request.send = links_.To(Outgoing(call, strand.channel)).lane.get();
      request.send_steps = Count(strand.moves, Sends);
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

WireName Enqueuer::Outgoing(const LiveCall& call, int channel) const {
  const LiveComm& comm = plan_.comms[call.comm];
  if (IsP2p(call.func)) {
    return {comm.id, WireUse::kP2p, channel, rank_, comm.members[static_cast<size_t>(call.peer)]};
  }
  const auto next = static_cast<size_t>(*comm.RankOf(rank_) + 1) % comm.members.size();
  return {comm.id, WireUse::kRing, channel, rank_, comm.members[next]};
}

WireName Enqueuer::Incoming(const LiveCall& call, int channel) const {
  const LiveComm& comm = plan_.comms[call.comm];
  if (IsP2p(call.func)) {
    return {comm.id, WireUse::kP2p, channel, comm.members[static_cast<size_t>(call.peer)], rank_};
  }
  const size_t size = comm.members.size();
  const auto previous = (static_cast<size_t>(*comm.RankOf(rank_)) + size - 1) % size;
  return {comm.id, WireUse::kRing, channel, comm.members[previous], rank_};
}

}  // namespace sentinel
