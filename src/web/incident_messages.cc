#include "web/incident_messages.h"

#include <algorithm>

#include "web/incident_json.h"
#include "wire/json_text.h"

namespace sentinel {
namespace {

std::string_view MessageType(const Incident& incident, Telling telling) {
  switch (incident.state) {
    case IncidentState::kSuspected:
    case IncidentState::kOpen:
      return telling == Telling::kFirst ? "incident.opened" : "incident.updated";
    case IncidentState::kAcknowledged:
      return "incident.acknowledged";
    case IncidentState::kClosed:
      return "incident.closed";
  }
  return "";
}

// What routes of an Alertmanager are usually written for.
std::string_view CommonSeverity(Severity severity) {
  switch (severity) {
    case Severity::kP0:
      return "critical";
    case Severity::kP1:
      return "warning";
    case Severity::kNotice:
    case Severity::kNormal:
      return "info";
  }
  return "";
}

}  // namespace

std::string IncidentNews(const Incident& incident) {
  std::string news(IncidentStateName(incident.state));
  news += '\n';
  news += SeverityName(incident.severity);
  news += '\n' + incident.event_type + '\n';
  if (incident.hang_class) news += HangClassName(*incident.hang_class);
  news += '\n' + incident.text + '\n';
  if (incident.close_reason) news += CloseReasonName(*incident.close_reason);
  if (incident.quiet) news.append("\n").append(QuietReasonName(incident.quiet->reason));
  return news;
}

std::string WebhookMessage(const Incident& incident, Telling telling, WallTime now) {
  // The incident is JSON already.
  return R"({"type":")" + std::string(MessageType(incident, telling)) + R"(","timestamp":")" +
         FormatRfc3339(now) + R"(","data":)" + IncidentJson(incident) + "}";
}

std::string AlertLabels(const Incident& incident, const std::map<std::string, std::string>& site) {
  const IncidentCulprit& culprit = incident.culprit;
  OrderedJson labels = OrderedJson::object();
  for (const auto& [name, value] : site) labels[name] = value;
  auto add = [&labels](const char* name, const std::string& value) {
    if (!value.empty()) labels[name] = value;
  };
  add("alertname", incident.event_type);
  add("severity", std::string(CommonSeverity(incident.severity)));
  add("level", std::string(SeverityName(incident.severity)));
  add("incident", incident.id);
  add("instance", culprit.host);
  add("rack", culprit.rack);
  if (culprit.gpu) add("gpu", std::to_string(*culprit.gpu));
  add("nic", culprit.nic);
  add("training_job", incident.job);
  return Dump(labels);
}

std::string Alert(const Incident& incident, const std::string& labels, WallTime ends) {
  OrderedJson annotations = {{"summary", incident.text}};
  std::string evidence;
  for (const EvidenceLine& line : incident.evidence) {
    evidence += (evidence.empty() ? "" : "\n") + line.en;
  }
  if (!evidence.empty()) annotations["description"] = evidence;
  const WallTime starts = incident.opened ? incident.opened->wall : ends;
  return R"({"labels":)" + labels + R"(,"annotations":)" + Dump(annotations) + R"(,"startsAt":")" +
         FormatRfc3339(starts) + R"(","endsAt":")" + FormatRfc3339(std::max(starts, ends)) + "\"}";
}

}  // namespace sentinel
