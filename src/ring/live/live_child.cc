#include "ring/live/live_child.h"

namespace sentinel {

Result<LiveChild> LiveChild::Spawn(Rank rank, ChildCommand command) {
  LiveLedger ledger = TRY(LiveLedger::Create());
  command.arguments.insert(command.arguments.end(), {"--ledger-fd", std::to_string(ledger.fd())});
  command.descriptors.push_back(ledger.fd());
  ChildProcess process = TRY(ChildProcess::Spawn(command));
  return LiveChild(rank, std::move(process), std::move(ledger));
}

Status LiveChild::Bury() {
  const std::optional<int> end = process_.Reap();
  if (!end || doomed_) return {};
  if (exit_fault_ && ledger_.FaultBeganAt(*exit_fault_)) return {};
  if (*end == 0 && ledger_.phase() == LiveLedger::Phase::kFinished) return {};
  const std::string who = "rank " + std::to_string(rank_) + ": ";
  if (const std::optional<std::string> why = ledger_.Failure()) {
    return Error{ErrorCode::kUnavailable, who + *why};
  }
  const std::string how =
      *end < 0 ? "by signal " + std::to_string(-*end) : "with exit code " + std::to_string(*end);
  return Error{ErrorCode::kUnavailable, who + "its process ended " + how};
}

}  // namespace sentinel
