// The half of IncidentBook that decides who is told what.
#include <algorithm>
#include <tuple>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

bool IsAlarm(NotifyReason reason) {
  switch (reason) {
    case NotifyReason::kFirst:
    case NotifyReason::kEscalated:
    case NotifyReason::kGrouped:
    case NotifyReason::kRepeated:
    case NotifyReason::kMuteEnded:
    case NotifyReason::kCorrected:
    case NotifyReason::kSpoken:
    case NotifyReason::kFallback:
      return true;
    case NotifyReason::kResolved:
    case NotifyReason::kDigest:
    case NotifyReason::kAcknowledged:
      return false;
  }
  return false;
}

std::string Correction(Language language, const std::string& text) {
  return (language == Language::kChinese ? "更正，" : "Correction: ") + text;
}

bool Finished(const NotificationRecord& record) {
  return record.state != NotificationState::kPending;
}

}  // namespace

bool IncidentBook::Suppressed(const Lamp& lamp, Instant now) const {
  if (!lamp.pending.empty()) return true;
  if (lamp.window_from && now - *lamp.window_from < policy_.debounce) return true;
  return lamp.failed && now - *lamp.failed < policy_.retry_failed_after;
}

bool IncidentBook::WindowOpen(const std::string& identity, const std::string& terminal,
                              Instant now) const {
  auto it = windows_.find({identity, terminal});
  return it != windows_.end() && now - it->second < policy_.debounce;
}

void IncidentBook::Announce(Entry& entry, NotifyReason reason, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.severity < Severity::kP1) return;
  // What is wrong with a terminal is for all the others, whatever the routes say.
  bool of_terminal = incident.event_type == "TERMINAL_UNREACHABLE";
  std::vector<std::string> terminals =
      of_terminal
          ? site_.terminals()
          : site_.TerminalsFor(incident.culprit.rack, incident.culprit.host, incident.severity);
  bool held = entry.voice_at && now.mono < *entry.voice_at;
  for (const std::string& terminal : terminals) {
    if (of_terminal && terminal == incident.culprit.host) continue;
    Lamp& lamp = entry.lamps[terminal];
    if (reason == NotifyReason::kRepeated && Suppressed(lamp, now.mono)) continue;
    NotifyReason told = reason;
    std::string text = incident.text;
    if (reason == NotifyReason::kCorrected) {
      // Nobody was told the wrong place yet: nothing to correct.
      if (lamp.announced) {
        text = Correction(policy_.language, text);
      } else if (!lamp.shown) {
        told = NotifyReason::kFirst;
      }
    }
    bool silent = held;
    if (reason == NotifyReason::kFirst && WindowOpen(incident.identity, terminal, now.mono)) {
      // It was announced, closed, and is back within its window: the light says so at once, the
      // voice when the window is over.
      silent = true;
      Instant ends = windows_[{incident.identity, terminal}] + policy_.debounce;
      entry.voice_at = std::max(entry.voice_at.value_or(ends), ends);
    }
    Notify(entry, terminal, told, incident.severity,
           silent ? LightMessage(incident.severity, false, text)
                  : AlarmMessage(incident.severity, text),
           now);
  }
}

void IncidentBook::Notify(Entry& entry, const std::string& terminal, NotifyReason reason,
                          Severity severity, TerminalMessage message, Moment now) {
  Incident& incident = entry.incident;
  Lamp& lamp = entry.lamps[terminal];
  Notification notification;
  notification.sequence = ++lamp.sequence;
  notification.id =
      MessageId(incident.identity, incident.occurrence, reason, notification.sequence, terminal);
  notification.incident = incident.id;
  notification.terminal = terminal;
  notification.reason = reason;
  notification.severity = severity;
  notification.urgency = incident.severity;
  notification.message = std::move(message);
  notification.created = now;
  lamp.pending = notification.id;

  std::vector<NotificationRecord>& records = incident.notifications;
  if (records.size() >= kNotificationsKeptMax) {
    auto oldest = std::find_if(records.begin(), records.end(), Finished);
    if (oldest == records.end()) oldest = records.begin();
    incident_of_message_.erase(oldest->notification.id);
    records.erase(oldest);
  }
  incident_of_message_[notification.id] = incident.id;
  records.push_back({notification, NotificationState::kPending, 0, std::nullopt, ""});
  actions_.notifications.push_back(std::move(notification));
  Touch(entry);
}

