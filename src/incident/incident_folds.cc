// The part of IncidentBook that makes one of many: faults that follow from another, the reports of
// one standstill, what a host that is down says of its parts.
#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kPartsMax = 1024;           // of one incident; beyond it they end by themselves
constexpr size_t kReportedSuspectsMax = 64;  // hosts that reported the same standstill

}  // namespace

bool IncidentBook::Standing(const Entry* entry) {
  return entry != nullptr && (entry->incident.state == IncidentState::kOpen ||
                              entry->incident.state == IncidentState::kAcknowledged);
}

bool IncidentBook::IsStandstill(const std::string& type) const {
  const EventKind* kind = policy_.table.Find(type);
  return kind != nullptr && kind->ending == Ending::kJobMoves && kind->severity >= Severity::kP1;
}

std::optional<CardFault> IncidentBook::FaultOf(const Event& event) const {
  std::optional<CardFault> fault = CardFaultOf(event, IdentityHost(event.node_host));
  if (!fault || fault->gpu) return fault;
  const HostEntry* host = site_.FindHost(event.node_host);
  if (host == nullptr) return fault;
  auto card = host->gpus.find(fault->pci);
  if (card != host->gpus.end()) fault->gpu = card->second;
  return fault;
}

// What is folded does not ring; nothing more severe is hidden behind something less so.
void IncidentBook::Raise(Entry& root, const Entry& part, Moment now) {
  if (root.source == Source::kAgent) return;  // its level is the verdict's
  if (part.incident.severity <= root.incident.severity) return;
  UnindexOpen(root);
  root.incident.severity = part.incident.severity;
  IndexOpen(root);
  root.incident.state = IncidentState::kOpen;
  root.voice_at.reset();
  Changed(root, IncidentChange::kEscalated);
  Announce(root, NotifyReason::kEscalated, now);
}

void IncidentBook::JoinParts(Entry& part, Entry& root) {
  if (Entry* earlier = FindEntry(part.part_of)) earlier->parts.erase(part.incident.id);
  part.part_of = root.incident.id;
  if (root.parts.size() < kPartsMax) root.parts.insert(part.incident.id);
}

// One that rings already goes dark: the root says it all.
void IncidentBook::TakeIn(Entry& part, Entry& root, Moment now) {
  if (!Standing(&part) || part.incident.id == root.incident.id) return;
  JoinParts(part, root);
  root.incident.count += part.incident.count;
  const bool more = part.incident.severity > root.incident.severity;
  if (more && root.source != Source::kAgent) root.incident.text = part.incident.text;
  Raise(root, part, now);
  Reconsider(part, now);
  Touch(root);
}

// An event has begun `entry`: what does it follow from, and what follows from it?
void IncidentBook::FindRoot(Entry& entry, const Event& event, Instant now) {
  std::optional<CardFault> fault = FaultOf(event);
  if (!fault) return;
  if (std::optional<std::string> id = folds_.RootOf(*fault, now)) {
    Entry* root = FindEntry(*id);
    if (Standing(root)) JoinParts(entry, *root);
  }
  folds_.Remember(*fault, entry.incident.id, now);
}

void IncidentBook::Gather(Entry& entry, const Event& event, Moment now) {
  if (entry.incident.quiet && entry.incident.quiet->reason == QuietReason::kHostDown) {
    Entry& host = *FindEntry(entry.incident.quiet->by);
    ++host.incident.count;
    Raise(host, entry, now);
    Touch(host);
    return;
  }
  Entry* root = FindEntry(entry.part_of);
  if (Standing(root)) {
    ++root->incident.count;
    if (entry.incident.severity > root->incident.severity) {
      root->incident.text = entry.incident.text;
    }
    Raise(*root, entry, now);
    Touch(*root);
    return;
  }
  std::optional<CardFault> fault = FaultOf(event);
  if (!fault) return;
  for (const std::string& id : folds_.FollowersOf(*fault, now.mono)) {
    if (Entry* part = FindEntry(id)) TakeIn(*part, entry, now);
  }
}

