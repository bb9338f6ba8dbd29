#include "incident/ring_rule.h"

#include <algorithm>

#include "base/glob.h"

namespace sentinel {
namespace {

bool Listed(const std::vector<std::string>& globs, const std::string& name) {
  return globs.empty() || name.empty() ||
         std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return FitsGlob(glob, name); });
}

}  // namespace

std::optional<std::string> BarredBy(const RingRule& rule, const JobFacts& job) {
  if (job.gpus && *job.gpus < rule.gpus_min) {
    return "gpus " + std::to_string(*job.gpus) + " of " + std::to_string(rule.gpus_min);
  }
  const JobOwner& owner = job.owner;
  if (!Listed(rule.partitions, owner.partition)) return "partition " + owner.partition;
  if (!Listed(rule.namespaces, owner.name_space)) return "namespace " + owner.name_space;
  if (!Listed(rule.users, owner.user)) return "user " + owner.user;
  return std::nullopt;
}

}  // namespace sentinel
