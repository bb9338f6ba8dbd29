#include "wire/event_json.h"

#include <cmath>
#include <limits>
#include <utility>

#include "wire/strict_json.h"

namespace sentinel {
namespace {

constexpr int kNumberMax = std::numeric_limits<int32_t>::max();

Status TakeString(const std::string& key, JsonValue value, std::string* out) {
  if (value.kind == JsonValue::Kind::kNull) return {};
  if (value.kind != JsonValue::Kind::kString) return WrongMember(key, "a string");
  *out = std::move(value.text);
  return {};
}

Status TakeInteger(const std::string& key, const JsonValue& value, int min,
                   std::optional<int>* out) {
  if (value.kind == JsonValue::Kind::kNull) return {};
  if (value.kind != JsonValue::Kind::kInteger || value.integer < min ||
      value.integer > kNumberMax) {
    return WrongMember(key, "an integer >= " + std::to_string(min));
  }
  *out = static_cast<int>(value.integer);
  return {};
}

class EventMembers final : public JsonMembers {
 public:
  Event event;

  Status Take(const std::string& key, JsonValue value) override {
    if (key == "cluster_rack") return TakeString(key, std::move(value), &event.cluster_rack);
    if (key == "node_host") return TakeString(key, std::move(value), &event.node_host);
    if (key == "event_type") return TakeString(key, std::move(value), &event.event_type);
    if (key == "gpu_index") return TakeInteger(key, value, -1, &event.gpu_index);
    if (key == "gpu_util") return TakeUtil(key, value);
    if (key == "gpu_uuid") return TakeString(key, std::move(value), &event.gpu_uuid);
    if (key == "pci") return TakeString(key, std::move(value), &event.pci);
    if (key == "job_id") return TakeString(key, std::move(value), &event.job_id);
    if (key == "rank") return TakeInteger(key, value, -1, &event.rank);
    if (key == "comm") return TakeString(key, std::move(value), &event.comm);
    if (key == "nic") return TakeString(key, std::move(value), &event.nic);
    if (key == "xid") return TakeInteger(key, value, 0, &event.xid);
    if (key == "evidence") return TakeEvidence(std::move(value));
    if (key == "event_id") return TakeString(key, std::move(value), &event.event_id);
    if (key == "observed_at") return TakeString(key, std::move(value), &event.observed_at);
    if (key == "state") return TakeState(key, value);
    if (key == "resolves") return TakeResolves(key, value);
    if (key == "lease_ms") return TakeLease(key, value);
    if (key == "fatal" && value.kind == JsonValue::Kind::kBool) event.fatal = value.boolean;
    KeepUnknown(key, value);
    return {};
  }

  Result<Event> Finish() && {
    if (!event.extra.empty()) event.extra += '}';
    if (event.node_host.empty()) return WrongMember("node_host", "a string that is not empty");
    if (event.event_type.empty()) return WrongMember("event_type", "a string that is not empty");
    return std::move(event);
  }

 private:
  Status TakeUtil(const std::string& key, const JsonValue& value) {
    if (value.kind == JsonValue::Kind::kNull) return {};
    bool number = value.kind == JsonValue::Kind::kInteger || value.kind == JsonValue::Kind::kNumber;
    if (!number || !(value.number >= 0 && value.number <= 100)) {
      return WrongMember(key, "a number from 0 to 100");
    }
    event.gpu_util = value.number;
    return {};
  }

  // Senders put a sentence here, or whatever structure they have.
  Status TakeEvidence(JsonValue value) {
    if (value.kind == JsonValue::Kind::kNull) return {};
    bool text = value.kind == JsonValue::Kind::kString;
    event.evidence = text ? std::move(value.text) : JsonText(value);
    return {};
  }

