// gpu_event bodies (shared contract, section 2). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace sentinel {

constexpr size_t kEventBytesMax = 64 * 1024;

// kInvalidArgument, with what is wrong and where, for anything that is not such an object: bad
// JSON, bad UTF-8, duplicate keys, deeper than 16 levels, a missing or empty required field, a
// wrong type, a number out of range. A null is an absent field. Evidence that is not a string is
// kept as its JSON text; what docs/formats/ingest.md says of numbers and text holds for the other
// optional fields.
Result<Event> ParseEvent(std::string_view body);

std::string WriteEvent(const Event& event);

}  // namespace sentinel
