#include "wire/alertmanager_json.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "wire/strict_json.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr size_t kFingerprintBytesMax = 64;

class GroupMembers final : public JsonMembers {
 public:
  std::optional<std::string> version;
  std::optional<std::string> alerts;  // JSON
  int64_t truncated = 0;

  Status Take(const std::string& key, JsonValue value) override {
    if (key == "version") {
      if (value.kind != JsonValue::Kind::kString)
        return WrongJson("version must be the string \"4\"");
      version = std::move(value.text);
    } else if (key == "truncatedAlerts") {
      if (value.kind == JsonValue::Kind::kInteger) truncated = value.integer;
    } else if (key == "alerts") {
      if (value.kind != JsonValue::Kind::kNested || value.text.front() != '[') {
        return WrongJson("alerts must be an array");
      }
      alerts = std::move(value.text);
    }
    return {};
  }
};

Result<std::map<std::string, std::string>> Strings(const Json& alert, const std::string& place,
                                                   const char* key) {
  std::map<std::string, std::string> strings;
  auto found = alert.find(key);
  if (found == alert.end() || found->is_null()) return strings;
  const Error wrong = WrongJson(place + "." + key + " must be an object of strings");
  if (!found->is_object()) return wrong;
  if (found->size() > kAlertLabelsMax) {
    return WrongJson(place + "." + key + " holds more than " + std::to_string(kAlertLabelsMax));
  }
  for (const auto& [name, value] : found->items()) {
    if (!value.is_string()) return wrong;
    strings[name] = value.get<std::string>();
  }
  return strings;
}

std::string Text(const Json& alert, const char* key) {
  auto found = alert.find(key);
  return found != alert.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string FingerprintOf(const std::map<std::string, std::string>& labels) {
  return Sha256Hex(Json(labels).dump(-1, ' ', false, Json::error_handler_t::replace)).substr(0, 16);
}

Result<ReceivedAlert> Take(const Json& json, const std::string& place) {
  if (!json.is_object()) return WrongJson(place + " must be an object");
  ReceivedAlert alert;
  const std::string status = Text(json, "status");
  if (status != "firing" && status != "resolved") {
    return WrongJson(place + ".status must be \"firing\" or \"resolved\"");
  }
  alert.firing = status == "firing";
  alert.labels = TRY(Strings(json, place, "labels"));
  if (alert.labels.empty()) return WrongJson(place + ".labels must hold at least one label");
  alert.annotations = TRY(Strings(json, place, "annotations"));
  std::optional<WallTime> starts = ParseRfc3339(Text(json, "startsAt"));
  if (!starts) return WrongJson(place + ".startsAt must be a time such as 2026-08-17T08:30:00Z");
  alert.starts_at = *starts;
  alert.fingerprint = Text(json, "fingerprint");
  if (alert.fingerprint.empty()) alert.fingerprint = FingerprintOf(alert.labels);
  if (alert.fingerprint.size() > kFingerprintBytesMax) {
    return WrongJson(place + ".fingerprint is longer than " + std::to_string(kFingerprintBytesMax));
  }
  return alert;
}

}  // namespace

Result<ReceivedAlerts> ParseAlerts(std::string_view body) {
  if (body.size() > kAlertsBytesMax) {
    return WrongJson("longer than " + std::to_string(kAlertsBytesMax) + " bytes");
  }
  GroupMembers members;
  TRY(ReadJsonObject(body, &members));
  // Grafana's own alerting counts its versions anew.
  if (members.version != "4" && members.version != "1") {
    return WrongJson(
        "version must be \"4\": the body of an Alertmanager's webhook_config is expected");
  }
  if (!members.alerts) return WrongJson("alerts is missing");
  // It has been read strictly, as a part of the whole.
  const Json list = Json::parse(*members.alerts, nullptr, false);
  if (!list.is_array()) return WrongJson("alerts must be an array");
  if (list.empty()) return WrongJson("alerts is empty");
  if (list.size() > kAlertEntriesMax) {
    return WrongJson("more than " + std::to_string(kAlertEntriesMax) + " alerts");
  }
  ReceivedAlerts received;
  for (size_t i = 0; i < list.size(); ++i) {
    Result<ReceivedAlert> alert = Take(list[i], "alerts[" + std::to_string(i) + "]");
    if (!alert.ok()) {
      received.malformed.Add(i, Text(list[i], "fingerprint"), alert.error().message);
      continue;
    }
    alert->index = i;
    received.alerts.push_back(std::move(*alert));
  }
  std::vector<ReceivedAlert>& alerts = received.alerts;
  if (alerts.size() > kAlertsMax) {
    // An end that is not heard ends with its lease; a beginning would not be heard at all.
    std::stable_partition(alerts.begin(), alerts.end(),
                          [](const ReceivedAlert& alert) { return alert.firing; });
    received.over = alerts.size() - kAlertsMax;
    alerts.erase(alerts.begin() + kAlertsMax, alerts.end());
  }
  received.left_out = std::max<int64_t>(members.truncated, 0);
  return received;
}

}  // namespace sentinel
