// The part of IncidentBook that looks at terminals: their buttons, their silence, what burns there.
#include <algorithm>
#include <tuple>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

std::chrono::milliseconds Millis(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d);
}

}  // namespace

int IncidentBook::Acknowledge(const std::string& terminal,
                              const std::vector<std::string>& incidents, const std::string& by,
                              WallTime pressed, Moment now) {
  std::vector<std::string> ids = incidents;
  if (ids.empty()) {
    auto it = burning_.find(terminal);
    if (it == burning_.end()) return 0;
    for (const BurningKey& key : it->second) ids.push_back(std::get<2>(key));
  }
  const Actor actor{by, terminal};
  const int acknowledged = AcknowledgeAll(ids, actor, terminal, now);
  auto burning = burning_.find(terminal);
  if (acknowledged > 0 || (burning != burning_.end() && !burning->second.empty())) {
    Duration ago = now.wall.since_epoch - pressed.since_epoch;
    const bool late = ago >= kPressClockSlack;
    const Duration left = late ? policy_.mute - ago + kPressClockSlack : policy_.mute + kMuteMargin;
    const WallTime until = now.wall + Millis(left);
    Mute(terminal, until, now);
    if (left <= Duration(0)) return acknowledged;  // told so late that nothing is left of it
    Trail(actor, AuditAction::kMute, terminal, "until " + FormatRfc3339(until), now);
  }
  return acknowledged;
}

int IncidentBook::AcknowledgeAs(const Actor& actor, const std::vector<std::string>& incidents,
                                Moment now) {
  return AcknowledgeAll(incidents, actor, "", now);
}

// The terminal with the button knows already; "" for somebody who is at none.
int IncidentBook::AcknowledgeAll(const std::vector<std::string>& ids, const Actor& actor,
                                 const std::string& terminal, Moment now) {
  int acknowledged = 0;
  for (const std::string& id : ids) {
    Entry* found = FindEntry(id);
    if (found == nullptr || found->incident.state != IncidentState::kOpen) continue;
    Entry& entry = *found;
    if (entry.incident.severity < Severity::kP1) continue;
    entry.incident.state = IncidentState::kAcknowledged;
    entry.incident.acknowledged = Acknowledgement{actor.by, actor.from, now.wall};
    for (const auto& [name, lamp] : entry.lamps) {
      if (lamp.burning) Burn(entry, name);
    }
    Changed(entry, IncidentChange::kAcknowledged);
    Trail(actor, AuditAction::kAcknowledge, id, entry.incident.event_type, now);
    ++acknowledged;
    if (entry.incident.quiet) continue;
    for (auto& [name, lamp] : entry.lamps) {
      // One that is still being told is told the quiet form.
      if (name == terminal && lamp.pending.empty()) continue;
      Notify(entry, name, NotifyReason::kAcknowledged, entry.incident.severity,
             LightMessage(entry.incident.severity, true, entry.incident.text), now);
    }
  }
  return acknowledged;
}

void IncidentBook::Trail(const Actor& actor, AuditAction action, std::string subject,
                         std::string detail, Moment now) {
  actions_.audit.push_back({now.wall, actor, action, std::move(subject), std::move(detail)});
}

std::vector<std::string> IncidentBook::BurningAt(const std::string& terminal) const {
  std::vector<std::string> ids;
  auto burning = burning_.find(terminal);
  if (burning == burning_.end()) return ids;
  for (const BurningKey& key : burning->second) ids.push_back(std::get<2>(key));
  return ids;
}

bool IncidentBook::CriticalBurnsAt(const std::string& terminal) const {
  auto burning = burning_.find(terminal);
  if (burning == burning_.end() || burning->second.empty()) return false;
  const Incident* worst = Find(std::get<2>(*burning->second.rbegin()));
  return worst != nullptr && worst->severity == Severity::kP0;
}

void IncidentBook::Mute(const std::string& terminal, WallTime until, Moment now) {
  // A terminal's clock may be wrong, and so may ours have been: never longer than a mute lasts.
  const Duration left =
      std::min<Duration>(until.since_epoch - now.wall.since_epoch, policy_.mute + kMuteMargin);
  if (left <= Duration(0)) return;
  const Moment end{now.mono + left, now.wall + Millis(left)};
  auto [place, fresh] = mutes_.emplace(terminal, end);
  if (!fresh && place->second.mono >= end.mono) return;
  place->second = end;
  actions_.mutes_changed = true;
}

Duration IncidentBook::MuteLeft(const std::string& terminal, Instant now) const {
  auto muted = mutes_.find(terminal);
  if (muted == mutes_.end()) return Duration(0);
  return std::max<Duration>(muted->second.mono - now - kMuteMargin, Duration(0));
}

void IncidentBook::MuteAs(const Actor& actor, const std::string& terminal, WallTime until,
                          Moment now) {
  Mute(terminal, until, now);
  Trail(actor, AuditAction::kMute, terminal, "until " + FormatRfc3339(until), now);
}

void IncidentBook::UnmuteAs(const Actor& actor, const std::string& terminal, Moment now) {
  if (!mutes_.contains(terminal)) return;
  Unmute(terminal, now);
  Trail(actor, AuditAction::kUnmute, terminal, "", now);
}

void IncidentBook::Unmute(const std::string& terminal, Moment now) {
  if (mutes_.erase(terminal) == 0) return;
  mute_breaks_.erase(terminal);
  actions_.mutes_changed = true;
  Remind(terminal, now);
}

void IncidentBook::EndMutes(Moment now) {
  std::vector<std::string> over;
  for (const auto& [terminal, until] : mutes_) {
    if (until.mono <= now.mono) over.push_back(terminal);
  }
  for (const std::string& terminal : over) Unmute(terminal, now);
}

