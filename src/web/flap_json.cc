#include "web/flap_json.h"

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string WriteFlapNote(const FlapMemory& memory) {
  Json openings = Json::array();
  for (WallTime opening : memory.openings) openings.push_back(opening.since_epoch.count());
  const Json json{{"source", memory.source},
                  {"unstable", memory.unstable},
                  {"openings_ms", std::move(openings)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<FlapMemory> ParseFlapNote(std::string_view note) {
  const Json json = Json::parse(note, nullptr, false);
  const Error wrong{ErrorCode::kCorrupt, "not what is kept of a source that comes and goes"};
  if (!json.is_object() || !json.contains("source") || !json["source"].is_string()) return wrong;
  if (!json.contains("unstable") || !json["unstable"].is_boolean()) return wrong;
  if (!json.contains("openings_ms") || !json["openings_ms"].is_array()) return wrong;
  FlapMemory memory;
  memory.source = json["source"].get<std::string>();
  memory.unstable = json["unstable"].get<bool>();
  for (const Json& opening : json["openings_ms"]) {
    if (!opening.is_number_integer()) return wrong;
    memory.openings.push_back({std::chrono::milliseconds(opening.get<int64_t>())});
  }
  return memory;
}

}  // namespace sentinel
