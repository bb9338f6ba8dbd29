// Level to light and voice: the contract's table, and what a lamp that knows one message at a time
// has to be told while several things burn.
#pragma once

#include "incident/event_table.h"
#include "model/incident.h"

namespace sentinel {

// Red flash and cycle for P0, orange breath and once for P1, nothing for what is less.
TerminalMessage AlarmMessage(Severity severity, std::string text);
// The same light without voice; steady once acknowledged.
TerminalMessage LightMessage(Severity severity, bool acknowledged, std::string text);
TerminalMessage RecoveredMessage(const EventTable& table, Language language);  // green
TerminalMessage OffMessage(Language language);
// What the sentence of a source that comes and goes ends with.
std::string UnstableText(Language language);
// The sentence at the end of quiet hours: how many alarms are still open, and the worst one's own.
std::string DigestText(Language language, size_t open, const std::string& worst);

// `message` with the light of `burning`: a lamp that forgets the rest with each message keeps
// showing the most severe.
TerminalMessage UnderLightOf(TerminalMessage message, const TerminalMessage& burning);

}  // namespace sentinel
