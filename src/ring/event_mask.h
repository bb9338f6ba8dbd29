// Which callbacks NCCL makes for an activation mask: those asked for, and their ancestors. Pure.
#pragma once

#include <cstdint>

#include "ring/recording.h"

namespace sentinel {

// `mask` with what it entails: a kernel or proxy event brings the operation it belongs to, and that
// its group and API call, even where their bits are clear.
uint32_t EntailedMask(uint32_t mask);

// The types that version `abi` of the interface knows.
uint32_t MaskOfAbi(int abi);

// NCCL looks at the mask when the outermost group gets its first operation and holds to it for all
// that follows from that operation; these two alone follow the mask as it is now.
constexpr bool FollowsLiveMask(CallbackType type) {
  return type == CallbackType::kProxyCtrl || type == CallbackType::kKernelLaunch;
}

}  // namespace sentinel
