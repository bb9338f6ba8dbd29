#include "gateway/incident_log.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string>

#include "base/time.h"
#include "gateway/log_value.h"

namespace sentinel {
namespace {

// Lines about incidents between two ticks; beyond it they are counted, and their number is logged.
constexpr uint64_t kIncidentLinesMax = 200;

std::string LineOf(IncidentChange change, const Incident& incident) {
  std::string line = "event=" + std::string(IncidentChangeName(change)) + " id=" + incident.id +
                     " state=" + std::string(IncidentStateName(incident.state)) +
                     " severity=" + std::string(SeverityName(incident.severity)) +
                     " type=" + LogValue(incident.event_type);
  auto add = [&line](const char* key, const std::string& value) {
    line += std::string(" ") + key + "=" + value;
  };
  if (incident.hang_class) add("class", std::string(HangClassName(*incident.hang_class)));
  if (!incident.job.empty()) add("job", LogValue(incident.job));
  if (incident.culprit.rank) add("rank", std::to_string(*incident.culprit.rank));
  if (!incident.culprit.host.empty()) add("host", LogValue(incident.culprit.host));
  if (!incident.culprit.rack.empty()) add("rack", LogValue(incident.culprit.rack));
  if (incident.culprit.gpu) add("gpu", std::to_string(*incident.culprit.gpu));
  if (incident.hang_class) add("stalled_ms", std::to_string(ToMillis(incident.stalled)));
  add("count", std::to_string(incident.count));
  if (incident.close_reason) add("reason", std::string(CloseReasonName(*incident.close_reason)));
  if (incident.quiet) {
    add("quiet", std::string(QuietReasonName(incident.quiet->reason)));
    add("quiet_by", LogValue(incident.quiet->by));
  }
  if (incident.acknowledged) add("by", incident.acknowledged->by);
  return line;
}

}  // namespace

void IncidentLog::Tell(const IncidentBook::Change& change, const EventTable& table) {
  const Incident* incident = book_.Find(change.incident);
  if (incident == nullptr) return;
  switch (change.change) {
    case IncidentChange::kSuspected:
      metrics_.suspicions->Increment();
      break;
    case IncidentChange::kOpened:
      // Types are the senders' own; those in the table are so many and no more.
      metrics_.Opened(table.Find(incident->event_type) == nullptr ? "other" : incident->event_type,
                      SeverityName(incident->severity));
      if (incident->hang_class) {
        metrics_.red_time->Observe(std::chrono::duration<double>(incident->stalled).count());
      }
      break;
    case IncidentChange::kConfirmed:
    case IncidentChange::kEscalated:
    case IncidentChange::kCorrected:
    case IncidentChange::kUpdated:
    case IncidentChange::kAcknowledged:
    case IncidentChange::kClosed:
      break;
  }
  if (++lines_ <= kIncidentLinesMax) spdlog::info("{}", LineOf(change.change, *incident));
}

void IncidentLog::Tick() {
  if (lines_ > kIncidentLinesMax) {
    spdlog::warn("event=incident_lines_left_out lines={}", lines_ - kIncidentLinesMax);
  }
  lines_ = 0;
}

}  // namespace sentinel
