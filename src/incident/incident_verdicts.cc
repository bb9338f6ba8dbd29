// The part of IncidentBook that takes verdicts in.
#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kPortEventsMax = 4096;  // hosts; beyond it the first by name is forgotten

bool HasPlace(const Verdict& verdict) { return !verdict.culprit.place.host.empty(); }

// Who is late may yet come, and who is dead may be on its way out with its job: the voice waits.
bool MayHealItself(const EventKind* kind, const Verdict& verdict) {
  return (kind != nullptr && kind->voice_hold) || verdict.hang_class == HangClass::kNotEntered;
}

std::string HostOf(const Verdict& verdict, Rank rank) {
  for (const Member& member : verdict.members) {
    if (member.rank == rank) return member.place.host;
  }
  return "";
}

std::optional<int32_t> JobRankOf(const Verdict& verdict, Rank rank) {
  for (const Member& member : verdict.members) {
    if (member.rank == rank && member.place.job_rank >= 0) return member.place.job_rank;
  }
  return std::nullopt;
}

}  // namespace

void IncidentBook::OnVerdict(const Verdict& verdict, const JobFacts& job, Moment now) {
  std::string identity = HangIdentity(verdict.comm, verdict.epoch);
  Entry* entry = FindOpen(identity);
  if (entry == nullptr) entry = Adopt(verdict);
  if (entry == nullptr && verdict.stage != VerdictStage::kHealed) entry = Relapsed(verdict);
  if (verdict.stage == VerdictStage::kHealed) {
    if (entry == nullptr) return;
    entry->incident.stalled = verdict.stalled;
    if (Standing(entry) && !verdict.ended) return HoldRecovery(*entry, now);
    Close(*entry, verdict.ended ? CloseReason::kEnded : CloseReason::kMoved, now);
    return;
  }
  if (entry == nullptr) {
    MakeRoom(now);
    entry = &Create(std::move(identity), Source::kAgent, now);
    entry->incident.comm = verdict.comm;
    entry->incident.epoch = verdict.epoch;
    entry->incident.job = verdict.comm.job;
    IndexOpen(*entry);
    entry->incident.suspected = now;
    entry->incident.count = 1;
    Changed(*entry, IncidentChange::kSuspected);
  }
  Incident& incident = entry->incident;
  incident.last_seen = now;
  std::string old_place = entry->place;
  bool was_open = incident.state != IncidentState::kSuspected;
  // An incident from an earlier process keeps what it said until a red verdict says better.
  if (!was_open || verdict.stage == VerdictStage::kRed) {
    UnindexOpen(*entry);
    DescribeVerdict(*entry, verdict);
    IndexOpen(*entry);
  }
  if (verdict.stage >= VerdictStage::kConfirmed && !incident.confirmed) {
    incident.confirmed = now;
    if (verdict.stage == VerdictStage::kConfirmed) Changed(*entry, IncidentChange::kConfirmed);
  }
  if (verdict.stage != VerdictStage::kRed) {
    return;
  }
  const EventKind* kind = policy_.table.Find(policy_.table.TypeOf(verdict.hang_class));
  const Severity severity = JobLevel(*entry, job, kind == nullptr ? Severity::kP0 : kind->severity);
  if (!incident.red) incident.red = now;
  if (std::exchange(entry->recovering, std::nullopt)) Forget(*entry, Alarm::kRecovered);
  if (was_open) {
    Refine(*entry, verdict, severity, old_place, now);
    return;
  }
  if (MayHealItself(kind, verdict) || PortMovedLately(incident, now)) {
    entry->voice_at = now.mono + policy_.voice_hold;
  }
  Open(*entry, severity, now);
  TakeInReports(*entry, now);
}

// What the hang of such a job is, where that of one that may ring would be `severity`.
Severity IncidentBook::JobLevel(Entry& entry, const JobFacts& job, Severity severity) const {
  const std::optional<int> gpus = std::max(entry.job.gpus, job.gpus);
  entry.job = job;
  entry.job.gpus = gpus;
  const bool rang =
      entry.incident.state != IncidentState::kSuspected && entry.incident.severity >= Severity::kP1;
  std::optional<std::string> barred;
  if (!rang && severity >= Severity::kP1) barred = BarredBy(policy_.ring, entry.job);
  entry.barred = barred.value_or("");
  return barred ? Severity::kNotice : severity;
}

void IncidentBook::Refine(Entry& entry, const Verdict& verdict, Severity severity,
                          const std::string& old_place, Moment now) {
  Incident& incident = entry.incident;
  Severity old = incident.severity;
  if (severity != old) {
    UnindexOpen(entry);
    incident.severity = severity;
    IndexOpen(entry);
  }
  // Where only its job kept it quiet, the rise tells.
  const bool by_job = incident.quiet && incident.quiet->reason == QuietReason::kJobRule;
  if (by_job && entry.barred.empty()) incident.quiet.reset();
  const bool was_quiet = incident.quiet.has_value();
  Reconsider(entry, now);
  if (was_quiet || incident.quiet) return;
  const EventKind* kind = policy_.table.Find(incident.event_type);
  bool hold = MayHealItself(kind, verdict) || PortMovedLately(incident, now);
  if (severity > old) {
    incident.state = IncidentState::kOpen;
    entry.voice_at.reset();
    if (hold) {
      entry.voice_at = now.mono + policy_.voice_hold;
      Wake(entry, Alarm::kVoice, *entry.voice_at);
    }
    Changed(entry, IncidentChange::kEscalated);
    Announce(entry, NotifyReason::kEscalated, now);
  } else if (verdict.hang_class == HangClass::kSlow && old >= Severity::kP1) {
    // It moves after all, only slowly: what it told the floor was too loud.
    Changed(entry, IncidentChange::kCorrected);
    TellClosed(entry, CloseReason::kSuperseded, now);
    entry.voice_at.reset();
  } else if (entry.place != old_place && severity >= Severity::kP1) {
    Changed(entry, IncidentChange::kCorrected);
    if (incident.state == IncidentState::kOpen) Announce(entry, NotifyReason::kCorrected, now);
  } else {
    Changed(entry, IncidentChange::kUpdated);
    // It is not what may heal by itself after all.
    if (entry.voice_at && !hold) SpeakHeld(entry, now);
  }
}

