// A message as it reaches the floor: the body every sender writes, and what our own gateway says
// beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/severity.h"
#include "model/terminal_message.h"

namespace sentinel {

struct FloorMessage {
  TerminalMessage body;
  Severity severity = Severity::kNotice;  // as told, else DeriveSeverity
  std::string message_id;                 // empty: the sender gives none
  std::string incident_id;                // empty: the sender knows no incidents
  std::optional<uint64_t> sequence;       // within its incident

  // Whether something burns as long as this is its incident's last word.
  bool Opens() const { return severity >= Severity::kP1 && body.light_mode != LightMode::kOff; }
  bool Sounds() const { return body.audio_mode != AudioMode::kOff && !body.text.empty(); }
};

// The level that the contract's table gives to such a light, for senders that do not say.
Severity DeriveSeverity(const TerminalMessage& body);

// For a sender that tells the severity: the message with the light of its own level. Such a sender
// may give it the light of something louder that burns, for lamps that forget the rest with each
// message; we remember, and want its own. A silent message then also carries the other's text,
// which is left out: no place is better than a wrong one.
FloorMessage WithOwnLight(FloorMessage message);

// What became of a message; the answer's "state".
enum class Disposition : uint8_t {
  kPlaying,     // its light or its voice is what the floor shows now
  kQueued,      // it waits behind something louder
  kMuted,       // shown, not spoken: somebody has pressed the button
  kSuperseded,  // a later message of its incident, or a fire still burning, has the floor
  kDuplicate,   // this very message was taken before
};
std::string_view DispositionName(Disposition disposition);

}  // namespace sentinel
