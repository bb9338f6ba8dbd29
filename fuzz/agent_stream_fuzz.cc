// Frames and messages of the agent stream from a peer that is not believed: decoding ends, stays in
// bounds, and what it accepts can be said again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/agent_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sentinel;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<UpMessage> up = DecodeUp(bytes);
  if (up.ok()) CHECK(EncodeUp(up.value()).ok());
  const Result<DownMessage> down = DecodeDown(bytes);
  if (down.ok()) CHECK(EncodeDown(down.value()).ok());

  FrameReader reader;
  const size_t half = size / 2;
  std::string payload;
  size_t taken = 0;
  for (const std::string_view piece : {bytes.substr(0, half), bytes.substr(half)}) {
    if (!reader.Append(piece).ok()) break;
    while (reader.Next(&payload)) {
      CHECK(!payload.empty() && payload.size() <= kFrameBytesMax);
      taken += payload.size() + 4;
    }
  }
  CHECK(taken <= size);
  return 0;
}
