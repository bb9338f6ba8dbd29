#include "terminal/status_json.h"

#include "wire/json_text.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

double Millis(Duration d) {
  auto whole = std::chrono::floor<std::chrono::microseconds>(d);
  return static_cast<double>(whole.count()) / 1000;
}
OrderedJson MonoMillis(std::optional<Instant> at) {
  return at ? OrderedJson(Millis(at->since_boot)) : OrderedJson(nullptr);
}
const char* KindName(LookKind kind) {
  switch (kind) {
    case LookKind::kIdle:
      return "idle";
    case LookKind::kBlind:
      return "blind";
    case LookKind::kRecovered:
      return "recovered";
    case LookKind::kAlarm:
      return "alarm";
  }
  return "";
}

OrderedJson OpenJson(const OpenIncident& incident) {
  const TerminalMessage& body = incident.message.body;
  OrderedJson json;
  json["incident"] = TextOrNull(incident.id);
  json["severity"] = SeverityName(incident.message.severity);
  json["text"] = body.text;
  json["color"] = ColorHex(body.color);
  json["light_mode"] = LightModeName(body.light_mode);
  json["acknowledged"] = incident.acknowledged;
  json["message_id"] = TextOrNull(incident.message.message_id);
  return json;
}

OrderedJson HistoryJson(const HistoryEntry& entry) {
  const TerminalMessage& body = entry.message.body;
  OrderedJson json;
  json["message_id"] = TextOrNull(entry.message.message_id);
  json["incident"] = TextOrNull(entry.message.incident_id);
  json["severity"] = SeverityName(entry.message.severity);
  json["text"] = body.text;
  json["color"] = ColorHex(body.color);
  json["light_mode"] = LightModeName(body.light_mode);
  json["audio_mode"] = AudioModeName(body.audio_mode);
  json["state"] = DispositionName(entry.disposition);
  json["received_mono_ms"] = MonoMillis(entry.received);
  json["first_frame_mono_ms"] = MonoMillis(entry.first_frame);
  json["first_sound_mono_ms"] = MonoMillis(entry.first_sound);
  json["spoken"] = TextOrNull(entry.spoken);
  return json;
}

OrderedJson LightJson(const Look& look) {
  OrderedJson json;
  json["color"] = ColorHex(look.color);
  json["mode"] = LightModeName(look.mode);
  json["matrix_text"] = look.text;
  return json;
}

OrderedJson GatewayJson(const StatusView& view) {
  if (view.link == nullptr) return nullptr;
  std::optional<Instant> heard = view.floor.heard();
  OrderedJson json;
  json["address"] = view.link->gateway().ToString();
  json["heard_ms_ago"] =
      heard ? OrderedJson(ToMillis(view.now.mono - *heard)) : OrderedJson(nullptr);
  json["ack_pending"] = view.link->pending();
  json["ack_error"] = TextOrNull(view.link->last_error());
  return json;
}

}  // namespace

std::optional<WallTime> MuteEnd(const Floor& floor, Moment now) {
  std::optional<Instant> until = floor.muted_until();
  if (!until || *until <= now.mono) return std::nullopt;
  // To the second: the two clocks drift by microseconds and nobody reads them.
  WallTime end = now.wall + std::chrono::milliseconds(ToMillis(*until - now.mono) + 500);
  end.since_epoch -= end.since_epoch % std::chrono::seconds(1);
  return end;
}

std::string WriteStatus(const StatusView& view, StatusExtent extent) {
  std::vector<const OpenIncident*> open = view.floor.Open();
  const Look& look = view.floor.look();
  std::optional<WallTime> muted = MuteEnd(view.floor, view.now);
  OrderedJson json;
  json["name"] = view.config.name;
  json["version"] = SENTINEL_VERSION;
  json["boot_id"] = view.boot_id;
  json["timezone"] = view.config.timezone;
  json["state"] = KindName(look.kind);
  json["light"] = LightJson(look);
  json["text"] = open.empty() ? "" : open.front()->message.body.text;
  json["open"] = OrderedJson::array();
  for (const OpenIncident* incident : open) json["open"].push_back(OpenJson(*incident));
  json["muted_until_at"] = muted ? OrderedJson(FormatRfc3339(*muted)) : OrderedJson(nullptr);
  json["blind"] = view.floor.Blind(view.now.mono);
  json["speech"]["backend"] = view.announcer.backend();
  json["speech"]["busy"] = view.floor.speaking();
  json["speech"]["saying"] = nullptr;
  if (const SpeechEvent* saying = view.announcer.saying()) {
    json["speech"]["saying"] = {{"sound", saying->sound}, {"spoken", saying->spoken}};
  }
  json["speech"]["error"] = TextOrNull(view.announcer.trouble());
  json["light_error"] = TextOrNull(view.light_trouble);
  json["gateway"] = GatewayJson(view);
  if (extent == StatusExtent::kState) {
    if (json["gateway"].is_object()) json["gateway"].erase("heard_ms_ago");
  } else {
    json["now_at"] = FormatRfc3339(view.now.wall);
    json["now_mono_ms"] = Millis(view.now.mono.since_boot);
    json["started_at"] = FormatRfc3339(view.started.wall);
    json["uptime_ms"] = ToMillis(view.now.mono - view.started.mono);
    json["history"] = OrderedJson::array();
    for (const HistoryEntry& entry : view.history.entries()) {
      json["history"].push_back(HistoryJson(entry));
    }
  }
  return Dump(json);
}

}  // namespace sentinel
