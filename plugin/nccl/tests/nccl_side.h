// The other side of the plugin, for tests: loads it as NCCL does and builds descriptors from their
// documented offsets, byte by byte and without the plugin's own tables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/board_image.h"

namespace sentinel::nccl_side {

using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);

// The 48 bytes NCCL finds under ncclProfiler_vN.
struct RawTable {
  const char* name;
  void* init;
  int (*start)(void* context, void** handle, void* descriptor);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

// An event's descriptor; grown so that reading past the version's own end shows rubbish.
class Descriptor {
 public:
  Descriptor(int abi, uint64_t type, void* parent, int rank);
  template <typename T>
  Descriptor& Put(size_t offset, T value) {
    __builtin_memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  void* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_;
};

struct CollFields {
  const char* func = "AllReduce";
  uint64_t seq = 0;
  uint64_t count = 0;
  const char* datatype = "ncclFloat32";
  int root = 0;
  uint8_t channels = 1;
  const char* algorithm = "RING";
  const char* protocol = "SIMPLE";
  uint64_t comm_hash = 0;  // v2, v3
  const char* name = "";   // v2, v3
};

// One ABI version of a loaded plugin.
class Plugin {
 public:
  static constexpr int kNewest = 6;

  // From the library `path`; aborts the test program if it is not there.
  static Plugin Load(const std::string& path, int abi);
  Plugin(const RawTable* table, int abi) : table_(table), abi_(abi) {}

  int abi() const { return abi_; }
  const RawTable& table() const { return *table_; }

  struct Comm {
    void* context = nullptr;
    int mask = -1;
    int result = -1;
  };
  Comm Init(uint64_t comm_id, const char* name, int nodes, int nranks, int rank,
            Logger logger = nullptr) const;

  void* Start(void* context, Descriptor descriptor) const;
  void* GroupApi(void* context, int depth = 1) const;
  void* CollApi(void* context, void* parent, const CollFields& fields) const;
  void* P2pApi(void* context, void* parent, const char* func, uint64_t count) const;
  void* Group(void* context) const;
  // `api` is the CollApi handle (v5 and later), `group` the Group handle.
  void* Coll(void* context, void* api, void* group, int rank, const CollFields& fields) const;
  void* P2p(void* context, void* api, void* group, int rank, const char* func, int peer,
            uint64_t count, uint8_t channels = 1) const;
  void* ProxyOp(void* context, void* parent, int64_t pid, int channel, int peer, int steps,
                bool send) const;
  void* ProxyStep(void* context, void* parent, int step) const;
  void* KernelCh(void* context, void* parent, int channel) const;
  int Stop(void* handle) const { return table_->stop(handle); }
  int State(void* handle, int state, void* arguments = nullptr) const {
    return table_->record(handle, state, arguments);
  }
  int Finalize(void* context) const { return table_->finalize(context); }

 private:
  const RawTable* table_;
  int abi_;
};

constexpr uint64_t kGroup = 0x1, kColl = 0x2, kP2p = 0x4, kProxyOp = 0x8, kProxyStep = 0x10,
                   kProxyCtrl = 0x20, kKernelCh = 0x40, kNetPlugin = 0x80, kGroupApi = 0x100,
                   kCollApi = 0x200, kP2pApi = 0x400, kKernelLaunch = 0x800, kCeColl = 0x1000;
constexpr int kSendGpuWait = 8, kSendWait = 9, kRecvWait = 10, kRecvFlushWait = 11,
              kRecvGpuWait = 12, kOpInProgress = 19, kSendPeerWait = 20, kKernelStop = 22,
              kGroupStartApiStop = 23, kGroupEndApiStart = 24;

// A directory for boards that goes away with everything in it, set as SENTINEL_BOARD_DIR.
class BoardDirectory {
 public:
  BoardDirectory();
  ~BoardDirectory();
  const std::string& path() const { return path_; }
  std::vector<std::string> Files() const;
  // The only board there; fails the test otherwise.
  BoardImage Read() const;
  // Where its bytes are: what its file says, or the file itself. They last as long as its process,
  // or whoever has it open.
  std::string Place() const;

 private:
  std::string path_;
};

}  // namespace sentinel::nccl_side
