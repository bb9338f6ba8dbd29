#include "model/incident.h"

#include <algorithm>

namespace sentinel {
namespace {

template <typename E>
std::optional<E> FromName(std::string_view name, std::string_view (*name_of)(E), E last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name == name_of(static_cast<E>(i))) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view IncidentStateName(IncidentState state) {
  switch (state) {
    case IncidentState::kSuspected:
      return "suspected";
    case IncidentState::kOpen:
      return "open";
    case IncidentState::kAcknowledged:
      return "acknowledged";
    case IncidentState::kClosed:
      return "closed";
  }
  return "";
}

std::string_view CloseReasonName(CloseReason reason) {
  switch (reason) {
    case CloseReason::kMoved:
      return "moved";
    case CloseReason::kResolved:
      return "resolved";
    case CloseReason::kEnded:
      return "ended";
    case CloseReason::kExpired:
      return "expired";
    case CloseReason::kSuperseded:
      return "superseded";
  }
  return "";
}

std::string_view NotifyReasonName(NotifyReason reason) {
  switch (reason) {
    case NotifyReason::kFirst:
      return "first";
    case NotifyReason::kEscalated:
      return "escalated";
    case NotifyReason::kGrouped:
      return "grouped";
    case NotifyReason::kRepeated:
      return "repeated";
    case NotifyReason::kResolved:
      return "resolved";
    case NotifyReason::kDigest:
      return "digest";
    case NotifyReason::kMuteEnded:
      return "mute-ended";
    case NotifyReason::kCorrected:
      return "corrected";
    case NotifyReason::kSpoken:
      return "spoken";
    case NotifyReason::kAcknowledged:
      return "acknowledged";
    case NotifyReason::kFallback:
      return "fallback";
    case NotifyReason::kSilenced:
      return "silenced";
    case NotifyReason::kTest:
      return "test";
  }
  return "";
}

std::string_view QuietReasonName(QuietReason reason) {
  switch (reason) {
    case QuietReason::kSilence:
      return "silence";
    case QuietReason::kNodeState:
      return "node-state";
    case QuietReason::kJobRule:
      return "job-rule";
    case QuietReason::kFolded:
      return "folded";
    case QuietReason::kHostDown:
      return "host-down";
  }
  return "";
}

std::string_view NotificationStateName(NotificationState state) {
  switch (state) {
    case NotificationState::kPending:
      return "pending";
    case NotificationState::kDelivered:
      return "delivered";
    case NotificationState::kSuperseded:
      return "superseded";
    case NotificationState::kFailed:
      return "failed";
  }
  return "";
}

std::optional<IncidentState> IncidentStateFromName(std::string_view name) {
  return FromName(name, IncidentStateName, IncidentState::kClosed);
}
std::optional<CloseReason> CloseReasonFromName(std::string_view name) {
  return FromName(name, CloseReasonName, CloseReason::kSuperseded);
}
std::optional<NotifyReason> NotifyReasonFromName(std::string_view name) {
  return FromName(name, NotifyReasonName, NotifyReason::kTest);
}
std::optional<QuietReason> QuietReasonFromName(std::string_view name) {
  return FromName(name, QuietReasonName, QuietReason::kHostDown);
}
std::optional<NotificationState> NotificationStateFromName(std::string_view name) {
  return FromName(name, NotificationStateName, NotificationState::kFailed);
}

bool IsAlarm(NotifyReason reason) {
  switch (reason) {
    case NotifyReason::kFirst:
    case NotifyReason::kEscalated:
    case NotifyReason::kGrouped:
    case NotifyReason::kRepeated:
    case NotifyReason::kMuteEnded:
    case NotifyReason::kCorrected:
    case NotifyReason::kSpoken:
    case NotifyReason::kFallback:
      return true;
    case NotifyReason::kResolved:
    case NotifyReason::kDigest:
    case NotifyReason::kAcknowledged:
    case NotifyReason::kSilenced:
    case NotifyReason::kTest:
      return false;
  }
  return false;
}

bool AnyPending(const Incident& incident) {
  return std::any_of(
      incident.notifications.begin(), incident.notifications.end(),
      [](const NotificationRecord& record) { return record.state == NotificationState::kPending; });
}

}  // namespace sentinel
