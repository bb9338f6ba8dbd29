// [access] of a gateway's configuration.
#pragma once

#include "config/toml_reader.h"
#include "gateway/access.h"

namespace sentinel {

void ReadAccess(TomlReader* reader, AccessConfig* access);

}  // namespace sentinel
