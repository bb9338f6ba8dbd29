// The form in which incidents are kept over a restart.
#include <nlohmann/json.hpp>

#include "web/incident_json.h"
#include "web/json_writer.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// A library's exceptions end in ParseIncidentDocument: everything below may throw.
std::optional<Moment> TakeMoment(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Moment{Instant{Duration(json.at(0).get<int64_t>())},
                WallTime{std::chrono::milliseconds(json.at(1).get<int64_t>())}};
}

template <typename T>
std::optional<T> TakeOptional(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<T>();
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

std::optional<Edge> TakeEdge(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Edge{json.at(0).get<Rank>(), json.at(1).get<Rank>()};
}

IncidentCulprit TakeCulprit(const Json& json) {
  IncidentCulprit c;
  c.rank = TakeOptional<Rank>(json.at("rank"));
  c.host = json.at("host").get<std::string>();
  c.rack = json.at("rack").get<std::string>();
  c.unit = TakeOptional<int>(json.at("unit"));
  c.gpu = TakeOptional<int>(json.at("gpu"));
  c.nic = json.at("nic").get<std::string>();
  c.edge = TakeEdge(json.at("edge"));
  // Not in documents of before there were any.
  if (json.contains("job_rank")) c.job_rank = TakeOptional<int32_t>(json.at("job_rank"));
  if (json.contains("job_edge")) c.job_edge = TakeEdge(json.at("job_edge"));
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
    Suspect suspect{s.at(0).get<Rank>(), s.at(1).get<std::string>()};
    if (s.size() > 2) suspect.job_rank = TakeOptional<int32_t>(s.at(2));
    i.suspects.push_back(std::move(suspect));
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
  auto quiet = json.find("quiet");  // a document of an earlier version has none
  if (quiet != json.end() && !quiet->is_null()) {
    i.quiet = Quieting{Known(QuietReasonFromName(quiet->at(0).get<std::string>())),
                       quiet->at(1).get<std::string>()};
  }
  for (const Json& n : json.at("notifications")) i.notifications.push_back(TakeRecord(n, i.id));
  // Documents of earlier versions have none of these.
  if (json.contains("boot")) i.boot = json.at("boot").get<std::string>();
  if (json.contains("speaks")) i.speaks = TakeMoment(json.at("speaks"));
  if (json.contains("lease")) i.lease = Duration(json.at("lease").get<int64_t>());
  if (json.contains("told")) {
    i.told = json.at("told").get<std::map<std::string, std::vector<std::string>>>();
  }
  return i;
}

// ------------------------------------------------------------------------------------- writing

void Keep(JsonWriter* out, std::string_view key, const std::optional<Moment>& moment) {
  out->Key(key);
  if (!moment) {
    out->Null();
    return;
  }
  out->Open('[').Number(moment->mono.since_boot.count());
  out->Number(moment->wall.since_epoch.count()).Close(']');
}

void KeepRecord(JsonWriter* out, const NotificationRecord& record) {
  const Notification& n = record.notification;
  const TerminalMessage& m = n.message;
  out->Open('{').Key("id").Text(n.id).Key("terminal").Text(n.terminal);
  out->Key("reason").Text(NotifyReasonName(n.reason));
  out->Key("severity").Text(SeverityName(n.severity));
  out->Key("urgency").Text(SeverityName(n.urgency));
  out->Key("sequence").Unsigned(n.sequence);
  out->Key("message").Open('[').Text(m.text);
  out->Number((m.color.red << 16) | (m.color.green << 8) | m.color.blue);
  out->Number(static_cast<int>(m.light_mode)).Number(static_cast<int>(m.audio_mode));
  out->Number(m.repeat_times).Close(']');
  Keep(out, "created", n.created);
  out->Key("state").Text(NotificationStateName(record.state));
  out->Key("attempts").Unsigned(record.attempts);
  Keep(out, "delivered", record.delivered);
  out->Key("error").Text(record.error).Close('}');
}

void KeepOperation(JsonWriter* out, const std::optional<Operation>& op) {
  out->Key("op");
  if (!op) {
    out->Null();
    return;
  }
  out->Open('[').Unsigned(op->index).Number(static_cast<int>(op->func)).Unsigned(op->seq);
  out->Unsigned(op->count).Number(static_cast<int>(op->datatype)).Close(']');
}

void KeepEdge(JsonWriter* out, const char* key, const std::optional<Edge>& edge) {
  out->Key(key);
  if (edge) {
    out->Open('[').Number(edge->from).Number(edge->to).Close(']');
  } else {
    out->Null();
  }
}

void KeepCulprit(JsonWriter* out, const IncidentCulprit& c) {
  out->Key("culprit").Open('{').Key("rank").NumberOrNull(c.rank).Key("host").Text(c.host);
  out->Key("rack").Text(c.rack).Key("unit").NumberOrNull(c.unit).Key("gpu").NumberOrNull(c.gpu);
  out->Key("nic").Text(c.nic).Key("job_rank").NumberOrNull(c.job_rank);
  KeepEdge(out, "edge", c.edge);
  KeepEdge(out, "job_edge", c.job_edge);
  out->Close('}');
}

void KeepLists(JsonWriter* out, const Incident& i) {
  out->Key("suspects").Open('[');
  for (const Suspect& s : i.suspects) {
    out->Open('[').Number(s.rank).Text(s.host).NumberOrNull(s.job_rank).Close(']');
  }
  out->Close(']').Key("evidence").Open('[');
  for (const EvidenceLine& e : i.evidence) out->Open('[').Text(e.zh).Text(e.en).Close(']');
  out->Close(']').Key("notifications").Open('[');
  for (const NotificationRecord& record : i.notifications) KeepRecord(out, record);
  out->Close(']');
}

void KeepEnding(JsonWriter* out, const Incident& i) {
  out->Key("close_reason");
  if (i.close_reason) {
    out->Text(CloseReasonName(*i.close_reason));
  } else {
    out->Null();
  }
  out->Key("acknowledged");
  if (i.acknowledged) {
    const Acknowledgement& a = *i.acknowledged;
    out->Open('[').Text(a.by).Text(a.from).Number(a.at.since_epoch.count()).Close(']');
  } else {
    out->Null();
  }
  if (!i.quiet) return;
  out->Key("quiet").Open('[').Text(QuietReasonName(i.quiet->reason)).Text(i.quiet->by).Close(']');
}

void KeepTold(JsonWriter* out, const Incident& i) {
  if (i.told.empty()) return;
  out->Key("told").Open('{');
  for (const auto& [output, messages] : i.told) {
    out->Key(output).Open('[');
    for (const std::string& message : messages) out->Text(message);
    out->Close(']');
  }
  out->Close('}');
}

}  // namespace

