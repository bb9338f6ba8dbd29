// NCCL's profiler interface, versions 2 to 6, as a caller sees it: function table, descriptors and
// state arguments. Layouts for x86-64 and AArch64 Linux; the assertions hold the offsets.
//
// Kept apart from what the plugin declares on purpose: the two meet only as bytes, as they do when
// the caller is NCCL.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sentinel::nccl {

using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// Every version's table has this shape; `init` and the two untyped pointers differ.
struct ProfilerTable {
  const char* name;
  void* init;
  int (*start_event)(void* context, void** handle, void* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerTable) == 48);

using InitV2 = int (*)(void** context, int* mask);  // and v3
using InitV4 = int (*)(void** context, int* mask, const char* comm_name, uint64_t comm_hash,
                       int nodes, int ranks, int rank, Logger logger);
using InitV5 = int (*)(void** context, uint64_t comm_id, int* mask, const char* comm_name,
                       int nodes, int ranks, int rank, Logger logger);  // and v6

struct ProxyOpBody {
  int32_t pid;
  uint8_t channel;
  int32_t peer;
  int32_t steps;
  int32_t chunk_bytes;
  int32_t is_send;
};
struct ProxyStepBody {
  int32_t step;
};
struct KernelChBody {
  uint8_t channel;
  uint64_t device_time;  // from v4 on
};
struct NetPluginBody {
  int64_t id;
  void* data;
};

struct CollBodyV2 {
  const char* name;
  uint64_t comm_hash;
  uint64_t seq;
  const char* func;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  size_t traffic_bytes;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct CollBodyV3 {
  const char* name;
  uint64_t comm_hash;
  uint64_t seq;
  const char* func;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct CollBodyV5 {
  uint64_t seq;
  const char* func;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* group;  // v4 ends before it
};
struct P2pBodyV2 {  // and v3
  const char* name;
  uint64_t comm_hash;
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
};
struct P2pBodyV5 {
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
  void* group;  // v4 ends before it
};
struct GroupApiBody {
  bool graph_captured;
  int32_t depth;
};
struct CollApiBody {
  const char* func;
  size_t count;
  const char* datatype;
  int32_t root;
  void* stream;
  bool graph_captured;
};
struct P2pApiBody {
  const char* func;
  size_t count;
  const char* datatype;
  void* stream;
  bool graph_captured;
};
struct KernelLaunchBody {
  void* stream;
};

// What every descriptor begins with. The type is 64 bits wide from v5 on; before, one byte.
struct Descriptor {
  union {
    uint64_t wide;
    uint8_t narrow;
  } type;
  void* parent;
  int32_t rank;
  union {
    ProxyOpBody proxy_op;
    ProxyStepBody proxy_step;
    KernelChBody kernel_ch;
    NetPluginBody net_plugin;
    CollBodyV2 coll_v2;
    CollBodyV3 coll_v3;
    CollBodyV5 coll_v5;
    P2pBodyV2 p2p_v2;
    P2pBodyV5 p2p_v5;
    GroupApiBody group_api;
    CollApiBody coll_api;
    P2pApiBody p2p_api;
    KernelLaunchBody kernel_launch;
  } body;
};
static_assert(offsetof(Descriptor, parent) == 8);
static_assert(offsetof(Descriptor, rank) == 16);
static_assert(offsetof(Descriptor, body) == 24);
static_assert(sizeof(Descriptor) == 128);

constexpr size_t kBody = offsetof(Descriptor, body);
static_assert(kBody + offsetof(ProxyOpBody, channel) == 28);
static_assert(kBody + offsetof(ProxyOpBody, peer) == 32);
static_assert(kBody + offsetof(ProxyOpBody, is_send) == 44);
static_assert(kBody + offsetof(KernelChBody, device_time) == 32);
static_assert(kBody + offsetof(CollBodyV2, seq) == 40);
static_assert(kBody + offsetof(CollBodyV2, datatype) == 88);
static_assert(kBody + offsetof(CollBodyV2, channels) == 104);
static_assert(kBody + offsetof(CollBodyV2, protocol) == 120);
static_assert(kBody + offsetof(CollBodyV3, channels) == 96);
static_assert(kBody + offsetof(CollBodyV3, protocol) == 112);
static_assert(kBody + offsetof(CollBodyV5, func) == 32);
static_assert(kBody + offsetof(CollBodyV5, datatype) == 72);
static_assert(kBody + offsetof(CollBodyV5, channels) == 80);
static_assert(kBody + offsetof(CollBodyV5, group) == 104);
static_assert(kBody + offsetof(P2pBodyV2, peer) == 72);
static_assert(kBody + offsetof(P2pBodyV5, peer) == 56);
static_assert(kBody + offsetof(P2pBodyV5, channels) == 60);
static_assert(kBody + offsetof(P2pBodyV5, group) == 64);
static_assert(kBody + offsetof(GroupApiBody, depth) == 28);
static_assert(kBody + offsetof(CollApiBody, root) == 48);
static_assert(kBody + offsetof(CollApiBody, stream) == 56);
static_assert(kBody + offsetof(CollApiBody, graph_captured) == 64);
static_assert(kBody + offsetof(P2pApiBody, stream) == 48);
static_assert(kBody + offsetof(P2pApiBody, graph_captured) == 56);

union StateArguments {
  size_t transferred_bytes;  // proxy step
  int32_t appended_ops;      // proxy control
  void* net_plugin_data;     // from v4 on
  uint64_t device_time;      // kernel, from v4 on
  struct {
    size_t transferred_bytes;
    int32_t steps;
  } proxy_op;  // up to v3
};
static_assert(sizeof(StateArguments) == 16);

// The states whose argument means nothing: NCCL passes null there, or garbage.
constexpr int kProxyOpInProgress = 19;
constexpr int kGroupStartApiStop = 23;
constexpr int kGroupEndApiStart = 24;
// The last state that v1 to v3 know.
constexpr int kStateLastV3 = 18;

}  // namespace sentinel::nccl
