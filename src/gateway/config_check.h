// What a gateway's start looks at beside its configuration file, for `sentinel-gateway --check` and
// `sentinelctl config check`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gateway/gateway.h"

namespace sentinel {

// The first thing that a start with this configuration would refuse: keys, certificates and
// secrets, read as the start reads them. `warnings` gets, in words, what may keep it from starting
// or working: what depends on the host and the user, who need not be the daemon's, and on names
// that do not resolve now.
Status CheckStart(const GatewayOptions& options, std::vector<std::string>* warnings);

// What an operator is to know of a configuration that is in force, without asking any network.
std::vector<std::string> StandingWarnings(const GatewayConfig& config);

}  // namespace sentinel
