#include "agent/outgoing.h"

#include <algorithm>

#include "wire/agent_stream.h"

namespace sentinel {

void Outgoing::Push(const UpMessage& message) {
  Result<std::string> frame = EncodeUp(message);
  if (!frame.ok()) {
    ++dropped_;
    return;
  }
  Kind kind = Kind::kKept;
  if (std::holds_alternative<Digest>(message) || std::holds_alternative<Heartbeat>(message) ||
      std::holds_alternative<CallOrder>(message)) {
    kind = Kind::kStale;
  } else if (std::holds_alternative<Inventory>(message)) {
    kind = Kind::kInventory;
    std::erase_if(frames_, [&](const Frame& old) {
      if (old.kind != Kind::kInventory) return false;
      bytes_ -= old.bytes.size();
      return true;
    });
  }
  bytes_ += frame->size();
  frames_.push_back({kind, std::move(frame).value()});
  while (bytes_ > kBytesMax) {
    const auto stale = std::find_if(frames_.begin(), frames_.end(),
                                    [](const Frame& old) { return old.kind == Kind::kStale; });
    if (stale == frames_.end()) return;
    bytes_ -= stale->bytes.size();
    frames_.erase(stale);
    ++dropped_;
  }
}

std::string Outgoing::Pop() {
  std::string bytes = std::move(frames_.front().bytes);
  frames_.pop_front();
  bytes_ -= bytes.size();
  return bytes;
}

void Outgoing::Clear() {
  frames_.clear();
  bytes_ = 0;
}

}  // namespace sentinel
