// Event bodies: whatever is accepted can be written, read again, and means the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/event_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  sentinel::Result<sentinel::Event> event = sentinel::ParseEvent(body);
  if (!event.ok()) {
    CHECK(!event.error().message.empty());
    return 0;
  }
  CHECK(!event->node_host.empty());
  CHECK(!event->event_type.empty());
  CHECK(!event->gpu_index || *event->gpu_index >= -1);
  CHECK(!event->gpu_util || (*event->gpu_util >= 0 && *event->gpu_util <= 100));
  std::string written = sentinel::WriteEvent(*event);
  if (written.size() > sentinel::kEventBytesMax) return 0;  // escapes and numbers may grow
  sentinel::Result<sentinel::Event> again = sentinel::ParseEvent(written);
  CHECK(again.ok());
  CHECK(sentinel::WriteEvent(*again) == written);
  return 0;
}
