#include "ring/rank_child.h"

namespace sentinel {

Result<RankChild> RankChild::Spawn(const RankCommand& command, size_t callbacks) {
  Ledger ledger = TRY(Ledger::Create(callbacks));
  ChildCommand child;
  child.arguments = {"--ledger-fd", std::to_string(ledger.fd())};
  child.arguments.insert(child.arguments.end(), command.arguments.begin(), command.arguments.end());
  child.environment = command.environment;
  child.descriptors = {ledger.fd()};
  ChildProcess process = TRY(ChildProcess::Spawn(child));
  return RankChild(command.rank, std::move(process), std::move(ledger));
}

}  // namespace sentinel
