// The part of IncidentBook that takes events in.
#include <algorithm>
#include <cmath>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {

IncidentBook::EventOutcome IncidentBook::OnEvent(const Event& event, JobPresence presence,
                                                 Moment now) {
  Severity severity = LevelOf(policy_.table, event, presence).severity;
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
    if (const Entry* same = StandstillOf(event, severity)) {
      return CountIn(*FindEntry(same->incident.id), event, severity, now);
    }
    if (Entry* ended = Reopenable(identity, now)) {
      Reopen(*ended, event, severity, now);
      return {false, ended->incident.id};
    }
    MakeRoom(now);
    Entry& created = Create(std::move(identity), Source::kEvent, now);
    Begin(created, event, severity, now, now);
    const bool only_its_event = !created.incident.quiet;
    return {false, created.incident.id, only_its_event, created.incident.occurrence};
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
    Entry* root = FindEntry(entry->part_of);
    if (Standing(root)) {
      root->incident.text = entry->incident.text;
      Raise(*root, *entry, now);
    }
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
  const std::string identity_host = IdentityHost(event.node_host);
  // A card is the same by its number and by its address.
  const bool by_address = !event.gpu_index && event.gpu_uuid.empty() && !event.pci.empty();
  if (by_address && host != nullptr) {
    auto card = host->gpus.find(event.pci);
    if (card != host->gpus.end()) {
      Event numbered = event;
      numbered.gpu_index = card->second;
      return EventIdentity(numbered, rack, identity_host);
    }
  }
  return EventIdentity(event, rack, identity_host);
}

// All of it follows from the event and its time: nothing but those need be kept until more happens.
IncidentBook::Entry& IncidentBook::Begin(Entry& entry, const Event& event, Severity severity,
                                         Moment at, Moment now) {
  entry.incident.count = 1;
  entry.incident.last_seen = now;
  DescribeEvent(entry, event);
  const EventKind* kind = policy_.table.Find(event.event_type);
  if (kind != nullptr && kind->voice_hold) entry.voice_at = at.mono + policy_.voice_hold;
  FindRoot(entry, event, at.mono);
  Entry* first = QuietFor(entry) ? nullptr : FirstOfCards(entry, event, severity, at.mono);
  entry.told_by = first == nullptr ? "" : first->incident.id;
  keeping_ = Keeping::kWithItsEvent;
  Open(entry, severity, now);
  keeping_ = Keeping::kNow;
  Gather(entry, event, now);
  if (first != nullptr) {
    first->cards[entry.incident.id] = *entry.incident.culprit.gpu;
    first->incident.text =
        SentenceOf(*first, event, site_.SpokenHost(first->incident.culprit.rack, event.node_host));
    Announce(*first, NotifyReason::kGrouped, now);
  }
  entry.incident.opened = at;
  Wake(entry, Alarm::kLease, now.mono + LeaseOf(entry));
  return entry;
}

// A host whose cards fail together says so once: the incident of the first card speaks for all,
// with a sentence that names them. Cards of one level: a voice does not speak for what is louder.
// Nothing if this card is the first, or alone.
IncidentBook::Entry* IncidentBook::FirstOfCards(const Entry& entry, const Event& event,
                                                Severity severity, Instant at) {
  if (!entry.incident.culprit.gpu) return nullptr;
  for (; !card_ends_.empty() && card_ends_.front().first < at; card_ends_.pop_front()) {
    auto over = card_groups_.find(card_ends_.front().second);
    if (over != card_groups_.end() && over->second.until < at) card_groups_.erase(over);
  }
  if (card_ends_.size() >= kCardGroupsMax) return nullptr;
  std::string name = std::string(SeverityName(severity)) + '\n' + entry.place + '\n' +
                     entry.host_key + '\n' + event.event_type;
  CardGroup& group = card_groups_[name];
  Entry* first = at < group.until ? FindEntry(group.first) : nullptr;
  const bool speaks = first != nullptr && first->incident.state == IncidentState::kOpen;
  if (speaks && !first->incident.quiet) return first;
  group = {entry.incident.id, at + policy_.cards_together};
  card_ends_.emplace_back(group.until, std::move(name));
  return nullptr;
}

