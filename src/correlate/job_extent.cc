#include "correlate/job_extent.h"

#include <algorithm>
#include <climits>
#include <set>
#include <string>
#include <utility>

namespace sentinel {
namespace {

class Count {
 public:
  void Add(const Group& group) {
    ranks_ = std::max(ranks_, static_cast<size_t>(group.key().nranks));
    for (const auto& [rank, seat] : group.seats()) {
      if (hosts_.size() <= kJobHostsMax) hosts_.insert(seat.member.place.host);
      if (processes_.size() < kJobProcessesMax) {
        processes_.emplace(seat.agent, seat.member.place.pid);
      } else if (hosts_.size() > kJobHostsMax) {
        return;  // nothing more can be learned
      }
    }
  }

  JobFacts Facts() const {
    JobFacts facts;
    facts.gpus = static_cast<int>(std::max(ranks_, processes_.size()));
    if (hosts_.size() <= kJobHostsMax) facts.hosts.assign(hosts_.begin(), hosts_.end());
    return facts;
  }

 private:
  size_t ranks_ = 0;
  std::set<std::pair<const Agent*, int>> processes_;
  std::set<std::string> hosts_;
};

// Those in which the same processes take part under another job's name.
void AddShared(const Roster& roster, const Group& group, Count* count) {
  size_t probes = 0;
  for (const auto& [rank, seat] : group.seats()) {
    if (probes++ >= kJobProbesMax) return;
    for (const auto& [other, its_rank] : roster.HeldBy(seat.agent->id)) {
      const Seat* same = other->Find(its_rank);
      if (same == nullptr || same->member.place.pid != seat.member.place.pid) continue;
      if (other->key().job != group.key().job) count->Add(*other);
    }
  }
}

}  // namespace

JobFacts ExtentOf(const Roster& roster, const CommKey& comm) {
  Count count;
  auto own = roster.groups().find(comm);
  if (own == roster.groups().end()) return {};
  for (const auto& group : own->second) {
    count.Add(*group);
    AddShared(roster, *group, &count);
  }
  if (comm.job.empty()) return count.Facts();
  for (auto it = roster.groups().lower_bound(CommKey{comm.job, 0, INT_MIN});
       it != roster.groups().end() && it->first.job == comm.job; ++it) {
    for (const auto& group : it->second) count.Add(*group);
  }
  return count.Facts();
}

}  // namespace sentinel
