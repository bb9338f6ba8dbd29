#include "wire/agent_stream.h"

namespace sentinel {
namespace {

constexpr size_t kLengthBytes = 4;

size_t LengthAt(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

Status FrameReader::Append(std::string_view bytes) {
  // What Next has handed out is let go here, so that a payload costs one move and not one per byte.
  if (start_ > 0) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  buffer_.append(bytes);
  // Every length that is already here is judged now: a peer that lies is cut off before its bytes
  // pile up.
  size_t at = 0;
  while (buffer_.size() - at >= kLengthBytes) {
    const size_t length = LengthAt(std::string_view(buffer_).substr(at));
    if (length == 0 || length > kFrameBytesMax) {
      return Error{ErrorCode::kCorrupt,
                   "agent stream: a frame of " + std::to_string(length) + " bytes"};
    }
    if (buffer_.size() - at - kLengthBytes < length) break;
    at += kLengthBytes + length;
  }
  return {};
}

bool FrameReader::Next(std::string* payload) {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kLengthBytes) return false;
  const size_t length = LengthAt(rest);
  if (length == 0 || length > kFrameBytesMax || rest.size() - kLengthBytes < length) return false;
  payload->assign(rest.substr(kLengthBytes, length));
  start_ += kLengthBytes + length;
  return true;
}

}  // namespace sentinel
