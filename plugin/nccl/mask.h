// Which events NCCL shall report.
#pragma once

#include <stdint.h>

#include "abi.h"

namespace sentinel::nccl {

struct MaskChoice {
  uint64_t mask = 0;  // 0: off
  bool understood = true;
};

// KernelCh costs 4 to 13 % there, measured by others; it is left out.
constexpr uint32_t kSlowKernelsFirst = 23100;
constexpr uint32_t kSlowKernelsLast = 23102;

// `setting` is SENTINEL_NCCL_MASK, its letters of either case: null, "" or "full"; "light" leaves
// out KernelCh; "off" or "none"; a decimal or 0x number as it is, 0 being off. Anything else is not
// understood, and full: also a number with a bit that no version knows, or of which this version
// knows none, since a mistyped number must not turn the watch off. `nccl_version` 0: unknown.
MaskChoice ChooseMask(const char* setting, int abi, uint32_t nccl_version);

}  // namespace sentinel::nccl
