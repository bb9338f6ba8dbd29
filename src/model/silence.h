// What people ask not to be told of: for maintenance, or because a node is out of service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace sentinel {

// What a scheduler or a person says of a node. All but the first do not ring.
enum class NodeState : uint8_t { kInService, kDrained, kCordoned, kReserved };
std::string_view NodeStateName(NodeState state);  // "in-service", "drained", "cordoned", "reserved"
std::optional<NodeState> NodeStateFromName(std::string_view name);

// Fits what fits every field that is not empty: exactly, or as a glob (`*` any run of characters,
// `?` one). A host is compared without its generated suffix, a rack as it is spoken.
struct SilenceMatcher {
  std::string host;
  std::string rack;
  std::string type;
  std::string job;
  friend bool operator==(const SilenceMatcher&, const SilenceMatcher&) = default;
};

struct Silence {
  std::string id;  // 16 hex digits, given by the book
  SilenceMatcher matcher;
  // Not kInService: that is why, and the hosts that fit are out of service. A hang whose job also
  // runs on other hosts still rings.
  NodeState state = NodeState::kInService;
  WallTime created;
  WallTime starts;
  std::optional<WallTime> expires;  // none: until it is taken back; only with a node state
  std::string author;
  std::string comment;
};

enum class SilencePhase : uint8_t { kPending, kActive, kOver };
std::string_view SilencePhaseName(SilencePhase phase);  // "pending", "active", "over"

}  // namespace sentinel
