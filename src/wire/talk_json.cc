#include "wire/talk_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "wire/strict_json.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLastUnixMs = 253'402'300'799'999;  // 9999-12-31T23:59:59.999Z

Error Expected(const char* what) {
  return {ErrorCode::kInvalidArgument, std::string(what) + " is expected"};
}

Result<Json> ReadObject(std::string_view body) {
  TRY(CheckJsonObject(body));
  return Json::parse(body, nullptr, false);
}

Result<std::string> BootIdIn(const Json& json) {
  const auto found = json.find("boot_id");
  if (found != json.end() && found->is_string()) {
    std::string id = found->get<std::string>();
    const bool fits = !id.empty() && id.size() <= kBootIdBytesMax &&
                      std::all_of(id.begin(), id.end(), [](unsigned char c) {
                        return c > ' ' && c < 0x7f && c != ',' && c != ';';
                      });
    if (fits) return id;
  }
  return Expected("a boot_id of 1 to 64 printable characters");
}

}  // namespace

Result<PressBody> ParsePress(std::string_view body) {
  const Json json = TRY(ReadObject(body));
  const Error wrong =
      Expected("an object with a terminal and, if it likes, pressed_at (RFC 3339) and incidents");
  PressBody press;
  const auto terminal = json.find("terminal");
  if (terminal == json.end() || !terminal->is_string()) return wrong;
  press.terminal = terminal->get<std::string>();
  if (const auto pressed = json.find("pressed_at"); pressed != json.end()) {
    if (!pressed->is_string()) return wrong;
    press.pressed = ParseRfc3339(pressed->get<std::string>());
    if (!press.pressed) return wrong;
  }
  const auto incidents = json.find("incidents");
  if (incidents == json.end() || incidents->is_null()) return press;
  if (!incidents->is_array() || incidents->size() > kPressIncidentsMax) return wrong;
  for (const Json& id : *incidents) {
    if (!id.is_string()) return wrong;
    press.incidents.push_back(id.get<std::string>());
  }
  return press;
}

PingBody ParsePing(std::string_view body) {
  PingBody ping;
  const Result<Json> json = ReadObject(body);
  if (!json.ok()) return ping;
  const auto left = json->find("muted_for_ms");
  if (left == json->end() || !left->is_number_unsigned()) return ping;
  const uint64_t millis =
      std::min<uint64_t>(left->get<uint64_t>(), static_cast<uint64_t>(ToMillis(kMutedForMax)));
  ping.muted_for = std::chrono::milliseconds(millis);
  const auto hush = json->find("hush");
  ping.hush = millis > 0 && hush != json->end() && *hush == true;
  return ping;
}

Result<std::string> ParsePong(std::string_view body) {
  const Json json = TRY(ReadObject(body));
  return BootIdIn(json);
}

Result<TimeAnswer> ParseTimeAnswer(std::string_view body) {
  const Json json = TRY(ReadObject(body));
  TimeAnswer answer;
  answer.boot_id = TRY(BootIdIn(json));
  const auto millis = json.find("unix_ms");
  if (millis == json.end() || !millis->is_number_unsigned() ||
      millis->get<uint64_t>() > static_cast<uint64_t>(kLastUnixMs)) {
    return Expected("a unix_ms of the years 1970 to 9999");
  }
  answer.since_epoch = std::chrono::milliseconds(millis->get<int64_t>());
  return answer;
}

}  // namespace sentinel
