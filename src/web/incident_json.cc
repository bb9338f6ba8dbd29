#include "web/incident_json.h"

#include <cinttypes>
#include <cstdio>

#include "wire/json_text.h"

namespace sentinel {
namespace {

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson At(const std::optional<Moment>& moment) {
  return moment ? OrderedJson(FormatRfc3339(moment->wall)) : OrderedJson();
}

double MonoMillis(Instant instant) {
  return std::chrono::duration<double, std::milli>(instant.since_boot).count();
}

OrderedJson Mono(const std::optional<Moment>& moment) {
  return moment ? OrderedJson(MonoMillis(moment->mono)) : OrderedJson();
}

std::string CommId(uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, id);
  return text;
}

OrderedJson CommJson(const Incident& incident) {
  if (!incident.comm) return OrderedJson();
  return {{"id", CommId(incident.comm->comm_id)},
          {"nranks", incident.comm->nranks},
          {"epoch", incident.epoch}};
}

OrderedJson OperationJson(const std::optional<Operation>& op) {
  if (!op) return OrderedJson();
  return {{"index", op->index},
          {"func", FuncName(op->func)},
          {"seq", op->seq},
          {"count", op->count},
          {"datatype", DataTypeName(op->datatype)}};
}

OrderedJson EdgeJson(const std::optional<Edge>& edge) {
  return edge ? OrderedJson::array({edge->from, edge->to}) : OrderedJson();
}

OrderedJson CulpritJson(const IncidentCulprit& culprit) {
  return {{"rank", OrNull(culprit.rank)},          {"job_rank", OrNull(culprit.job_rank)},
          {"host", TextOrNull(culprit.host)},      {"rack", TextOrNull(culprit.rack)},
          {"unit", OrNull(culprit.unit)},          {"gpu", OrNull(culprit.gpu)},
          {"nic", TextOrNull(culprit.nic)},        {"edge", EdgeJson(culprit.edge)},
          {"job_edge", EdgeJson(culprit.job_edge)}};
}

OrderedJson NotificationJson(const NotificationRecord& record) {
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

OrderedJson ToJson(const Incident& incident) {
  OrderedJson suspects = OrderedJson::array();
  for (const Suspect& suspect : incident.suspects) {
    suspects.push_back({{"rank", suspect.rank},
                        {"job_rank", OrNull(suspect.job_rank)},
                        {"host", TextOrNull(suspect.host)}});
  }
  OrderedJson evidence = OrderedJson::array();
  for (const EvidenceLine& line : incident.evidence) {
    evidence.push_back({{"zh", line.zh}, {"en", line.en}});
  }
  OrderedJson notifications = OrderedJson::array();
  for (const NotificationRecord& record : incident.notifications) {
    notifications.push_back(NotificationJson(record));
  }
  OrderedJson acknowledged;
  if (incident.acknowledged) {
    acknowledged = {{"by", incident.acknowledged->by},
                    {"from", incident.acknowledged->from},
                    {"at", FormatRfc3339(incident.acknowledged->at)}};
  }
  OrderedJson quiet;
  if (incident.quiet) {
    quiet = {{"reason", QuietReasonName(incident.quiet->reason)}, {"by", incident.quiet->by}};
  }
  OrderedJson hang_class;
  if (incident.hang_class) hang_class = HangClassName(*incident.hang_class);
  OrderedJson signature;
  if (incident.signature) signature = HangClassName(*incident.signature);
  OrderedJson close_reason;
  if (incident.close_reason) close_reason = CloseReasonName(*incident.close_reason);
  OrderedJson confidence;
  if (incident.hang_class) confidence = incident.confidence;
  OrderedJson stalled;
  if (incident.hang_class) stalled = ToMillis(incident.stalled);

  OrderedJson json;
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
  OrderedJson json;
  json["now_at"] = FormatRfc3339(now.wall);
  json["now_mono_ms"] = MonoMillis(now.mono);
  json["incidents"] = OrderedJson::array();
  for (const Incident* incident : incidents) json["incidents"].push_back(ToJson(*incident));
  return Dump(json);
}

}  // namespace sentinel
