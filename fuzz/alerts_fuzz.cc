// Bodies of an Alertmanager: whatever alert becomes an event is one that the gateway takes.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/alert_rules.h"
#include "wire/event_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const sentinel::AlertMapping kMapping = [] {
    sentinel::AlertMapping mapping;
    mapping.rules = sentinel::UsualAlertRules();
    return mapping;
  }();
  std::string_view body(reinterpret_cast<const char*>(data), size);
  auto alerts = sentinel::ParseAlerts(body);
  if (!alerts.ok()) {
    CHECK(!alerts.error().message.empty());
    return 0;
  }
  CHECK(alerts->alerts.size() + alerts->malformed.count > 0);
  CHECK(alerts->alerts.size() <= sentinel::kAlertsMax);
  CHECK(alerts->malformed.told.size() <= sentinel::kMalformedToldMax);
  for (const sentinel::ReceivedAlert& alert : alerts->alerts) {
    sentinel::MappedAlert mapped = sentinel::MapAlert(alert, kMapping);
    CHECK(mapped.event.has_value() == mapped.why.empty());
    if (!mapped.event) continue;
    std::string written = sentinel::WriteEvent(*mapped.event);
    if (written.size() > sentinel::kEventBytesMax) continue;  // escapes may grow
    auto event = sentinel::ParseEvent(written);
    CHECK(event.ok());
    CHECK(event->event_id == mapped.event->event_id);
  }
  return 0;
}
