// The part of IncidentBook that knows why something does not ring.
#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/lamp.h"
#include "incident/speech_text.h"

namespace sentinel {

std::optional<Quieting> IncidentBook::QuietFor(const Entry& entry) const {
  const Incident& incident = entry.incident;
  // Names that the subject points at.
  std::vector<std::pair<std::string, std::string>> named;
  auto name = [&](const std::string& host, std::string rack) {
    const HostEntry* known = site_.FindHost(host);
    if (rack.empty() && known != nullptr) rack = SpokenRack(known->rack);
    named.emplace_back(IdentityHost(host), std::move(rack));
  };
  if (!incident.culprit.host.empty()) {
    name(incident.culprit.host, incident.culprit.rack);
  } else {
    for (const Suspect& suspect : incident.suspects) name(suspect.host, "");
  }
  SilenceSubject subject{{}, incident.event_type, incident.job};
  for (const auto& [host, rack] : named) subject.places.push_back({host, rack});
  if (const Silence* silence = silences_.Covering(subject)) {
    return Quieting{QuietReason::kSilence, silence->id};
  }
  std::string by;
  if (entry.source == Source::kAgent) {
    // A hang is its job's, wherever the culprit stands.
    const std::vector<std::string>& hosts = entry.job.hosts;
    const bool nowhere_else =
        !hosts.empty() && std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
          const HostEntry* known = site_.FindHost(host);
          const std::string identity = IdentityHost(host);
          const std::string rack = known == nullptr ? "" : SpokenRack(known->rack);
          return OutOfService({identity, rack}, &by);
        });
    if (nowhere_else) return Quieting{QuietReason::kNodeState, by};
  } else if (subject.places.size() == 1 && OutOfService(subject.places.front(), &by)) {
    return Quieting{QuietReason::kNodeState, by};
  }
  auto root = entries_.find(entry.part_of);
  // Behind what does not ring nothing is hidden.
  if (root != entries_.end() && Standing(root->second.get()) && !root->second->incident.quiet) {
    return Quieting{QuietReason::kFolded, entry.part_of};
  }
  if (const Entry* host = HostDown(entry)) {
    return Quieting{QuietReason::kHostDown, host->incident.id};
  }
  if (entry.hidden_until && incident.quiet && incident.quiet->reason == QuietReason::kHostDown) {
    return incident.quiet;
  }
  if (!entry.barred.empty()) return Quieting{QuietReason::kJobRule, entry.barred};
  return std::nullopt;
}

bool IncidentBook::OutOfService(const SilenceSubject::Place& place, std::string* by) const {
  if (const Silence* silence = silences_.OutOfService(place)) {
    *by = silence->id;
    return true;
  }
  const HostEntry* host = site_.FindHost(place.host);
  if (host == nullptr || host->state == NodeState::kInService) return false;
  *by = NodeStateName(host->state);
  return true;
}

void IncidentBook::Reconsider(Entry& entry, Moment now) {
  Incident& incident = entry.incident;
  if (incident.state != IncidentState::kOpen && incident.state != IncidentState::kAcknowledged) {
    return;
  }
  std::optional<Quieting> quiet = QuietFor(entry);
  if (quiet == incident.quiet) return;
  const bool was_quiet = incident.quiet.has_value();
  incident.quiet = std::move(quiet);
  Changed(entry, IncidentChange::kUpdated);
  if (!was_quiet) {
    entry.voice_at.reset();
    TellDark(entry, NotifyReason::kSilenced, false, now);
  } else if (!incident.quiet) {
    Announce(entry, NotifyReason::kMuteEnded, now);
  }
}

void IncidentBook::FollowSilences(Moment now) {
  SilenceBook::Changes changes = silences_.Advance(now.mono);
  for (Silence& silence : changes.ended) actions_.silences_over.push_back(std::move(silence.id));
  if (!changes.any() && !std::exchange(reconsider_all_, false)) return;
  reconsider_all_ = false;
  std::vector<std::string> ids;
  for (const auto& [severity, serial, id] : open_) ids.push_back(id);
  for (const std::string& id : ids) Reconsider(*FindEntry(id), now);
}

Result<Silence> IncidentBook::AddSilence(const Actor& actor, Silence silence, Moment now) {
  Silence added = TRY(silences_.Add(std::move(silence), now));
  actions_.silences.push_back(added);
  std::string detail;
  auto say = [&detail](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (!detail.empty()) detail += ' ';
    detail += key;
    detail += '=';
    detail += value;
  };
  say("host", added.matcher.host);
  say("rack", added.matcher.rack);
  say("type", added.matcher.type);
  say("job", added.matcher.job);
  if (added.state != NodeState::kInService) say("state", NodeStateName(added.state));
  say("starts", FormatRfc3339(added.starts));
  if (added.expires) say("expires", FormatRfc3339(*added.expires));
  say("comment", added.comment);
  Trail(actor, AuditAction::kSilence, added.id, std::move(detail), now);
  FollowSilences(now);
  return added;
}

Status IncidentBook::EndSilence(const Actor& actor, const std::string& id, Moment now) {
  TRY(silences_.Expire(id, now));
  Trail(actor, AuditAction::kSilenceEnd, id, "", now);
  FollowSilences(now);
  return {};
}

void IncidentBook::RestoreSilence(Silence silence, Moment now) {
  std::string id = silence.id;
  if (!silences_.Restore(std::move(silence), now)) {
    actions_.silences_over.push_back(std::move(id));
  } else {
    // Events that are begun again before the next Advance are judged by it, too.
    FollowSilences(now);
  }
}

}  // namespace sentinel
