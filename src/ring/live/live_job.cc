#include "ring/live/live_job.h"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "base/clock.h"
#include "ring/live/command_input.h"
#include "ring/live/live_ledger.h"
#include "ring/parent_signals.h"

namespace sentinel {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(5);
constexpr Duration kReadyWithin = std::chrono::seconds(60);
// A job in which nothing has been received for so long after a fault is said to have stalled.
constexpr Duration kStalledFor = std::chrono::seconds(1);
// A job that is told to finish and has not for so long hangs, and is ended.
constexpr Duration kFinishWithin = std::chrono::seconds(15);
// A slice a period passes on a slow wire with what a sender puts around it.
constexpr size_t kSliceHeaderBytesMax = 256;

// The job's own shape with the faults that ranks do to themselves.
Result<JobPlan> PlanJob(const LiveJobOptions& options) {
  JobPlan plan = TRY(LayOutJob(options.layout));
  plan.iterations = options.iterations;
  for (const FaultRequest& fault : options.faults) {
    if (const LiveFault* what = std::get_if<LiveFault>(&fault.what)) {
      plan.faults.push_back({*what, fault.rank, fault.iteration, fault.lasting, std::nullopt});
    } else if (std::get<OutsideFault>(fault.what) == OutsideFault::kFinish) {
      // The ranks leave one after the other, the last one when the time is over.
      for (int rank = 0; rank < plan.ranks; ++rank) {
        plan.leave_after.push_back(fault.lasting * rank / std::max(1, plan.ranks - 1));
      }
    } else if (std::get<OutsideFault>(fault.what) == OutsideFault::kCancel) {
      for (Rank rank = 0; rank < plan.ranks; ++rank) plan.handle_sigterm.push_back(rank);
    }
  }
  if (plan.faults.size() > JobPlan::kFaultsMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "at most " + std::to_string(JobPlan::kFaultsMax) + " faults in one job"};
  }
  return plan;
}

}  // namespace

LiveJob::LiveJob(const LiveJobOptions& options, JobPlan plan, const RunDir& run_dir, EventLog& log)
    : options_(options),
      plan_(std::move(plan)),
      run_dir_(run_dir.path()),
      board_dirs_(run_dir.nodes()),
      events_(log) {
  std::random_device chance;  // two runs of one plan are two jobs
  job_ = options.name + "-" + std::to_string(chance());
}

Result<std::unique_ptr<LiveJob>> LiveJob::Prepare(const LiveJobOptions& options,
                                                  const RunDir& run_dir, EventLog& log) {
  BlockParentSignals();
  JobPlan plan = TRY(PlanJob(options));
  std::unique_ptr<LiveJob> job(new LiveJob(options, std::move(plan), run_dir, log));
  PortReservation ports = TRY(PortReservation::Take(static_cast<size_t>(job->plan_.ranks)));
  job->ports_.emplace(std::move(ports));
  job->plan_.listen_ports = job->ports_->ports();
  TRY(job->StartRelay());
  TRY(job->SpawnRanks());
  TRY(job->AwaitReady());
  std::vector<int> pids;
  for (const LiveChild& rank : job->ranks_) pids.push_back(rank.pid());
  job->events_.Ready(job->plan_, job->job_, job->run_dir_, pids);
  return job;
}

// Only edges that a fault holds up go through it: the others need no third process.
Status LiveJob::StartRelay() {
  std::vector<OutsideFaults::Asked> asked;
  std::vector<Relay::Edge> edges;
  for (size_t i = 0; i < options_.faults.size(); ++i) {
    const FaultRequest& fault = options_.faults[i];
    if (std::holds_alternative<LiveFault>(fault.what)) {
      inside_.push_back({i, false, false});
      continue;
    }
    auto held = TRY(EdgesHeldUp(plan_, fault));
    for (const LiveEdge& edge : NetworkEdges(plan_)) {
      const auto touches = [&edge](const std::pair<Rank, Rank>& pair) {
        return (pair.first == edge.from && pair.second == edge.to) ||
               (pair.first == edge.to && pair.second == edge.from);
      };
      const auto known = [&edge](const Relay::Edge& other) {
        return other.from == edge.from && other.to == edge.to;
      };
      if (std::any_of(held.begin(), held.end(), touches) &&
          std::none_of(edges.begin(), edges.end(), known)) {
        edges.push_back({edge.from, edge.to, edge.port});
      }
    }
    asked.push_back({i, fault, std::move(held)});
  }
  if (!edges.empty()) {
    const WirePace pace{plan_.slice_bytes + kSliceHeaderBytesMax, plan_.socket_bytes};
    Relay relay = TRY(Relay::Start(edges, pace));
    relay_.emplace(std::move(relay));
    for (size_t i = 0; i < relay_->edges(); ++i) {
      plan_.edges.push_back({relay_->edge(i).from, relay_->edge(i).to, relay_->port(i)});
    }
  }
  outside_.emplace(std::move(asked), plan_.compute, plan_.seed, relay_ ? &*relay_ : nullptr);
  return {};
}

