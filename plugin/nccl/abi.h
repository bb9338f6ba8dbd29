// NCCL's profiler interface, ABI v2 to v6, as offsets into what NCCL hands us.
//
// Offsets and not structures: the versions differ in widths and order, and one table per version
// shows how. Unsure fields of a version are absent (-1) here.
#pragma once

#include <stdint.h>

namespace sentinel::nccl {

using NcclResult = int;
constexpr NcclResult kSuccess = 0;

enum EventType : uint64_t {
  kGroup = 0x1,
  kColl = 0x2,
  kP2p = 0x4,
  kProxyOp = 0x8,
  kProxyStep = 0x10,
  kKernelCh = 0x40,
  kGroupApi = 0x100,
  kCollApi = 0x200,
  kP2pApi = 0x400,
};

constexpr int kNewestAbi = 6;

// Event types a version knows.
constexpr uint64_t KnownTypes(int abi) {
  if (abi <= 2) return 0x3f;
  if (abi <= 4) return 0xff;
  if (abi == 5) return 0xfff;
  return 0x7fff;
}

// What we ask for, cut to what a version knows.
constexpr uint64_t kFullMask =
    kGroupApi | kCollApi | kP2pApi | kColl | kP2p | kKernelCh | kProxyOp | kProxyStep;

enum LogLevel : int { kLogWarn = 2, kLogInfo = 3 };
constexpr unsigned long kLogInit = 1;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// The same in every version.
constexpr int kParentAt = 8;
constexpr int kRankAt = 16;
constexpr int kProxyPidAt = 24;
constexpr int kProxyChannelAt = 28;
constexpr int kProxyPeerAt = 32;
constexpr int kProxyStepsAt = 36;
constexpr int kProxyIsSendAt = 44;
constexpr int kStepAt = 24;
constexpr int kKernelChannelAt = 24;

// Of v5 and v6.
constexpr int kCallFuncAt = 24;
constexpr int kCallCountAt = 32;
constexpr int kCallDatatypeAt = 40;
constexpr int kCollApiRootAt = 48;
constexpr int kCollApiGraphAt = 64;
constexpr int kP2pApiGraphAt = 56;

struct CollOffsets {
  int name, comm_hash;  // v2 and v3 tell a communicator's identity here only
  int seq, func, count, root, datatype, channels, algorithm, protocol, plan;
};
struct P2pOffsets {
  int name, comm_hash;
  int func, datatype, count, peer, channels, plan;
};

template <int kAbi>
struct Offsets;

template <>
struct Offsets<2> {
  static constexpr int kTypeBytes = 1;
  static constexpr CollOffsets kCollAt = {24, 32, 40, 48, 72, 80, 88, 104, 112, 120, 8};
  static constexpr P2pOffsets kP2pAt = {24, 32, 40, 56, 64, 72, -1, 8};
};
template <>
struct Offsets<3> {
  static constexpr int kTypeBytes = 1;
  static constexpr CollOffsets kCollAt = {24, 32, 40, 48, 72, 80, 88, 96, 104, 112, 8};
  static constexpr P2pOffsets kP2pAt = {24, 32, 40, 56, 64, 72, -1, 8};
};
template <>
struct Offsets<4> {
  static constexpr int kTypeBytes = 1;
  static constexpr CollOffsets kCollAt = {-1, -1, 24, 32, 56, 64, 72, 80, 88, 96, 8};
  // A v4 plugin on NCCL 2.28 and later finds rubbish where the channel count was.
  static constexpr P2pOffsets kP2pAt = {-1, -1, 24, 40, 48, 56, -1, 8};
};
template <>
struct Offsets<5> {
  static constexpr int kTypeBytes = 8;
  static constexpr CollOffsets kCollAt = {-1, -1, 24, 32, 56, 64, 72, 80, 88, 96, 104};
  static constexpr P2pOffsets kP2pAt = {-1, -1, 24, 40, 48, 56, 60, 64};
};
template <>
struct Offsets<6> : Offsets<5> {};

// ProxyStep and ProxyOp states we follow; all others only repeat what we know.
constexpr int kStateOpInProgress = 19;
constexpr uint8_t StepStateOf(int state) {  // StepState's numbers (model/progress.h); 0: none
  switch (state) {
    case 8:
      return 2;  // SendGPUWait
    case 20:
      return 3;  // SendPeerWait
    case 9:
      return 4;  // SendWait
    case 10:
      return 5;  // RecvWait
    case 11:
      return 6;  // RecvFlushWait
    case 12:
      return 7;  // RecvGPUWait
    default:
      return 0;
  }
}

}  // namespace sentinel::nccl