void IncidentBook::TellClosed(Entry& entry, CloseReason reason, Moment now) {
  bool green_due = reason == CloseReason::kMoved && entry.incident.severity == Severity::kP0;
  for (auto& [terminal, lamp] : entry.lamps) {
    bool last_p0 = false;
    if (lamp.announced_p0) {
      last_p0 = --announced_p0_[terminal] == 0;
      lamp.announced_p0 = false;
    }
    bool green = green_due && last_p0;
    if (!lamp.attempted) {
      // It has heard nothing of all this; it need not hear that it is over.
      if (!lamp.pending.empty()) actions_.cancels.push_back({entry.incident.id, terminal});
      lamp.pending.clear();
      continue;
    }
    Notify(entry, terminal, NotifyReason::kResolved, Severity::kNormal,
           green ? RecoveredMessage(policy_.table, policy_.language) : OffMessage(policy_.language),
           now);
    lamp.shown = false;
    lamp.announced = false;
    lamp.attempted = false;
  }
  Extinguish(entry);
}

void IncidentBook::SpeakHeld(Entry& entry, Moment now) {
  entry.voice_at.reset();
  if (entry.incident.state != IncidentState::kOpen) return;
  for (auto& [terminal, lamp] : entry.lamps) {
    if (lamp.announced) continue;
    // Where even the light has not arrived, this is the first it will hear.
    Notify(entry, terminal, lamp.shown ? NotifyReason::kSpoken : NotifyReason::kFirst,
           entry.incident.severity, AlarmMessage(entry.incident.severity, entry.incident.text),
           now);
  }
}

// ------------------------------------------------------------------------------------- deliveries

NotificationRecord* IncidentBook::RecordOf(const std::string& message, Entry** entry) {
  auto it = incident_of_message_.find(message);
  if (it == incident_of_message_.end()) return nullptr;
  *entry = FindEntry(it->second);
  if (*entry == nullptr) return nullptr;
  for (NotificationRecord& record : (*entry)->incident.notifications) {
    if (record.notification.id == message) return &record;
  }
  return nullptr;
}

void IncidentBook::OnAttempt(const std::string& message) {
  Entry* entry = nullptr;
  NotificationRecord* record = RecordOf(message, &entry);
  if (record == nullptr) return;
  ++record->attempts;
  entry->lamps[record->notification.terminal].attempted = true;
}

void IncidentBook::OnAttemptError(const std::string& message, const std::string& error) {
  Entry* entry = nullptr;
  NotificationRecord* record = RecordOf(message, &entry);
  if (record != nullptr) record->error = error;
}

void IncidentBook::OnDelivered(const std::string& message, Moment now) {
  Entry* entry = nullptr;
  NotificationRecord* record = RecordOf(message, &entry);
  if (record == nullptr) return;
  record->state = NotificationState::kDelivered;
  record->delivered = now;
  record->error.clear();
  Incident& incident = entry->incident;
  const Notification& notification = record->notification;
  Lamp& lamp = entry->lamps[notification.terminal];
  lamp.attempted = true;
  if (lamp.pending == message) lamp.pending.clear();
  lamp.failed.reset();
  Touch(*entry);
  if (!IsAlarm(notification.reason)) return;
  lamp.window_from = now.mono;
  if (!incident.delivered) incident.delivered = now;
  if (incident.state == IncidentState::kClosed) {
    // It overtook its own end; the message that ends it is already under way.
    KeepWindows(*entry, now);
    return;
  }
  lamp.shown = true;
  Burn(*entry, notification.terminal);
  if (notification.message.audio_mode == AudioMode::kOff) return;
  lamp.announced = true;
  if (incident.severity == Severity::kP0 && !lamp.announced_p0) {
    lamp.announced_p0 = true;
    ++announced_p0_[notification.terminal];
  }
}

void IncidentBook::OnSuperseded(const std::string& message) {
  Entry* entry = nullptr;
  NotificationRecord* record = RecordOf(message, &entry);
  if (record == nullptr) return;
  record->state = NotificationState::kSuperseded;
  Lamp& lamp = entry->lamps[record->notification.terminal];
  if (lamp.pending == message) lamp.pending.clear();
  Touch(*entry);
}

void IncidentBook::OnFailed(const std::string& message, const std::string& error, bool unconfirmed,
                            Moment now) {
  GiveUp(message, error, unconfirmed, now);
}

void IncidentBook::OnShed(const std::string& message, const std::string& error, Moment now) {
  keeping_ = Keeping::kLater;
  GiveUp(message, error, false, now);
  keeping_ = Keeping::kNow;
}

