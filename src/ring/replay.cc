#include "ring/replay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <random>
#include <utility>

#include "base/clock.h"
#include "ring/parent_signals.h"

namespace sentinel {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(5);
constexpr Duration kReadyWithin = std::chrono::seconds(60);  // reading a long script takes a while
constexpr Duration kStartAhead = std::chrono::milliseconds(100);
// A ring that has not moved for so long after the fault is said to have stalled. Where it moves
// again and stalls again, the later stall is told as well.
constexpr Duration kStalledFor = std::chrono::seconds(1);

bool StandardInputEnded() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) <= 0) return false;
  if ((input.revents & (POLLERR | POLLNVAL)) != 0) return true;
  if ((input.revents & (POLLIN | POLLHUP)) == 0) return false;
  char ignored[256];
  return read(STDIN_FILENO, ignored, sizeof ignored) <= 0;
}

std::string FreshJobName(const std::string& recording) {
  std::random_device chance;  // two replays of one recording are two jobs
  return "replay-" + recording + "-" + std::to_string(chance());
}

}  // namespace

Replay::Replay(const Recording& recording, const ReplayOptions& options, EventLog& events)
    : recording_(recording),
      cut_off_(CutOffWhileMoving(recording)),
      options_(options),
      events_(events),
      progress_(recording) {}

Result<Replay> Replay::Prepare(const Recording& recording, const ReplayOptions& options,
                               const RunDir& run_dir, EventLog& events) {
  BlockParentSignals();
  Replay replay(recording, options, events);
  const std::string job = FreshJobName(recording.summary.name);
  std::vector<std::vector<Act>> acts = PlanActs(recording);
  for (size_t i = 0; i < recording.ranks.size(); ++i) {
    RankCommand command = replay.CommandFor(i, run_dir, job);
    std::optional<int> expected_end;
    // Leaving is the rank's own act; the others are done to it.
    if (!acts[i].empty() && acts[i].back().kind == ActKind::kExit) {
      expected_end = acts[i].back().code;
      command.arguments.insert(command.arguments.end(),
                               {"--exit-code", std::to_string(acts[i].back().code), "--exit-ns",
                                std::to_string(acts[i].back().not_before_ns)});
      acts[i].pop_back();
    }
    RankChild child = TRY(RankChild::Spawn(command, recording.ranks[i].callbacks.size()));
    replay.ranks_.push_back({std::move(child), std::move(acts[i]), 0, expected_end});
  }
  TRY(replay.AwaitReady());
  events.Ready(static_cast<int>(recording.ranks.size()), run_dir.path());
  return replay;
}

RankCommand Replay::CommandFor(size_t index, const RunDir& run_dir, const std::string& job) const {
  const std::string rank = std::to_string(index);
  RankCommand command;
  command.rank = static_cast<Rank>(index);
  command.arguments = {"--rank-process", rank,
                       "--replay",       options_.folder,
                       "--plugin",       options_.plugin,
                       "--abi",          std::to_string(options_.abi_max),
                       "--origin-ns",    std::to_string(recording_.OriginNs()),
                       "--speed",        std::to_string(options_.speed)};
  command.environment = {"SENTINEL_BOARD_DIR=" + run_dir.node(index),
                         "TORCHELASTIC_RUN_ID=" + job,
                         "RANK=" + rank,
                         "LOCAL_RANK=0",
                         "WORLD_SIZE=" + std::to_string(recording_.ranks.size()),
                         "NCCL_PROFILER_PLUGIN=" + options_.plugin};
  return command;
}

Status Replay::AwaitReady() {
  const Instant limit = MonotonicNow() + kReadyWithin;
  for (;;) {
    bool all_ready = true;
    for (OneRank& rank : ranks_) {
      const std::string who = "rank " + std::to_string(rank.child.rank());
      if (std::optional<std::string> failure = rank.child.ledger().Failure()) {
        return Error{ErrorCode::kUnavailable, who + ": " + *failure};
      }
      if (rank.child.Reap()) {
        return Error{ErrorCode::kUnavailable, who + ": its process ended before the start"};
      }
      all_ready = all_ready && rank.child.ledger().IsReady();
    }
    if (all_ready) return {};
    if (MonotonicNow() > limit) {
      return Error{ErrorCode::kTimeout, "not every rank was ready within a minute"};
    }
    if (WaitOneTick(kTick)) return Error{ErrorCode::kUnavailable, "told to end before the start"};
  }
}

