#include "web/incident_json.h"

#include <cinttypes>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json At(const std::optional<Moment>& moment) {
  return moment ? Json(FormatRfc3339(moment->wall)) : Json();
}

double MonoMillis(Instant instant) {
  return std::chrono::duration<double, std::milli>(instant.since_boot).count();
}

Json Mono(const std::optional<Moment>& moment) {
  return moment ? Json(MonoMillis(moment->mono)) : Json();
}

std::string CommId(uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, id);
  return text;
}

Json CommJson(const Incident& incident) {
  if (!incident.comm) return Json();
  return {{"id", CommId(incident.comm->comm_id)},
          {"nranks", incident.comm->nranks},
          {"epoch", incident.epoch}};
}

Json OperationJson(const std::optional<Operation>& op) {
  if (!op) return Json();
  return {{"index", op->index},
          {"func", FuncName(op->func)},
          {"seq", op->seq},
          {"count", op->count},
          {"datatype", DataTypeName(op->datatype)}};
}

Json EdgeJson(const std::optional<Edge>& edge) {
  return edge ? Json::array({edge->from, edge->to}) : Json();
}

Json CulpritJson(const IncidentCulprit& culprit) {
  return {{"rank", OrNull(culprit.rank)},          {"job_rank", OrNull(culprit.job_rank)},
          {"host", TextOrNull(culprit.host)},      {"rack", TextOrNull(culprit.rack)},
          {"unit", OrNull(culprit.unit)},          {"gpu", OrNull(culprit.gpu)},
          {"nic", TextOrNull(culprit.nic)},        {"edge", EdgeJson(culprit.edge)},
          {"job_edge", EdgeJson(culprit.job_edge)}};
}

Json NotificationJson(const NotificationRecord& record) {
  const Notification& n = record.notification;
  return {{"id", n.id},
          {"terminal", n.terminal},
          {"reason", NotifyReasonName(n.reason)},
          {"severity", SeverityName(n.severity)},
          {"state", NotificationStateName(record.state)},
          {"attempts", record.attempts},
          {"created_at", FormatRfc3339(n.created.wall)},
          {"delivered_at", At(record.delivered)},
          {"error", TextOrNull(record.error)}};
}

Json ToJson(const Incident& incident) {
  Json suspects = Json::array();
  for (const Suspect& suspect : incident.suspects) {
    suspects.push_back({{"rank", suspect.rank},
                        {"job_rank", OrNull(suspect.job_rank)},
                        {"host", TextOrNull(suspect.host)}});
  }
  Json evidence = Json::array();
  for (const EvidenceLine& line : incident.evidence) {
    evidence.push_back({{"zh", line.zh}, {"en", line.en}});
  }
  Json notifications = Json::array();
  for (const NotificationRecord& record : incident.notifications) {
    notifications.push_back(NotificationJson(record));
  }
  Json acknowledged;
  if (incident.acknowledged) {
    acknowledged = {{"by", incident.acknowledged->by},
                    {"from", incident.acknowledged->from},
                    {"at", FormatRfc3339(incident.acknowledged->at)}};
  }
  Json quiet;
  if (incident.quiet) {
    quiet = {{"reason", QuietReasonName(incident.quiet->reason)}, {"by", incident.quiet->by}};
  }
  Json hang_class;
  if (incident.hang_class) hang_class = HangClassName(*incident.hang_class);
  Json signature;
  if (incident.signature) signature = HangClassName(*incident.signature);
  Json close_reason;
  if (incident.close_reason) close_reason = CloseReasonName(*incident.close_reason);
  Json confidence;
  if (incident.hang_class) confidence = incident.confidence;
  Json stalled;
  if (incident.hang_class) stalled = ToMillis(incident.stalled);

  Json json;
  json["id"] = incident.id;
  json["state"] = IncidentStateName(incident.state);
  json["severity"] = SeverityName(incident.severity);
  json["event_type"] = incident.event_type;
  json["class"] = std::move(hang_class);
  json["signature"] = std::move(signature);
  json["job"] = TextOrNull(incident.job);
  json["comm"] = CommJson(incident);
  json["operation"] = OperationJson(incident.op);
  json["culprit"] = CulpritJson(incident.culprit);
  json["suspects"] = std::move(suspects);
  json["confidence"] = std::move(confidence);
  json["evidence"] = std::move(evidence);
  json["text"] = TextOrNull(incident.text);
  json["count"] = incident.count;
  json["stalled_ms"] = std::move(stalled);
  json["gpu_util"] = OrNull(incident.gpu_util);
  json["opened_at"] = At(incident.opened);
  json["suspected_at"] = At(incident.suspected);
  json["red_at"] = At(incident.red);
  json["last_seen_at"] = At(incident.last_seen);
  json["closed_at"] = At(incident.closed);
  json["close_reason"] = std::move(close_reason);
  json["mono_ms"] = {{"suspected", Mono(incident.suspected)},
                     {"confirmed", Mono(incident.confirmed)},
                     {"red", Mono(incident.red)},
                     {"delivered", Mono(incident.delivered)}};
  json["acknowledged"] = std::move(acknowledged);
  json["quiet"] = std::move(quiet);
  json["notifications"] = std::move(notifications);
  return json;
}

}  // namespace

std::string IncidentJson(const Incident& incident) { return Dump(ToJson(incident)); }

std::string IncidentListJson(const std::vector<const Incident*>& incidents, Moment now) {
  Json json;
  json["now_at"] = FormatRfc3339(now.wall);
  json["now_mono_ms"] = MonoMillis(now.mono);
  json["incidents"] = Json::array();
  for (const Incident* incident : incidents) json["incidents"].push_back(ToJson(*incident));
  return Dump(json);
}

}  // namespace sentinel
