// The form in which incidents are kept over a restart.
#include <nlohmann/json.hpp>

#include "web/incident_json.h"

namespace sentinel {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json Keep(const std::optional<Moment>& moment) {
  if (!moment) return Json();
  return Json::array({moment->mono.since_boot.count(), moment->wall.since_epoch.count()});
}

// A library's exceptions end in ParseIncidentDocument: everything below may throw.
std::optional<Moment> TakeMoment(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Moment{Instant{Duration(json.at(0).get<int64_t>())},
                WallTime{std::chrono::milliseconds(json.at(1).get<int64_t>())}};
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
template <typename T>
std::optional<T> TakeOptional(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<T>();
}

template <typename E>
Json EnumOrNull(const std::optional<E>& value) {
  return value ? Json(static_cast<int>(*value)) : Json();
}
template <typename E>
E TakeEnum(const Json& json, E last) {
  int value = json.get<int>();
  if (value < 0 || value > static_cast<int>(last)) throw std::out_of_range("enumeration");
  return static_cast<E>(value);
}

// Names are text in the document; one that we do not know makes it corrupt.
template <typename T>
T Known(std::optional<T> value) {
  if (!value) throw std::out_of_range("name");
  return *value;
}

Json KeepMessage(const TerminalMessage& m) {
  return {m.text, (m.color.red << 16) | (m.color.green << 8) | m.color.blue,
          static_cast<int>(m.light_mode), static_cast<int>(m.audio_mode), m.repeat_times};
}
TerminalMessage TakeMessage(const Json& json) {
  TerminalMessage m;
  m.text = json.at(0).get<std::string>();
  auto color = json.at(1).get<uint32_t>();
  m.color = {static_cast<uint8_t>(color >> 16), static_cast<uint8_t>(color >> 8),
             static_cast<uint8_t>(color)};
  m.light_mode = TakeEnum(json.at(2), LightMode::kOff);
  m.audio_mode = TakeEnum(json.at(3), AudioMode::kOff);
  m.repeat_times = json.at(4).get<int>();
  return m;
}

Json KeepRecord(const NotificationRecord& record) {
  const Notification& n = record.notification;
  return {{"id", n.id},
          {"terminal", n.terminal},
          {"reason", NotifyReasonName(n.reason)},
          {"severity", SeverityName(n.severity)},
          {"urgency", SeverityName(n.urgency)},
          {"sequence", n.sequence},
          {"message", KeepMessage(n.message)},
          {"created", Keep(n.created)},
          {"state", NotificationStateName(record.state)},
          {"attempts", record.attempts},
          {"delivered", Keep(record.delivered)},
          {"error", record.error}};
}
NotificationRecord TakeRecord(const Json& json, const std::string& incident) {
  NotificationRecord record;
  Notification& n = record.notification;
  n.id = json.at("id").get<std::string>();
  n.incident = incident;
  n.terminal = json.at("terminal").get<std::string>();
  n.reason = Known(NotifyReasonFromName(json.at("reason").get<std::string>()));
  n.severity = Known(SeverityFromName(json.at("severity").get<std::string>()));
  n.urgency = Known(SeverityFromName(json.at("urgency").get<std::string>()));
  n.sequence = json.at("sequence").get<uint64_t>();
  n.message = TakeMessage(json.at("message"));
  n.created = Known(TakeMoment(json.at("created")));
  record.state = Known(NotificationStateFromName(json.at("state").get<std::string>()));
  record.attempts = json.at("attempts").get<uint32_t>();
  record.delivered = TakeMoment(json.at("delivered"));
  record.error = json.at("error").get<std::string>();
  if (record.state == NotificationState::kDelivered && !record.delivered) {
    throw std::out_of_range("delivered");
  }
  return record;
}

Json KeepOperation(const std::optional<Operation>& op) {
  if (!op) return Json();
  return {op->index, static_cast<int>(op->func), op->seq, op->count,
          static_cast<int>(op->datatype)};
}
std::optional<Operation> TakeOperation(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Operation op;
  op.index = json.at(0).get<uint64_t>();
  op.func = TakeEnum(json.at(1), Func::kWaitSignal);
  op.seq = json.at(2).get<uint64_t>();
  op.count = json.at(3).get<uint64_t>();
  op.datatype = TakeEnum(json.at(4), DataType::kFloat8e5m2);
  return op;
}

Json KeepCulprit(const IncidentCulprit& c) {
  Json edge;
  if (c.edge) edge = Json::array({c.edge->from, c.edge->to});
  return {{"rank", OrNull(c.rank)}, {"host", c.host}, {"rack", c.rack}, {"unit", OrNull(c.unit)},
          {"gpu", OrNull(c.gpu)},   {"nic", c.nic},   {"edge", edge}};
}
IncidentCulprit TakeCulprit(const Json& json) {
  IncidentCulprit c;
  c.rank = TakeOptional<Rank>(json.at("rank"));
  c.host = json.at("host").get<std::string>();
  c.rack = json.at("rack").get<std::string>();
  c.unit = TakeOptional<int>(json.at("unit"));
  c.gpu = TakeOptional<int>(json.at("gpu"));
  c.nic = json.at("nic").get<std::string>();
  const Json& edge = json.at("edge");
  if (!edge.is_null()) c.edge = Edge{edge.at(0).get<Rank>(), edge.at(1).get<Rank>()};
  return c;
}

Incident Take(const Json& json) {
  if (json.at("version").get<int>() != kVersion) throw std::out_of_range("version");
  Incident i;
  i.id = json.at("id").get<std::string>();
  i.identity = json.at("identity").get<std::string>();
  i.occurrence = json.at("occurrence").get<uint64_t>();
  i.state = Known(IncidentStateFromName(json.at("state").get<std::string>()));
  i.severity = Known(SeverityFromName(json.at("severity").get<std::string>()));
  i.event_type = json.at("event_type").get<std::string>();
  const Json& hang = json.at("class");
  if (!hang.is_null()) i.hang_class = TakeEnum(hang, HangClass::kUnknown);
  const Json& signature = json.at("signature");
  if (!signature.is_null()) i.signature = TakeEnum(signature, HangClass::kUnknown);
  i.job = json.at("job").get<std::string>();
  const Json& comm = json.at("comm");
  if (!comm.is_null()) {
    i.comm = CommKey{i.job, comm.at(0).get<uint64_t>(), comm.at(1).get<int32_t>()};
  }
  i.comm_name = json.at("comm_name").get<std::string>();
  i.epoch = json.at("epoch").get<uint64_t>();
  i.op = TakeOperation(json.at("op"));
  i.culprit = TakeCulprit(json.at("culprit"));
  for (const Json& s : json.at("suspects")) {
    i.suspects.push_back({s.at(0).get<Rank>(), s.at(1).get<std::string>()});
  }
  i.confidence = json.at("confidence").get<double>();
  for (const Json& e : json.at("evidence")) {
    i.evidence.push_back({e.at(0).get<std::string>(), e.at(1).get<std::string>()});
  }
  i.text = json.at("text").get<std::string>();
  i.count = json.at("count").get<uint64_t>();
  i.stalled = Duration(json.at("stalled").get<int64_t>());
  i.gpu_util = TakeOptional<double>(json.at("gpu_util"));
  i.suspected = TakeMoment(json.at("suspected"));
  i.confirmed = TakeMoment(json.at("confirmed"));
  i.red = TakeMoment(json.at("red"));
  i.opened = TakeMoment(json.at("opened"));
  i.delivered = TakeMoment(json.at("delivered"));
  i.closed = TakeMoment(json.at("closed"));
  i.last_seen = TakeMoment(json.at("last_seen"));
  const Json& reason = json.at("close_reason");
  if (!reason.is_null()) {
    i.close_reason = Known(CloseReasonFromName(reason.get<std::string>()));
  }
  const Json& ack = json.at("acknowledged");
  if (!ack.is_null()) {
    i.acknowledged = Acknowledgement{ack.at(0).get<std::string>(), ack.at(1).get<std::string>(),
                                     WallTime{std::chrono::milliseconds(ack.at(2).get<int64_t>())}};
  }
  for (const Json& n : json.at("notifications")) i.notifications.push_back(TakeRecord(n, i.id));
  return i;
}

}  // namespace

std::string WriteIncidentDocument(const Incident& i) {
  Json json;
  json["version"] = kVersion;
  json["id"] = i.id;
  json["identity"] = i.identity;
  json["occurrence"] = i.occurrence;
  json["state"] = IncidentStateName(i.state);
  json["severity"] = SeverityName(i.severity);
  json["event_type"] = i.event_type;
  json["class"] = EnumOrNull(i.hang_class);
  json["signature"] = EnumOrNull(i.signature);
  json["job"] = i.job;
  json["comm"] = i.comm ? Json::array({i.comm->comm_id, i.comm->nranks}) : Json();
  json["comm_name"] = i.comm_name;
  json["epoch"] = i.epoch;
  json["op"] = KeepOperation(i.op);
  json["culprit"] = KeepCulprit(i.culprit);
  json["suspects"] = Json::array();
  for (const Suspect& s : i.suspects) json["suspects"].push_back(Json::array({s.rank, s.host}));
  json["confidence"] = i.confidence;
  json["evidence"] = Json::array();
  for (const EvidenceLine& e : i.evidence) json["evidence"].push_back(Json::array({e.zh, e.en}));
  json["text"] = i.text;
  json["count"] = i.count;
  json["stalled"] = i.stalled.count();
  json["gpu_util"] = OrNull(i.gpu_util);
  json["suspected"] = Keep(i.suspected);
  json["confirmed"] = Keep(i.confirmed);
  json["red"] = Keep(i.red);
  json["opened"] = Keep(i.opened);
  json["delivered"] = Keep(i.delivered);
  json["closed"] = Keep(i.closed);
  json["last_seen"] = Keep(i.last_seen);
  json["close_reason"] = i.close_reason ? Json(CloseReasonName(*i.close_reason)) : Json();
  json["acknowledged"] = Json();
  if (i.acknowledged) {
    const Acknowledgement& a = *i.acknowledged;
    json["acknowledged"] = Json::array({a.by, a.from, a.at.since_epoch.count()});
  }
  json["notifications"] = Json::array();
  for (const NotificationRecord& n : i.notifications)
    json["notifications"].push_back(KeepRecord(n));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Incident> ParseIncidentDocument(std::string_view document) {
  try {
    return Take(Json::parse(document));
  } catch (const std::exception& error) {
    return Error{ErrorCode::kCorrupt, std::string("not an incident document: ") + error.what()};
  }
}

}  // namespace sentinel
