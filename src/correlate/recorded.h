// The states at rest that were recorded with a real NCCL 2.28.9: four ranks in a ring, sockets,
// twelve steps to a channel and direction, the fault always in rank 2 at operation 10.
#pragma once

#include <vector>

#include "correlate/scenario.h"

namespace sentinel::recorded {

constexpr StepState kRecvWait = StepState::kRecvWait;
constexpr StepState kRecvGpuWait = StepState::kRecvGpuWait;
constexpr StepState kSendGpuWait = StepState::kSendGpuWait;
constexpr StepState kSendWait = StepState::kSendWait;

inline RankDigest Waiting(Rank rank, uint32_t recv, uint32_t send, int channels = 2) {
  return RankDigest(rank, 4)
      .Inside(10, channels)
      .Recv(recv, kRecvWait, std::min(4u, 12 - recv))
      .Send(send, kSendGpuWait, std::min(4u, 12 - send));
}

inline std::vector<Digest> Skip(int channels = 2) {
  return {Waiting(0, 2, 4, channels), Waiting(1, 4, 6, channels), RankDigest(2, 4).Between(9),
          Waiting(3, 0, 2, channels)};
}

// Killed before the call: rank 1 still has bytes for a peer that is gone.
inline std::vector<Digest> Kill() {
  return {Waiting(0, 2, 4), RankDigest(1, 4).Inside(10).Recv(4, kRecvWait, 4).Send(4, kSendWait, 2),
          RankDigest(2, 4).Between(9).Process(ProcessState::kDead), Waiting(3, 0, 2)};
}

inline std::vector<Digest> StopBefore() {
  std::vector<Digest> ranks = Skip();
  ranks[2].vitals.state = ProcessState::kStopped;
  return ranks;
}

// Stopped 30 ms into the operation: rank 1 is through with it and waits in the next one.
inline std::vector<Digest> StopMid() {
  return {RankDigest(0, 4)
              .Inside(10)
              .RecvOn(0, 10, kRecvWait)
              .RecvOn(1, 11, kRecvWait)
              .Send(12, kSendGpuWait),
          Waiting(1, 0, 2).Inside(11),
          RankDigest(2, 4)
              .Inside(10)
              .RecvOn(0, 6, kRecvGpuWait)
              .RecvOn(1, 7, kRecvWait)
              .SendOn(0, 8, kSendGpuWait)
              .SendOn(1, 9, kSendGpuWait)
              .Process(ProcessState::kStopped),
          RankDigest(3, 4)
              .Inside(10)
              .RecvOn(0, 8, kRecvWait)
              .RecvOn(1, 9, kRecvWait)
              .SendOn(0, 10, kSendGpuWait)
              .SendOn(1, 11, kSendGpuWait)};
}

inline std::vector<Digest> FreezeKernel() {
  return {Waiting(0, 7, 9), Waiting(1, 9, 11),
          RankDigest(2, 4).Inside(10).Recv(3, kRecvGpuWait, 4).Send(5, kSendGpuWait, 4),
          Waiting(3, 5, 7)};
}

// The first series: one channel, three slices.
inline std::vector<Digest> FreezeKernelEarly() {
  return {Waiting(0, 5, 7, 1), Waiting(1, 7, 9, 1),
          RankDigest(2, 4).Inside(10, 1).Recv(1, kRecvGpuWait, 4).Send(3, kSendGpuWait, 4),
          Waiting(3, 3, 5, 1)};
}

inline std::vector<Digest> KernelNotStarted() {
  return {Waiting(0, 2, 4, 1), Waiting(1, 4, 6, 1),
          RankDigest(2, 4)
              .Inside(10, 1)
              .Recv(0, kRecvGpuWait, 4)
              .Send(0, kSendGpuWait, 4)
              .KernelNotStarted(),
          Waiting(3, 0, 2, 1)};
}

inline std::vector<Digest> FreezeProxy() {
  return {Waiting(0, 2, 4), Waiting(1, 4, 6), RankDigest(2, 4).Enqueued(10), Waiting(3, 0, 2)};
}

inline std::vector<Digest> NetIsolate() {
  return {Waiting(0, 2, 4), RankDigest(1, 4).Inside(10).Recv(4, kRecvWait, 4).Send(3, kSendWait, 3),
          Waiting(2, 0, 2), Waiting(3, 0, 2)};
}

// All packets from 2 to 3 lost.
inline std::vector<Digest> NetOneWay() {
  return {Waiting(0, 2, 4), Waiting(1, 4, 6),
          RankDigest(2, 4).Inside(10).Recv(5, kRecvGpuWait, 4).Send(3, kSendWait, 4),
          Waiting(3, 0, 2)};
}

inline std::vector<Digest> EgressBlocked() {
  return {Waiting(0, 5, 7, 1), Waiting(1, 7, 9, 1),
          RankDigest(2, 4).Inside(10, 1).Recv(5, kRecvGpuWait, 4).Send(3, kSendWait, 4),
          Waiting(3, 3, 5, 1)};
}

inline std::vector<Digest> IngressBlocked() {
  return {Waiting(0, 4, 6, 1), Waiting(1, 6, 8, 1), Waiting(2, 0, 2, 1), Waiting(3, 2, 4, 1)};
}

}  // namespace sentinel::recorded
