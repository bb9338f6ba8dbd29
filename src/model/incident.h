// An incident as people see it, and what terminals are told about it.
//
// The JSON of both is docs/formats/incidents.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/severity.h"
#include "model/terminal_message.h"
#include "model/verdict.h"

namespace sentinel {

enum class IncidentState : uint8_t {
  kSuspected,  // no lamp
  kOpen,
  kAcknowledged,
  kClosed,
};
enum class CloseReason : uint8_t {
  kMoved,     // the job moves again
  kResolved,  // the sender, or a person, says that it is over
  kEnded,     // the job ended or was cancelled
  kExpired,   // nobody renewed it
  kSuperseded,
};
// Why a terminal is told something.
enum class NotifyReason : uint8_t {
  kFirst,
  kEscalated,
  kGrouped,
  kRepeated,
  kResolved,  // the incident has closed; the message is green, off, or the light of what is left
  kDigest,
  kMuteEnded,
  kCorrected,     // the place turned out to be another one
  kSpoken,        // the voice that was held back when the light came on
  kAcknowledged,  // someone elsewhere has pressed the button: light only
  kFallback,      // for another terminal that does not answer
  kSilenced,      // it burns on and is not to be shown any more: light off
  kTest,          // of no incident: whether the terminal works
};
// It tells of something that burns, not of its end or of what somebody did about it.
bool IsAlarm(NotifyReason reason);

// Why an incident that would ring does not.
enum class QuietReason : uint8_t {
  kSilence,    // by: the silence's id
  kNodeState,  // its host is out of service; by: the silence's id, or the state in the inventory
  kJobRule,    // its job may not ring, which makes it a NOTICE; by: what of the job is so
  kFolded,     // it is part of another one; by: that incident's id
  kHostDown,   // its host is down; by: the incident that says so
};
struct Quieting {
  QuietReason reason = QuietReason::kSilence;
  std::string by;
  friend bool operator==(const Quieting&, const Quieting&) = default;
};

enum class NotificationState : uint8_t { kPending, kDelivered, kSuperseded, kFailed };

std::string_view IncidentStateName(IncidentState state);
std::string_view CloseReasonName(CloseReason reason);
std::string_view NotifyReasonName(NotifyReason reason);
std::string_view QuietReasonName(QuietReason reason);  // "silence", "node-state" …
std::string_view NotificationStateName(NotificationState state);
std::optional<IncidentState> IncidentStateFromName(std::string_view name);
std::optional<CloseReason> CloseReasonFromName(std::string_view name);
std::optional<NotifyReason> NotifyReasonFromName(std::string_view name);
std::optional<QuietReason> QuietReasonFromName(std::string_view name);
std::optional<NotificationState> NotificationStateFromName(std::string_view name);

// One message for one terminal about one incident.
struct Notification {
  std::string id;        // the same over every attempt, restart and gateway
  std::string incident;  // its id
  std::string terminal;
  NotifyReason reason = NotifyReason::kFirst;
  Severity severity = Severity::kNotice;  // NORMAL: it closes the incident there
  Severity urgency = Severity::kNotice;   // of the incident: what the outbox orders by
  uint64_t sequence = 0;                  // rises per incident and terminal
  TerminalMessage message;
  Moment created;
};

struct NotificationRecord {
  Notification notification;
  NotificationState state = NotificationState::kPending;
  uint32_t attempts = 0;
  std::optional<Moment> delivered;
  std::string error;  // of the last attempt that failed; empty if none did
};

// Where and on what. Empty or nothing: unknown.
struct IncidentCulprit {
  std::optional<Rank> rank;
  std::optional<int32_t> job_rank;  // the same process's in the whole job
  std::string host;
  std::string rack;
  std::optional<int> unit;
  std::optional<int> gpu;
  std::string nic;
  std::optional<Edge> edge;
  std::optional<Edge> job_edge;  // the same in the job's ranks
};
struct Suspect {
  Rank rank = -1;
  std::string host;
  std::optional<int32_t> job_rank = std::nullopt;
  friend bool operator==(const Suspect&, const Suspect&) = default;
};
struct Acknowledgement {
  std::string by;
  std::string from;  // the terminal or address it came from
  WallTime at;
};

// Messages that a receiver other than a terminal has answered to; beyond it the oldest goes.
constexpr size_t kToldKeptMax = 16;
constexpr size_t kNotificationsKeptMax = 64;  // per incident; the oldest finished ones go first

struct Incident {
  std::string boot;  // of one that was kept: the boot its monotonic instants are of; empty: unknown
  std::string id;
  std::string identity;     // canonical JSON: what it is the same incident by
  uint64_t occurrence = 0;  // tells apart two incidents of one identity
  IncidentState state = IncidentState::kSuspected;
  Severity severity = Severity::kNotice;
  std::string event_type;
  std::optional<HangClass> hang_class;  // of a hang; none for an event
  std::optional<HangClass> signature;
  std::string job;
  std::optional<CommKey> comm;
  std::string comm_name;
  uint64_t epoch = 0;
  std::optional<Operation> op;
  IncidentCulprit culprit;
  std::vector<Suspect> suspects;
  double confidence = 0;
  std::vector<EvidenceLine> evidence;
  std::string text;    // as shown and spoken
  uint64_t count = 0;  // how often it was reported
  Duration stalled{0};
  std::optional<double> gpu_util;
  std::optional<Duration> lease;  // so long it stays open unless it is reported again; nothing: as
                                  // long as the policy says

  std::optional<Moment> suspected;
  std::optional<Moment> confirmed;
  std::optional<Moment> red;
  std::optional<Moment> opened;
  std::optional<Moment> delivered;  // the first terminal's answer
  std::optional<Moment> closed;
  std::optional<Moment> last_seen;  // the last report or verdict
  std::optional<Moment> speaks;     // its voice is held until then; nothing: it is not waiting
  std::optional<CloseReason> close_reason;
  std::optional<Acknowledgement> acknowledged;
  std::optional<Quieting> quiet;                  // no terminal is told of it while it is
  std::vector<NotificationRecord> notifications;  // oldest first
  // Ids of the messages each webhook or Alertmanager has answered to, by its name; oldest first.
  std::map<std::string, std::vector<std::string>> told;
};

// Whether a terminal has still to be told something of it.
bool AnyPending(const Incident& incident);

}  // namespace sentinel
