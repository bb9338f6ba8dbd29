// What agents and a gateway tell each other, as values. Their bytes: wire/agent_stream.h.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/communicator.h"
#include "model/job.h"
#include "model/progress.h"

namespace sentinel {

constexpr uint32_t kAgentProtocol = 1;

struct GpuIdentity {
  int index = -1;
  std::string pci;
  std::string uuid;
};
struct Hello {
  uint32_t protocol = kAgentProtocol;
  std::string agent_id;
  std::string boot_id;
  std::string host;
  std::vector<GpuIdentity> gpus;
};
struct OwnedJob {
  std::string job;  // as in a CommKey
  JobOwner owner;
};
struct Inventory {
  std::vector<Member> members;
  std::vector<OwnedJob> jobs = {};  // of those members, as far as it is known whose they are
};
struct Heartbeat {
  uint64_t boards = 0;
  uint64_t events_queued = 0;
  uint64_t dropped = 0;
};
struct HostEvidence {
  std::string kind;
  std::string host;
  std::string pci;
  int pid = -1;
  std::string nic;
  Duration age{0};
  std::string detail;
};
struct SpooledEvent {
  uint64_t spool_id = 0;
  std::string body;
};
// Marks of one rank's call order that its agent has seen since it last told them, by rising number.
struct MemberCalls {
  CommKey comm;
  Rank rank = -1;
  int pid = -1;  // as in the member's place
  std::vector<CallMark> marks;
};
struct CallOrder {
  std::vector<MemberCalls> members;
};
constexpr size_t kCallMarksMax = 8;           // of one member in a CallOrder
constexpr size_t kCallOrderMembersMax = 512;  // of one CallOrder
using UpMessage =
    std::variant<Hello, Inventory, Heartbeat, Digest, HostEvidence, SpooledEvent, CallOrder>;

struct Welcome {
  uint32_t protocol = kAgentProtocol;
  std::string gateway_id;
};
struct DetailRequest {
  uint64_t request_id = 0;
  CommKey comm;
  Duration deadline{0};
};
struct EventAck {
  uint64_t spool_id = 0;
  uint32_t status = 0;
  std::string body;
};
using DownMessage = std::variant<Welcome, DetailRequest, EventAck>;

}  // namespace sentinel
