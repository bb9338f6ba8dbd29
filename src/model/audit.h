// Who did what to the alarms, from where, when: one line of the audit trail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace sentinel {

// Somebody who acts: a person, or what stands for one.
struct Actor {
  std::string by;    // a name, a key's id, "button"
  std::string from;  // a terminal, an address, a Unix user
};

enum class AuditAction : uint8_t {
  kAcknowledge,  // subject: the incident
  kMute,         // the terminal
  kUnmute,
  kSilence,  // the silence
  kSilenceEnd,
  kTest,    // the terminal: a lamp or a voice was tried
  kReload,  // "configuration": read again and taken, or refused
};
std::string_view AuditActionName(AuditAction action);  // "acknowledge", "mute" …
std::optional<AuditAction> AuditActionFromName(std::string_view name);

struct AuditRecord {
  WallTime at;
  Actor actor;
  AuditAction action = AuditAction::kAcknowledge;
  std::string subject;  // what it was done to
  std::string detail;   // what else was said: until when, which matcher, why
};

}  // namespace sentinel
