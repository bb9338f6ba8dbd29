// What the book of incidents has decided and others are to carry out: notifications for the
// outbox, lines for the log, rows for the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/audit.h"
#include "model/flap.h"
#include "model/incident.h"
#include "model/silence.h"

namespace sentinel {

enum class IncidentChange : uint8_t {
  kSuspected,
  kConfirmed,
  kOpened,
  kEscalated,
  kCorrected,
  kUpdated,
  kAcknowledged,
  kClosed,
};
// As the log calls it.
std::string_view IncidentChangeName(IncidentChange change);

struct IncidentActions {
  struct Change {
    std::string incident;
    IncidentChange change;
  };
  struct Cancel {
    std::string incident;
    std::string terminal;
  };

  std::vector<Notification> notifications;  // for the outbox, in order
  std::vector<Cancel> cancels;              // what waits for that terminal is pointless now
  std::vector<Change> changes;              // for the log
  std::vector<std::string> touched;  // incidents to be kept (again), each once; a mere count is
                                     // told by IncidentBook::TakeCounted
  std::vector<std::string> later;    // to be kept when there is time: what is lost with them
                                     // comes about again after a restart
  bool mutes_changed = false;
  std::vector<Silence> silences;           // new or changed: to be kept
  std::vector<std::string> silences_over;  // ids: to be forgotten
  std::vector<AuditRecord> audit;          // to be kept
  std::vector<FlapMemory> flaps;           // of sources that come and go: to be kept
  std::vector<std::string> flaps_over;     // sources: to be forgotten
  // Quiet hours that ended until then have had their digest: to be kept.
  std::optional<WallTime> digest_told;
};

}  // namespace sentinel
