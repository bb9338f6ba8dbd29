#include "incident/incident_book.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "incident/identity.h"
#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kPortEventsMax = 4096;  // hosts; beyond it the first by name is forgotten
// Two gateways that see the same fault open it within moments of each other: the coarser the clock
// in its name, the surer they call it the same.
constexpr int64_t kOccurrenceSeconds = 120;

std::string TextOf(const EventKind& kind, Language language, const SpeechFields& fields) {
  return FillIn(language == Language::kChinese ? kind.chinese : kind.english, fields);
}

bool HasPlace(const Verdict& verdict) { return !verdict.culprit.place.host.empty(); }

std::string HostOf(const Verdict& verdict, Rank rank) {
  for (const Member& member : verdict.members) {
    if (member.rank == rank) return member.place.host;
  }
  return "";
}

}  // namespace

std::string_view IncidentChangeName(IncidentChange change) {
  switch (change) {
    case IncidentChange::kSuspected:
      return "incident_suspected";
    case IncidentChange::kConfirmed:
      return "incident_confirmed";
    case IncidentChange::kOpened:
      return "incident_open";
    case IncidentChange::kEscalated:
      return "incident_escalated";
    case IncidentChange::kCorrected:
      return "incident_corrected";
    case IncidentChange::kUpdated:
      return "incident_updated";
    case IncidentChange::kAcknowledged:
      return "incident_acknowledged";
    case IncidentChange::kClosed:
      return "incident_closed";
  }
  return "";
}

IncidentBook::IncidentBook(IncidentPolicy policy, Site site)
    : policy_(std::move(policy)), site_(std::move(site)) {}
IncidentBook::~IncidentBook() = default;

// ---------------------------------------------------------------------------------------- events

IncidentBook::EventOutcome IncidentBook::OnEvent(const Event& event, JobPresence presence,
                                                 Moment now) {
  Severity severity = SeverityOf(policy_.table, event, presence);
  if (event.event_type == "LINK_DOWN" || event.event_type == "LINK_FLAP") {
    OnPortEvent(event.node_host, now);
  }
  if (event.state == EventState::kResolved || severity == Severity::kNormal) {
    return OnRecovery(event, now);
  }
  return OnFiring(event, severity, now);
}

IncidentBook::EventOutcome IncidentBook::OnFiring(const Event& event, Severity severity,
                                                  Moment now) {
  std::string identity = IdentityOf(event);
  Entry* entry = FindOpen(identity);
  if (entry == nullptr) {
    MakeRoom(now);
    Entry& created = Create(std::move(identity), Source::kEvent, now);
    Begin(created, event, severity, now, now);
    return {false, created.incident.id, true, created.incident.occurrence};
  }

  std::string id = entry->incident.id;
  if (severity > entry->incident.severity) {
    ++entry->incident.count;
    entry->incident.last_seen = now;
    UnindexOpen(*entry);
    DescribeEvent(*entry, event);
    entry->incident.severity = severity;
    IndexOpen(*entry);
    entry->incident.state = IncidentState::kOpen;
    entry->voice_at.reset();  // whatever held its voice was about something lesser
    Changed(*entry, IncidentChange::kEscalated);
    Announce(*entry, NotifyReason::kEscalated, now);
    return {false, id};
  }
  if (CountRepeat(id, severity, now)) return {true, id};
  // Its window is over, or a delivery was given up: it rings again where that is so.
  ++entry->incident.count;
  entry->incident.last_seen = now;
  Touch(*entry);
  Announce(*entry, NotifyReason::kRepeated, now);
  return {false, id};
}

std::string IncidentBook::IdentityOf(const Event& event) const {
  const HostEntry* host = site_.FindHost(event.node_host);
  std::string rack = SpokenRack(event.cluster_rack);
  if (rack.empty() && host != nullptr) rack = SpokenRack(host->rack);
  return EventIdentity(event, rack, IdentityHost(event.node_host));
}

