// What NCCL keeps for us in its void pointers: tagged numbers, never addresses.
//
// The top byte is this process's own and neither 0 nor 255, so that no handle is an address and a
// foreign process's handle (NCCL hands them over under PXN) is not taken for one of ours.
#pragma once

#include <stdint.h>

#include "board/writer.h"

namespace sentinel::nccl {

enum class Kind : uint64_t {
  kNone = 0,
  kContext = 1,
  kGroupApi = 2,
  kCall = 3,
  kPlan = 4,
  kOperation = 5,
  kKernel = 6,
  kProxy = 7,
  kStep = 8,
  kIgnored = 9,  // not NULL, and nothing
};

// 8 bits tag, 4 kind, 14 slot, 22 generation, 16 extra (a step, a channel).
struct Handle {
  Kind kind = Kind::kNone;
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint32_t extra = 0;
};
static_assert(board::kGenerationMask == (1u << 22) - 1 && board::Writer::kProxiesMax <= 1u << 14 &&
              board::kOperations <= 1u << 14);

inline void* Pack(uint64_t tag, Kind kind, uint32_t slot, uint32_t generation, uint32_t extra = 0) {
  const uint64_t bits =
      tag << 56 | static_cast<uint64_t>(kind) << 52 | static_cast<uint64_t>(slot & 0x3fff) << 38 |
      static_cast<uint64_t>(generation & board::kGenerationMask) << 16 | (extra & 0xffff);
  return reinterpret_cast<void*>(bits);
}

inline Handle Unpack(uint64_t tag, const void* handle) {
  const auto bits = reinterpret_cast<uint64_t>(handle);
  if (bits >> 56 != tag) return {};
  return {static_cast<Kind>(bits >> 52 & 15), static_cast<uint32_t>(bits >> 38 & 0x3fff),
          static_cast<uint32_t>(bits >> 16 & board::kGenerationMask),
          static_cast<uint32_t>(bits & 0xffff)};
}

}  // namespace sentinel::nccl
