#include "wire/cloud_event.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/time.h"
#include "wire/event_json.h"
#include "wire/strict_json.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVersion = "1.0";

// What an event says of itself outside of its data.
struct Envelope {
  std::string specversion;
  std::string id;
  std::string source;
  std::string type;
  std::string time;
  std::string datacontenttype;
};

bool IsJsonType(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type.empty() || type == "application/json" || type.ends_with("+json");
}

Result<Event> Open(const Envelope& envelope, std::string_view data) {
  if (envelope.specversion != kVersion) {
    return WrongJson("specversion must be \"1.0\", it is \"" + envelope.specversion.substr(0, 16) +
                     "\"");
  }
  if (envelope.id.empty()) return WrongJson("id is missing");
  if (envelope.source.empty()) return WrongJson("source is missing");
  if (envelope.type.empty()) return WrongJson("type is missing");
  if (!envelope.time.empty() && !ParseRfc3339(envelope.time)) {
    return WrongJson("time must be a time such as 2026-08-17T08:30:00Z");
  }
  if (!IsJsonType(envelope.datacontenttype)) {
    return WrongJson("datacontenttype must be application/json: the data is a gpu_event");
  }
  if (data.empty()) return WrongJson("data is missing: a gpu_event is expected in it");
  Result<Event> event = ParseEvent(data);
  if (!event.ok()) return WrongJson("data is no gpu_event: " + event.error().message);
  if (event->event_id.empty()) event->event_id = envelope.source + "#" + envelope.id;
  if (event->observed_at.empty()) event->observed_at = envelope.time;
  return event;
}

class EnvelopeMembers final : public JsonMembers {
 public:
  Envelope envelope;
  std::string data;

  Status Take(const std::string& key, JsonValue value) override {
    if (value.kind == JsonValue::Kind::kNull) return {};  // the same as absent, says the standard
    if (key == "data") {
      if (!data.empty()) return WrongJson("data and data_base64 exclude each other");
      if (value.kind != JsonValue::Kind::kNested || value.text.front() != '{') {
        return WrongJson("data must be an object: a gpu_event");
      }
      data = std::move(value.text);
      return {};
    }
    if (key == "data_base64") {
      if (!data.empty()) return WrongJson("data and data_base64 exclude each other");
      std::optional<std::string> bytes;
      if (value.kind == JsonValue::Kind::kString) bytes = Base64Decode(value.text);
      if (!bytes || bytes->empty()) return WrongJson("data_base64 must be base64 of a gpu_event");
      data = std::move(*bytes);
      return {};
    }
    for (auto [name, field] : {std::pair{"specversion", &envelope.specversion},
                               std::pair{"id", &envelope.id}, std::pair{"source", &envelope.source},
                               std::pair{"type", &envelope.type}, std::pair{"time", &envelope.time},
                               std::pair{"datacontenttype", &envelope.datacontenttype}}) {
      if (key != name) continue;
      if (value.kind != JsonValue::Kind::kString) return WrongJson(key + " must be a string");
      *field = std::move(value.text);
    }
    return {};  // what is left extends the envelope, in ways that do not concern us
  }
};

Result<Event> OfStructured(std::string_view body) {
  EnvelopeMembers members;
  TRY(ReadJsonObject(body, &members));
  return Open(members.envelope, members.data);
}

class BatchMembers final : public JsonMembers {
 public:
  std::string batch;

  Status Take(const std::string& key, JsonValue value) override {
    if (key != "batch" || value.kind != JsonValue::Kind::kNested || value.text.front() != '[') {
      return WrongJson("a batch must be a JSON array of events");
    }
    batch = std::move(value.text);
    return {};
  }
};

Result<ReceivedCloudEvents> OfBatch(std::string_view body) {
  // The strict reader reads an object.
  BatchMembers members;
  TRY(ReadJsonObject(R"({"batch":)" + std::string(body) + "}", &members));
  const Json list = Json::parse(members.batch, nullptr, false);
  if (!list.is_array()) return WrongJson("a batch must be a JSON array of events");
  if (list.size() > kCloudEventsMax) {
    return WrongJson("more than " + std::to_string(kCloudEventsMax) + " events in a batch");
  }
  ReceivedCloudEvents received;
  for (size_t i = 0; i < list.size(); ++i) {
    Result<Event> event = OfStructured(list[i].dump());
    if (!event.ok()) {
      auto id = list[i].find("id");
      const bool named = id != list[i].end() && id->is_string();
      received.malformed.Add(
          i, named ? id->get<std::string>() : "",
          "event " + std::to_string(i) + " of the batch: " + event.error().message);
      continue;
    }
    received.events.push_back(std::move(*event));
    received.places.push_back(i);
  }
  return received;
}

ReceivedCloudEvents Alone(Event event) {
  ReceivedCloudEvents received;
  received.events.push_back(std::move(event));
  received.places.push_back(0);
  return received;
}

std::string MediaType(std::string_view header) {
  std::string type(header.substr(0, header.find(';')));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  while (type.ends_with(' ')) type.pop_back();
  return type;
}

}  // namespace

bool IsCloudEventBatch(std::string_view content_type) {
  return MediaType(content_type) == std::string(kCloudEventBatchType) + "+json";
}

Result<ReceivedCloudEvents> ParseCloudEvents(
    std::string_view body, const std::function<std::string_view(std::string_view)>& header) {
  const std::string type = MediaType(header("Content-Type"));
  const std::string batch = std::string(kCloudEventBatchType) + "+json";
  if (IsCloudEventBatch(type)) return OfBatch(body);
  if (type == std::string(kCloudEventType) + "+json") {
    Event event = TRY(OfStructured(body));
    return Alone(std::move(event));
  }
  if (type.starts_with(kCloudEventType)) {
    return WrongJson("Content-Type " + type + " is not read; application/cloudevents+json or " +
                     batch + " is expected");
  }
  Envelope envelope;
  envelope.specversion = header("ce-specversion");
  envelope.id = header("ce-id");
  envelope.source = header("ce-source");
  envelope.type = header("ce-type");
  envelope.time = header("ce-time");
  envelope.datacontenttype = type;
  if (envelope.specversion.empty()) {
    return WrongJson(
        "neither Content-Type application/cloudevents+json nor the header ce-specversion is there: "
        "this is no CloudEvent; a plain gpu_event belongs to /api/v1/gpu_event");
  }
  Event event = TRY(Open(envelope, body));
  return Alone(std::move(event));
}

}  // namespace sentinel
