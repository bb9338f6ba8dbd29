#include "ring/live/rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "ring/live/live_ledger.h"
#include "ring/live/live_rank.h"
#include "ring/live/plan.h"
#include "ring/live/termination.h"

namespace sentinel {
namespace {

constexpr Duration kGoPoll = std::chrono::milliseconds(2);
constexpr int kExitOnSigterm = 143;  // 128 and the signal's number, as shells say it

Result<JobPlan> ReadPlan(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, path + ": cannot be read"};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ParseJobPlan(text);
}

int Live(const LiveRankOptions& options, LiveLedger& ledger) {
  const auto fail = [&ledger](const Error& why) {
    ledger.Fail(why.message);
    return 1;
  };
  const Result<JobPlan> plan = ReadPlan(options.plan);
  if (!plan.ok()) return fail(plan.error());
  if (options.rank < 0 || options.rank >= plan->ranks) {
    return fail({ErrorCode::kInvalidArgument, "the plan has no such rank"});
  }
  const std::vector<Rank>& handle = plan->handle_sigterm;
  if (std::find(handle.begin(), handle.end(), options.rank) != handle.end()) WatchForTermination();

  Result<std::unique_ptr<LiveRank>> started = LiveRank::Start(
      *plan, options.rank, options.plugin, options.abi_max, options.scratch, ledger);
  if (!started.ok()) return fail(started.error());
  LiveRank& rank = **started;
  // Leaving early is leaving at once, with threads and communicators as they are.
  const auto leave = [] {
    std::fflush(nullptr);
    _exit(kExitOnSigterm);
  };
  ledger.Enter(LiveLedger::Phase::kReady);
  while (!ledger.MayGo()) {
    if (!SleepUnlessTold(kGoPoll)) leave();
  }
  ledger.Enter(LiveLedger::Phase::kRunning);
  if (!rank.Train()) leave();
  if (!plan->leave_after.empty() &&
      !SleepUnlessTold(plan->leave_after[static_cast<size_t>(options.rank)])) {
    leave();
  }
  ledger.Enter(LiveLedger::Phase::kFinishing);
  rank.Finish();
  ledger.Enter(LiveLedger::Phase::kFinished);
  return 0;
}

}  // namespace

int RunLiveRank(const LiveRankOptions& options) {
  Result<LiveLedger> ledger = LiveLedger::Open(options.ledger_fd);
  if (!ledger.ok()) {
    std::fprintf(stderr, "rank %d: %s\n", options.rank, ledger.error().message.c_str());
    return 1;
  }
  return Live(options, *ledger);
}

}  // namespace sentinel
