#include "web/silence_json.h"

#include <algorithm>
#include <initializer_list>

#include "wire/json_text.h"
#include "wire/strict_json.h"

namespace sentinel {
namespace {

OrderedJson ToJson(const Silence& silence, SilencePhase phase) {
  OrderedJson state;
  if (silence.state != NodeState::kInService) state = NodeStateName(silence.state);
  OrderedJson expires;
  if (silence.expires) expires = FormatRfc3339(*silence.expires);
  const SilenceMatcher& m = silence.matcher;
  return {{"id", silence.id},
          {"phase", SilencePhaseName(phase)},
          {"matcher",
           {{"host", TextOrNull(m.host)},
            {"rack", TextOrNull(m.rack)},
            {"type", TextOrNull(m.type)},
            {"job", TextOrNull(m.job)}}},
          {"node_state", std::move(state)},
          {"created_at", FormatRfc3339(silence.created)},
          {"starts_at", FormatRfc3339(silence.starts)},
          {"expires_at", std::move(expires)},
          {"author", silence.author},
          {"comment", silence.comment}};
}

Error Wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

// The text under `key`; "" if it is absent or null.
Result<std::string> TextAt(const OrderedJson& json, const char* key) {
  auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::string();
  if (!it->is_string()) return Wrong(std::string(key) + " is not a string");
  return it->get<std::string>();
}

Result<std::optional<WallTime>> TimeAt(const OrderedJson& json, const char* key) {
  const std::string text = TRY(TextAt(json, key));
  if (text.empty()) return std::optional<WallTime>();
  std::optional<WallTime> time = ParseRfc3339(text);
  if (!time) return Wrong(std::string(key) + " is not a time such as 2026-08-17T08:30:00Z");
  return time;
}

}  // namespace

std::string SilenceJson(const Silence& silence, SilencePhase phase) {
  return Dump(ToJson(silence, phase));
}

std::string SilencesJson(const SilenceBook& book) {
  OrderedJson list = OrderedJson::array();
  for (const Silence& silence : book.All()) list.push_back(ToJson(silence, book.PhaseOf(silence)));
  return Dump(OrderedJson{{"silences", std::move(list)}});
}

Status CheckSilenceFields(std::string_view text) {
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) return Wrong("a JSON object is expected");
  auto check = [](const OrderedJson& object,
                  std::initializer_list<std::string_view> known) -> Status {
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      std::string allowed;
      for (std::string_view name : known)
        allowed += (allowed.empty() ? "" : ", ") + std::string(name);
      return Wrong("there is no field '" + key.substr(0, 64) + "' here; there are " + allowed);
    }
    return {};
  };
  TRY(check(json, {"matcher", "for_ms", "starts_at", "expires_at", "node_state", "author",
                   "comment", "id", "phase", "created_at"}));
  auto matcher = json.find("matcher");
  if (matcher == json.end() || !matcher->is_object()) return {};  // ParseSilence says so
  return check(*matcher, {"host", "rack", "type", "job"});
}

Result<Silence> ParseSilence(std::string_view text, WallTime now) {
  const Status strict = CheckJsonObject(text);
  if (!strict.ok()) return Wrong("a JSON object is expected: " + strict.error().message);
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  auto matcher = json.find("matcher");
  if (matcher == json.end() || !matcher->is_object()) {
    return Wrong("a matcher with host, rack, type or job is expected");
  }
  Silence silence;
  silence.id = TRY(TextAt(json, "id"));
  silence.matcher.host = TRY(TextAt(*matcher, "host"));
  silence.matcher.rack = TRY(TextAt(*matcher, "rack"));
  silence.matcher.type = TRY(TextAt(*matcher, "type"));
  silence.matcher.job = TRY(TextAt(*matcher, "job"));
  const std::string state = TRY(TextAt(json, "node_state"));
  if (!state.empty()) {
    std::optional<NodeState> known = NodeStateFromName(state);
    if (!known || *known == NodeState::kInService) {
      return Wrong("node_state is not one of drained, cordoned, reserved");
    }
    silence.state = *known;
  }
  std::optional<WallTime> created = TRY(TimeAt(json, "created_at"));
  std::optional<WallTime> starts = TRY(TimeAt(json, "starts_at"));
  silence.created = created.value_or(now);
  silence.starts = starts.value_or(now);
  silence.expires = TRY(TimeAt(json, "expires_at"));
  auto lasts = json.find("for_ms");
  if (lasts != json.end() && !lasts->is_null()) {
    const bool sane = lasts->is_number_integer() && !silence.expires && *lasts > 0 &&
                      *lasts <= std::chrono::milliseconds(kSilenceLongest).count();
    if (!sane) return Wrong("for_ms is milliseconds, up to 31 days, in the place of expires_at");
    silence.expires = silence.starts + std::chrono::milliseconds(lasts->get<int64_t>());
  }
  silence.author = TRY(TextAt(json, "author"));
  silence.comment = TRY(TextAt(json, "comment"));
  return silence;
}

std::string AuditJson(const std::vector<AuditRecord>& lines) {
  OrderedJson list = OrderedJson::array();
  for (const AuditRecord& line : lines) {
    list.push_back({{"at", FormatRfc3339(line.at)},
                    {"by", TextOrNull(line.actor.by)},
                    {"from", TextOrNull(line.actor.from)},
                    {"action", AuditActionName(line.action)},
                    {"subject", TextOrNull(line.subject)},
                    {"detail", TextOrNull(line.detail)}});
  }
  return Dump(OrderedJson{{"audit", std::move(list)}});
}

}  // namespace sentinel