void IncidentBook::GiveUp(const std::string& message, const std::string& error, bool unconfirmed,
                          Moment now) {
  Entry* entry = nullptr;
  NotificationRecord* record = RecordOf(message, &entry);
  if (record == nullptr) return;
  record->state = NotificationState::kFailed;
  record->error = error;
  std::string terminal = record->notification.terminal;
  bool alarm = IsAlarm(record->notification.reason);
  Lamp& lamp = entry->lamps[terminal];
  if (lamp.pending == message) lamp.pending.clear();
  lamp.failed = now.mono;
  Touch(*entry);
  if (unconfirmed && alarm) TakeOver(*entry, terminal, now);
}

// Every other terminal of the site shows what `lost` should have shown, unless it does already.
void IncidentBook::TakeOver(Entry& entry, const std::string& lost, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.state != IncidentState::kOpen || incident.severity < Severity::kP1) return;
  for (const auto& [terminal, lamp] : entry.lamps) {
    if (terminal != lost && (lamp.shown || !lamp.pending.empty())) return;
  }
  bool held = entry.voice_at && now.mono < *entry.voice_at;
  for (const std::string& terminal : site_.terminals()) {
    if (terminal == lost || entry.lamps.contains(terminal)) continue;
    Notify(entry, terminal, NotifyReason::kFallback, incident.severity,
           held ? LightMessage(incident.severity, false, incident.text)
                : AlarmMessage(incident.severity, incident.text),
           now);
  }
}

// -------------------------------------------------------------------------------------- terminals

int IncidentBook::Acknowledge(const std::string& terminal,
                              const std::vector<std::string>& incidents, const std::string& by,
                              Moment now) {
  std::vector<std::string> ids = incidents;
  if (ids.empty()) {
    auto it = burning_.find(terminal);
    if (it == burning_.end()) return 0;
    for (const BurningKey& key : it->second) ids.push_back(std::get<2>(key));
  }
  int acknowledged = 0;
  for (const std::string& id : ids) {
    Entry* found = FindEntry(id);
    if (found == nullptr || found->incident.state != IncidentState::kOpen) continue;
    Entry& entry = *found;
    if (entry.incident.severity < Severity::kP1) continue;
    entry.incident.state = IncidentState::kAcknowledged;
    entry.incident.acknowledged = Acknowledgement{by, terminal, now.wall};
    for (const auto& [name, lamp] : entry.lamps) {
      if (lamp.burning) Burn(entry, name);
    }
    Changed(entry, IncidentChange::kAcknowledged);
    ++acknowledged;
    for (auto& [name, lamp] : entry.lamps) {
      // The terminal with the button knows; one that is still being told is told the quiet form.
      if (name == terminal && lamp.pending.empty()) continue;
      Notify(entry, name, NotifyReason::kAcknowledged, entry.incident.severity,
             LightMessage(entry.incident.severity, true, entry.incident.text), now);
    }
  }
  return acknowledged;
}

namespace {

Event OwnEvent(std::string type, std::string host) {
  Event event;
  event.event_type = std::move(type);
  event.node_host = std::move(host);
  return event;
}
constexpr const char* kTerminalUnreachable = "TERMINAL_UNREACHABLE";
constexpr const char* kNodeSilent = "NODE_SILENT";

}  // namespace

// Nothing if it is known already.
IncidentBook::Entry* IncidentBook::RaiseOwn(const Event& event, Moment now) {
  const HostEntry* host = site_.FindHost(event.node_host);
  std::string rack = host == nullptr ? "" : SpokenRack(host->rack);
  std::string identity = EventIdentity(event, rack, IdentityHost(event.node_host));
  if (FindOpen(identity) != nullptr) return nullptr;
  MakeRoom(now);
  Entry& entry = Create(std::move(identity), Source::kOwn, now);
  entry.incident.count = 1;
  entry.incident.last_seen = now;
  DescribeEvent(entry, event);
  const EventKind* kind = policy_.table.Find(event.event_type);
  Open(entry, kind == nullptr ? Severity::kP1 : kind->severity, now);
  return &entry;
}

void IncidentBook::EndOwn(const Event& event, Moment now) {
  const HostEntry* host = site_.FindHost(event.node_host);
  std::string rack = host == nullptr ? "" : SpokenRack(host->rack);
  Entry* entry = FindOpen(EventIdentity(event, rack, IdentityHost(event.node_host)));
  if (entry != nullptr) Close(*entry, CloseReason::kResolved, now);
}

void IncidentBook::OnTerminalLost(const std::string& terminal, Moment now) {
  std::vector<std::string> stranded;
  for (const auto& [severity, serial, id] : open_) {
    const Entry& entry = *FindEntry(id);
    auto lamp = entry.lamps.find(terminal);
    if (lamp != entry.lamps.end() && !lamp->second.pending.empty()) stranded.push_back(id);
  }
  if (RaiseOwn(OwnEvent(kTerminalUnreachable, terminal), now) == nullptr) return;
  for (const std::string& id : stranded) {
    if (Entry* waiting = FindEntry(id)) TakeOver(*waiting, terminal, now);
  }
}

