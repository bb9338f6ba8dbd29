// Who takes part in what: jobs, communicators, ranks and where they live.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace sentinel {

using Rank = int32_t;  // a member's number within its communicator

// A communicator within one job. commId is a 64-bit hash and not promised unique, hence the size;
// two live members that claim one rank make a new generation.
struct CommKey {
  std::string job;  // as the agent reads it from cgroup and environment, never from a board; empty:
                    // no scheduler
  uint64_t comm_id = 0;
  int32_t nranks = 0;

  auto operator<=>(const CommKey&) const = default;
};

// Where a rank lives. Empty or negative: unknown.
struct Place {
  std::string host;
  int gpu = -1;           // the card's number on its node
  std::string pci;        // 0000:3b:00.0
  int pid = -1;           // as the host sees it
  int32_t job_rank = -1;  // of the process among all of its job, as its environment says

  auto operator<=>(const Place&) const = default;
};

struct Member {
  CommKey comm;
  Rank rank = -1;
  int32_t nodes = 0;  // of the communicator; 1: no proxies are expected
  std::string comm_name;
  Place place;

  auto operator<=>(const Member&) const = default;
};

}  // namespace sentinel
