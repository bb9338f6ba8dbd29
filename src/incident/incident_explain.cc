// The part of IncidentBook that says what it would do.
#include <algorithm>
#include <utility>

#include "incident/identity.h"
#include "incident/incident_book.h"
#include "incident/speech_text.h"

namespace sentinel {

Duration IncidentBook::WindowLeft(const std::string& identity, const Entry* open,
                                  const std::string& terminal, Instant now) const {
  std::optional<Instant> from;
  if (open != nullptr) {
    auto lamp = open->lamps.find(terminal);
    if (lamp != open->lamps.end()) from = lamp->second.window_from;
  } else if (auto closed = windows_.find({identity, terminal}); closed != windows_.end()) {
    from = closed->second;
  }
  if (!from) return Duration(0);
  return std::max(Duration(0), *from + WindowOf(identity, now) - now);
}

Explanation IncidentBook::Explain(const Event& event, JobPresence presence, Moment now) const {
  Explanation told;
  told.event_type = event.event_type;
  const Level level = LevelOf(policy_.table, event, presence);
  told.severity = level.severity;
  told.severity_why = level.why;
  if (event.state == EventState::kResolved || level.severity == Severity::kNormal) {
    const std::vector<std::string> ending = EndedBy(event);
    told.suppressed = ending.empty();
    told.incident = ending.empty() ? "" : ending.front();
    told.what = ending.empty() ? "ends nothing: nothing is open for its job, rack and host"
                               : "ends " + std::to_string(ending.size()) +
                                     (ending.size() == 1 ? " incident" : " incidents");
    return told;
  }

  Entry entry;
  Incident& incident = entry.incident;
  incident.severity = level.severity;
  DescribePlace(incident, event);
  const std::string& rack = incident.culprit.rack;
  std::set<int> cards;
  if (incident.culprit.gpu) cards.insert(*incident.culprit.gpu);
  Site site = site_;  // a name that is only asked about is not heard
  told.text = Sentence(event, rack, site.SpokenHost(rack, event.node_host), cards);
  entry.host_key = IdentityHost(event.node_host);
  if (std::optional<CardFault> fault = FaultOf(event)) {
    entry.part_of = folds_.RootOf(*fault, now.mono).value_or("");
  }
  told.quiet = QuietFor(entry);

  told.identity = IdentityOf(event);
  told.window = WindowOf(told.identity, now.mono);
  const Entry* open = nullptr;
  auto known = open_by_identity_.find(IdentityOf(event));
  if (known != open_by_identity_.end()) {
    open = entries_.at(known->second).get();
  } else {
    open = StandstillOf(event, level.severity);
  }
  NotifyReason reason = NotifyReason::kFirst;
  told.what = "begins an incident";
  if (open != nullptr) {
    told.incident = open->incident.id;
    const bool rises = level.severity > open->incident.severity;
    reason = rises ? NotifyReason::kEscalated : NotifyReason::kRepeated;
    told.what = rises ? "makes an open incident more severe" : "repeats an open incident";
  }
  if (level.severity < Severity::kP1) {
    told.suppressed = true;
    told.what += "; its level is for the dashboard alone";
    return told;
  }
  if (told.quiet) {
    told.suppressed = true;
    told.what += "; no terminal is told: " + std::string(QuietReasonName(told.quiet->reason)) +
                 ' ' + told.quiet->by;
    return told;
  }
  for (Site::Chosen& chosen : site_.Choose(SightOf(incident))) {
    Explanation::Terminal terminal;
    terminal.name = std::move(chosen.terminal);
    terminal.why = std::move(chosen.why);
    const Voice voice =
        VoiceAt(level.severity, terminal.name, reason, now.mono, &terminal.voice_why);
    terminal.window_left = WindowLeft(told.identity, open, terminal.name, now.mono);
    terminal.light = true;
    terminal.voice = voice != Voice::kNone;
    if (reason == NotifyReason::kRepeated) {
      auto lamp = open->lamps.find(terminal.name);
      const bool acknowledged = open->incident.state == IncidentState::kAcknowledged;
      if (acknowledged ||
          (lamp != open->lamps.end() && Suppressed(*open, lamp->second, now.mono))) {
        terminal.light = terminal.voice = false;
        terminal.voice_why = acknowledged ? "the incident is acknowledged"
                                          : "told already, within its window or not answered yet";
      }
    }
    const EventKind* kind = policy_.table.Find(event.event_type);
    if (open == nullptr && terminal.voice && kind != nullptr && kind->voice_hold) {
      terminal.voice = false;
      terminal.voice_why = "the voice waits for what may heal by itself";
    }
    told.terminals.push_back(std::move(terminal));
  }
  if (open != nullptr && reason == NotifyReason::kRepeated) {
    told.suppressed = true;
    for (const auto& terminal : told.terminals) told.suppressed &= !terminal.light;
    if (told.suppressed) told.what += "; it is only counted";
  }
  return told;
}

}  // namespace sentinel