// All of it follows from the event and its time: nothing but those need be kept until more happens.
IncidentBook::Entry& IncidentBook::Begin(Entry& entry, const Event& event, Severity severity,
                                         Moment at, Moment now) {
  entry.incident.count = 1;
  entry.incident.last_seen = now;
  DescribeEvent(entry, event);
  const EventKind* kind = policy_.table.Find(event.event_type);
  if (kind != nullptr && kind->voice_hold) entry.voice_at = at.mono + policy_.voice_hold;
  keeping_ = Keeping::kWithItsEvent;
  Open(entry, severity, now);
  keeping_ = Keeping::kNow;
  entry.incident.opened = at;
  Wake(entry, Alarm::kLease, now.mono + policy_.lease);
  return entry;
}

void IncidentBook::Rebegin(const Event& event, uint64_t occurrence, WallTime at, Moment now) {
  std::string identity = IdentityOf(event);
  if (FindOpen(identity) != nullptr || entries_.contains(IncidentId(identity, occurrence))) return;
  MakeRoom(now);
  Duration age = std::max(Duration(0), Duration(now.wall.since_epoch - at.since_epoch));
  Moment then{now.mono - age, at};
  Entry& entry = Create(std::move(identity), Source::kEvent, occurrence);
  Begin(entry, event, SeverityOf(policy_.table, event, JobPresence::kUnknown), then, now);
}

bool IncidentBook::CountRepeat(const std::string& incident, Severity severity, Moment now) {
  Entry* entry = FindEntry(incident);
  if (entry == nullptr || entry->incident.state == IncidentState::kClosed) return false;
  if (severity > entry->incident.severity) return false;
  if (entry->incident.state == IncidentState::kOpen && entry->incident.severity >= Severity::kP1) {
    for (const auto& [terminal, lamp] : entry->lamps) {
      if (!Suppressed(lamp, now.mono)) return false;
    }
  }
  ++entry->incident.count;
  entry->incident.last_seen = now;
  if (!entry->counted) {
    entry->counted = true;
    counted_.push_back(incident);
  }
  return true;
}

IncidentBook::EventOutcome IncidentBook::OnRecovery(const Event& event, Moment now) {
  // Either word ends whatever is open there, whatever its type; only RECOVERED (or another type of
  // the level NORMAL) says by itself that the job moves again.
  bool moving = event.state == EventState::kFiring || event.event_type == "RECOVERED";
  std::string rack = SpokenRack(event.cluster_rack);
  std::vector<std::string> ending;
  if (!event.job_id.empty()) {
    auto of_job = open_by_job_.find(event.job_id);
    if (of_job != open_by_job_.end()) ending.assign(of_job->second.begin(), of_job->second.end());
  }
  if (ending.empty()) {
    auto of_host = open_by_host_.find(IdentityHost(event.node_host));
    if (of_host != open_by_host_.end()) {
      for (const std::string& id : of_host->second) {
        const Entry& entry = *FindEntry(id);
        const std::string& its_rack = entry.incident.culprit.rack;
        bool same_rack = rack.empty() || its_rack.empty() || rack == its_rack;
        // What we observe ourselves ends when we observe it: nobody can tell us that an agent is
        // heard again.
        if (entry.source != Source::kOwn && same_rack) ending.push_back(id);
      }
    }
  }
  EventOutcome outcome{ending.empty(), ending.empty() ? "" : ending.front()};
  for (const std::string& id : ending) {
    Entry& entry = *FindEntry(id);
    entry.incident.last_seen = now;
    const EventKind* kind = policy_.table.Find(entry.incident.event_type);
    bool moves = moving || (kind != nullptr && kind->ending == Ending::kJobMoves);
    Close(entry, moves ? CloseReason::kMoved : CloseReason::kResolved, now);
  }
  return outcome;
}

