// The part of IncidentBook that does not believe the first sign of recovery.
#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"

namespace sentinel {

// A job that moves has recovered when it has moved for a while: one that stumbles on is still the
// same standstill to the people who look at the lamp.
void IncidentBook::HoldRecovery(Entry& entry, Moment now) {
  if (!entry.recovering) entry.recovering = now.mono;
  const Instant latest = *entry.recovering + kRecoveryHoldMax;
  Wake(entry, Alarm::kRecovered, std::min(now.mono + policy_.recovery_hold, latest));
}

// The first suspicion after it moved: whether it has recovered is decided when that is settled.
IncidentBook::Entry* IncidentBook::Relapsed(const Verdict& verdict) {
  auto of_job = open_by_job_.find(verdict.comm.job);
  if (of_job == open_by_job_.end()) return nullptr;
  for (const std::string& id : of_job->second) {
    Entry* entry = FindEntry(id);
    if (!entry->recovering || entry->incident.comm != verdict.comm) continue;
    if (!entry->adopted_as.empty()) open_by_identity_.erase(entry->adopted_as);
    entry->adopted_as = HangIdentity(verdict.comm, verdict.epoch);
    open_by_identity_[entry->adopted_as] = id;
    Wake(*entry, Alarm::kRecovered, *entry->recovering + kRecoveryHoldMax);
    return entry;
  }
  return nullptr;
}

// A source that fires again soon after its end: the same incident, which had not ended after all.
IncidentBook::Entry* IncidentBook::Reopenable(const std::string& identity, Moment now) {
  // Of most that fires nothing has ended before: only what has is looked for.
  if (!last_occurrence_.contains(identity)) return nullptr;
  for (auto it = closed_.rbegin(); it != closed_.rend(); ++it) {
    Entry* entry = FindEntry(*it);
    if (entry == nullptr || !entry->incident.closed) continue;
    const Incident& incident = entry->incident;
    if (now.mono - incident.closed->mono >= policy_.reopen_within) return nullptr;
    if (incident.identity != identity) continue;
    const bool ended = incident.close_reason == CloseReason::kMoved ||
                       incident.close_reason == CloseReason::kResolved;
    return ended && entry->source == Source::kEvent ? entry : nullptr;
  }
  return nullptr;
}

void IncidentBook::Reopen(Entry& entry, const Event& event, Severity severity, Moment now) {
  Incident& incident = entry.incident;
  std::erase(closed_, incident.id);
  incident.closed.reset();
  incident.close_reason.reset();
  incident.acknowledged.reset();
  const uint64_t count = incident.count;
  entry.part_of.clear();
  entry.cards.clear();
  entry.rang.reset();
  open_by_identity_[incident.identity] = incident.id;
  incident.state = IncidentState::kSuspected;
  Begin(entry, event, severity, now, now);
  incident.count = count + 1;
  Touch(entry);
}

}  // namespace sentinel