Status LiveJob::WritePlan() {
  const std::string path = run_dir_ + "/plan.json";
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << JobPlanJson(plan_);
  file.close();
  if (!file) return Error{ErrorCode::kIo, path + ": cannot be written"};
  return {};
}

Status LiveJob::SpawnRanks() {
  TRY(WritePlan());
  ranks_.clear();
  // What an earlier start has left there would be taken for this one's.
  const std::string scratch = run_dir_ + "/scratch";
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  if (mkdir(scratch.c_str(), 0700) != 0) {
    return Error{ErrorCode::kIo, scratch + ": " + std::strerror(errno)};
  }
  for (Rank rank = 0; rank < plan_.ranks; ++rank) {
    ChildCommand command;
    command.arguments = {"--live-rank", std::to_string(rank),
                         "--plan",      run_dir_ + "/plan.json",
                         "--scratch",   scratch,
                         "--plugin",    options_.plugin.empty() ? "none" : options_.plugin,
                         "--abi",       std::to_string(options_.abi_max)};
    command.environment = {
        "SENTINEL_BOARD_DIR=" + board_dirs_[static_cast<size_t>(plan_.NodeOf(rank))],
        "TORCHELASTIC_RUN_ID=" + job_,
        "TORCHELASTIC_RESTART_COUNT=" + std::to_string(restarts_),
        "RANK=" + std::to_string(rank),
        "LOCAL_RANK=" + std::to_string(plan_.LocalRankOf(rank)),
        "WORLD_SIZE=" + std::to_string(plan_.ranks),
        "NCCL_PROFILER_PLUGIN=" + (options_.plugin.empty() ? "none" : options_.plugin)};
    LiveChild child = TRY(LiveChild::Spawn(rank, std::move(command)));
    for (size_t i = 0; i < plan_.faults.size(); ++i) {
      const PlannedFault& fault = plan_.faults[i];
      if (fault.kind == LiveFault::kExit && fault.rank == rank) child.MayExitAt(i);
    }
    ranks_.push_back(std::move(child));
  }
  return {};
}

Status LiveJob::AwaitReady() {
  const Instant limit = MonotonicNow() + kReadyWithin;
  for (;;) {
    bool all_ready = true;
    for (LiveChild& rank : ranks_) {
      TRY(rank.Bury());
      all_ready = all_ready && rank.ledger().phase() == LiveLedger::Phase::kReady;
    }
    if (all_ready) return {};
    if (MonotonicNow() > limit) {
      return Error{ErrorCode::kTimeout, "not every rank was ready within a minute"};
    }
    if (WaitOneTick(kTick)) return Error{ErrorCode::kUnavailable, "told to end before the start"};
  }
}

Result<LiveOutcome> LiveJob::Run() {
  start_ = MonotonicNow();
  for (LiveChild& rank : ranks_) rank.ledger().GoAhead();
  events_.Start(start_);
  CommandInput input;
  const bool ends_by_itself = options_.iterations > 0 || options_.lasting;
  for (;;) {
    const Instant now = MonotonicNow();
    for (const std::string& line : input.Lines()) Hear(line, now);
    TRY(Tick(now));
    if (Over(now) || (input.ended() && !ends_by_itself) || WaitOneTick(kTick)) break;
  }
  const LiveOutcome outcome = OutcomeSoFar(MonotonicNow());
  if (outcome.elements_wrong > 0) {
    return Error{ErrorCode::kCorrupt, std::to_string(outcome.elements_wrong) +
                                          " elements of results are not what was to come out"};
  }
  return outcome;
}

void LiveJob::End() {
  outside_.reset();  // a process whose threads are held by a debugger would never be gone
  ranks_.clear();    // kills and reaps whoever is left
  relay_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(run_dir_ + "/scratch", ignored);
  events_.End(MonotonicNow());
}

Status LiveJob::Tick(Instant now) {
  for (LiveChild& rank : ranks_) TRY(rank.Bury());
  if (relay_ && !relay_->Alive()) return Error{ErrorCode::kUnavailable, "the relay has ended"};
  TRY(outside_->Tick(now, armed_, plan_, &ranks_, &events_));
  if (outside_->TakeRestart(ranks_)) TRY(Restart());
  TellFaults();
  ReportHealth(now);
  ReportStall(now);
  FinishIfTime(now);
  return {};
}

// All over again as a launcher does it: new communicators, the same job, and the fault behind it.
Status LiveJob::Restart() {
  ++restarts_;
  LayoutOptions layout = options_.layout;
  layout.seed += static_cast<uint64_t>(restarts_);
  JobPlan fresh = TRY(LayOutJob(layout));
  fresh.iterations = plan_.iterations;
  fresh.listen_ports = plan_.listen_ports;
  fresh.edges = plan_.edges;
  plan_ = std::move(fresh);
  inside_.clear();
  stall_told_.reset();
  iterations_told_ = 0;
  TRY(SpawnRanks());
  TRY(AwaitReady());
  for (LiveChild& rank : ranks_) rank.ledger().GoAhead();
  std::vector<int> pids;
  for (const LiveChild& rank : ranks_) pids.push_back(rank.pid());
  events_.Restarted(MonotonicNow(), pids);
  return {};
}