std::string WriteIncidentDocument(const Incident& i, std::string_view boot) {
  JsonWriter out;
  out.Open('{').Key("version").Number(kVersion).Key("id").Text(i.id);
  out.Key("identity").Text(i.identity).Key("occurrence").Unsigned(i.occurrence);
  out.Key("state").Text(IncidentStateName(i.state));
  out.Key("severity").Text(SeverityName(i.severity)).Key("event_type").Text(i.event_type);
  out.Key("class").NumberOrNull(i.hang_class).Key("signature").NumberOrNull(i.signature);
  out.Key("job").Text(i.job).Key("comm");
  if (i.comm) {
    out.Open('[').Unsigned(i.comm->comm_id).Number(i.comm->nranks).Close(']');
  } else {
    out.Null();
  }
  out.Key("comm_name").Text(i.comm_name).Key("epoch").Unsigned(i.epoch);
  KeepOperation(&out, i.op);
  KeepCulprit(&out, i.culprit);
  KeepLists(&out, i);
  out.Key("confidence").Real(i.confidence).Key("text").Text(i.text);
  out.Key("count").Unsigned(i.count).Key("stalled").Number(i.stalled.count()).Key("gpu_util");
  if (i.gpu_util) {
    out.Real(*i.gpu_util);
  } else {
    out.Null();
  }
  Keep(&out, "suspected", i.suspected);
  Keep(&out, "confirmed", i.confirmed);
  Keep(&out, "red", i.red);
  Keep(&out, "opened", i.opened);
  Keep(&out, "delivered", i.delivered);
  Keep(&out, "closed", i.closed);
  Keep(&out, "last_seen", i.last_seen);
  KeepEnding(&out, i);
  KeepTold(&out, i);
  if (i.speaks) Keep(&out, "speaks", i.speaks);
  if (!boot.empty()) out.Key("boot").Text(boot);
  if (i.lease) out.Key("lease").Number(i.lease->count());
  out.Close('}');
  return std::move(out).Take();
}

Result<Incident> ParseIncidentDocument(std::string_view document) {
  try {
    return Take(Json::parse(document));
  } catch (const std::exception& error) {
    return Error{ErrorCode::kCorrupt, std::string("not an incident document: ") + error.what()};
  }
}

}  // namespace sentinel
