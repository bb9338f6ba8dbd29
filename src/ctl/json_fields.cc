#include "ctl/json_fields.h"

namespace sentinel {

using Json = nlohmann::json;

const Json& Field(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string Text(const Json& object, const char* name) {
  const Json& field = Field(object, name);
  if (field.is_null()) return "";
  if (field.is_string()) return field.get<std::string>();
  return field.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& List(const Json& object, const char* name) {
  static const Json kEmpty = Json::array();
  const Json& field = Field(object, name);
  return field.is_array() ? field : kEmpty;
}

std::string ShortTime(const std::string& time) {
  if (time.size() < 19) return time;
  return time.substr(5, 5) + ' ' + time.substr(11, 8);
}

}  // namespace sentinel
