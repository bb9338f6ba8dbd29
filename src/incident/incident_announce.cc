// The part of IncidentBook that decides who is told what.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/lamp.h"

namespace sentinel {
namespace {

std::string Correction(Language language, const std::string& text) {
  return (language == Language::kChinese ? "更正，" : "Correction: ") + text;
}

// How long a voice waits at least when its time has come and it may not speak yet.
constexpr Duration kVoiceAgain = std::chrono::milliseconds(10);

bool Finished(const NotificationRecord& record) {
  return record.state != NotificationState::kPending;
}

}  // namespace

Duration IncidentBook::WindowOf(const std::string& identity, Instant now) const {
  return flaps_.Window(identity, policy_.debounce, now);
}

bool IncidentBook::Suppressed(const Entry& entry, const Lamp& lamp, Instant now) const {
  if (!lamp.pending.empty()) return true;
  if (lamp.window_from && now - *lamp.window_from < WindowOf(entry.incident.identity, now)) {
    return true;
  }
  return lamp.failed && now - *lamp.failed < policy_.retry_failed_after;
}

bool IncidentBook::WindowOpen(const std::string& identity, const std::string& terminal,
                              Instant now) const {
  auto it = windows_.find({identity, terminal});
  return it != windows_.end() && now - it->second < WindowOf(identity, now);
}

Site::Sight IncidentBook::SightOf(const Incident& incident) {
  return {incident.culprit.rack, incident.culprit.host, incident.severity, incident.job};
}

void IncidentBook::Announce(Entry& entry, NotifyReason reason, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.severity < Severity::kP1 || incident.quiet) return;
  // What is wrong with a terminal is for all the others, whatever the routes say.
  bool of_terminal = incident.event_type == "TERMINAL_UNREACHABLE";
  std::vector<std::string> terminals =
      of_terminal ? site_.terminals() : site_.TerminalsFor(SightOf(incident));
  std::vector<std::string> lost;
  std::copy_if(terminals.begin(), terminals.end(), std::back_inserter(lost),
               [this](const std::string& terminal) { return lost_.contains(terminal); });
  if (!lost.empty()) {
    // What has taken over goes on being told.
    const std::set<std::string> chosen(terminals.begin(), terminals.end());
    for (const auto& [terminal, lamp] : entry.lamps) {
      if (lamp.shown && !chosen.contains(terminal)) terminals.push_back(terminal);
    }
  }
  bool held = entry.voice_at && now.mono < *entry.voice_at;
  for (const std::string& terminal : terminals) {
    if (of_terminal && terminal == incident.culprit.host) continue;
    Lamp& lamp = entry.lamps[terminal];
    if (reason == NotifyReason::kRepeated && Suppressed(entry, lamp, now.mono)) continue;
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
    bool silent = held || (reason == NotifyReason::kFirst && !entry.told_by.empty());
    if (reason == NotifyReason::kFirst && !entry.turned_unstable &&
        WindowOpen(incident.identity, terminal, now.mono)) {
      // It was announced, closed, and is back within its window: the light says so at once, the
      // voice when the window is over.
      silent = true;
      Instant ends =
          windows_[{incident.identity, terminal}] + WindowOf(incident.identity, now.mono);
      entry.voice_at = std::max(entry.voice_at.value_or(ends), ends);
    }
    if (incident.state == IncidentState::kAcknowledged) {
      Notify(entry, terminal, told, incident.severity, LightMessage(incident.severity, true, text),
             now);
      continue;
    }
    const Voice voice = silent ? Voice::kNone : VoiceOf(entry, terminal, told, now);
    if (voice == Voice::kNone && reason == NotifyReason::kRepeated) continue;
    Notify(entry, terminal, told, incident.severity, Sounding(voice, incident.severity, text), now);
  }
  // Known not to answer: nobody need wait for it once more.
  for (const std::string& terminal : lost) TakeOver(entry, terminal, now);
}

IncidentBook::Voice IncidentBook::VoiceAt(Severity severity, const std::string& terminal,
                                          NotifyReason reason, Instant now,
                                          std::string* why) const {
  const bool critical = severity == Severity::kP0;
  if (quiet_ && !critical) {
    *why = "quiet hours: only P0 is spoken";
    return Voice::kNone;
  }
  if (!mutes_.contains(terminal)) return Voice::kAsItIs;
  const bool news = reason != NotifyReason::kRepeated && reason != NotifyReason::kCorrected;
  if (!critical || !news || policy_.strict_mute) {
    *why = "the terminal is muted";
    return Voice::kNone;
  }
  auto last = mute_breaks_.find(terminal);
  if (last != mute_breaks_.end() && now - last->second < policy_.mute_break_gap) {
    *why = "the terminal is muted, and a new P0 has just been heard there";
    return Voice::kNone;
  }
  *why = "the terminal is muted: a new P0 is heard once";
  return Voice::kOnce;
}

