#include "incident/incident_actions.h"

namespace sentinel {

std::string_view IncidentChangeName(IncidentChange change) {
  switch (change) {
    case IncidentChange::kSuspected:
      return "incident_suspected";
    case IncidentChange::kConfirmed:
      return "incident_confirmed";
    case IncidentChange::kOpened:
      return "incident_open";
    case IncidentChange::kEscalated:
      return "incident_escalated";
    case IncidentChange::kCorrected:
      return "incident_corrected";
    case IncidentChange::kUpdated:
      return "incident_updated";
    case IncidentChange::kAcknowledged:
      return "incident_acknowledged";
    case IncidentChange::kClosed:
      return "incident_closed";
  }
  return "";
}

}  // namespace sentinel