void IncidentBook::DescribeVerdict(Entry& entry, const Verdict& verdict) {
  Incident& incident = entry.incident;
  incident.hang_class = verdict.hang_class;
  incident.signature = verdict.signature;
  incident.event_type = policy_.table.TypeOf(verdict.hang_class);
  incident.op = verdict.op;
  incident.confidence = verdict.confidence;
  incident.evidence = verdict.evidence;
  incident.stalled = verdict.stalled;
  if (!verdict.members.empty()) incident.comm_name = verdict.members.front().comm_name;

  IncidentCulprit culprit;
  const Place& place = verdict.culprit.place;
  culprit.rank = verdict.culprit.rank;
  if (culprit.rank) culprit.job_rank = JobRankOf(verdict, *culprit.rank);
  culprit.edge = verdict.culprit.edge;
  if (culprit.edge) {
    const std::optional<int32_t> from = JobRankOf(verdict, culprit.edge->from);
    const std::optional<int32_t> to = JobRankOf(verdict, culprit.edge->to);
    if (from && to) culprit.job_edge = Edge{*from, *to};
  }
  culprit.nic = verdict.culprit.nic;
  culprit.host = place.host;
  if (place.gpu >= 0) culprit.gpu = place.gpu;
  if (const HostEntry* host = site_.FindHost(place.host); host != nullptr) {
    culprit.rack = SpokenRack(host->rack);
    culprit.unit = host->unit;
    auto card = host->gpus.find(place.pci);
    if (!culprit.gpu && card != host->gpus.end()) culprit.gpu = card->second;
  }
  incident.culprit = culprit;
  entry.host_key = place.host.empty() ? "" : IdentityHost(place.host);
  incident.suspects.clear();
  for (Rank rank : verdict.suspects) {
    incident.suspects.push_back({rank, HostOf(verdict, rank), JobRankOf(verdict, rank)});
  }

  SpeechFields fields;
  fields.job = Sanitise(incident.job, kSpokenFieldMax);
  fields.type = incident.event_type;
  if (HasPlace(verdict)) {
    fields.rack = culprit.rack;
    fields.host = site_.SpokenHost(culprit.rack, place.host);
    if (culprit.gpu) fields.gpu = std::to_string(*culprit.gpu);
    const EventKind* kind = policy_.table.Find(incident.event_type);
    incident.text =
        (kind == nullptr ? policy_.table.unknown() : *kind).Sentence(policy_.language, fields);
    entry.place = fields.rack + '\n' + fields.host;
    return;
  }
  std::vector<std::string> names;
  for (const Suspect& suspect : incident.suspects) {
    if (suspect.host.empty()) continue;
    const HostEntry* host = site_.FindHost(suspect.host);
    std::string rack = host == nullptr ? "" : SpokenRack(host->rack);
    std::string name = site_.SpokenHost(rack, suspect.host);
    if (!rack.empty()) name = rack + ' ' + name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (size_t i = 0; i < names.size() && i < kSpokenSuspectsMax; ++i) {
    if (i > 0) fields.suspects += policy_.language == Language::kChinese ? "、" : ", ";
    fields.suspects += names[i];
  }
  if (names.size() > kSpokenSuspectsMax) {
    std::string more = std::to_string(names.size());
    fields.suspects += policy_.language == Language::kChinese ? "等 " + more + " 处"
                                                              : " and others, " + more + " in all";
  }
  incident.text = policy_.table.unlocated().Sentence(policy_.language, fields);
  entry.place = "?\n" + fields.suspects;
}

// The correlator counts a communicator's stalls from one again after a restart: the first verdict
// about a communicator claims what an earlier process had open for it.
IncidentBook::Entry* IncidentBook::Adopt(const Verdict& verdict) {
  auto of_job = open_by_job_.find(verdict.comm.job);
  if (of_job == open_by_job_.end()) return nullptr;
  for (const std::string& id : of_job->second) {
    Entry* entry = FindEntry(id);
    if (!entry->adoptable || entry->incident.comm != verdict.comm) continue;
    entry->adoptable = false;
    entry->adopted_as = HangIdentity(verdict.comm, verdict.epoch);
    open_by_identity_[entry->adopted_as] = id;
    return entry;
  }
  return nullptr;
}

void IncidentBook::OnPortEvent(const std::string& host, Moment now) {
  if (port_events_.size() >= kPortEventsMax) {
    std::erase_if(port_events_,
                  [&](const auto& seen) { return now.mono - seen.second > policy_.voice_hold; });
    if (port_events_.size() >= kPortEventsMax) port_events_.erase(port_events_.begin());
  }
  port_events_[IdentityHost(host)] = now.mono;
}

bool IncidentBook::PortMovedLately(const Incident& incident, Moment now) const {
  auto lately = [&](const std::string& host) {
    auto it = port_events_.find(IdentityHost(host));
    return it != port_events_.end() && now.mono - it->second < policy_.voice_hold;
  };
  if (!incident.culprit.host.empty()) return lately(incident.culprit.host);
  for (const Suspect& suspect : incident.suspects) {
    if (lately(suspect.host)) return true;
  }
  return false;
}

}  // namespace sentinel
