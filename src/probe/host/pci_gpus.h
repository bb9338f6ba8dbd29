// The node's cards as the PCI bus lists them: there also where no driver library is.
#pragma once

#include <string>
#include <vector>

#include "model/agent_message.h"

namespace sentinel {

// In the order of their addresses, which is the order in which NVML numbers them. `sysfs` is other
// than /sys in tests alone.
std::vector<GpuIdentity> ListGpus(const std::string& sysfs = "/sys");

}  // namespace sentinel
