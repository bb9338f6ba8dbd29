#include "events.h"

#include <string.h>

#include "board/writer.h"
#include "handle.h"
#include "names.h"
#include "session.h"
#include "tsc.h"

namespace sentinel::nccl {
namespace {

template <typename T>
T At(const void* descriptor, int offset) {
  T value;
  memcpy(&value, static_cast<const char*>(descriptor) + offset, sizeof(T));
  return value;
}

template <typename T>
T AtOr(const void* descriptor, int offset, T otherwise) {
  return offset < 0 ? otherwise : At<T>(descriptor, offset);
}

Handle Read(const void* handle) { return Unpack(Tag(), handle); }
Handle ParentOf(const void* descriptor) { return Read(At<const void*>(descriptor, kParentAt)); }

void* Ignored() { return Pack(Tag(), Kind::kIgnored, 0, 0); }

template <typename Ref>
Ref RefOf(const Handle& handle, Kind kind) {
  return handle.kind == kind ? Ref{handle.slot, handle.generation} : Ref{};
}

// Nothing to write to still gets a handle: without one for Group NCCL up to 2.27 stops reporting
// operations, and without one for ProxyOp it stops reporting the states of steps.
template <typename Ref>
void* HandleOf(Kind kind, const Ref& ref) {
  return ref.generation != 0 ? Pack(Tag(), kind, ref.slot, ref.generation) : Ignored();
}

struct Callback {
  board::Writer& writer;
  board::CommRef comm;
  const void* descriptor;

  void* GroupApi() { return HandleOf(Kind::kGroupApi, writer.EnterCall(comm)); }

  void* Api(bool p2p) {
    board::CallInfo info;
    info.func = FuncOf(At<const char*>(descriptor, kCallFuncAt));
    info.count = At<uint64_t>(descriptor, kCallCountAt);
    info.datatype = DatatypeOf(At<const char*>(descriptor, kCallDatatypeAt));
    info.root = p2p ? 0 : At<int32_t>(descriptor, kCollApiRootAt);
    info.graph = At<uint8_t>(descriptor, p2p ? kP2pApiGraphAt : kCollApiGraphAt) != 0;
    const auto group = RefOf<board::CallRef>(ParentOf(descriptor), Kind::kGroupApi);
    return HandleOf(Kind::kCall, writer.Call(comm, group, info));
  }

  void* Group() {
    const uint32_t plan = NextPlan();
    return Pack(Tag(), Kind::kPlan, 0, plan);
  }

  // The plan's number, cut to what a handle carries; 0: not known.
  uint32_t Plan(int offset) const {
    const Handle plan = Read(At<const void*>(descriptor, offset));
    return plan.kind == Kind::kPlan ? plan.generation : 0;
  }

  template <int kAbi>
  void Name(int name_at, int comm_hash_at) {
    if constexpr (kAbi <= 3) {
      board::CommIdentity identity;
      identity.comm_id = At<uint64_t>(descriptor, comm_hash_at);
      identity.rank = At<int32_t>(descriptor, kRankAt);
      identity.name = At<const char*>(descriptor, name_at);
      writer.NameCommOnce(comm, identity);
    }
  }

  template <int kAbi>
  void* Coll() {
    constexpr CollOffsets kAt = Offsets<kAbi>::kCollAt;
    Name<kAbi>(kAt.name, kAt.comm_hash);
    board::OperationInfo info;
    info.call.func = FuncOf(At<const char*>(descriptor, kAt.func));
    info.call.count = At<uint64_t>(descriptor, kAt.count);
    info.call.datatype = DatatypeOf(At<const char*>(descriptor, kAt.datatype));
    info.call.root = At<int32_t>(descriptor, kAt.root);
    info.seq = At<uint64_t>(descriptor, kAt.seq);
    info.algorithm = AlgorithmOf(At<const char*>(descriptor, kAt.algorithm));
    info.protocol = ProtocolOf(At<const char*>(descriptor, kAt.protocol));
    info.channels = At<uint8_t>(descriptor, kAt.channels);
    // Symmetric-memory kernels have no algorithm, and neither proxies nor kernel events.
    info.unseen = info.algorithm == 0;
    return Enqueue<kAbi>(info, kAt.plan);
  }

  template <int kAbi>
  void* P2p() {
    constexpr P2pOffsets kAt = Offsets<kAbi>::kP2pAt;
    Name<kAbi>(kAt.name, kAt.comm_hash);
    board::OperationInfo info;
    info.call.func = FuncOf(At<const char*>(descriptor, kAt.func));
    info.call.count = At<uint64_t>(descriptor, kAt.count);
    info.call.datatype = DatatypeOf(At<const char*>(descriptor, kAt.datatype));
    info.peer = At<int32_t>(descriptor, kAt.peer);
    info.channels = AtOr<uint8_t>(descriptor, kAt.channels, 0);
    return Enqueue<kAbi>(info, kAt.plan);
  }

  template <int kAbi>
  void* Enqueue(board::OperationInfo& info, int plan_at) {
    info.plan = Plan(plan_at);
    info.tsc = Tsc();
    // Before v5 the parent is the plan, and there are no calls.
    const auto call = RefOf<board::OperationRef>(ParentOf(descriptor), Kind::kCall);
    return HandleOf(Kind::kOperation, writer.Enqueue(comm, call, info));
  }

