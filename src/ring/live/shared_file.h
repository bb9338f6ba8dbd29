// Memory that the ranks of a node share: a file in the job's scratch folder, mapped by whoever
// needs it.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace sentinel {

// Zeros if it is new. All who map it name the same size. The caller unmaps.
Result<void*> MapSharedFile(const std::string& path, size_t bytes);

}  // namespace sentinel