// One of them has ended. If it spoke for the others, the next does: it rings again when that one
// would have. Nobody names a card any more whose fault has gone.
void IncidentBook::PartCards(Entry& entry, Moment now) {
  if (Entry* speaker = FindEntry(entry.told_by)) {
    speaker->cards.erase(entry.incident.id);
    NameCards(*speaker);
  }
  entry.told_by.clear();
  Entry* next = nullptr;
  const std::map<std::string, int> cards = std::exchange(entry.cards, {});
  for (const auto& [id, card] : cards) {
    Entry* other = FindEntry(id);
    if (!Standing(other) || other->told_by != entry.incident.id) continue;
    if (next == nullptr) {
      next = other;
      next->told_by.clear();
    } else {
      next->cards[id] = card;
      other->told_by = next->incident.id;
    }
  }
  if (next == nullptr) return;
  NameCards(*next);
  next->rang = entry.rang;
  WakeForRepeat(*next, now);
}

void IncidentBook::NameCards(Entry& entry) {
  Incident& incident = entry.incident;
  Event event;
  event.event_type = incident.event_type;
  event.node_host = incident.culprit.host;
  event.gpu_util = incident.gpu_util;
  event.job_id = incident.job;
  incident.text =
      SentenceOf(entry, event, site_.SpokenHost(incident.culprit.rack, event.node_host));
  if (entry.turned_unstable) incident.text += UnstableText(policy_.language);
  Touch(entry);
}

void IncidentBook::Rebegin(const Event& event, uint64_t occurrence, WallTime at, Moment now) {
  std::string identity = IdentityOf(event);
  if (FindOpen(identity) != nullptr || entries_.contains(IncidentId(identity, occurrence))) return;
  MakeRoom(now);
  Duration age = std::max(Duration(0), Duration(now.wall.since_epoch - at.since_epoch));
  Moment then{now.mono - age, at};
  Entry& entry = Create(std::move(identity), Source::kEvent, occurrence);
  Begin(entry, event, LevelOf(policy_.table, event, JobPresence::kUnknown).severity, then, now);
}

bool IncidentBook::CountRepeat(const std::string& incident, Severity severity, Moment now) {
  Entry* entry = FindEntry(incident);
  if (entry == nullptr || entry->incident.state == IncidentState::kClosed) return false;
  if (severity > entry->incident.severity) return false;
  if (entry->incident.state == IncidentState::kOpen && entry->incident.severity >= Severity::kP1 &&
      !entry->incident.quiet) {
    for (const auto& [terminal, lamp] : entry->lamps) {
      if (!Suppressed(*entry, lamp, now.mono)) return false;
    }
  }
  CountOne(*entry, now);
  return true;
}

void IncidentBook::Renew(const Event& event, Moment now) {
  if (event.state != EventState::kFiring) return;
  Entry* entry = FindOpen(IdentityOf(event));
  if (entry != nullptr) entry->incident.last_seen = now;
}

bool IncidentBook::Agrees(const Event& event, const std::string& incident) const {
  const bool open = open_by_identity_.contains(IdentityOf(event));
  if (event.state == EventState::kResolved) return !open;
  const Incident* known = Find(incident);
  return open || (known != nullptr && known->state != IncidentState::kClosed);
}

void IncidentBook::CountOne(Entry& entry, Moment now) {
  ++entry.incident.count;
  entry.incident.last_seen = now;
  if (entry.counted) return;
  entry.counted = true;
  counted_.push_back(entry.incident.id);
}

