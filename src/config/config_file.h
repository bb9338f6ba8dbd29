// A configuration file's text, as it stands on disk.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace sentinel {

// Nobody writes more by hand; what is longer is the wrong file.
constexpr size_t kConfigBytesMax = 1u << 20;

// kNotFound with the system's words if it cannot be opened; kInvalidArgument for a folder and for
// what is longer than kConfigBytesMax; kIo.
Result<std::string> ReadConfigFile(const std::string& path);

}  // namespace sentinel
