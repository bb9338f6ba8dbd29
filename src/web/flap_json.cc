#include "web/flap_json.h"

#include "wire/json_text.h"

namespace sentinel {

std::string WriteFlapNote(const FlapMemory& memory) {
  OrderedJson openings = OrderedJson::array();
  for (WallTime opening : memory.openings) openings.push_back(opening.since_epoch.count());
  const OrderedJson json{{"source", memory.source},
                         {"unstable", memory.unstable},
                         {"openings_ms", std::move(openings)}};
  return Dump(json);
}

Result<FlapMemory> ParseFlapNote(std::string_view note) {
  const OrderedJson json = OrderedJson::parse(note, nullptr, false);
  const Error wrong{ErrorCode::kCorrupt, "not what is kept of a source that comes and goes"};
  if (!json.is_object() || !json.contains("source") || !json["source"].is_string()) return wrong;
  if (!json.contains("unstable") || !json["unstable"].is_boolean()) return wrong;
  if (!json.contains("openings_ms") || !json["openings_ms"].is_array()) return wrong;
  FlapMemory memory;
  memory.source = json["source"].get<std::string>();
  memory.unstable = json["unstable"].get<bool>();
  for (const OrderedJson& opening : json["openings_ms"]) {
    if (!opening.is_number_integer()) return wrong;
    memory.openings.push_back({std::chrono::milliseconds(opening.get<int64_t>())});
  }
  return memory;
}

}  // namespace sentinel