  Status TakeState(const std::string& key, const JsonValue& value) {
    if (value.kind == JsonValue::Kind::kNull) return {};
    bool text = value.kind == JsonValue::Kind::kString;
    if (text && value.text == "firing") {
      event.state = EventState::kFiring;
    } else if (text && value.text == "resolved") {
      event.state = EventState::kResolved;
    } else {
      return WrongMember(key, "\"firing\" or \"resolved\"");
    }
    return {};
  }

  Status TakeResolves(const std::string& key, const JsonValue& value) {
    if (value.kind == JsonValue::Kind::kNull) return {};
    bool text = value.kind == JsonValue::Kind::kString;
    if (!text || (value.text != "this" && value.text != "all")) {
      return WrongMember(key, "\"this\" or \"all\"");
    }
    event.ends_only_this = value.text == "this";
    return {};
  }

  Status TakeLease(const std::string& key, const JsonValue& value) {
    if (value.kind == JsonValue::Kind::kNull) return {};
    const int64_t least = ToMillis(kEventLeaseMin);
    const int64_t most = ToMillis(kEventLeaseMax);
    if (value.kind != JsonValue::Kind::kInteger || value.integer < least || value.integer > most) {
      return WrongMember(
          key, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    event.lease = std::chrono::milliseconds(value.integer);
    return {};
  }

  void KeepUnknown(const std::string& key, const JsonValue& value) {
    event.extra += event.extra.empty() ? '{' : ',';
    event.extra += JsonString(key);
    event.extra += ':';
    event.extra += JsonText(value);
  }
};

// One JSON object, member by member; what is unknown is left out.
class ObjectWriter {
 public:
  void Text(std::string_view key, std::string_view value) {
    if (!value.empty()) Raw(key, JsonString(value));
  }
  void Number(std::string_view key, std::optional<int> value) {
    if (value) Raw(key, std::to_string(*value));
  }
  void Raw(std::string_view key, std::string_view json) {
    out_ += out_.empty() ? '{' : ',';
    out_ += '"';
    out_ += key;
    out_ += "\":";
    out_ += json;
  }
  // The members of another object.
  void Members(std::string_view object) {
    if (object.size() <= 2) return;
    out_ += out_.empty() ? '{' : ',';
    out_ += object.substr(1, object.size() - 2);
  }
  std::string Finish() && { return out_.empty() ? "{}" : std::move(out_) + '}'; }

 private:
  std::string out_;
};

}  // namespace

Result<Event> ParseEvent(std::string_view body) {
  if (body.size() > kEventBytesMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "longer than " + std::to_string(kEventBytesMax) + " bytes"};
  }
  EventMembers members;
  TRY(ReadJsonObject(body, &members));
  return std::move(members).Finish();
}

std::string WriteEvent(const Event& event) {
  ObjectWriter writer;
  writer.Text("cluster_rack", event.cluster_rack);
  writer.Text("node_host", event.node_host);
  writer.Text("event_type", event.event_type);
  writer.Number("gpu_index", event.gpu_index);
  if (event.gpu_util && std::isfinite(*event.gpu_util)) {
    JsonValue util;
    util.kind = JsonValue::Kind::kNumber;
    util.number = *event.gpu_util;
    writer.Raw("gpu_util", JsonText(util));
  }
  writer.Text("gpu_uuid", event.gpu_uuid);
  writer.Text("pci", event.pci);
  writer.Text("job_id", event.job_id);
  writer.Number("rank", event.rank);
  writer.Text("comm", event.comm);
  writer.Text("nic", event.nic);
  writer.Number("xid", event.xid);
  writer.Text("evidence", event.evidence);
  writer.Text("event_id", event.event_id);
  writer.Text("observed_at", event.observed_at);
  if (event.state == EventState::kResolved) writer.Text("state", "resolved");
  if (event.ends_only_this) writer.Text("resolves", "this");
  if (event.lease) writer.Raw("lease_ms", std::to_string(ToMillis(*event.lease)));
  writer.Members(event.extra);
  return std::move(writer).Finish();
}

}  // namespace sentinel
