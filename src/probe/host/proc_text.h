// The texts of /proc and of cgroup files, parsed. Pure; a process chooses its own name and
// environment, so nothing here trusts them. Format source: proc(5), Linux 6.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/progress.h"

namespace sentinel {

// /proc/<pid>/stat, and /proc/<pid>/task/<tid>/stat
struct ProcStat {
  std::string name;  // at most 15 bytes, any bytes
  char state = '?';
  int parent = 0;
  uint64_t cpu_ticks = 0;    // user and system, of the whole process or of the one thread
  uint64_t start_ticks = 0;  // since boot
  bool exiting = false;      // it will not run again; a GPU's driver may need seconds to let it go
};
Result<ProcStat> ParseProcStat(std::string_view text);

// R, S, D, T, t, Z, X as the model has them.
ProcessState ProcessStateOf(char state);

// /proc/<pid>/status
struct ProcStatus {
  int tracer = 0;              // pid of the debugger; 0: none
  std::vector<int> pids;       // NSpid: as each pid namespace sees it, outermost first
  std::vector<uint32_t> uids;  // real, effective, saved, file system
  bool sigterm_pending = false;
  bool sigkill_pending = false;  // nothing can take that back
};
ProcStatus ParseProcStatus(std::string_view text);

// /proc/<pid>/io: bytes through read and write calls, page cache or not.
struct ProcIo {
  uint64_t read = 0;
  uint64_t written = 0;
};
ProcIo ParseProcIo(std::string_view text);

// /proc/<pid>/schedstat: how long the process's first thread has stood in a queue for a CPU. None
// where the kernel does not count.
std::optional<uint64_t> ParseRunDelayNs(std::string_view text);

// /proc/<pid>/cgroup
struct ProcCgroup {
  std::string unified;           // path of the v2 hierarchy, "" if there is none
  std::string freezer;           // path of the v1 freezer hierarchy
  std::string memory;            // and of the v1 memory hierarchy
  std::vector<std::string> all;  // every path, for whoever looks for a name in it
};
ProcCgroup ParseProcCgroup(std::string_view text);

// One variable of /proc/<pid>/environ; nothing if it is not set. The first counts, as for getenv.
std::optional<std::string> EnvironValue(std::string_view environ, std::string_view name);

// cgroup.events of v2: whether all of it is frozen, by itself or from above.
bool CgroupEventsFrozen(std::string_view text);
// And whether no process is left in it or below; nothing if it does not say.
std::optional<bool> CgroupEventsEmpty(std::string_view text);
// How many processes of a cgroup have been killed for want of memory: memory.events of v2,
// memory.oom_control of v1. Nothing if it does not say.
std::optional<uint64_t> OomKillsIn(std::string_view text);

// A board's file name, gpu-sentinel.<pid>.<start_ticks>.
struct BoardName {
  int pid = 0;  // as the process sees itself
  uint64_t start_ticks = 0;
};
std::optional<BoardName> ParseBoardName(std::string_view name);

// What a board's file says where the board itself is sealed memory: the number of the descriptor
// its process has of it.
std::optional<int> ParseBoardPlace(std::string_view text);

}  // namespace sentinel
