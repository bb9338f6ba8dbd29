// What a sender tells us happened: the body of POST /api/v1/gpu_event (shared contract, section 2).
// An absent field is unknown, never zero.
#pragma once

#include <optional>
#include <string>

namespace sentinel {

enum class EventState { kFiring, kResolved };

struct Event {
  std::string cluster_rack;        // empty: unknown
  std::string node_host;           // never empty
  std::string event_type;          // never empty; an unknown one is as good as a known one
  std::optional<int> gpu_index;    // >= -1; -1: the event is about no card
  std::optional<double> gpu_util;  // per cent, 0..100
  std::string gpu_uuid;
  std::string pci;
  std::string job_id;
  std::optional<int> rank;
  std::string comm;
  std::string nic;
  std::optional<int> xid;
  std::string evidence;
  std::string event_id;     // the sender's name for it; empty: it gave none
  std::string observed_at;  // as sent
  EventState state = EventState::kFiring;
  std::string
      extra;  // the fields we do not know, kept as one JSON object; empty if there were none
};

}  // namespace sentinel
