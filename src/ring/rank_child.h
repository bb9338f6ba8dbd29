// One rank's process as its parent holds it: a child with a ledger.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/communicator.h"
#include "ring/child_process.h"
#include "ring/ledger.h"

namespace sentinel {

struct RankCommand {
  Rank rank = -1;
  std::vector<std::string> arguments;    // of this same program, without its name
  std::vector<std::string> environment;  // NAME=value, over ours
};

class RankChild {
 public:
  // As ChildProcess::Spawn, with `--ledger-fd <fd>` before the command's arguments.
  static Result<RankChild> Spawn(const RankCommand& command, size_t callbacks);

  Rank rank() const { return rank_; }
  pid_t pid() const { return process_.pid(); }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }

  void Signal(int signal) const { process_.Signal(signal); }
  std::optional<int> Reap() { return process_.Reap(); }
  bool Reaped() const { return process_.Reaped(); }

 private:
  RankChild(Rank rank, ChildProcess process, Ledger ledger)
      : rank_(rank), process_(std::move(process)), ledger_(std::move(ledger)) {}

  Rank rank_;
  ChildProcess process_;
  Ledger ledger_;
};

}  // namespace sentinel
