// Which nodes have fallen silent and which are back: each change once, as it is to be told.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "incident/event_table.h"

namespace sentinel {

// More nodes silent at once than this are one incident: it is the monitoring that failed.
constexpr size_t kSilentNodesMax = 3;

class SilentNodes {
 public:
  // In the order in which they are to be told: `back` first.
  struct News {
    std::vector<std::string> back;
    std::vector<std::string> silent;
  };

  // `hosts`: all that are silent now. Of too many one name stands for all of them.
  News Update(const std::vector<std::string>& hosts, Language language);

 private:
  std::set<std::string> told_;  // those, or the one name
};

}  // namespace sentinel