Result<ReplayOutcome> Replay::Run() {
  timeline_ = {recording_.OriginNs(), MonotonicNow() + kStartAhead, options_.speed};
  for (OneRank& rank : ranks_) rank.child.ledger().StartAt(timeline_.start);
  events_.Start(timeline_.start);

  bool cut_short = false;
  for (;;) {
    const Instant now = MonotonicNow();
    TRY(Tick(now));
    if (Over(now)) break;
    if (WaitOneTick(kTick)) {
      cut_short = !AllMade();
      break;
    }
  }
  return ReplayOutcome{timeline_.start, stall_told_, progress_, cut_short};
}

void Replay::End() {
  ranks_.clear();  // kills and reaps whoever is left
  events_.End(MonotonicNow());
}

Status Replay::Tick(Instant now) {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    progress_.Follow(i, ranks_[i].child.ledger());
    TRY(Bury(ranks_[i]));
    Perform(ranks_[i], i, now);
  }
  Report(now);
  return {};
}

Status Replay::Bury(OneRank& rank) {
  const std::optional<int> end = rank.child.Reap();
  if (!end || (rank.expected_end && *rank.expected_end == *end)) return {};
  const std::string how =
      *end < 0 ? "by signal " + std::to_string(-*end) : "with exit code " + std::to_string(*end);
  return Error{ErrorCode::kUnavailable, "rank " + std::to_string(rank.child.rank()) +
                                            ": its process ended " + how +
                                            ", which the recording does not say"};
}

void Replay::Perform(OneRank& rank, size_t index, Instant now) {
  while (rank.acts_done < rank.acts.size()) {
    const Act& act = rank.acts[rank.acts_done];
    if (rank.child.ledger().MadeCount() < act.after_callbacks) return;
    if (now < timeline_.At(act.not_before_ns)) return;
    switch (act.kind) {
      case ActKind::kStop:
        rank.child.Signal(SIGSTOP);
        break;
      case ActKind::kContinue:
        rank.child.Signal(SIGCONT);
        break;
      case ActKind::kKill:
        rank.expected_end = -act.code;
        rank.child.Signal(act.code);
        break;
      case ActKind::kExit:
        break;  // the last act of a rank, and its own
    }
    ++rank.acts_done;
    progress_.Follow(index, rank.child.ledger());
  }
}

void Replay::Report(Instant now) {
  if (progress_.OperationsCompleted() > operations_told_) {
    operations_told_ = progress_.OperationsCompleted();
    events_.Healthy(now, operations_told_);
  }
  const std::optional<Fault>& fault = recording_.summary.fault;
  if (fault && !fault_told_ && now >= timeline_.At(fault->at_ns)) {
    fault_told_ = true;
    events_.FaultHit(timeline_.At(fault->at_ns), *fault);
  }
  ReportStall(now);
}

void Replay::ReportStall(Instant now) {
  const std::optional<Fault>& fault = recording_.summary.fault;
  if (fault && !fault_told_) return;
  const bool at_rest = AllMade();
  const bool finished = std::all_of(recording_.ranks.begin(), recording_.ranks.end(),
                                    [](const RankRecording& rank) { return rank.Finalizes(); });
  if (at_rest && !quiet_since_) quiet_since_ = now;
  Instant last = fault ? timeline_.At(fault->at_ns) : timeline_.start;
  if (progress_.LastMove()) last = std::max(last, *progress_.LastMove());
  if (stall_told_ && *stall_told_ >= last) return;
  // Before a fault, or without one, a ring may pause as long as it likes; and one whose next move
  // is overdue here is held up by this machine, not by its fault.
  const std::optional<int64_t> next = progress_.NextMoveNs();
  const bool stands = fault && now - last >= kStalledFor &&
                      (next ? timeline_.At(*next) > now : !finished && !cut_off_);
  if ((at_rest && !finished && !cut_off_) || stands) {
    stall_told_ = last;
    events_.Stall(last);
  }
}

bool Replay::Over(Instant now) {
  // From here on the ranks would stand still as the job never did.
  if (cut_off_ && quiet_since_) return true;
  if (!options_.hold) return StandardInputEnded() || AllGone();
  if (!quiet_since_) return false;
  const Duration held = now - *quiet_since_;
  if (held < *options_.hold) return false;
  return !options_.hold_on || held >= options_.hold_max || !options_.hold_on();
}

bool Replay::AllMade() const {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].child.ledger().MadeCount() < recording_.ranks[i].callbacks.size()) return false;
  }
  return true;
}

bool Replay::AllGone() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const OneRank& rank) { return rank.child.Reaped(); });
}

}  // namespace sentinel
