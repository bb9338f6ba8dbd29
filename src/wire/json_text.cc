#include "wire/json_text.h"

namespace sentinel {

std::string Dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson TextOrNull(std::string_view text) {
  return text.empty() ? OrderedJson() : OrderedJson(text);
}

}  // namespace sentinel
