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
