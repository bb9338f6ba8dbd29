// What holds for every recording of NCCL 2.28, and hence must hold for what a live rank does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ring/recording.h"

namespace sentinel {

// Sentences about callbacks that NCCL would not have made like this. `complete`: the rank has
// finished, so that whatever began must have ended.
std::vector<std::string> BreaksOfNcclRules(const RankRecording& rank, bool complete);

// Where one side of one channel of an operation stands.
struct Standstill {
  int step = 0;       // the first that has not ended; the number of steps if all have
  std::string state;  // its newest: "RecvWait", …; "-" if it has not begun
  int open = 0;       // how many steps have begun and not ended
};

// Of the oldest Coll that has not ended on this rank, or nothing if all have.
struct OpenOperation {
  std::string func;
  uint64_t seq = 0;
  bool proxies = false;               // a ProxyOp has begun
  bool kernel = false;                // a KernelCh has begun
  std::map<int, Standstill> receive;  // by channel
  std::map<int, Standstill> send;
};
std::optional<OpenOperation> OldestOpen(const RankRecording& rank);

}  // namespace sentinel
