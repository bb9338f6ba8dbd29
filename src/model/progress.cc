#include "model/progress.h"

namespace sentinel {

std::string_view FuncName(Func value) {
  switch (value) {
    case Func::kUnknown:
      return "Unknown";
    case Func::kAllGather:
      return "AllGather";
    case Func::kAllGatherV:
      return "AllGatherV";
    case Func::kAllReduce:
      return "AllReduce";
    case Func::kAlltoAll:
      return "AlltoAll";
    case Func::kBroadcast:
      return "Broadcast";
    case Func::kGather:
      return "Gather";
    case Func::kPutSignal:
      return "PutSignal";
    case Func::kRecv:
      return "Recv";
    case Func::kReduce:
      return "Reduce";
    case Func::kReduceScatter:
      return "ReduceScatter";
    case Func::kScatter:
      return "Scatter";
    case Func::kSend:
      return "Send";
    case Func::kSendRecv:
      return "SendRecv";
    case Func::kSignal:
      return "Signal";
    case Func::kWaitSignal:
      return "WaitSignal";
  }
  return "";
}

std::string_view DataTypeName(DataType value) {
  switch (value) {
    case DataType::kUnknown:
      return "Unknown";
    case DataType::kInt8:
      return "ncclInt8";
    case DataType::kUint8:
      return "ncclUint8";
    case DataType::kInt32:
      return "ncclInt32";
    case DataType::kUint32:
      return "ncclUint32";
    case DataType::kInt64:
      return "ncclInt64";
    case DataType::kUint64:
      return "ncclUint64";
    case DataType::kFloat16:
      return "ncclFloat16";
    case DataType::kFloat32:
      return "ncclFloat32";
    case DataType::kFloat64:
      return "ncclFloat64";
    case DataType::kBfloat16:
      return "ncclBfloat16";
    case DataType::kFloat8e4m3:
      return "ncclFloat8e4m3";
    case DataType::kFloat8e5m2:
      return "ncclFloat8e5m2";
  }
  return "";
}

std::string_view AlgorithmName(Algorithm value) {
  switch (value) {
    case Algorithm::kUnknown:
      return "Unknown";
    case Algorithm::kTree:
      return "TREE";
    case Algorithm::kRing:
      return "RING";
    case Algorithm::kCollnetDirect:
      return "COLLNET_DIRECT";
    case Algorithm::kCollnetChain:
      return "COLLNET_CHAIN";
    case Algorithm::kNvls:
      return "NVLS";
    case Algorithm::kNvlsTree:
      return "NVLS_TREE";
    case Algorithm::kPat:
      return "PAT";
  }
  return "";
}

std::string_view ProtocolName(Protocol value) {
  switch (value) {
    case Protocol::kUnknown:
      return "Unknown";
    case Protocol::kLl:
      return "LL";
    case Protocol::kLl128:
      return "LL128";
    case Protocol::kSimple:
      return "SIMPLE";
  }
  return "";
}

std::string_view StepStateName(StepState value) {
  switch (value) {
    case StepState::kNone:
      return "None";
    case StepState::kPosted:
      return "Posted";
    case StepState::kSendGpuWait:
      return "SendGPUWait";
    case StepState::kSendPeerWait:
      return "SendPeerWait";
    case StepState::kSendWait:
      return "SendWait";
    case StepState::kRecvWait:
      return "RecvWait";
    case StepState::kRecvFlushWait:
      return "RecvFlushWait";
    case StepState::kRecvGpuWait:
      return "RecvGPUWait";
  }
  return "";
}

std::string_view PhaseName(Phase value) {
  switch (value) {
    case Phase::kBetween:
      return "between";
    case Phase::kCalling:
      return "calling";
    case Phase::kEnqueued:
      return "enqueued";
    case Phase::kInside:
      return "inside";
  }
  return "";
}

std::string_view ProcessStateName(ProcessState value) {
  switch (value) {
    case ProcessState::kUnknown:
      return "unknown";
    case ProcessState::kRunning:
      return "running";
    case ProcessState::kSleeping:
      return "sleeping";
    case ProcessState::kDiskWait:
      return "disk_wait";
    case ProcessState::kStopped:
      return "stopped";
    case ProcessState::kTraced:
      return "traced";
    case ProcessState::kDead:
      return "dead";
  }
  return "";
}

}  // namespace sentinel
