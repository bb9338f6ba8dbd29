#include "terminal/history.h"

#include <utility>

namespace sentinel {

void History::Add(HistoryEntry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > kHistoryMax) entries_.pop_front();
}

void History::Seen(uint64_t serial, Instant at) {
  HistoryEntry* entry = Find(serial);
  if (entry != nullptr && !entry->first_frame) entry->first_frame = at;
}

void History::Heard(uint64_t serial, Instant at, const std::string& spoken) {
  HistoryEntry* entry = Find(serial);
  if (entry == nullptr || entry->first_sound) return;
  entry->first_sound = at;
  entry->spoken = spoken;
}

HistoryEntry* History::Find(uint64_t serial) {
  for (HistoryEntry& entry : entries_) {
    if (entry.serial == serial) return &entry;
  }
  return nullptr;
}

}  // namespace sentinel
