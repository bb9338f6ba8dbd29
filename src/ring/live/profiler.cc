#include "ring/live/profiler.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "ring/nccl_log.h"

namespace sentinel {
namespace {

using enum CallbackType;

constexpr const char* kFloat = "ncclFloat32";
constexpr const char* kBytes = "ncclInt8";
constexpr const char* kAlgorithm = "RING";
constexpr const char* kProtocol = "SIMPLE";
constexpr uint8_t kWarps = 9;  // what NCCL 2.28 says for a ring with this protocol

// A plugin may keep the names it is given, as it may keep NCCL's own static strings.
const char* StaticName(LiveFunc func) { return Name(func).data(); }

template <typename Body>
void FillColl(Body& body, const CollDescription& coll) {
  // AllGather is told of in bytes, whatever its type.
  const bool in_bytes = coll.func == LiveFunc::kAllGather;
  body.seq = coll.seq;
  body.func = StaticName(coll.func);
  body.send_buffer = coll.input;
  body.recv_buffer = coll.output;
  body.count = in_bytes ? coll.count * sizeof(float) : coll.count;
  body.root = 0;
  body.datatype = in_bytes ? kBytes : kFloat;
  body.channels = static_cast<uint8_t>(coll.channels);
  body.warps = kWarps;
  body.algorithm = kAlgorithm;
  body.protocol = kProtocol;
}

template <typename Body>
void FillP2p(Body& body, const LiveCall& call, void* buffer) {
  body.func = StaticName(call.func);
  body.buffer = buffer;
  body.datatype = kFloat;
  body.count = call.count;
  body.peer = call.peer;
}

template <typename Body>
void Identify(Body& body, const LiveComm& comm) {
  body.name = comm.name.c_str();
  body.comm_hash = comm.id;
}

}  // namespace

Result<std::unique_ptr<Profiler>> Profiler::Load(const std::string& path, int abi_max) {
  std::optional<ProfilerLibrary> library;
  if (!path.empty()) {
    ProfilerLibrary loaded = TRY(ProfilerLibrary::Load(path, abi_max));
    library.emplace(std::move(loaded));
  }
  return std::unique_ptr<Profiler>(new Profiler(std::move(library)));
}

ProfiledComm Profiler::Init(const LiveComm& comm, Rank rank) {
  ProfiledComm profiled{nullptr, &comm, rank};
  if (Dropped()) return profiled;
  const int abi = library_->abi();
  void* init = library_->table().init;
  const int ranks = static_cast<int>(comm.members.size());
  int rc = 0;
  if (abi <= 3) {
    rc = reinterpret_cast<nccl::InitV2>(init)(&profiled.context, &mask_);
  } else if (abi == 4) {
    rc = reinterpret_cast<nccl::InitV4>(init)(&profiled.context, &mask_, comm.name.c_str(), comm.id,
                                              comm.nodes, ranks, rank, &LogAsNccl);
  } else {
    rc = reinterpret_cast<nccl::InitV5>(init)(&profiled.context, comm.id, &mask_, comm.name.c_str(),
                                              comm.nodes, ranks, rank, &LogAsNccl);
  }
  if (rc != 0) {
    profiled.context = nullptr;
    dropped_ = abi <= 4;  // 2.27 and older drop the plugin; later ones go on without a context
  }
  return profiled;
}

void Profiler::Finalize(const ProfiledComm& comm) {
  if (!Dropped() && comm.context != nullptr) library_->table().finalize(comm.context);
}

uint32_t Profiler::Mask() const {
  return EntailedMask(static_cast<uint32_t>(__atomic_load_n(&mask_, __ATOMIC_RELAXED)));
}

ProfilerEvent Profiler::Start(CallbackType type, const ProfiledComm& comm, uint32_t mask,
                              void* parent, Rank rank, nccl::Descriptor& descriptor) const {
  ProfilerEvent event{nullptr, parent, &comm, mask};
  if (Dropped()) return event;
  const uint32_t wanted = FollowsLiveMask(type) ? Mask() : mask;
  const int abi = library_->abi();
  if ((wanted & MaskOfAbi(abi) & MaskBit(type)) == 0) return event;
  // Up to 2.27 an operation is announced only inside a group the plugin has taken up.
  const bool is_operation = type == kColl || type == kP2p;
  if (is_operation && abi <= 4 && parent == nullptr) return event;
  if (abi >= 5) {
    descriptor.type.wide = MaskBit(type);
  } else {
    descriptor.type.narrow = static_cast<uint8_t>(MaskBit(type));
  }
  descriptor.parent = parent;
  descriptor.rank = rank;
  library_->table().start_event(comm.context, &event.handle, &descriptor);
  return event;
}

// NCCL fills the rank in for Coll, P2p, ProxyOp and ProxyStep alone; the others carry 0.
ProfilerEvent Profiler::GroupApi(const ProfiledComm& comm, int depth) const {
  nccl::Descriptor descriptor{};
  descriptor.body.group_api = {false, depth};
  return Start(kGroupApi, comm, Mask(), nullptr, 0, descriptor);
}

ProfilerEvent Profiler::CollApi(const ProfilerEvent& group_api, const LiveCall& call) const {
  nccl::Descriptor descriptor{};
  descriptor.body.coll_api = {StaticName(call.func), call.count, kFloat, 0, nullptr, false};
  return Start(kCollApi, *group_api.comm, group_api.mask, group_api.handle, 0, descriptor);
}

ProfilerEvent Profiler::P2pApi(const ProfilerEvent& group_api, const LiveCall& call) const {
  nccl::Descriptor descriptor{};
  descriptor.body.p2p_api = {StaticName(call.func), call.count, kFloat, nullptr, false};
  return Start(kP2pApi, *group_api.comm, group_api.mask, group_api.handle, 0, descriptor);
}

ProfilerEvent Profiler::KernelLaunch(const ProfilerEvent& group_api) const {
  nccl::Descriptor descriptor{};
  return Start(kKernelLaunch, *group_api.comm, group_api.mask, group_api.handle, 0, descriptor);
}

ProfilerEvent Profiler::Group(const ProfilerEvent& group_api) const {
  nccl::Descriptor descriptor{};
  return Start(kGroup, *group_api.comm, group_api.mask, nullptr, 0, descriptor);
}

ProfilerEvent Profiler::Coll(const ProfilerEvent& api, const ProfilerEvent& group,
                             const CollDescription& coll) const {
  const int abi = library_ ? library_->abi() : kProfilerAbiNewest;
  nccl::Descriptor descriptor{};
  if (abi == 2) {
    FillColl(descriptor.body.coll_v2, coll);
    Identify(descriptor.body.coll_v2, *api.comm->comm);
  } else if (abi == 3) {
    FillColl(descriptor.body.coll_v3, coll);
    Identify(descriptor.body.coll_v3, *api.comm->comm);
  } else {
    FillColl(descriptor.body.coll_v5, coll);
    if (abi >= 5) descriptor.body.coll_v5.group = group.handle;
  }
  void* parent = abi >= 5 ? api.handle : group.handle;
  return Start(kColl, *api.comm, api.mask, parent, api.comm->rank, descriptor);
}

ProfilerEvent Profiler::P2p(const ProfilerEvent& api, const ProfilerEvent& group,
                            const LiveCall& call, void* buffer) const {
  const int abi = library_ ? library_->abi() : kProfilerAbiNewest;
  nccl::Descriptor descriptor{};
  if (abi <= 3) {
    FillP2p(descriptor.body.p2p_v2, call, buffer);
    Identify(descriptor.body.p2p_v2, *api.comm->comm);
  } else {
    FillP2p(descriptor.body.p2p_v5, call, buffer);
    descriptor.body.p2p_v5.channels = 1;
    if (abi >= 5) descriptor.body.p2p_v5.group = group.handle;
  }
  void* parent = abi >= 5 ? api.handle : group.handle;
  return Start(kP2p, *api.comm, api.mask, parent, api.comm->rank, descriptor);
}

ProfilerEvent Profiler::ProxyOp(const ProfilerEvent& operation,
                                const ProxyOpDescription& op) const {
  nccl::Descriptor descriptor{};
  descriptor.body.proxy_op = {getpid(),
                              static_cast<uint8_t>(op.channel),
                              op.peer,
                              static_cast<int32_t>(op.steps),
                              static_cast<int32_t>(op.chunk_bytes),
                              op.is_send ? 1 : 0};
  return Start(kProxyOp, *operation.comm, operation.mask, operation.handle, operation.comm->rank,
               descriptor);
}

ProfilerEvent Profiler::ProxyStep(const ProfilerEvent& proxy_op, size_t step) const {
  nccl::Descriptor descriptor{};
  descriptor.body.proxy_step.step = static_cast<int32_t>(step);
  return Start(kProxyStep, *proxy_op.comm, proxy_op.mask, proxy_op.handle, proxy_op.comm->rank,
               descriptor);
}

ProfilerEvent Profiler::KernelCh(const ProfilerEvent& operation, int channel,
                                 uint64_t device_time) const {
  nccl::Descriptor descriptor{};
  descriptor.body.kernel_ch.channel = static_cast<uint8_t>(channel);
  if (!library_ || library_->abi() >= 4) descriptor.body.kernel_ch.device_time = device_time;
  return Start(kKernelCh, *operation.comm, operation.mask, operation.handle, 0, descriptor);
}

ProfilerEvent Profiler::ProxyCtrl(const ProfiledComm& comm) const {
  nccl::Descriptor descriptor{};
  return Start(kProxyCtrl, comm, 0, nullptr, 0, descriptor);
}

void Profiler::Record(const ProfilerEvent& event, int state,
                      nccl::StateArguments* arguments) const {
  if (Dropped() || event.handle == nullptr) return;
  if (library_->abi() <= 3 && state > nccl::kStateLastV3) return;
  library_->table().record_event_state(event.handle, state, arguments);
}

void Profiler::State(const ProfilerEvent& event, int state) const { Record(event, state, nullptr); }

void Profiler::StepState(const ProfilerEvent& step, int state, size_t bytes) const {
  if (step.parent == nullptr) return;  // NCCL needs both the step's and its ProxyOp's handle
  nccl::StateArguments arguments{};
  arguments.transferred_bytes = bytes;
  Record(step, state, &arguments);
}

void Profiler::KernelStopped(const ProfilerEvent& kernel, uint64_t device_time) const {
  nccl::StateArguments arguments{};
  arguments.device_time = device_time;
  Record(kernel, nccl::kKernelChStop, &arguments);
}

void Profiler::CtrlState(const ProfilerEvent& ctrl, int state, int appended) const {
  nccl::StateArguments arguments{};
  arguments.appended_ops = appended;
  Record(ctrl, state, &arguments);
}

void Profiler::Stop(const ProfilerEvent& event) const {
  if (Dropped() || event.handle == nullptr) return;
  library_->table().stop_event(event.handle);
}

}  // namespace sentinel