// The open incident of the standstill of that job, if this event is one more report of it.
const IncidentBook::Entry* IncidentBook::StandstillOf(const Event& event, Severity severity) const {
  if (event.job_id.empty() || !IsStandstill(event.event_type)) return nullptr;
  auto of_job = open_by_job_.find(event.job_id);
  if (of_job == open_by_job_.end()) return nullptr;
  const Entry* found = nullptr;
  for (const std::string& id : of_job->second) {
    const Entry& entry = *entries_.at(id);
    // Behind what does not ring nothing is hidden.
    if (!Standing(&entry) || entry.incident.quiet) continue;
    if (entry.source == Source::kAgent && entry.incident.severity >= severity) return &entry;
    const bool as_severe = entry.incident.severity >= severity;
    if (entry.source == Source::kEvent && as_severe && IsStandstill(entry.incident.event_type)) {
      found = &entry;
    }
  }
  return found;
}

// One more host that says so.
IncidentBook::EventOutcome IncidentBook::CountIn(Entry& entry, const Event& event,
                                                 Severity severity, Moment now) {
  Incident& incident = entry.incident;
  if (entry.source == Source::kAgent) {
    CountOne(entry, now);
    return {true, incident.id};
  }
  std::vector<Suspect>& suspects = incident.suspects;
  const Suspect reported{event.rank.value_or(-1), event.node_host};
  const bool known = event.node_host == incident.culprit.host ||
                     std::find(suspects.begin(), suspects.end(), reported) != suspects.end();
  if (!known && suspects.size() < kReportedSuspectsMax) {
    suspects.push_back(reported);
    Touch(entry);
  }
  if (CountRepeat(incident.id, severity, now)) return {true, incident.id};
  CountOne(entry, now);
  Announce(entry, NotifyReason::kRepeated, now);
  return {false, incident.id};
}

// Reports that were there before our own verdict.
void IncidentBook::TakeInReports(Entry& hang, Moment now) {
  if (hang.incident.job.empty()) return;
  auto of_job = open_by_job_.find(hang.incident.job);
  if (of_job == open_by_job_.end()) return;
  const std::vector<std::string> ids(of_job->second.begin(), of_job->second.end());
  for (const std::string& id : ids) {
    Entry& entry = *FindEntry(id);
    if (entry.source == Source::kEvent && IsStandstill(entry.incident.event_type)) {
      TakeIn(entry, hang, now);
    }
  }
}

const IncidentBook::Entry* IncidentBook::HostDown(const Entry& entry) const {
  if (entry.source != Source::kEvent || entry.host_key.empty()) return nullptr;
  const EventKind* kind = policy_.table.Find(entry.incident.event_type);
  if (kind != nullptr && (kind->hides_host || kind->ending == Ending::kJobMoves)) return nullptr;
  auto of_host = open_by_host_.find(entry.host_key);
  if (of_host == open_by_host_.end()) return nullptr;
  for (const std::string& id : of_host->second) {
    const Entry& other = *entries_.at(id);
    const EventKind* its = policy_.table.Find(other.incident.event_type);
    const bool down = its != nullptr && its->hides_host && Standing(&other);
    if (down && !other.incident.quiet) return &other;
  }
  return nullptr;
}

// What belongs to an incident ends with it; what a host hid has a moment to end, now that it is
// back.
void IncidentBook::EndParts(Entry& entry, CloseReason reason, Moment now) {
  const std::set<std::string> parts = std::exchange(entry.parts, {});
  for (const std::string& id : parts) {
    Entry* part = FindEntry(id);
    if (Standing(part)) Close(*part, reason, now);
  }
  if (Entry* root = FindEntry(entry.part_of)) root->parts.erase(entry.incident.id);
  folds_.Forget(entry.host_key, entry.incident.id);
  const EventKind* kind = policy_.table.Find(entry.incident.event_type);
  if (kind == nullptr || !kind->hides_host) return;
  auto of_host = open_by_host_.find(entry.host_key);
  if (of_host == open_by_host_.end()) return;
  const std::vector<std::string> hidden(of_host->second.begin(), of_host->second.end());
  for (const std::string& id : hidden) {
    Entry& other = *FindEntry(id);
    if (!other.incident.quiet || other.incident.quiet->by != entry.incident.id) continue;
    other.hidden_until = now.mono + policy_.host_back_grace;
    Wake(other, Alarm::kReconsider, *other.hidden_until);
  }
}

}  // namespace sentinel