void IncidentBook::DescribeEvent(Entry& entry, const Event& event) {
  Incident& incident = entry.incident;
  const HostEntry* host = site_.FindHost(event.node_host);
  incident.event_type = event.event_type;
  incident.job = event.job_id;
  incident.gpu_util = event.gpu_util;
  IncidentCulprit& culprit = incident.culprit;
  culprit.host = event.node_host;
  culprit.rack = SpokenRack(event.cluster_rack);
  culprit.nic = event.nic;
  if (event.rank) culprit.rank = *event.rank;
  if (event.gpu_index && *event.gpu_index >= 0) culprit.gpu = *event.gpu_index;
  if (host != nullptr) {
    if (culprit.rack.empty()) culprit.rack = SpokenRack(host->rack);
    culprit.unit = host->unit;
    auto card = host->gpus.find(event.pci);
    if (!culprit.gpu && card != host->gpus.end()) culprit.gpu = card->second;
  }
  entry.host_key = IdentityHost(event.node_host);
  incident.evidence.clear();
  if (!event.evidence.empty()) {
    std::string line = Sanitise(event.evidence, 200);
    incident.evidence.push_back({line, line});
  }

  SpeechFields fields;
  fields.rack = culprit.rack;
  fields.host = site_.SpokenHost(culprit.rack, event.node_host);
  if (culprit.gpu) fields.gpu = std::to_string(*culprit.gpu);
  if (event.gpu_util) fields.util = std::to_string(std::lround(*event.gpu_util));
  fields.type = Sanitise(event.event_type, kSpokenFieldMax);
  fields.job = Sanitise(event.job_id, kSpokenFieldMax);
  // The sentence of the level: an event without words of its own that carries a utilisation.
  incident.text = TextOf(policy_.table.SpeakingFor(event), policy_.language, fields);
  entry.place = culprit.rack + '\n' + fields.host;
}

// -------------------------------------------------------------------------------------- verdicts

