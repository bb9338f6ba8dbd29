#include "correlate/wait_graph.h"

namespace sentinel {

std::vector<bool> Sinks(const std::vector<std::optional<size_t>>& follows) {
  std::vector<bool> sinks(follows.size(), false);
  for (size_t i = 0; i < follows.size(); ++i) {
    if (!follows[i] || *follows[i] >= follows.size()) {
      sinks[i] = true;
      continue;
    }
    size_t at = i;
    for (size_t hop = 0; hop < follows.size(); ++hop) {
      if (!follows[at] || *follows[at] >= follows.size()) break;
      at = *follows[at];
      if (at == i) {
        sinks[i] = true;
        break;
      }
    }
  }
  return sinks;
}

}  // namespace sentinel
