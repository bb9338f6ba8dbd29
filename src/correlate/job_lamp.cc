#include "correlate/job_lamp.h"

#include <algorithm>

namespace sentinel {
namespace {

// Whether such a finding stands on its own, whatever else hangs in the job: something moved inside
// the operation and stopped. A death is not among them, since survivors die of it.
bool StandsAlone(const Judgement& judgement) {
  switch (judgement.hang_class) {
    case HangClass::kGpuStuck:
    case HangClass::kProxyStuck:
    case HangClass::kNetwork:
    case HangClass::kPcie:
    case HangClass::kProcessStopped:
      return true;
    case HangClass::kMismatch:
      return !judgement.finding.by_waits;
    case HangClass::kNotEntered:
    case HangClass::kGpuNotStarted:
    case HangClass::kProcessDead:
    case HangClass::kWaiting:
    case HangClass::kSlow:
    case HangClass::kUnknown:
      return false;
  }
  return false;
}

}  // namespace

JobLamps::Processes JobLamps::NamedIn(const Verdict& verdict) {
  Processes named;
  for (const Member& member : verdict.members) named.insert({member.place.host, member.place.pid});
  return named;
}

void JobLamps::Healed(const Verdict& verdict, Instant now) {
  while (!healed_.empty() &&
         (healed_.size() >= kHealedMax || now - healed_.front().at > kRemnantFor)) {
    healed_.pop_front();
  }
  healed_.push_back({verdict.comm.job, NamedIn(verdict), now});
}

bool JobLamps::Shown(const WatchedGroup& of, const Judgement& judgement,
                     const std::vector<WatchedGroup*>& stalls, Instant now) const {
  Processes named;
  const auto name = [&](Rank rank) {
    const Seat* seat = of.Find(rank);
    if (seat != nullptr) named.insert({seat->member.place.host, seat->member.place.pid});
  };
  if (judgement.finding.rank) name(*judgement.finding.rank);
  for (Rank rank : judgement.finding.suspects) name(rank);
  for (const Edge& edge : judgement.finding.edges) {
    name(edge.from);
    name(edge.to);
  }
  const std::string& job = of.key().job;
  const auto same = [&](const std::string& other_job, const Processes& others) {
    const bool meet = std::any_of(named.begin(), named.end(),
                                  [&](const auto& process) { return others.count(process) > 0; });
    if (meet) return true;
    // Without a name for the job only its processes tell that it is the same.
    return !job.empty() && job == other_job && !StandsAlone(judgement);
  };
  for (const WatchedGroup* stall : stalls) {
    if (stall == &of || !stall->red() || stall->said() == nullptr) continue;
    if (same(stall->key().job, NamedIn(*stall->said()))) return true;
  }
  return std::any_of(healed_.begin(), healed_.end(), [&](const Past& past) {
    return now - past.at <= kRemnantFor && now - judgement.clock < past.at &&
           same(past.job, past.named);
  });
}

}  // namespace sentinel
