// When the ranks of a recording first asked for different collectives in one call. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "ring/recording.h"

namespace sentinel {

// On the recording's clock, the earliest such call of any rank; nothing if they agree throughout.
// API calls count where every rank has them, else what was enqueued. Of one communicator only:
// recordings hold no more.
std::optional<int64_t> FirstMismatchNs(const Recording& recording);

}  // namespace sentinel