  void* KernelCh() {
    const Handle parent = ParentOf(descriptor);
    if (parent.kind != Kind::kOperation) return nullptr;
    const uint32_t channel = At<uint8_t>(descriptor, kKernelChannelAt);
    writer.StartKernel({parent.slot, parent.generation}, channel);
    return Pack(Tag(), Kind::kKernel, parent.slot, parent.generation, channel);
  }

  template <int kAbi>
  void* ProxyOp() {
    // Under PXN another process's operation comes by: its parent means nothing here, even if it
    // looks like one of ours.
    if (At<int32_t>(descriptor, kProxyPidAt) != OwnPid()) return Ignored();
    board::ProxyInfo info;
    info.channel = At<uint8_t>(descriptor, kProxyChannelAt);
    info.receives = At<int32_t>(descriptor, kProxyIsSendAt) == 0;
    info.peer = At<int32_t>(descriptor, kProxyPeerAt);
    const auto steps = At<int32_t>(descriptor, kProxyStepsAt);
    info.steps = steps > 0 ? static_cast<uint32_t>(steps) : 0;
    info.stops_missing = kAbi <= 3;
    const auto operation = RefOf<board::OperationRef>(ParentOf(descriptor), Kind::kOperation);
    return HandleOf(Kind::kProxy, writer.StartProxy(operation, info));
  }

  void* ProxyStep() {
    const Handle parent = ParentOf(descriptor);
    if (parent.kind != Kind::kProxy) return nullptr;
    const auto step = static_cast<uint32_t>(At<int32_t>(descriptor, kStepAt));
    if (!writer.StartStep({parent.slot, parent.generation}, step)) return nullptr;
    return Pack(Tag(), Kind::kStep, parent.slot, parent.generation, step);
  }
};

}  // namespace

template <int kAbi>
NcclResult StartEvent(void* context, void** handle, void* descriptor) {
  if (handle == nullptr) return kSuccess;
  *handle = nullptr;
  board::Writer* writer = Watching();
  if (writer == nullptr || descriptor == nullptr) return kSuccess;
  const uint64_t type =
      Offsets<kAbi>::kTypeBytes == 1 ? At<uint8_t>(descriptor, 0) : At<uint64_t>(descriptor, 0);
  if ((type & KnownTypes(kAbi)) == 0) return kSuccess;
  Callback callback = {*writer, RefOf<board::CommRef>(Read(context), Kind::kContext), descriptor};
  switch (type) {
    case kProxyStep:
      *handle = callback.ProxyStep();
      break;
    case kProxyOp:
      *handle = callback.ProxyOp<kAbi>();
      break;
    case kKernelCh:
      *handle = callback.KernelCh();
      break;
    case kColl:
      *handle = callback.Coll<kAbi>();
      break;
    case kP2p:
      *handle = callback.P2p<kAbi>();
      break;
    case kGroup:
      *handle = callback.Group();
      break;
    case kGroupApi:
      *handle = callback.GroupApi();
      break;
    case kCollApi:
      *handle = callback.Api(/*p2p=*/false);
      break;
    case kP2pApi:
      *handle = callback.Api(/*p2p=*/true);
      break;
    default:
      break;
  }
  return kSuccess;
}

template NcclResult StartEvent<2>(void*, void**, void*);
template NcclResult StartEvent<3>(void*, void**, void*);
template NcclResult StartEvent<4>(void*, void**, void*);
template NcclResult StartEvent<5>(void*, void**, void*);
template NcclResult StartEvent<6>(void*, void**, void*);

NcclResult StopEvent(void* opaque) {
  board::Writer* writer = Watching();
  if (writer == nullptr) return kSuccess;
  const Handle handle = Read(opaque);
  switch (handle.kind) {
    case Kind::kStep:
      writer->StopStep({handle.slot, handle.generation}, handle.extra);
      break;
    case Kind::kProxy:
      writer->StopProxy({handle.slot, handle.generation});
      break;
    case Kind::kKernel:
      writer->CompleteKernel({handle.slot, handle.generation}, handle.extra);
      break;
    case Kind::kGroupApi:
      writer->LeaveCall({handle.slot, handle.generation});
      break;
    case Kind::kOperation:  // enqueued, which its start has told; not completed
    case Kind::kCall:
    case Kind::kPlan:
    case Kind::kContext:
    case Kind::kIgnored:
    case Kind::kNone:
      break;
  }
  return kSuccess;
}

NcclResult RecordEventState(void* opaque, int state, void*) {
  board::Writer* writer = Watching();
  if (writer == nullptr) return kSuccess;
  const Handle handle = Read(opaque);
  if (handle.kind == Kind::kStep) {
    if (const uint8_t step_state = StepStateOf(state); step_state != 0)
      writer->ChangeStep({handle.slot, handle.generation}, handle.extra, step_state);
  } else if (handle.kind == Kind::kProxy && state == kStateOpInProgress) {
    writer->ProgressProxy({handle.slot, handle.generation});
  }
  return kSuccess;
}

NcclResult Finalize(void* context) {
  Close(context);
  return kSuccess;
}

}  // namespace sentinel::nccl
