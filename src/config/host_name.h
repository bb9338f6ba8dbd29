// What a host, or an agent, may be called in a configuration.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace sentinel {

constexpr size_t kHostNameBytesMax = 253;  // RFC 1035, as text

// 1 to 253 bytes without blanks and control characters, as senders and agents report it; no wish
// for DNS, since sites call hosts what they like. kInvalidArgument with what is expected.
Result<std::string> HostName(const std::string& name);

}  // namespace sentinel
