// Frames that wait for a slow connection, within a bound. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "model/agent_message.h"

namespace sentinel {

class Outgoing {
 public:
  // Beyond it the oldest digests, heartbeats and call orders go first: they are stale, and what
  // matters is said again. Events never go (their number in flight is bounded); of inventories only
  // the newest is kept.
  static constexpr size_t kBytesMax = 4u << 20;

  void Push(const UpMessage& message);
  bool empty() const { return frames_.empty(); }
  std::string Pop();
  void Clear();

  uint64_t dropped() const { return dropped_; }
  size_t bytes() const { return bytes_; }

 private:
  enum class Kind { kStale, kInventory, kKept };
  struct Frame {
    Kind kind;
    std::string bytes;
  };

  std::deque<Frame> frames_;
  size_t bytes_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace sentinel
