#include "floor/incident_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sentinel {

IncidentTable::Outcome IncidentTable::Admit(const FloorMessage& message, uint64_t serial) {
  Outcome outcome;
  if (!message.message_id.empty() && Remember(message.message_id)) {
    outcome.admission = Admission::kDuplicate;
    return outcome;
  }
  auto found = slots_.find(message.incident_id);
  if (found != slots_.end() && message.sequence && found->second.sequence &&
      *message.sequence < *found->second.sequence) {
    outcome.admission = Admission::kSuperseded;
    return outcome;
  }
  if (found == slots_.end()) {
    MakeRoom();
    found = slots_.emplace(message.incident_id, Slot{}).first;
  }
  Slot& slot = found->second;
  if (message.sequence) slot.sequence = message.sequence;
  slot.serial = serial;

  // An acknowledgement covers what was open when the button was pressed: it holds for repeats, not
  // for a rise in severity, and in the anonymous place not for another text.
  bool same = slot.open && message.severity <= slot.open->message.severity &&
              (!message.incident_id.empty() || message.body.text == slot.open->message.body.text);
  outcome.acknowledged = slot.open && slot.open->acknowledged && (same || !message.Opens());
  if (message.Opens()) {
    OpenIncident open{message.incident_id, serial, message, outcome.acknowledged};
    if (open.message.body.text.empty() && slot.open) {
      open.message.body.text = slot.open->message.body.text;
    }
    slot.open = std::move(open);
  } else {
    outcome.closed = slot.open.has_value();
    slot.open.reset();
  }
  return outcome;
}

std::vector<const OpenIncident*> IncidentTable::Open() const {
  std::vector<const OpenIncident*> open;
  for (const auto& [id, slot] : slots_) {
    if (slot.open) open.push_back(&*slot.open);
  }
  std::sort(open.begin(), open.end(), [](const OpenIncident* a, const OpenIncident* b) {
    return std::make_tuple(a->message.severity, !a->acknowledged, a->serial) >
           std::make_tuple(b->message.severity, !b->acknowledged, b->serial);
  });
  return open;
}

void IncidentTable::Acknowledge() {
  for (auto& [id, slot] : slots_) {
    if (slot.open) slot.open->acknowledged = true;
  }
}

bool IncidentTable::Remember(const std::string& message_id) {
  auto place = id_places_.find(message_id);
  if (place != id_places_.end()) {
    ids_.splice(ids_.begin(), ids_, place->second);
    return true;
  }
  ids_.push_front(message_id);
  id_places_[message_id] = ids_.begin();
  if (ids_.size() > kMessageIdsMax) {
    id_places_.erase(ids_.back());
    ids_.pop_back();
  }
  return false;
}

void IncidentTable::MakeRoom() {
  if (slots_.size() < kFloorIncidentsMax) return;
  auto worth = [](const Slot& slot) {
    int level = slot.open ? 1 + static_cast<int>(slot.open->message.severity) : 0;
    return std::make_pair(level, slot.serial);
  };
  auto least = std::min_element(slots_.begin(), slots_.end(), [&](const auto& a, const auto& b) {
    return worth(a.second) < worth(b.second);
  });
  slots_.erase(least);
}

}  // namespace sentinel