// The loudest of what burns there, once; acknowledged or not.
void IncidentBook::Remind(const std::string& terminal, Moment now) {
  auto burning = burning_.find(terminal);
  if (burning == burning_.end() || burning->second.empty()) return;
  Entry& entry = *FindEntry(std::get<2>(*burning->second.rbegin()));
  const Incident& incident = entry.incident;
  if (quiet_ && incident.severity != Severity::kP0) return;
  TerminalMessage message = LightMessage(
      incident.severity, incident.state == IncidentState::kAcknowledged, incident.text);
  message.audio_mode = AudioMode::kOnce;
  Notify(entry, terminal, NotifyReason::kMuteEnded, incident.severity, std::move(message), now);
}

namespace {

// A clock that is led on gently moves less than this in an hour.
constexpr Duration kClockSet = std::chrono::seconds(2);

Duration ClockAhead(Moment now) { return Duration(now.wall.since_epoch) - now.mono.since_boot; }

}  // namespace

bool IncidentBook::ClockWasSet(Moment now) const {
  const Duration moved = ClockAhead(now) - clock_ahead_;
  return quiet_changes_ && (moved > kClockSet || moved < -kClockSet);
}

void IncidentBook::FollowQuietHours(Moment now) {
  if (!policy_.quiet) return;
  const bool clock_was_set = ClockWasSet(now);
  if (quiet_changes_ && now.mono < *quiet_changes_ && !clock_was_set) return;
  clock_ahead_ = ClockAhead(now);
  const bool quiet = policy_.quiet->Quiet(now.wall);
  const WallTime next = policy_.quiet->NextChange(now.wall);
  quiet_changes_ = now.mono + (next.since_epoch - now.wall.since_epoch);
  const bool was_quiet = std::exchange(quiet_, quiet);
  if (quiet) {
    if (!was_quiet) HushPending(now);
    return;
  }
  // A host that starts before it knows the time learns late that it has missed the morning.
  if (was_quiet || (clock_was_set && DigestIsOwed(now))) TellDigests(now);
}

bool IncidentBook::DigestIsOwed(Moment now) const {
  if (!policy_.quiet || !digest_told_) return false;
  const std::optional<WallTime> end = policy_.quiet->EndedWithin(now.wall, kDigestLateMax);
  return end && *digest_told_ < *end;
}

void IncidentBook::RestoreDigest(std::optional<WallTime> told, Moment now) {
  digest_told_ = told;
  if (DigestIsOwed(now)) return TellDigests(now);
  // From here on there is somebody who owes it.
  if (!told) KeepDigestTold(now.wall);
}

void IncidentBook::KeepDigestTold(WallTime until) {
  digest_told_ = until;
  actions_.digest_told = until;
}

void IncidentBook::TellDigests(Moment now) {
  for (const auto& [terminal, burning] : burning_) {
    if (!burning.empty()) TellDigest(terminal, now);
  }
  KeepDigestTold(now.wall);
}

// What is still on its way when the night begins arrives without a word; the morning tells it.
void IncidentBook::HushPending(Moment now) {
  std::vector<std::string> ids;
  for (const auto& [severity, serial, id] : open_) {
    if (severity != Severity::kP0) ids.push_back(id);
  }
  for (const std::string& id : ids) {
    Entry& entry = *FindEntry(id);
    for (const auto& [terminal, lamp] : entry.lamps) {
      if (!SpeaksOnceArrived(lamp)) continue;
      Entry* of = nullptr;
      const Notification waits = RecordOf(lamp.pending, &of)->notification;
      TerminalMessage message = waits.message;
      message.audio_mode = AudioMode::kOff;
      message.repeat_times = 1;
      Notify(entry, terminal, waits.reason, waits.severity, std::move(message), now);
    }
  }
}

// What the night has left: how much, and the worst of it.
void IncidentBook::TellDigest(const std::string& terminal, Moment now) {
  if (mutes_.contains(terminal)) return;  // the end of the mute says it
  const std::set<BurningKey>& burning = burning_.at(terminal);
  Entry& entry = *FindEntry(std::get<2>(*burning.rbegin()));
  const Incident& incident = entry.incident;
  TerminalMessage message =
      LightMessage(incident.severity, incident.state == IncidentState::kAcknowledged,
                   DigestText(policy_.language, burning.size(), incident.text));
  message.audio_mode = AudioMode::kOnce;
  Notify(entry, terminal, NotifyReason::kDigest, incident.severity, std::move(message), now);
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
  lost_.insert(terminal);
  std::vector<std::string> stranded;
  for (const auto& [severity, serial, id] : open_) {
    const Entry& entry = *FindEntry(id);
    auto lamp = entry.lamps.find(terminal);
    if (lamp != entry.lamps.end() && !lamp->second.pending.empty()) stranded.push_back(id);
  }
  RaiseOwn(OwnEvent(kTerminalUnreachable, terminal), now);
  for (const std::string& id : stranded) {
    if (Entry* waiting = FindEntry(id)) TakeOver(*waiting, terminal, now);
  }
}

void IncidentBook::OnTerminalBack(const std::string& terminal, Moment now) {
  lost_.erase(terminal);
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
    // What it was told in a voice may not be said aloud by now.
    std::string why;
    const bool loud = last != incident.notifications.rend() &&
                      last->notification.message.audio_mode != AudioMode::kOff;
    const bool hushed = loud && VoiceAt(incident.severity, terminal, NotifyReason::kRepeated,
                                        now.mono, &why) == Voice::kNone;
    if (last == incident.notifications.rend() || hushed ||
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

BurningKey IncidentBook::KeyOf(const Entry& entry) const {
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

}  // namespace sentinel
