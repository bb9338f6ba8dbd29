// What NCCL looks up by name: one table of functions per ABI version, newest first tried by NCCL.
#include "events.h"
#include "session.h"

namespace sentinel::nccl {
namespace {

NcclResult InitUnnamed(int abi, void** context, int* mask) {
  CommArguments arguments;
  arguments.abi = abi;
  Open(arguments, context, mask);
  return kSuccess;
}

NcclResult InitV2(void** context, int* mask) { return InitUnnamed(2, context, mask); }
NcclResult InitV3(void** context, int* mask) { return InitUnnamed(3, context, mask); }

NcclResult InitV4(void** context, int* mask, const char* name, uint64_t comm_hash, int nodes,
                  int nranks, int rank, Logger logger) {
  Open({4, comm_hash, name, nodes, nranks, rank, logger}, context, mask);
  return kSuccess;
}

template <int kAbi>
NcclResult InitById(void** context, uint64_t comm_id, int* mask, const char* name, int nodes,
                    int nranks, int rank, Logger logger) {
  Open({kAbi, comm_id, name, nodes, nranks, rank, logger}, context, mask);
  return kSuccess;
}

template <typename Init>
struct Table {
  const char* name;
  Init init;
  NcclResult (*start_event)(void* context, void** handle, void* descriptor);
  NcclResult (*stop_event)(void* handle);
  NcclResult (*record_event_state)(void* handle, int state, void* arguments);
  NcclResult (*finalize)(void* context);
};

template <int kAbi, typename Init>
constexpr Table<Init> MakeTable(Init init) {
  static_assert(sizeof(Table<Init>) == 48);
  return {"GPU Sentinel", init, StartEvent<kAbi>, StopEvent, RecordEventState, Finalize};
}

}  // namespace
}  // namespace sentinel::nccl

#define SENTINEL_PROFILER(version, init)                                          \
  __attribute__((visibility("default"))) constinit auto ncclProfiler_v##version = \
      sentinel::nccl::MakeTable<version>(sentinel::nccl::init)

extern "C" {
SENTINEL_PROFILER(2, InitV2);
SENTINEL_PROFILER(3, InitV3);
SENTINEL_PROFILER(4, InitV4);
SENTINEL_PROFILER(5, InitById<5>);
SENTINEL_PROFILER(6, InitById<6>);
}
