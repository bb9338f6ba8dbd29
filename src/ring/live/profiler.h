// The profiler plugin as a live rank calls it: what NCCL would announce, to the extent of the
// plugin's mask and of the interface both speak. With no plugin every call does nothing.
//
// Events are held by value; a null handle (nobody wanted it) is passed on like any other. Calls
// come from the host thread and the progress thread at once, as from NCCL.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "ring/event_mask.h"
#include "ring/live/plan.h"
#include "ring/profiler_library.h"

namespace sentinel {

// A communicator as the plugin knows it.
struct ProfiledComm {
  void* context = nullptr;
  const LiveComm* comm = nullptr;
  Rank rank = 0;  // in it
};

struct ProfilerEvent {
  void* handle = nullptr;
  void* parent = nullptr;
  const ProfiledComm* comm = nullptr;
  uint32_t mask = 0;  // as it was when the outermost group got its first call
};

struct CollDescription {
  uint64_t seq = 0;
  LiveFunc func = LiveFunc::kAllReduce;
  const void* input = nullptr;
  void* output = nullptr;
  size_t count = 0;
  int channels = 1;
};

struct ProxyOpDescription {
  int channel = 0;
  Rank peer = 0;  // in the communicator
  size_t steps = 0;
  size_t chunk_bytes = 0;
  bool is_send = false;
};

class Profiler {
 public:
  // `path` empty: no plugin. Otherwise as ProfilerLibrary::Load.
  static Result<std::unique_ptr<Profiler>> Load(const std::string& path, int abi_max);

  // Host thread. `comm` lives as long as the profiler.
  ProfiledComm Init(const LiveComm& comm, Rank rank);
  void Finalize(const ProfiledComm& comm);

  uint32_t Mask() const;  // what it asks for now, with what that entails

  // In NCCL's order. `group_api` carries the mask for all that follows from it.
  ProfilerEvent GroupApi(const ProfiledComm& comm, int depth) const;
  ProfilerEvent CollApi(const ProfilerEvent& group_api, const LiveCall& call) const;
  ProfilerEvent P2pApi(const ProfilerEvent& group_api, const LiveCall& call) const;
  ProfilerEvent KernelLaunch(const ProfilerEvent& group_api) const;
  ProfilerEvent Group(const ProfilerEvent& group_api) const;
  ProfilerEvent Coll(const ProfilerEvent& api, const ProfilerEvent& group,
                     const CollDescription& coll) const;
  ProfilerEvent P2p(const ProfilerEvent& api, const ProfilerEvent& group, const LiveCall& call,
                    void* buffer) const;
  ProfilerEvent ProxyOp(const ProfilerEvent& operation, const ProxyOpDescription& op) const;
  ProfilerEvent ProxyStep(const ProfilerEvent& proxy_op, size_t step) const;
  ProfilerEvent KernelCh(const ProfilerEvent& operation, int channel, uint64_t device_time) const;
  ProfilerEvent ProxyCtrl(const ProfiledComm& comm) const;

  void State(const ProfilerEvent& event, int state) const;  // of those without an argument
  void StepState(const ProfilerEvent& step, int state, size_t bytes) const;
  void KernelStopped(const ProfilerEvent& kernel, uint64_t device_time) const;
  void CtrlState(const ProfilerEvent& ctrl, int state, int appended) const;
  void Stop(const ProfilerEvent& event) const;

 private:
  Profiler(std::optional<ProfilerLibrary> library)  // NOLINT: made by Load alone
      : library_(std::move(library)) {}
  ProfilerEvent Start(CallbackType type, const ProfiledComm& comm, uint32_t mask, void* parent,
                      Rank rank, nccl::Descriptor& descriptor) const;
  bool Dropped() const { return !library_ || dropped_; }
  void Record(const ProfilerEvent& event, int state, nccl::StateArguments* arguments) const;

  std::optional<ProfilerLibrary> library_;
  int mask_ = 0;  // one for the process: the plugin may keep its address and write it at any time
  bool dropped_ = false;
};

// States of NCCL's events that a live rank records.
namespace nccl {
constexpr int kStepSendGpuWait = 8;
constexpr int kStepSendWait = 9;
constexpr int kStepRecvWait = 10;
constexpr int kStepRecvFlushWait = 11;
constexpr int kStepRecvGpuWait = 12;
constexpr int kCtrlIdle = 13;
constexpr int kCtrlActive = 14;
constexpr int kCtrlSleep = 15;
constexpr int kCtrlWakeup = 16;
constexpr int kCtrlAppend = 17;
constexpr int kCtrlAppendEnd = 18;
constexpr int kStepSendPeerWait = 20;
constexpr int kKernelChStop = 22;
}  // namespace nccl

}  // namespace sentinel
