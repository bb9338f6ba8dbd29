// Trees and whatever else is no ring: only states that no victim shows, without a walk.
#pragma once

#include "correlate/finding.h"

namespace sentinel {

Finding JudgeByGuilt(const Scene& scene);

}  // namespace sentinel
