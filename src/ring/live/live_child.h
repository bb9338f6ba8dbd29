// One live rank's process as its parent holds it: a child with a ledger.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/communicator.h"
#include "ring/child_process.h"
#include "ring/live/live_ledger.h"

namespace sentinel {

class LiveChild {
 public:
  // Adds `--ledger-fd <fd>` to the command.
  static Result<LiveChild> Spawn(Rank rank, ChildCommand command);

  Rank rank() const { return rank_; }
  int pid() const { return process_.pid(); }
  LiveLedger& ledger() { return ledger_; }
  const LiveLedger& ledger() const { return ledger_; }

  void Signal(int signal) const { process_.Signal(signal); }
  // As Signal, with one that may end it: however it ends from here on is as it should be.
  void End(int signal) {
    doomed_ = true;
    process_.Signal(signal);
  }

  // It may leave by itself once this fault of the plan has begun.
  void MayExitAt(size_t fault) { exit_fault_ = fault; }

  // Whether it has ended, and, once, what is wrong with that: it failed, or ended where nobody had
  // told it to.
  Status Bury();
  bool Gone() const { return process_.Reaped(); }

 private:
  LiveChild(Rank rank, ChildProcess process, LiveLedger ledger)
      : rank_(rank), process_(std::move(process)), ledger_(std::move(ledger)) {}

  Rank rank_;
  ChildProcess process_;
  LiveLedger ledger_;
  bool doomed_ = false;
  std::optional<size_t> exit_fault_;
};

}  // namespace sentinel
