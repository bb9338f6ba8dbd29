#include "wire/event_json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "wire/strict_json.h"

namespace sentinel {
namespace {

constexpr int kNumberMax = std::numeric_limits<int32_t>::max();
// A time in numbers from here on is in milliseconds: as seconds it would be the year 33658.
constexpr double kMillisFrom = 1e12;
constexpr double kMillisMax = 253'402'300'799'999;  // RFC 3339 has four digits for a year

using Kind = JsonValue::Kind;

bool IsNumber(const JsonValue& value) {
  return value.kind == Kind::kInteger || value.kind == Kind::kNumber;
}

Status TakeString(const std::string& key, JsonValue value, std::string* out) {
  if (value.kind == Kind::kNull) return {};
  if (value.kind != Kind::kString) return WrongMember(key, "a string");
  *out = std::move(value.text);
  return {};
}

// What is a name to us is a number to many senders (Slurm's job ids): no alarm is lost over quotes.
Status TakeName(const std::string& key, JsonValue value, std::string* out) {
  if (value.kind == Kind::kNull) return {};
  if (value.kind != Kind::kString && !IsNumber(value)) {
    return WrongMember(key, "a string or a number");
  }
  *out = value.kind == Kind::kInteger ? std::to_string(value.integer) : std::move(value.text);
  return {};
}

// 1 and 1.0 are one number; nothing for what is none, or has a fraction.
std::optional<int64_t> Integer(const JsonValue& value) {
  if (value.kind == Kind::kInteger) return value.integer;
  if (value.kind != Kind::kNumber || std::trunc(value.number) != value.number ||
      std::fabs(value.number) > kNumberMax) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value.number);
}

std::optional<int64_t> IntegerOrDigits(const JsonValue& value) {
  if (value.kind != Kind::kString) return Integer(value);
  int64_t integer = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, integer);
  if (error != std::errc() || stop != end) return std::nullopt;
  return integer;
}

Status TakeInteger(const std::string& key, std::optional<int64_t> integer, int min,
                   std::optional<int>* out) {
  if (!integer || *integer < min || *integer > kNumberMax) {
    return WrongMember(key, "an integer >= " + std::to_string(min));
  }
  *out = static_cast<int>(*integer);
  return {};
}

// Unix seconds or milliseconds as RFC 3339. A number that is no time of these is kept as it is: it
// says something to its sender, and nothing is decided by it.
std::string TimeText(const JsonValue& value) {
  const double millis = value.number >= kMillisFrom ? value.number : value.number * 1000;
  if (!(millis >= 0 && millis <= kMillisMax)) {
    return value.kind == Kind::kInteger ? std::to_string(value.integer) : value.text;
  }
  return FormatRfc3339(WallTime{std::chrono::milliseconds(std::llround(millis))});
}

class EventMembers final : public JsonMembers {
 public:
  Event event;

  Status Take(const std::string& key, JsonValue value) override {
    if (key == "cluster_rack") return TakeString(key, std::move(value), &event.cluster_rack);
    if (key == "node_host") return TakeString(key, std::move(value), &event.node_host);
    if (key == "event_type") return TakeString(key, std::move(value), &event.event_type);
    if (key == "gpu_index") return TakeGpuIndex(key, value);
    if (key == "gpu_util") return TakeUtil(key, value);
    if (key == "gpu_uuid") return TakeName(key, std::move(value), &event.gpu_uuid);
    if (key == "pci") return TakeName(key, std::move(value), &event.pci);
    if (key == "job_id") return TakeName(key, std::move(value), &event.job_id);
    if (key == "rank") return TakeNumber(key, value, -1, &event.rank);
    if (key == "comm") return TakeName(key, std::move(value), &event.comm);
    if (key == "nic") return TakeName(key, std::move(value), &event.nic);
    if (key == "xid") return TakeNumber(key, value, 0, &event.xid);
    if (key == "evidence") return TakeEvidence(std::move(value));
    if (key == "event_id") return TakeName(key, std::move(value), &event.event_id);
    if (key == "observed_at") return TakeObservedAt(key, std::move(value));
    if (key == "state") return TakeState(key, value);
    if (key == "resolves") return TakeResolves(key, value);
    if (key == "lease_ms") return TakeLease(key, value);
    if (key == "fatal" && value.kind == Kind::kBool) event.fatal = value.boolean;
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
  // One of the contract's five, which says that it is an integer.
  Status TakeGpuIndex(const std::string& key, const JsonValue& value) {
    if (value.kind == Kind::kNull) return {};
    return TakeInteger(key, Integer(value), -1, &event.gpu_index);
  }

  Status TakeNumber(const std::string& key, const JsonValue& value, int min,
                    std::optional<int>* out) {
    if (value.kind == Kind::kNull) return {};
    return TakeInteger(key, IntegerOrDigits(value), min, out);
  }

  Status TakeUtil(const std::string& key, const JsonValue& value) {
    if (value.kind == Kind::kNull) return {};
    if (!IsNumber(value) || !(value.number >= 0 && value.number <= 100)) {
      return WrongMember(key, "a number from 0 to 100");
    }
    event.gpu_util = value.number;
    return {};
  }

  Status TakeObservedAt(const std::string& key, JsonValue value) {
    if (!IsNumber(value)) return TakeString(key, std::move(value), &event.observed_at);
    event.observed_at = TimeText(value);
    return {};
  }

  // Senders put a sentence here, or whatever structure they have.
  Status TakeEvidence(JsonValue value) {
    if (value.kind == Kind::kNull) return {};
    bool text = value.kind == Kind::kString;
    event.evidence = text ? std::move(value.text) : JsonText(value);
    return {};
  }

  Status TakeState(const std::string& key, const JsonValue& value) {
    if (value.kind == Kind::kNull) return {};
    bool text = value.kind == Kind::kString;
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
    if (value.kind == Kind::kNull) return {};
    bool text = value.kind == Kind::kString;
    if (!text || (value.text != "this" && value.text != "all")) {
      return WrongMember(key, "\"this\" or \"all\"");
    }
    event.ends_only_this = value.text == "this";
    return {};
  }

  Status TakeLease(const std::string& key, const JsonValue& value) {
    if (value.kind == Kind::kNull) return {};
    const int64_t least = ToMillis(kEventLeaseMin);
    const int64_t most = ToMillis(kEventLeaseMax);
    const std::optional<int64_t> lease = IntegerOrDigits(value);
    if (!lease || *lease < least || *lease > most) {
      return WrongMember(
          key, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    event.lease = std::chrono::milliseconds(*lease);
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
    util.kind = Kind::kNumber;
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
