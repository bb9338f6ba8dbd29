// The agent stream's bytes and our values. Pure. Format: docs/formats/agent-stream.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/agent_message.h"

namespace sentinel {

constexpr size_t kFrameBytesMax = 1u << 20;  // of one message, without its 4-byte length

// One frame: 4 bytes little-endian length, then the message. kExhausted if it would be longer than
// kFrameBytesMax.
Result<std::string> EncodeUp(const UpMessage& message);
Result<std::string> EncodeDown(const DownMessage& message);

// The payload of one frame. Enumerations out of range, negative sizes and lists beyond their bounds
// are kCorrupt: the peer is not believed because it is ours.
Result<UpMessage> DecodeUp(std::string_view payload);
Result<DownMessage> DecodeDown(std::string_view payload);

// Cuts a byte stream into payloads. kCorrupt once a length is 0 or beyond the bound: the connection
// is beyond repair.
class FrameReader {
 public:
  Status Append(std::string_view bytes);
  // The next whole payload, or nothing yet.
  bool Next(std::string* payload);

 private:
  std::string buffer_;
  size_t start_ = 0;
};

}  // namespace sentinel