void LiveJob::Hear(const std::string& line, Instant now) {
  if (line == "fault" && !armed_) {
    armed_ = NewestIteration() + kIterationsAhead;
    for (LiveChild& rank : ranks_) rank.ledger().Arm(*armed_);
    events_.Armed(now, *armed_);
  } else if (line == "heal") {
    outside_->Heal(now, &ranks_, &events_);
  }
}

void LiveJob::TellFaults() {
  for (size_t i = 0; i < inside_.size(); ++i) {
    Inside& inside = inside_[i];
    const FaultRequest& fault = options_.faults[inside.index];
    const LiveLedger& ledger = ranks_[static_cast<size_t>(fault.rank)].ledger();
    const std::optional<Instant> began = ledger.FaultBeganAt(i);
    const std::optional<Instant> ended = ledger.FaultEndedAt(i);
    if (began && !inside.began) events_.FaultBegan(*began, inside.index, fault, {});
    if (ended && !inside.ended) events_.FaultEnded(*ended, inside.index, fault);
    inside.began = began.has_value();
    inside.ended = ended.has_value();
  }
}

void LiveJob::ReportHealth(Instant now) {
  const LiveLedger& first = ranks_.front().ledger();
  if (first.Iterations() > iterations_told_) {
    iterations_told_ = first.Iterations();
    events_.Healthy(now, iterations_told_, first.OperationsVerified());
  }
  if (AllGone() && !finished_told_ && !outside_->Cancelled()) {
    finished_told_ = true;
    events_.Finished(now);
  }
}

void LiveJob::ReportStall(Instant now) {
  std::optional<Instant> since = outside_->FirstBegan();
  for (size_t i = 0; i < inside_.size(); ++i) {
    const FaultRequest& fault = options_.faults[inside_[i].index];
    const auto began = ranks_[static_cast<size_t>(fault.rank)].ledger().FaultBeganAt(i);
    if (began && (!since || *began < *since)) since = began;
  }
  const bool leaving = told_to_finish_ || std::any_of(ranks_.begin(), ranks_.end(), [](auto& rank) {
                         return rank.ledger().phase() >= LiveLedger::Phase::kFinishing;
                       });
  if (!since || leaving || restarts_ > 0) return;
  Instant last = *since;
  if (const std::optional<Instant> received = LastReceived()) last = std::max(last, *received);
  if (stall_told_ && last > *stall_told_) {
    stall_told_.reset();
    events_.Moving(last);
  }
  if (stall_told_ || now - last < kStalledFor) return;
  stall_told_ = last;
  std::vector<std::optional<Instant>> by_comm(plan_.comms.size());
  for (size_t comm = 0; comm < by_comm.size(); ++comm) {
    for (const LiveChild& rank : ranks_) {
      by_comm[comm] = std::max(by_comm[comm], rank.ledger().LastReceived(comm));
    }
  }
  events_.Stall(last, plan_, by_comm);
}

void LiveJob::FinishIfTime(Instant now) {
  if (told_to_finish_ || !options_.lasting || now - start_ < *options_.lasting) return;
  told_to_finish_ = now;
  const uint64_t last = NewestIteration() + kIterationsAhead;
  for (LiveChild& rank : ranks_) rank.ledger().StopAfter(last);
}

bool LiveJob::Over(Instant now) const {
  if (AllGone()) return true;
  return told_to_finish_ && now - *told_to_finish_ >= kFinishWithin;
}

bool LiveJob::AllGone() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const LiveChild& rank) { return rank.Gone(); });
}

uint64_t LiveJob::NewestIteration() const {
  uint64_t newest = 0;
  for (const LiveChild& rank : ranks_) newest = std::max(newest, rank.ledger().Iterations());
  return newest;
}

std::optional<Instant> LiveJob::LastReceived() const {
  std::optional<Instant> last;
  for (const LiveChild& rank : ranks_) last = std::max(last, rank.ledger().LastReceived());
  return last;
}

LiveOutcome LiveJob::OutcomeSoFar(Instant now) const {
  LiveOutcome outcome;
  outcome.iterations = ranks_.front().ledger().Iterations();
  outcome.finished = true;
  for (const LiveChild& rank : ranks_) {
    outcome.operations += rank.ledger().OperationsVerified();
    outcome.elements_wrong += rank.ledger().ElementsWrong();
    outcome.finished = outcome.finished && rank.ledger().phase() == LiveLedger::Phase::kFinished;
  }
  const std::optional<Instant> last = LastReceived();
  outcome.took = (outcome.finished && last ? *last : now) - start_;
  return outcome;
}

}  // namespace sentinel
