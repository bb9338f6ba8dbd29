// Which fault of a card follows from which: one broken card says so under several numbers. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/event.h"

namespace sentinel {

// Faults of one card within so long of each other are one; each that is folded in extends it.
constexpr Duration kFoldWindow = std::chrono::seconds(30);
// Hosts with faults at a time; beyond it those of a new host each stand for themselves.
constexpr size_t kFoldHostsMax = 4096;
// Faults remembered of one host; beyond it the oldest is forgotten.
constexpr size_t kFoldFaultsMax = 64;

struct CardFault {
  std::string host;        // as it is known by
  std::optional<int> gpu;  // the same card: the same number, or the same address
  std::string pci;
  int order = 0;  // one of a higher order follows from one of a lower
};

// As what an event takes part in this: 0 for what may be a root (an XID that is none of those
// below; a lost card, a fatal or memory error without a number), 1 for a contained memory error
// (94, 171, 172), 2 for the recovery action that the driver asks for (154), 3 for the deaths of
// programs that the card has killed (43, 45). Nothing for what is about no card or no such fault.
std::optional<CardFault> CardFaultOf(const Event& event, std::string host);

class StormFold {
 public:
  // The incident this fault follows from: the lowest order, and of those the latest.
  std::optional<std::string> RootOf(const CardFault& fault, Instant now) const;
  // Incidents that follow from this fault and were there before it.
  std::vector<std::string> FollowersOf(const CardFault& fault, Instant now) const;
  // `fault` opened `incident`, or was folded into it.
  void Remember(const CardFault& fault, const std::string& incident, Instant now);
  void Forget(const std::string& host, const std::string& incident);

 private:
  struct Seen {
    CardFault fault;
    std::string incident;
    Instant at;
  };
  std::map<std::string, std::deque<Seen>> seen_;  // by host, oldest first
};

}  // namespace sentinel