void IncidentBook::OnTerminalBack(const std::string& terminal, Moment now) {
  EndOwn(OwnEvent(kTerminalUnreachable, terminal), now);
}

void IncidentBook::OnTerminalForgot(const std::string& terminal, Moment now) {
  auto burning = burning_.find(terminal);
  if (burning == burning_.end()) return;
  // The least severe first: each is louder than what is lit by then.
  std::vector<std::string> ids;
  for (const BurningKey& key : burning->second) ids.push_back(std::get<2>(key));
  for (const std::string& id : ids) {
    Entry& entry = *FindEntry(id);
    Incident& incident = entry.incident;
    Lamp& lamp = entry.lamps[terminal];
    if (!lamp.pending.empty()) continue;  // it is about to be told
    auto last = std::find_if(incident.notifications.rbegin(), incident.notifications.rend(),
                             [&](const NotificationRecord& record) {
                               return record.notification.terminal == terminal &&
                                      record.state == NotificationState::kDelivered;
                             });
    bool acknowledged = incident.state == IncidentState::kAcknowledged;
    if (last == incident.notifications.rend() ||
        (acknowledged && last->notification.reason != NotifyReason::kAcknowledged)) {
      // Its own button was pressed: it has never been told the quiet form.
      Notify(entry, terminal, acknowledged ? NotifyReason::kAcknowledged : NotifyReason::kRepeated,
             incident.severity, LightMessage(incident.severity, acknowledged, incident.text), now);
      continue;
    }
    last->state = NotificationState::kPending;
    lamp.pending = last->notification.id;
    actions_.notifications.push_back(last->notification);
    Touch(entry);
  }
}

void IncidentBook::OnNodeSilent(const std::string& host, Moment now) {
  RaiseOwn(OwnEvent(kNodeSilent, host), now);
}

void IncidentBook::OnNodeBack(const std::string& host, Moment now) {
  EndOwn(OwnEvent(kNodeSilent, host), now);
}

IncidentBook::BurningKey IncidentBook::KeyOf(const Entry& entry) const {
  bool loud = entry.incident.state == IncidentState::kOpen;
  return {2 * static_cast<int>(entry.incident.severity) + (loud ? 1 : 0), entry.serial,
          entry.incident.id};
}

void IncidentBook::Burn(Entry& entry, const std::string& terminal) {
  std::optional<BurningKey>& place = entry.lamps[terminal].burning;
  std::set<BurningKey>& burning = burning_[terminal];
  if (place) burning.erase(*place);
  place = KeyOf(entry);
  burning.insert(*place);
}

void IncidentBook::Extinguish(Entry& entry) {
  for (auto& [terminal, lamp] : entry.lamps) {
    if (lamp.burning) burning_[terminal].erase(*lamp.burning);
    lamp.burning.reset();
  }
}

TerminalMessage IncidentBook::Picture(const Notification& notification) const {
  auto it = burning_.find(notification.terminal);
  if (it == burning_.end() || it->second.empty()) return notification.message;
  const BurningKey& top = *it->second.rbegin();
  const std::string& id = std::get<2>(top);
  if (id == notification.incident) return notification.message;
  const Incident& burning = entries_.at(id)->incident;
  if (notification.severity != Severity::kNormal && notification.urgency >= burning.severity) {
    return notification.message;
  }
  return UnderLightOf(
      notification.message,
      LightMessage(burning.severity, burning.state == IncidentState::kAcknowledged, burning.text));
}

// ---------------------------------------------------------------------------------------- keeping

void IncidentBook::KeepWindows(const Entry& entry, Moment now) {
  for (const auto& [terminal, lamp] : entry.lamps) {
    if (!lamp.window_from) continue;
    WindowKey key{entry.incident.identity, terminal};
    if (windows_.insert_or_assign(key, *lamp.window_from).second) window_order_.push_back(key);
  }
  while (!window_order_.empty()) {
    auto oldest = windows_.find(window_order_.front());
    bool over = oldest == windows_.end() || now.mono - oldest->second >= policy_.debounce;
    if (!over && window_order_.size() <= kWindowsMax) break;
    if (oldest != windows_.end()) windows_.erase(oldest);
    window_order_.pop_front();
  }
}

