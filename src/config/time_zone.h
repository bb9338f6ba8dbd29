// Time zones by name, as a site is configured with one.
#pragma once

#include <string>

#include "base/result.h"

namespace sentinel {

constexpr const char* kZoneFolder = "/usr/share/zoneinfo";

// The name of a zone that this host's zone files know, such as Asia/Shanghai. A host without such
// files cannot tell: there whatever may be a zone's name is taken. kInvalidArgument with what is
// expected. `folder` is another one in tests alone.
Result<std::string> ZoneName(const std::string& zone, const std::string& folder = kZoneFolder);

// Whether this host has zone files at all. Where it has none, every zone counts as UTC.
bool HasZones(const std::string& folder = kZoneFolder);

}  // namespace sentinel
