// What a sender tells us happened: the body of POST /api/v1/gpu_event (shared contract, section 2).
// An absent field is unknown, never zero.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace sentinel {

enum class EventState { kFiring, kResolved };

constexpr Duration kEventLeaseMin = std::chrono::seconds(1);
constexpr Duration kEventLeaseMax = std::chrono::hours(24 * 7);

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
  std::optional<bool>
      fatal;  // no field of the contract: some senders say it, and it is among `extra` too
  std::string evidence;
  std::string event_id;     // the sender's name for it; empty: it gave none
  std::string observed_at;  // as sent; RFC 3339 where that was Unix time
  EventState state = EventState::kFiring;
  // A resolved one ends what it is about and nothing else of that job or host.
  bool ends_only_this = false;
  // So long it holds without being repeated; nothing: as long as the gateway says. At least
  // kEventLeaseMin, at most kEventLeaseMax.
  std::optional<Duration> lease;
  std::string
      extra;  // the fields we do not know, kept as one JSON object; empty if there were none
};

}  // namespace sentinel