// Terminals that were configured since it opened.
void IncidentBook::WelcomeNewTerminals(Entry& entry, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.severity < Severity::kP1 || entry.source == Source::kOwn) return;
  bool acknowledged = incident.state == IncidentState::kAcknowledged;
  for (const std::string& terminal :
       site_.TerminalsFor(incident.culprit.rack, incident.culprit.host, incident.severity)) {
    if (entry.lamps.contains(terminal)) continue;
    Notify(entry, terminal, NotifyReason::kFirst, incident.severity,
           acknowledged ? LightMessage(incident.severity, true, incident.text)
                        : AlarmMessage(incident.severity, incident.text),
           now);
  }
}

void IncidentBook::Restore(std::vector<Incident> incidents, Moment now) {
  auto rebuilt = [&](std::optional<Moment>& moment) {
    if (!moment) return;
    auto age = std::max(Duration(0), Duration(now.wall.since_epoch - moment->wall.since_epoch));
    moment->mono = now.mono - age;
  };
  auto known = [&](const std::string& terminal) {
    const std::vector<std::string>& all = site_.terminals();
    return std::find(all.begin(), all.end(), terminal) != all.end();
  };
  for (Incident& incident : incidents) {
    for (auto* moment : {&incident.suspected, &incident.confirmed, &incident.red, &incident.opened,
                         &incident.delivered, &incident.closed, &incident.last_seen}) {
      rebuilt(*moment);
    }
    if (incident.state == IncidentState::kSuspected || entries_.contains(incident.id)) continue;
    auto owned = std::make_unique<Entry>();
    Entry& entry = *owned;
    entry.serial = next_serial_++;
    entry.incident = std::move(incident);
    Incident& kept = entry.incident;
    bool closed = kept.state == IncidentState::kClosed;
    // An incident of ours cannot be told from a sender's of the same name; it is the safer guess.
    bool own = kept.event_type == "TERMINAL_UNREACHABLE" || kept.event_type == "NODE_SILENT";
    entry.source = kept.comm ? Source::kAgent : own ? Source::kOwn : Source::kEvent;
    entry.host_key = kept.culprit.host.empty() ? "" : IdentityHost(kept.culprit.host);
    entry.place =
        kept.culprit.host.empty()
            ? "?"
            : kept.culprit.rack + '\n' + site_.SpokenHost(kept.culprit.rack, kept.culprit.host);
    entry.adoptable = kept.comm.has_value() && !closed;
    // A lease starts anew: while nobody could reach us nobody could renew it.
    if (!closed) kept.last_seen = now;
    entries_.emplace(kept.id, std::move(owned));

    for (NotificationRecord& record : kept.notifications) {
      rebuilt(record.delivered);
      const Notification& notification = record.notification;
      incident_of_message_[notification.id] = kept.id;
      Lamp& lamp = entry.lamps[notification.terminal];
      lamp.sequence = std::max(lamp.sequence, notification.sequence);
      // The last attempt may not have been written down.
      lamp.attempted = true;
      if (record.state == NotificationState::kPending) {
        if (known(notification.terminal)) {
          lamp.pending = notification.id;
          actions_.notifications.push_back(notification);
        } else {
          record.state = NotificationState::kFailed;
          record.error = "the terminal is no longer configured";
        }
      }
      if (record.state != NotificationState::kDelivered || !IsAlarm(notification.reason)) continue;
      lamp.window_from = record.delivered->mono;
      if (closed) continue;
      lamp.shown = true;
      lamp.announced = lamp.announced || notification.message.audio_mode != AudioMode::kOff;
    }
    if (closed) {
      KeepWindows(entry, now);
      if (last_occurrence_.insert_or_assign(kept.identity, kept.occurrence).second) {
        occurrence_order_.push_back(kept.identity);
      }
      closed_.push_back(kept.id);
      continue;
    }
    open_by_identity_[kept.identity] = kept.id;
    IndexOpen(entry);
    bool held = false;
    for (auto& [terminal, lamp] : entry.lamps) {
      if (lamp.shown) Burn(entry, terminal);
      if (lamp.announced && kept.severity == Severity::kP0) {
        lamp.announced_p0 = true;
        ++announced_p0_[terminal];
      }
      held = held || (lamp.shown && !lamp.announced && lamp.pending.empty());
    }
    if (held) {
      entry.voice_at = (kept.opened ? kept.opened->mono : now.mono) + policy_.voice_hold;
      Wake(entry, Alarm::kVoice, *entry.voice_at);
    }
    Wake(entry, Alarm::kLease, now.mono + policy_.lease);
    WelcomeNewTerminals(entry, now);
  }
  ForgetClosed();
}

}  // namespace sentinel
