// A recorded job: what NCCL called its profiler with on every rank, and what became of the
// processes. Values only; ring/recording_reader.h fetches them. The files:
// docs/formats/recording.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/communicator.h"

namespace sentinel {

// The number is the bit of NCCL's activation mask (profiler interface v1 to v5).
enum class CallbackType : uint8_t {
  kGroup = 0,
  kColl = 1,
  kP2p = 2,
  kProxyOp = 3,
  kProxyStep = 4,
  kProxyCtrl = 5,
  kKernelCh = 6,
  kNetPlugin = 7,
  kGroupApi = 8,
  kCollApi = 9,
  kP2pApi = 10,
  kKernelLaunch = 11,
};
constexpr int kCallbackTypes = 12;
constexpr uint32_t MaskBit(CallbackType type) { return 1u << static_cast<int>(type); }

// The names of functions, data types and the like point into RankRecording::names, so that a
// plugin may keep them as it may keep NCCL's own static strings.
struct InitCall {
  uint64_t comm_id = 0;
  const char* comm_name = nullptr;  // null where the communicator has no name
  int nodes = 0;
  int ranks = 0;
  int64_t pid = 0;  // of the recorded process
};
struct FinalizeCall {};
struct GroupApiStart {
  bool graph_captured = false;
  int depth = 0;
};
struct CollApiStart {
  const char* func = nullptr;
  uint64_t count = 0;
  const char* datatype = nullptr;
  int root = 0;
  uint64_t stream = 0;
  bool graph_captured = false;
};
struct P2pApiStart {
  const char* func = nullptr;
  uint64_t count = 0;
  const char* datatype = nullptr;
  uint64_t stream = 0;
  bool graph_captured = false;
};
struct KernelLaunchStart {
  uint64_t stream = 0;
};
struct CollStart {
  uint64_t seq = 0;
  const char* func = nullptr;
  uint64_t send_buffer = 0;
  uint64_t recv_buffer = 0;
  uint64_t count = 0;
  int root = 0;
  const char* datatype = nullptr;
  uint8_t channels = 0;
  uint8_t warps = 0;
  const char* algorithm = nullptr;
  const char* protocol = nullptr;
  uint64_t group = 0;  // id of its Group event
};
struct P2pStart {
  const char* func = nullptr;
  uint64_t buffer = 0;
  const char* datatype = nullptr;
  uint64_t count = 0;
  int peer = -1;
  uint8_t channels = 0;
  uint64_t group = 0;
};
struct ProxyOpStart {
  int64_t pid = 0;
  uint8_t channel = 0;
  int peer = -1;
  int steps = 0;
  int chunk_bytes = 0;
  bool is_send = false;
};
struct ProxyStepStart {
  int step = 0;
};
struct KernelChStart {
  uint8_t channel = 0;
  uint64_t device_time = 0;
};
struct NetPluginStart {
  int64_t plugin_id = 0;
};
struct PlainStart {};  // Group and ProxyCtrl say nothing more
struct StateChange {
  int state = 0;          // NCCL's number (facts of the profiler interface, v4 and later)
  uint64_t argument = 0;  // transferred bytes, appended operations or the device's time
};
struct Stop {};

struct Callback {
  int64_t at_ns = 0;    // CLOCK_REALTIME of the recorded host
  uint32_t thread = 0;  // index into RankRecording::threads
  const char* thread_name = nullptr;
  uint64_t id = 0;  // of the event, unique in the file; 0 in init and finalize
  CallbackType type = CallbackType::kGroup;
  uint64_t parent = 0;  // id of the parent event, 0 for none
  int rank = 0;         // the descriptor's own rank field, as NCCL left it
  std::variant<InitCall, FinalizeCall, GroupApiStart, CollApiStart, P2pApiStart, KernelLaunchStart,
               CollStart, P2pStart, ProxyOpStart, ProxyStepStart, KernelChStart, NetPluginStart,
               PlainStart, StateChange, Stop>
      what;

  bool Starts() const;  // one of the …Start alternatives
};

struct RankRecording {
  Rank rank = -1;
  std::vector<Callback> callbacks;   // in the order in which they were made
  std::vector<int64_t> threads;      // recorded thread ids
  std::set<std::string> names;       // owns every const char* above; its nodes never move
  std::vector<std::string> remarks;  // oddities that do not hinder a replay, for a person

  bool Finalizes() const;
  std::optional<int64_t> pid() const;  // the recorded process, if it initialised

  RankRecording() = default;
  RankRecording(RankRecording&&) = default;  // pointers into `names` survive a move, not a copy
  RankRecording& operator=(RankRecording&&) = default;
};

struct Fault {
  int64_t at_ns = 0;
  std::string kind;  // "skip", "kill", "freeze-kernel", …: an open set
  std::optional<Rank> rank;
  std::optional<int64_t> iteration;
};

// How the recorder saw one process.
struct Sighting {
  char state = '?';       // as in /proc/<pid>/stat; '-' if the process was gone
  std::optional<int> rc;  // exit code, or minus the signal that killed it; none while it lives
  bool Dead() const { return rc || state == 'Z' || state == 'X' || state == '-'; }
};
struct SightingsAt {
  Duration after_fault{0};
  std::vector<Sighting> ranks;
};

struct Summary {
  std::string name;
  std::optional<Fault> fault;
  std::vector<SightingsAt> sightings;         // by time
  std::vector<std::optional<int>> rc_at_end;  // when the recording ended; none: it still lived
};

struct Recording {
  Summary summary;
  std::vector<RankRecording> ranks;  // rank 0 first

  int64_t OriginNs() const;  // the first callback of all: where the replay's time line starts
  int64_t LastNs() const;    // the last one
};

}  // namespace sentinel