// Either word ends whatever is open there, whatever its type, unless it says that it does not.
std::vector<std::string> IncidentBook::EndedBy(const Event& event) const {
  std::string rack = SpokenRack(event.cluster_rack);
  std::vector<std::string> ending;
  if (event.ends_only_this) {
    auto open = open_by_identity_.find(IdentityOf(event));
    if (open != open_by_identity_.end() && entries_.at(open->second)->source == Source::kEvent) {
      ending.push_back(open->second);
    }
    return ending;
  }
  if (!event.job_id.empty()) {
    auto of_job = open_by_job_.find(event.job_id);
    if (of_job != open_by_job_.end()) ending.assign(of_job->second.begin(), of_job->second.end());
  }
  if (!ending.empty()) return ending;
  auto of_host = open_by_host_.find(IdentityHost(event.node_host));
  if (of_host == open_by_host_.end()) return ending;
  for (const std::string& id : of_host->second) {
    const Entry& entry = *entries_.at(id);
    const std::string& its_rack = entry.incident.culprit.rack;
    bool same_rack = rack.empty() || its_rack.empty() || rack == its_rack;
    // What we observe ourselves ends when we observe it: nobody can tell us that an agent is heard
    // again.
    if (entry.source != Source::kOwn && same_rack) ending.push_back(id);
  }
  return ending;
}

IncidentBook::EventOutcome IncidentBook::OnRecovery(const Event& event, Moment now) {
  // Only RECOVERED (or another type of the level NORMAL) says by itself that the job moves again.
  bool moving = event.state == EventState::kFiring || event.event_type == "RECOVERED";
  const std::vector<std::string> ending = EndedBy(event);
  EventOutcome outcome{ending.empty(), ending.empty() ? "" : ending.front()};
  for (const std::string& id : ending) {
    Entry* found = FindEntry(id);
    // One may have ended with another of them, as part of it.
    if (found == nullptr || found->incident.state == IncidentState::kClosed) continue;
    Entry& entry = *found;
    entry.incident.last_seen = now;
    const EventKind* kind = policy_.table.Find(entry.incident.event_type);
    bool moves = moving || (kind != nullptr && kind->ending == Ending::kJobMoves);
    Close(entry, moves ? CloseReason::kMoved : CloseReason::kResolved, now);
  }
  return outcome;
}

void IncidentBook::DescribeEvent(Entry& entry, const Event& event) {
  Incident& incident = entry.incident;
  DescribePlace(incident, event);
  entry.host_key = IdentityHost(event.node_host);
  incident.evidence.clear();
  if (!event.evidence.empty()) {
    std::string line = Sanitise(event.evidence, 200);
    incident.evidence.push_back({line, line});
  }
  const std::string& rack = incident.culprit.rack;
  const std::string host = site_.SpokenHost(rack, event.node_host);
  entry.place = rack + '\n' + host;
  incident.text = SentenceOf(entry, event, host);
}

void IncidentBook::DescribePlace(Incident& incident, const Event& event) const {
  const HostEntry* host = site_.FindHost(event.node_host);
  incident.event_type = event.event_type;
  incident.job = event.job_id;
  incident.gpu_util = event.gpu_util;
  incident.lease = event.lease;
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
}

// Of the event, about all the cards that the entry speaks for. `host`: by its spoken name.
std::string IncidentBook::SentenceOf(const Entry& entry, const Event& event,
                                     const std::string& host) const {
  const IncidentCulprit& culprit = entry.incident.culprit;
  std::set<int> cards;
  for (const auto& [incident, card] : entry.cards) cards.insert(card);
  if (culprit.gpu) cards.insert(*culprit.gpu);
  return Sentence(event, culprit.rack, host, cards);
}

std::string IncidentBook::Sentence(const Event& event, const std::string& rack,
                                   const std::string& host, const std::set<int>& cards) const {
  SpeechFields fields;
  fields.rack = rack;
  fields.host = host;
  for (int card : cards) {
    if (!fields.gpu.empty()) fields.gpu += policy_.language == Language::kChinese ? "、" : ", ";
    fields.gpu += std::to_string(card);
  }
  if (event.gpu_util) fields.util = std::to_string(std::lround(*event.gpu_util));
  fields.type = Sanitise(event.event_type, kSpokenFieldMax);
  fields.job = Sanitise(event.job_id, kSpokenFieldMax);
  // The sentence of the level: an event without words of its own that carries a utilisation.
  return policy_.table.SpeakingFor(event).Sentence(policy_.language, fields);
}

}  // namespace sentinel
