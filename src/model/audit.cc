#include "model/audit.h"

namespace sentinel {

std::string_view AuditActionName(AuditAction action) {
  switch (action) {
    case AuditAction::kAcknowledge:
      return "acknowledge";
    case AuditAction::kMute:
      return "mute";
    case AuditAction::kUnmute:
      return "unmute";
    case AuditAction::kSilence:
      return "silence";
    case AuditAction::kSilenceEnd:
      return "silence-end";
    case AuditAction::kTest:
      return "test";
    case AuditAction::kReload:
      return "reload";
  }
  return "";
}

std::optional<AuditAction> AuditActionFromName(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(AuditAction::kReload); ++i) {
    const auto action = static_cast<AuditAction>(i);
    if (name == AuditActionName(action)) return action;
  }
  return std::nullopt;
}

}  // namespace sentinel
