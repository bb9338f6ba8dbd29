#include "model/silence.h"

namespace sentinel {

std::string_view NodeStateName(NodeState state) {
  switch (state) {
    case NodeState::kInService:
      return "in-service";
    case NodeState::kDrained:
      return "drained";
    case NodeState::kCordoned:
      return "cordoned";
    case NodeState::kReserved:
      return "reserved";
  }
  return "";
}

std::optional<NodeState> NodeStateFromName(std::string_view name) {
  for (NodeState state :
       {NodeState::kInService, NodeState::kDrained, NodeState::kCordoned, NodeState::kReserved}) {
    if (name == NodeStateName(state)) return state;
  }
  return std::nullopt;
}

std::string_view SilencePhaseName(SilencePhase phase) {
  switch (phase) {
    case SilencePhase::kPending:
      return "pending";
    case SilencePhase::kActive:
      return "active";
    case SilencePhase::kOver:
      return "over";
  }
  return "";
}

}  // namespace sentinel
