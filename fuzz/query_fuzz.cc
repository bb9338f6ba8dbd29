// Queries, as they stand behind the '?' of a request: read whole, or refused in words.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "web/query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sentinel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<bool> closed = ShowsClosed(text);
  CHECK(closed.ok() || !closed.error().message.empty());
  const Result<size_t> lines = AuditLines(text);
  CHECK(lines.ok() ? *lines >= 1 && *lines <= kAuditShownMax : !lines.error().message.empty());
  // No query means two things.
  CHECK(text.empty() || !closed.ok() || !lines.ok());
  return 0;
}