void IncidentBook::OnVerdict(const Verdict& verdict, Moment now) {
  std::string identity = HangIdentity(verdict.comm, verdict.epoch);
  Entry* entry = FindOpen(identity);
  if (entry == nullptr) entry = Adopt(verdict);
  if (verdict.stage == VerdictStage::kHealed) {
    if (entry == nullptr) return;
    entry->incident.stalled = verdict.stalled;
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
  const EventKind* kind = policy_.table.Find(EventTypeOf(verdict.hang_class));
  Severity severity = kind == nullptr ? Severity::kP0 : kind->severity;
  if (!incident.red) incident.red = now;
  if (was_open) {
    Refine(*entry, verdict, severity, old_place, now);
    return;
  }
  if ((kind != nullptr && kind->voice_hold) || PortMovedLately(incident, now)) {
    entry->voice_at = now.mono + policy_.voice_hold;
  }
  Open(*entry, severity, now);
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
  const EventKind* kind = policy_.table.Find(incident.event_type);
  bool hold = (kind != nullptr && kind->voice_hold) || PortMovedLately(incident, now);
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
  incident.event_type = EventTypeOf(verdict.hang_class);
  incident.op = verdict.op;
  incident.confidence = verdict.confidence;
  incident.evidence = verdict.evidence;
  incident.stalled = verdict.stalled;
  if (!verdict.members.empty()) incident.comm_name = verdict.members.front().comm_name;

  IncidentCulprit culprit;
  const Place& place = verdict.culprit.place;
  culprit.rank = verdict.culprit.rank;
  culprit.edge = verdict.culprit.edge;
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
  for (Rank rank : verdict.suspects) incident.suspects.push_back({rank, HostOf(verdict, rank)});

  SpeechFields fields;
  fields.job = Sanitise(incident.job, kSpokenFieldMax);
  fields.type = incident.event_type;
  if (HasPlace(verdict)) {
    fields.rack = culprit.rack;
    fields.host = site_.SpokenHost(culprit.rack, place.host);
    if (culprit.gpu) fields.gpu = std::to_string(*culprit.gpu);
    const EventKind* kind = policy_.table.Find(incident.event_type);
    incident.text =
        TextOf(kind == nullptr ? policy_.table.unknown() : *kind, policy_.language, fields);
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
  incident.text = TextOf(policy_.table.unlocated(), policy_.language, fields);
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

// ------------------------------------------------------------------------------------------ life

IncidentBook::Entry* IncidentBook::FindEntry(const std::string& id) {
  auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : it->second.get();
}

IncidentBook::Entry* IncidentBook::FindOpen(const std::string& identity) {
  auto it = open_by_identity_.find(identity);
  return it == open_by_identity_.end() ? nullptr : FindEntry(it->second);
}

IncidentBook::Entry& IncidentBook::Create(std::string identity, Source source, Moment now) {
  auto occurrence = static_cast<uint64_t>(now.wall.since_epoch.count() / 1000 / kOccurrenceSeconds);
  auto last = last_occurrence_.find(identity);
  if (last != last_occurrence_.end()) occurrence = std::max(occurrence, last->second + 1);
  return Create(std::move(identity), source, occurrence);
}

IncidentBook::Entry& IncidentBook::Create(std::string identity, Source source,
                                          uint64_t occurrence) {
  auto entry = std::make_unique<Entry>();
  entry->source = source;
  entry->serial = next_serial_++;
  Incident& incident = entry->incident;
  incident.id = IncidentId(identity, occurrence);
  while (entries_.contains(incident.id)) incident.id = IncidentId(identity, ++occurrence);
  incident.occurrence = occurrence;
  incident.identity = identity;
  incident.state = IncidentState::kSuspected;
  open_by_identity_[std::move(identity)] = incident.id;
  std::string id = incident.id;
  return *entries_.emplace(id, std::move(entry)).first->second;
}

void IncidentBook::Open(Entry& entry, Severity severity, Moment now) {
  UnindexOpen(entry);
  entry.incident.state = IncidentState::kOpen;
  entry.incident.severity = severity;
  entry.incident.opened = now;
  IndexOpen(entry);
  Changed(entry, IncidentChange::kOpened);
  Announce(entry, NotifyReason::kFirst, now);
  if (entry.voice_at) Wake(entry, Alarm::kVoice, *entry.voice_at);
}

void IncidentBook::Close(Entry& entry, CloseReason reason, Moment now) {
  Incident& incident = entry.incident;
  bool suspicion = incident.state == IncidentState::kSuspected;
  UnindexOpen(entry);
  Extinguish(entry);
  entry.voice_at.reset();
  for (const Timer& timer : entry.timers) timers_.erase(timer);
  entry.timers.clear();
  incident.state = IncidentState::kClosed;
  incident.closed = now;
  incident.close_reason = reason;
  open_by_identity_.erase(incident.identity);
  if (!entry.adopted_as.empty()) open_by_identity_.erase(entry.adopted_as);
  TellClosed(entry, reason, now);
  KeepWindows(entry, now);
  Changed(entry, IncidentChange::kClosed);
  if (last_occurrence_.insert_or_assign(incident.identity, incident.occurrence).second) {
    occurrence_order_.push_back(incident.identity);
  }
  if (occurrence_order_.size() > kOccurrencesMax) {
    last_occurrence_.erase(occurrence_order_.front());
    occurrence_order_.pop_front();
  }
  (suspicion ? cleared_ : closed_).push_back(incident.id);
  ForgetClosed();
}

void IncidentBook::ForgetClosed() {
  auto forget = [this](std::deque<std::string>* list, size_t max) {
    while (list->size() > max) {
      auto it = entries_.find(list->front());
      list->pop_front();
      if (it == entries_.end()) continue;
      for (const NotificationRecord& record : it->second->incident.notifications) {
        incident_of_message_.erase(record.notification.id);
      }
      entries_.erase(it);
    }
  };
  forget(&closed_, kClosedIncidentsMax);
  forget(&cleared_, kClearedSuspicionsMax);
}

void IncidentBook::MakeRoom(Moment now) {
  if (open_.size() < kOpenIncidentsMax) return;
  Entry& least = *FindEntry(std::get<2>(*open_.begin()));
  // One that no terminal has heard of leaves without a trace: a restart would only shed it again.
  bool heard_of = std::any_of(least.lamps.begin(), least.lamps.end(),
                              [](const auto& lamp) { return lamp.second.attempted; });
  keeping_ = heard_of ? Keeping::kNow : Keeping::kLater;
  Close(least, CloseReason::kSuperseded, now);
  keeping_ = Keeping::kNow;
}

void IncidentBook::Wake(Entry& entry, Alarm alarm, Instant at) {
  for (auto it = entry.timers.begin(); it != entry.timers.end(); ++it) {
    if (std::get<Alarm>(*it) != alarm) continue;
    timers_.erase(*it);
    entry.timers.erase(it);
    break;
  }
  Timer timer{at, entry.incident.id, alarm};
  timers_.insert(timer);
  entry.timers.push_back(std::move(timer));
}

void IncidentBook::IndexOpen(Entry& entry) {
  const std::string& id = entry.incident.id;
  open_.insert({entry.incident.severity, entry.serial, id});
  if (!entry.host_key.empty()) open_by_host_[entry.host_key].insert(id);
  if (!entry.incident.job.empty() || entry.source == Source::kAgent) {
    open_by_job_[entry.incident.job].insert(id);
  }
}

void IncidentBook::UnindexOpen(const Entry& entry) {
  const std::string& id = entry.incident.id;
  open_.erase({entry.incident.severity, entry.serial, id});
  auto drop = [&](std::unordered_map<std::string, std::set<std::string>>* index,
                  const std::string& key) {
    auto it = index->find(key);
    if (it == index->end()) return;
    it->second.erase(id);
    if (it->second.empty()) index->erase(it);
  };
  drop(&open_by_host_, entry.host_key);
  drop(&open_by_job_, entry.incident.job);
}

void IncidentBook::Advance(Moment now) {
  while (!timers_.empty() && std::get<Instant>(*timers_.begin()) <= now.mono) {
    Timer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    Entry* entry = FindEntry(std::get<std::string>(timer));
    if (entry == nullptr) continue;
    std::erase(entry->timers, timer);
    switch (std::get<Alarm>(timer)) {
      case Alarm::kVoice:
        if (entry->voice_at && *entry->voice_at <= now.mono) SpeakHeld(*entry, now);
        break;
      case Alarm::kLease: {
        // Repeats renew a lease without touching its timer: it looks again when it goes off.
        bool leased = entry->source == Source::kEvent || entry->adoptable;
        if (!leased || !entry->incident.last_seen) break;
        Instant ends = entry->incident.last_seen->mono + policy_.lease;
        if (ends <= now.mono) {
          Close(*entry, CloseReason::kExpired, now);
        } else {
          Wake(*entry, Alarm::kLease, ends);
        }
        break;
      }
    }
  }
}

std::optional<Instant> IncidentBook::NextWake() const {
  if (timers_.empty()) return std::nullopt;
  return std::get<Instant>(*timers_.begin());
}

void IncidentBook::Touch(const Entry& entry) {
  // Suspicions are not kept: after a restart they arise anew or do not matter.
  if (entry.incident.state == IncidentState::kSuspected) return;
  if (entry.incident.state == IncidentState::kClosed && !entry.incident.opened) return;
  switch (keeping_) {
    case Keeping::kNow:
      if (touched_.insert(entry.incident.id).second) actions_.touched.push_back(entry.incident.id);
      break;
    case Keeping::kLater:
      actions_.later.push_back(entry.incident.id);
      break;
    case Keeping::kWithItsEvent:
      break;
  }
}

void IncidentBook::Changed(const Entry& entry, IncidentChange change) {
  actions_.changes.push_back({entry.incident.id, change});
  Touch(entry);
}

IncidentBook::Actions IncidentBook::TakeActions() {
  touched_.clear();
  return std::exchange(actions_, {});
}

std::vector<std::string> IncidentBook::TakeCounted(size_t max) {
  std::vector<std::string> counted;
  while (!counted_.empty() && counted.size() < max) {
    if (Entry* entry = FindEntry(counted_.front())) entry->counted = false;
    counted.push_back(std::move(counted_.front()));
    counted_.pop_front();
  }
  return counted;
}

const Incident* IncidentBook::Find(const std::string& id) const {
  auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second->incident;
}

std::vector<const Incident*> IncidentBook::List(bool with_closed, size_t max) const {
  std::vector<const Entry*> open;
  open.reserve(open_.size());
  for (const auto& [severity, serial, id] : open_) open.push_back(entries_.at(id).get());
  size_t shown = std::min(max, open.size());
  std::partial_sort(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(shown), open.end(),
                    [](const Entry* a, const Entry* b) { return a->serial > b->serial; });
  std::vector<const Incident*> list;
  for (size_t i = 0; i < shown; ++i) list.push_back(&open[i]->incident);
  if (!with_closed) return list;
  for (const auto* ids : {&closed_, &cleared_}) {
    for (auto it = ids->rbegin(); it != ids->rend(); ++it) {
      if (const Incident* incident = Find(*it)) list.push_back(incident);
    }
  }
  return list;
}

}  // namespace sentinel
