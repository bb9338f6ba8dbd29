// CloudEvents in every mode, which the first byte chooses: whatever is taken can be written and
// read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/cloud_event.h"
#include "wire/event_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view type = data[0] % 3 == 0   ? "application/cloudevents+json"
                          : data[0] % 3 == 1 ? "application/cloudevents-batch+json"
                                             : "application/json";
  std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto header = [&](std::string_view name) -> std::string_view {
    if (name == "Content-Type") return type;
    return name == "ce-specversion" ? "1.0" : name == "ce-time" ? "" : "x";
  };
  auto events = sentinel::ParseCloudEvents(body, header);
  if (!events.ok()) {
    CHECK(!events.error().message.empty());
    return 0;
  }
  CHECK(events->events.size() + events->malformed.count <= sentinel::kCloudEventsMax);
  CHECK(events->events.size() == events->places.size());
  for (const sentinel::Event& event : events->events) {
    CHECK(!event.event_id.empty());
    std::string written = sentinel::WriteEvent(event);
    if (written.size() > sentinel::kEventBytesMax) continue;
    CHECK(sentinel::ParseEvent(written).ok());
  }
  return 0;
}
