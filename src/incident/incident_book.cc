#include "incident/incident_book.h"

#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/lamp.h"

namespace sentinel {
namespace {

// Two gateways that see the same fault open it within moments of each other: the coarser the clock
// in its name, the surer they call it the same.
constexpr int64_t kOccurrenceSeconds = 120;

}  // namespace

IncidentBook::IncidentBook(IncidentPolicy policy, Site site)
    : policy_(std::move(policy)), site_(std::move(site)) {}
IncidentBook::~IncidentBook() = default;

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
  entry.incident.quiet = QuietFor(entry);
  // What does not ring is more than its event: it is kept for itself.
  if (entry.incident.quiet) keeping_ = Keeping::kNow;
  Changed(entry, IncidentChange::kOpened);
  entry.turned_unstable = false;
  if (entry.source != Source::kAgent && severity >= Severity::kP1) {
    const std::string& source = entry.incident.identity;
    entry.turned_unstable = flaps_.OnOpened(source, now.mono);
    if (std::optional<FlapMemory> memory = flaps_.Remember(source, now)) {
      actions_.flaps.push_back(std::move(*memory));
      for (std::string& over : flaps_.TakeForgotten(now.mono)) {
        actions_.flaps_over.push_back(std::move(over));
      }
    }
  }
  if (entry.turned_unstable) {
    entry.incident.text += UnstableText(policy_.language);
  }
  Announce(entry, NotifyReason::kFirst, now);
  if (entry.voice_at) Wake(entry, Alarm::kVoice, *entry.voice_at);
}

void IncidentBook::Close(Entry& entry, CloseReason reason, Moment now) {
  Incident& incident = entry.incident;
  bool suspicion = incident.state == IncidentState::kSuspected;
  UnindexOpen(entry);
  Extinguish(entry);
  entry.voice_at.reset();
  entry.recovering.reset();
  entry.hidden_until.reset();
  for (const Timer& timer : entry.timers) timers_.erase(timer);
  entry.timers.clear();
  incident.state = IncidentState::kClosed;
  incident.closed = now;
  incident.close_reason = reason;
  open_by_identity_.erase(incident.identity);
  if (!entry.adopted_as.empty()) open_by_identity_.erase(entry.adopted_as);
  TellClosed(entry, reason, now);
  PartCards(entry, now);
  EndParts(entry, reason, now);
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

// One with something still to be told stays until that is settled: its row on disk says "to be
// told" until we say otherwise. They are as few as the outbox lets wait.
void IncidentBook::ForgetClosed() {
  auto forget = [this](std::deque<std::string>* list, size_t max) {
    size_t kept = 0;
    while (list->size() > max && kept < list->size()) {
      auto it = entries_.find((*list)[kept]);
      if (it != entries_.end() && AnyPending(it->second->incident)) {
        ++kept;
        continue;
      }
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(kept));
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

void IncidentBook::Forget(Entry& entry, Alarm alarm) {
  for (auto it = entry.timers.begin(); it != entry.timers.end(); ++it) {
    if (std::get<Alarm>(*it) != alarm) continue;
    timers_.erase(*it);
    entry.timers.erase(it);
    return;
  }
}

void IncidentBook::Wake(Entry& entry, Alarm alarm, Instant at) {
  Forget(entry, alarm);
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
  EndMutes(now);
  FollowQuietHours(now);
  FollowSilences(now);
  while (!timers_.empty() && std::get<Instant>(*timers_.begin()) <= now.mono) {
    Timer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    Entry* entry = FindEntry(std::get<std::string>(timer));
    if (entry == nullptr) continue;
    std::erase(entry->timers, timer);
    switch (std::get<Alarm>(timer)) {
      case Alarm::kRepeat:
        Repeat(*entry, now);
        break;
      case Alarm::kVoice:
        if (entry->voice_at && *entry->voice_at <= now.mono) SpeakHeld(*entry, now);
        break;
      case Alarm::kRecovered:
        Close(*entry, CloseReason::kMoved, now);
        break;
      case Alarm::kReconsider:
        entry->hidden_until.reset();
        Reconsider(*entry, now);
        break;
      case Alarm::kLease: {
        // Repeats renew a lease without touching its timer: it looks again when it goes off.
        bool leased = entry->source == Source::kEvent || entry->adoptable;
        if (!leased || !entry->incident.last_seen) break;
        Instant ends = entry->incident.last_seen->mono + LeaseOf(*entry);
        // A lease is for what somebody sees: what waits for its first terminal waits on.
        const bool unheard = !entry->incident.delivered && AnyPending(entry->incident);
        if (ends <= now.mono && unheard) {
          Wake(*entry, Alarm::kLease, now.mono + LeaseOf(*entry));
        } else if (ends <= now.mono) {
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
  std::optional<Instant> wake = quiet_changes_;
  auto earlier = [&wake](Instant at) { wake = std::min(wake.value_or(at), at); };
  if (std::optional<Instant> change = silences_.NextChange()) earlier(*change);
  if (!timers_.empty()) earlier(std::get<Instant>(*timers_.begin()));
  for (const auto& [terminal, until] : mutes_) earlier(until.mono);
  return wake;
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

// What is kept says whether a voice still waits: light without a word may also be meant so, of a
// card that another speaks for, or by night.
void IncidentBook::NoteVoice(Entry& entry) {
  Incident& incident = entry.incident;
  incident.speaks.reset();
  if (!entry.voice_at || !incident.opened) return;
  const auto after = std::chrono::duration_cast<std::chrono::milliseconds>(*entry.voice_at -
                                                                           incident.opened->mono);
  incident.speaks = Moment{*entry.voice_at, incident.opened->wall + after};
}

IncidentBook::Actions IncidentBook::TakeActions() {
  for (const auto* ids : {&actions_.touched, &actions_.later}) {
    for (const std::string& id : *ids) {
      if (Entry* entry = FindEntry(id)) NoteVoice(*entry);
    }
  }
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
