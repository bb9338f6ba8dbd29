#include "ring/live/live_rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "ring/live/termination.h"

namespace sentinel {
namespace {

constexpr Duration kConnectWithin = std::chrono::seconds(60);
constexpr Duration kForEver = std::chrono::hours(24 * 365);

}  // namespace

Result<std::unique_ptr<LiveRank>> LiveRank::Start(const JobPlan& plan, Rank rank,
                                                  const std::string& plugin, int abi_max,
                                                  const std::string& scratch, LiveLedger& ledger) {
  TRY(CheckFaults(plan, rank));
  std::unique_ptr<LiveRank> self(new LiveRank(plan, rank, scratch, ledger));
  const auto needs_loader = [rank](const PlannedFault& fault) {
    return fault.kind == LiveFault::kLoader && fault.rank == rank;
  };
  if (std::any_of(plan.faults.begin(), plan.faults.end(), needs_loader)) {
    Loader loader = TRY(Loader::Fork(scratch + "/samples-" + std::to_string(rank)));
    self->loader_.emplace(std::move(loader));
  }
  TRY(self->Connect());
  TRY(self->Open(plugin, abi_max));
  return self;
}

Status LiveRank::Connect() {
  KernelBell kernel_bell = TRY(KernelBell::Open(scratch_, rank_));
  kernel_bell_.emplace(std::move(kernel_bell));
  ProxyBell proxy_bell = TRY(ProxyBell::Create());
  proxy_bell_.emplace(std::move(proxy_bell));
  std::vector<WireName> outgoing;
  std::vector<WireName> incoming;
  for (const WireName& name : WiresOf(plan_, rank_)) {
    const auto comm = std::find_if(plan_.comms.begin(), plan_.comms.end(),
                                   [&name](const LiveComm& each) { return each.id == name.comm; });
    if (!plan_.IsNetEdge(*comm, name.from, name.to)) continue;
    (name.from == rank_ ? outgoing : incoming).push_back(name);
  }
  Wiring wiring = TRY(Wiring::Listen(plan_, rank_));
  Wires wires = TRY(wiring.Connect(outgoing, incoming, kConnectWithin));
  Links links = TRY(Links::Make(plan_, rank_, std::move(wires), scratch_, *proxy_bell_));
  links_.emplace(std::move(links));
  return {};
}

// As NCCL: the plugin is loaded with the first communicator and hears of each once it is connected.
Status LiveRank::Open(const std::string& plugin, int abi_max) {
  profiler_ = TRY(Profiler::Load(plugin, abi_max));
  for (size_t i = 0; i < plan_.comms.size(); ++i) {
    const std::optional<Rank> place = plan_.comms[i].RankOf(rank_);
    if (!place) continue;
    Communicator& comm = comms_[i];
    comm.index = i;
    comm.comm = &plan_.comms[i];
    comm.rank = *place;
    comm.profiled = profiler_->Init(*comm.comm, comm.rank);
  }
  if (comms_.empty()) return Error{ErrorCode::kInvalidArgument, "a rank of no communicator"};
  BlockTermination();  // the threads are to inherit that
  device_.emplace(*kernel_bell_, *proxy_bell_, ledger_);
  const int local_ranks = plan_.ranks / static_cast<int>(plan_.hosts.size());
  proxy_.emplace(*proxy_bell_, *kernel_bell_, *profiler_, ledger_, comms_.begin()->second.profiled,
                 links_->SendLanes(), links_->ReceiveLanes(), local_ranks);
  UnblockTermination();
  enqueuer_.emplace(plan_, rank_, *profiler_, comms_, *links_, *device_, *proxy_);
  return {};
}

bool LiveRank::Train() {
  for (uint64_t iteration = 0; plan_.iterations == 0 || iteration < plan_.iterations; ++iteration) {
    const std::optional<uint64_t> last = ledger_.LastIteration();
    if (last && iteration > *last) break;
    if (ToldToEnd() || !Iterate(iteration)) return false;
  }
  return true;
}

bool LiveRank::Iterate(uint64_t iteration) {
  ledger_.Iterate(iteration);
  if (!SleepUnlessTold(plan_.compute)) return false;
  const std::vector<size_t> due = schedule_.Due(iteration, ledger_.ArmedFor());
  std::vector<LiveGroup> groups = plan_.program[static_cast<size_t>(rank_)];
  for (size_t index : due) {
    if (PlaceOf(plan_.faults[index].kind) != FaultPlace::kProgram) continue;
    groups = ProgramUnder(plan_, plan_.faults[index]);
  }
  OperationNames names(plan_, rank_, iteration);
  for (size_t at = 0; at <= groups.size(); ++at) {
    std::optional<TaskFault> fault;
    for (size_t index : due) {
      const PlannedFault& planned = plan_.faults[index];
      if (StruckGroup(plan_, planned) != at) continue;
      switch (PlaceOf(planned.kind)) {
        case FaultPlace::kHost:
          if (!HostFault(index)) return false;
          break;
        case FaultPlace::kProgram:
          ledger_.FaultBegan(index, MonotonicNow());
          break;
        case FaultPlace::kOperation:
          fault = TaskFault{planned.kind, index};
          break;
      }
    }
    if (at == groups.size()) break;  // there for the fault that took the last group away
    if (ToldToEnd()) return false;
    for (std::shared_ptr<Task>& task : enqueuer_->Enqueue(groups[at], names, fault)) {
      unverified_.push_back(std::move(task));
    }
    if (plan_.sync == LiveSync::kEachGroup) Verify();
  }
  Verify();
  return true;
}

bool LiveRank::HostFault(size_t index) {
  const PlannedFault& fault = plan_.faults[index];
  ledger_.FaultBegan(index, MonotonicNow());
  bool on = true;
  switch (fault.kind) {
    case LiveFault::kAbsent:
      on = SleepUnlessTold(kForEver);
      break;
    case LiveFault::kLate:
      on = SleepUnlessTold(fault.lasting);
      break;
    case LiveFault::kCheckpoint:
      on = WriteCheckpoint(scratch_ + "/checkpoint-" + std::to_string(rank_), fault.lasting);
      break;
    case LiveFault::kEval:
    case LiveFault::kFirstIteration:
      on = Compute(fault.lasting);
      break;
    case LiveFault::kLoader:
      on = loader_->Load(fault.lasting);
      break;
    case LiveFault::kExit:
      std::fflush(nullptr);
      _exit(1);
    case LiveFault::kStopMid:
    case LiveFault::kFreezeKernel:
    case LiveFault::kFreezeProxy:
    case LiveFault::kFreezeProxyMid:
    case LiveFault::kMismatch:
    case LiveFault::kMismatchOrder:
    case LiveFault::kMissingSend:
    case LiveFault::kSlowKernel:
      break;  // not the host's
  }
  ledger_.FaultEnded(index, MonotonicNow());
  return on;
}

void LiveRank::Verify() {
  device_->Synchronize();
  for (const std::shared_ptr<Task>& task : unverified_) ledger_.Verified(task->Wrong());
  unverified_.clear();
}

void LiveRank::Finish() {
  enqueuer_.reset();
  proxy_.reset();
  device_.reset();
  for (auto& [index, comm] : comms_) profiler_->Finalize(comm.profiled);
  comms_.clear();
  profiler_.reset();  // NCCL closes the library with the last communicator
  links_.reset();
}

}  // namespace sentinel
