#include "floor/message.h"

namespace sentinel {

Severity DeriveSeverity(const TerminalMessage& body) {
  if (body.light_mode == LightMode::kOff) return Severity::kNotice;
  const Color& color = body.color;
  bool greenish = color.green > color.red && color.green > color.blue;
  if (greenish) return Severity::kNormal;
  if (body.light_mode == LightMode::kFlash) return Severity::kP0;
  bool reddish = color.red >= 128 && color.green < 64 && color.blue < 64;
  return reddish ? Severity::kP0 : Severity::kP1;
}

FloorMessage WithOwnLight(FloorMessage message) {
  TerminalMessage& body = message.body;
  if (body.light_mode == LightMode::kOff || DeriveSeverity(body) == message.severity) {
    return message;
  }
  switch (message.severity) {
    case Severity::kP0:
      body.color = {255, 0, 0};
      body.light_mode = LightMode::kFlash;
      break;
    case Severity::kP1:
      body.color = {255, 165, 0};
      body.light_mode = LightMode::kBreath;
      break;
    case Severity::kNotice:
    case Severity::kNormal:
      body.color = {};
      body.light_mode = LightMode::kOff;
      break;
  }
  if (body.audio_mode == AudioMode::kOff) body.text.clear();
  return message;
}

std::string_view DispositionName(Disposition disposition) {
  switch (disposition) {
    case Disposition::kPlaying:
      return "playing";
    case Disposition::kQueued:
      return "queued";
    case Disposition::kMuted:
      return "muted";
    case Disposition::kSuperseded:
      return "superseded";
    case Disposition::kDuplicate:
      return "duplicate";
  }
  return "";
}

}  // namespace sentinel
