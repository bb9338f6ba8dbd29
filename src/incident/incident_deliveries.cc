// The part of IncidentBook that hears what became of notifications.
#include <algorithm>
#include <utility>

#include "incident/incident_book.h"
#include "incident/lamp.h"

namespace sentinel {

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

void IncidentBook::OnTold(const std::string& incident, const std::string& output,
                          std::string message) {
  Entry* entry = FindEntry(incident);
  if (entry == nullptr) return;
  std::vector<std::string>& told = entry->incident.told[output];
  told.push_back(std::move(message));
  if (told.size() > kToldKeptMax) told.erase(told.begin());
  // Should it not be written down in time, the message is sent again under the same id.
  keeping_ = Keeping::kLater;
  Touch(*entry);
  keeping_ = Keeping::kNow;
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
  // It is dark, and knows.
  if (notification.severity == Severity::kNormal && lamp.pending.empty()) lamp.attempted = false;
  if (!IsAlarm(notification.reason)) return;
  lamp.window_from = now.mono;
  if (!incident.delivered) incident.delivered = now;
  if (incident.state == IncidentState::kClosed || incident.quiet) {
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
  if (notification.severity == Severity::kP0 && !entry->rang) {
    entry->rang = now.mono;
    WakeForRepeat(*entry, now);
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

void IncidentBook::OnFailed(const std::string& message, const std::string& error, bool take_over,
                            Moment now) {
  GiveUp(message, error, take_over, now);
}

void IncidentBook::OnShed(const std::string& message, const std::string& error, Moment now) {
  keeping_ = Keeping::kLater;
  GiveUp(message, error, false, now);
  keeping_ = Keeping::kNow;
}

void IncidentBook::GiveUp(const std::string& message, const std::string& error, bool take_over,
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
  if (!take_over || !alarm) return;
  if (entry->incident.severity == Severity::kP0 && !entry->rang) {
    // Nobody may have heard it: it is repeated as if somebody had.
    entry->rang = now.mono;
    WakeForRepeat(*entry, now);
  }
  TakeOver(*entry, terminal, now);
}

// Every other terminal of the site shows what `lost` should have shown, unless it does already.
void IncidentBook::TakeOver(Entry& entry, const std::string& lost, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.state != IncidentState::kOpen || incident.severity < Severity::kP1) return;
  if (incident.quiet) return;
  for (const auto& [terminal, lamp] : entry.lamps) {
    const bool soon = !lamp.pending.empty() && !lost_.contains(terminal);
    if (terminal != lost && (lamp.shown || soon)) return;
  }
  bool held = entry.voice_at && now.mono < *entry.voice_at;
  for (const std::string& terminal : site_.terminals()) {
    if (terminal == lost || entry.lamps.contains(terminal)) continue;
    const Voice voice =
        held ? Voice::kNone : VoiceOf(entry, terminal, NotifyReason::kFallback, now);
    Notify(entry, terminal, NotifyReason::kFallback, incident.severity,
           Sounding(voice, incident.severity, incident.text), now);
  }
}

}  // namespace sentinel
