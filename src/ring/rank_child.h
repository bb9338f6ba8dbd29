// One rank's process as its parent holds it: started, told when, signalled, buried.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/communicator.h"
#include "ring/ledger.h"

namespace sentinel {

struct RankCommand {
  Rank rank = -1;
  std::vector<std::string> arguments;    // of this same program, without its name
  std::vector<std::string> environment;  // NAME=value, over ours
};

class RankChild {
 public:
  // Runs this same program (/proc/self/exe) with `--ledger-fd <fd>` and the command's arguments.
  // Call it from the main thread alone: the child is killed when the thread that made it ends.
  static Result<RankChild> Spawn(const RankCommand& command, size_t callbacks);

  RankChild(RankChild&& other) noexcept;
  RankChild& operator=(RankChild&&) = delete;
  ~RankChild();  // kills and reaps

  Rank rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }

  void Signal(int signal) const;  // nothing if it has been reaped

  // Reaps it if it has ended: exit code, or minus the signal. Once; nothing while it runs.
  std::optional<int> Reap();
  bool Reaped() const { return reaped_; }

 private:
  RankChild(Rank rank, pid_t pid, Ledger ledger)
      : rank_(rank), pid_(pid), ledger_(std::move(ledger)) {}

  Rank rank_;
  pid_t pid_;
  Ledger ledger_;
  bool reaped_ = false;
};

}  // namespace sentinel