IncidentBook::Voice IncidentBook::VoiceOf(Entry& entry, const std::string& terminal,
                                          NotifyReason reason, Moment now) {
  std::string why;
  const Voice voice = VoiceAt(entry.incident.severity, terminal, reason, now.mono, &why);
  if (voice == Voice::kOnce) mute_breaks_[terminal] = now.mono;
  auto last = mute_breaks_.find(terminal);
  const bool news = reason != NotifyReason::kRepeated && reason != NotifyReason::kCorrected;
  if (voice == Voice::kNone && mutes_.contains(terminal) && last != mute_breaks_.end() && news &&
      entry.incident.severity == Severity::kP0 && !policy_.strict_mute) {
    // Its turn to be heard comes.
    Instant next = last->second + policy_.mute_break_gap;
    entry.voice_at = std::max(entry.voice_at.value_or(next), next);
    Wake(entry, Alarm::kVoice, *entry.voice_at);
  }
  return voice;
}

TerminalMessage IncidentBook::Sounding(Voice voice, Severity severity, const std::string& text) {
  if (voice == Voice::kNone) return LightMessage(severity, false, text);
  TerminalMessage message = AlarmMessage(severity, text);
  if (voice == Voice::kOnce) {
    message.audio_mode = AudioMode::kOnce;
    message.repeat_times = 1;
  }
  return message;
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
  TellDark(entry, NotifyReason::kResolved,
           reason == CloseReason::kMoved && entry.incident.severity == Severity::kP0, now);
}

// Light off wherever it may be on; green where it was the last announced P0 and that is due.
void IncidentBook::TellDark(Entry& entry, NotifyReason told, bool green_due, Moment now) {
  for (auto& [terminal, lamp] : entry.lamps) {
    bool last_p0 = false;
    if (lamp.announced_p0) {
      last_p0 = --announced_p0_[terminal] == 0;
      lamp.announced_p0 = false;
    }
    bool green = green_due && last_p0;
    if (!lamp.attempted) {
      // It has heard nothing of all this; it need not hear that it is over.
      if (!lamp.pending.empty()) Withdraw(entry, terminal);
      lamp.pending.clear();
      continue;
    }
    TerminalMessage end =
        green ? RecoveredMessage(policy_.table, policy_.language) : OffMessage(policy_.language);
    if (quiet_) end.audio_mode = AudioMode::kOff;  // it can wait: only P0 is spoken
    Notify(entry, terminal, told, Severity::kNormal, std::move(end), now);
    lamp.shown = false;
    lamp.announced = false;
  }
  Extinguish(entry);
}

// What waits for that terminal: in the outbox, or still on its way there.
void IncidentBook::Withdraw(Entry& entry, const std::string& terminal) {
  const std::string& id = entry.incident.id;
  actions_.cancels.push_back({id, terminal});
  std::erase_if(actions_.notifications, [&](const Notification& notification) {
    return notification.incident == id && notification.terminal == terminal;
  });
  for (NotificationRecord& record : entry.incident.notifications) {
    const bool waits = record.state == NotificationState::kPending;
    if (waits && record.notification.terminal == terminal) {
      record.state = NotificationState::kSuperseded;
    }
  }
}

bool IncidentBook::SpeaksOnceArrived(const Lamp& lamp) {
  Entry* entry = nullptr;
  const NotificationRecord* waits = RecordOf(lamp.pending, &entry);
  return waits != nullptr && waits->notification.message.audio_mode != AudioMode::kOff;
}

void IncidentBook::SpeakHeld(Entry& entry, Moment now) {
  entry.voice_at.reset();
  Touch(entry);
  if (entry.incident.state != IncidentState::kOpen || entry.incident.quiet) return;
  if (entry.recovering) {
    // It is about to end, or to go on.
    entry.voice_at = now.mono + std::max<Duration>(policy_.recovery_hold, kVoiceAgain);
    Wake(entry, Alarm::kVoice, *entry.voice_at);
    return;
  }
  for (auto& [terminal, lamp] : entry.lamps) {
    if (lamp.announced || SpeaksOnceArrived(lamp)) continue;
    // Where even the light has not arrived, this is the first it will hear.
    const NotifyReason reason = lamp.shown ? NotifyReason::kSpoken : NotifyReason::kFirst;
    const Voice voice = VoiceOf(entry, terminal, reason, now);
    if (voice == Voice::kNone && lamp.shown) continue;
    Notify(entry, terminal, reason, entry.incident.severity,
           Sounding(voice, entry.incident.severity, entry.incident.text), now);
  }
}

void IncidentBook::WakeForRepeat(Entry& entry, Moment now) {
  if (!entry.rang) return;
  Duration since = now.mono - *entry.rang;
  Duration due{0};
  for (Duration after : policy_.repeat_after) {
    due = after;
    if (due > since) break;
  }
  if (due <= since && policy_.repeat_every <= Duration(0)) return;
  if (due <= since) due += ((since - due) / policy_.repeat_every + 1) * policy_.repeat_every;
  Wake(entry, Alarm::kRepeat, *entry.rang + due);
}

void IncidentBook::Repeat(Entry& entry, Moment now) {
  const Incident& incident = entry.incident;
  if (incident.state != IncidentState::kOpen || incident.severity != Severity::kP0) return;
  Announce(entry, NotifyReason::kRepeated, now);
  WakeForRepeat(entry, now);
}

}  // namespace sentinel
