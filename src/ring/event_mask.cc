#include "ring/event_mask.h"

namespace sentinel {
namespace {

using enum CallbackType;

constexpr uint32_t kBelowSteps = MaskBit(kNetPlugin);
constexpr uint32_t kBelowProxyOps = MaskBit(kProxyStep) | kBelowSteps;
constexpr uint32_t kBelowOperations = MaskBit(kProxyOp) | MaskBit(kKernelCh) | kBelowProxyOps;
constexpr uint32_t kOperations = MaskBit(kColl) | MaskBit(kP2p);
constexpr uint32_t kBelowGroupApi = MaskBit(kCollApi) | MaskBit(kP2pApi) | MaskBit(kKernelLaunch) |
                                    MaskBit(kGroup) | kOperations | kBelowOperations;

}  // namespace

uint32_t EntailedMask(uint32_t mask) {
  uint32_t entailed = mask;
  if ((mask & kBelowSteps) != 0) entailed |= MaskBit(kProxyStep);
  if ((mask & kBelowProxyOps) != 0) entailed |= MaskBit(kProxyOp);
  if ((mask & kBelowOperations) != 0) {
    entailed |= kOperations | MaskBit(kGroup) | MaskBit(kCollApi) | MaskBit(kP2pApi);
  }
  if ((mask & MaskBit(kColl)) != 0) entailed |= MaskBit(kGroup) | MaskBit(kCollApi);
  if ((mask & MaskBit(kP2p)) != 0) entailed |= MaskBit(kGroup) | MaskBit(kP2pApi);
  if ((mask & kBelowGroupApi) != 0) entailed |= MaskBit(kGroupApi);
  return entailed;
}

uint32_t MaskOfAbi(int abi) {
  uint32_t known = MaskBit(kGroup) | MaskBit(kColl) | MaskBit(kP2p) | MaskBit(kProxyOp) |
                   MaskBit(kProxyStep) | MaskBit(kProxyCtrl);
  if (abi >= 3) known |= MaskBit(kKernelCh) | MaskBit(kNetPlugin);
  if (abi >= 5) {
    known |= MaskBit(kGroupApi) | MaskBit(kCollApi) | MaskBit(kP2pApi) | MaskBit(kKernelLaunch);
  }
  return known;
}

}  // namespace sentinel
