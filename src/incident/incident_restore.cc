// The part of IncidentBook that outlives a process: debounce windows of what has closed, and what
// an earlier process kept.
#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {

void IncidentBook::KeepWindows(const Entry& entry, Moment now) {
  for (const auto& [terminal, lamp] : entry.lamps) {
    if (!lamp.window_from) continue;
    WindowKey key{entry.incident.identity, terminal};
    if (windows_.insert_or_assign(key, *lamp.window_from).second) window_order_.push_back(key);
  }
  while (!window_order_.empty()) {
    auto oldest = windows_.find(window_order_.front());
    bool over = oldest == windows_.end() ||
                now.mono - oldest->second >= WindowOf(oldest->first.first, now.mono);
    if (!over && window_order_.size() <= kWindowsMax) break;
    if (oldest != windows_.end()) windows_.erase(oldest);
    window_order_.pop_front();
  }
}

// Terminals that were configured since it opened.
void IncidentBook::WelcomeNewTerminals(Entry& entry, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.severity < Severity::kP1 || entry.source == Source::kOwn) return;
  if (incident.quiet) return;
  bool acknowledged = incident.state == IncidentState::kAcknowledged;
  for (const std::string& terminal : site_.TerminalsFor(SightOf(incident))) {
    if (entry.lamps.contains(terminal)) continue;
    const bool held = !entry.told_by.empty() || (entry.voice_at && now.mono < *entry.voice_at);
    const Voice voice =
        acknowledged || held ? Voice::kNone : VoiceOf(entry, terminal, NotifyReason::kFirst, now);
    Notify(entry, terminal, NotifyReason::kFirst, incident.severity,
           acknowledged ? LightMessage(incident.severity, true, incident.text)
                        : Sounding(voice, incident.severity, incident.text),
           now);
  }
}

void IncidentBook::RestoreFlaps(const FlapMemory& memory, Moment now) {
  if (!flaps_.Recall(memory, now)) actions_.flaps_over.push_back(memory.source);
}

void IncidentBook::Restore(std::vector<Incident> incidents, const std::string& boot, Moment now) {
  FollowQuietHours(now);   // what is told again below, or begun again, is told as the hour has it
  bool same_boot = false;  // as what is being restored
  auto rebuilt = [&](std::optional<Moment>& moment) {
    if (!moment) return;
    if (same_boot) {
      moment->mono = std::min(moment->mono, now.mono);
      return;
    }
    auto age = std::max(Duration(0), Duration(now.wall.since_epoch - moment->wall.since_epoch));
    moment->mono = now.mono - age;
  };
  auto known = [&](const std::string& terminal) {
    const std::vector<std::string>& all = site_.terminals();
    return std::find(all.begin(), all.end(), terminal) != all.end();
  };
  for (Incident& incident : incidents) {
    same_boot = !boot.empty() && incident.boot == boot;
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
    if (kept.quiet && kept.quiet->reason == QuietReason::kJobRule) entry.barred = kept.quiet->by;
    if (kept.quiet && kept.quiet->reason == QuietReason::kFolded) entry.part_of = kept.quiet->by;
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
      // One that waits again because its terminal had forgotten it has been told all the same.
      if (!record.delivered || !IsAlarm(notification.reason)) continue;
      lamp.window_from = record.delivered->mono;
      if (closed) continue;
      lamp.shown = true;
      const bool spoken = notification.message.audio_mode != AudioMode::kOff;
      lamp.announced = lamp.announced || spoken;
      if (spoken && notification.severity == Severity::kP0 && !entry.rang) {
        entry.rang = record.delivered->mono;
      }
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
    for (auto& [terminal, lamp] : entry.lamps) {
      if (lamp.shown) Burn(entry, terminal);
      if (lamp.announced && kept.severity == Severity::kP0) {
        lamp.announced_p0 = true;
        ++announced_p0_[terminal];
      }
    }
    if (kept.speaks && !kept.quiet) {
      // No clock holds a voice longer than it may be held.
      const Duration most = std::max(policy_.voice_hold, WindowOf(kept.identity, now.mono));
      const Duration left = same_boot
                                ? kept.speaks->mono - now.mono
                                : Duration(kept.speaks->wall.since_epoch - now.wall.since_epoch);
      entry.voice_at = now.mono + std::clamp(left, Duration(0), most);
      Wake(entry, Alarm::kVoice, *entry.voice_at);
    }
    Wake(entry, Alarm::kLease, now.mono + LeaseOf(entry));
    WakeForRepeat(entry, now);
    WelcomeNewTerminals(entry, now);
  }
  for (const auto& [id, entry] : entries_) {
    Entry* root = FindEntry(entry->part_of);
    if (Standing(entry.get()) && Standing(root)) root->parts.insert(id);
  }
  if (quiet_) HushPending(now);
  ForgetClosed();
  reconsider_all_ = true;
}

}  // namespace sentinel
