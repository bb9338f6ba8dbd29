// What burns, as far as this terminal has been told: the last word on each incident.
//
// Messages may come twice and out of order: a repeated message id and a sequence lower than the
// incident's last are recognised, also after the incident has closed. Senders without incident ids
// share one anonymous place in which the newest message stands.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "floor/message.h"

namespace sentinel {

// Beyond it the incident that has been closed longest is forgotten; if none is closed, the least
// severe and, among those, the oldest.
constexpr size_t kFloorIncidentsMax = 1024;
// Beyond it the id heard longest ago is forgotten.
constexpr size_t kMessageIdsMax = 4096;

struct OpenIncident {
  std::string id;
  uint64_t serial = 0;  // of the message below
  FloorMessage message;
  bool acknowledged = false;
};

class IncidentTable {
 public:
  enum class Admission { kTaken, kDuplicate, kSuperseded };
  struct Outcome {
    Admission admission = Admission::kTaken;
    bool closed = false;        // it ended what was open
    bool acknowledged = false;  // it belongs to something that has been acknowledged
  };

  // `serial` grows with every message; it names the message from here on. A message without a text
  // leaves its incident the text it had.
  Outcome Admit(const FloorMessage& message, uint64_t serial);

  // What is open; the most severe first, those not acknowledged before those that are, then the
  // newest.
  std::vector<const OpenIncident*> Open() const;

  // Acknowledges all that is open.
  void Acknowledge();

  size_t size() const { return slots_.size(); }

 private:
  struct Slot {
    std::optional<uint64_t> sequence;
    uint64_t serial = 0;  // of the last message, also once closed
    std::optional<OpenIncident> open;
  };

  bool Remember(const std::string& message_id);
  void MakeRoom();

  std::map<std::string, Slot> slots_;
  std::list<std::string> ids_;  // newest first
  std::unordered_map<std::string, std::list<std::string>::iterator> id_places_;
};

}  // namespace sentinel
