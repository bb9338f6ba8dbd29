// Whether what a reference names still exists. Only for the writer's own sources: callbacks ask it
// first of all, so it is inlined wherever they are.
#pragma once

#include "board/writer.h"

namespace sentinel::board {

// References carry the low bits only. Odd: in use.
inline bool Same(uint32_t generation, uint32_t referenced) {
  return (generation & 1) != 0 && ((generation ^ referenced) & kGenerationMask) == 0;
}

inline bool Writer::Valid(CommRef ref) const {
  return ref.slot < kComms && Same(LoadAcquire(comms_[ref.slot].generation), ref.generation);
}

}  // namespace sentinel::board
