// The last messages and when each was seen and heard: what latency on one host is measured by.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/time.h"
#include "floor/message.h"

namespace sentinel {

constexpr size_t kHistoryMax = 64;  // beyond: the oldest is forgotten

struct HistoryEntry {
  uint64_t serial = 0;
  FloorMessage message;
  Disposition disposition = Disposition::kPlaying;
  Instant received;
  std::optional<Instant> first_frame;  // with this message's own light lit
  std::optional<Instant> first_sound;
  std::string spoken;
};

class History {
 public:
  void Add(HistoryEntry entry);
  // Only the first call for a message counts; a message that has been forgotten is ignored.
  void Seen(uint64_t serial, Instant at);
  void Heard(uint64_t serial, Instant at, const std::string& spoken);

  const std::deque<HistoryEntry>& entries() const { return entries_; }  // oldest first

 private:
  HistoryEntry* Find(uint64_t serial);

  std::deque<HistoryEntry> entries_;
};

}  // namespace sentinel
