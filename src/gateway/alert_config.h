// [alerts] of the gateway's configuration: docs/formats/config-gateway.md.
#pragma once

#include "config/toml_reader.h"
#include "wire/alert_rules.h"

namespace sentinel {

// The site's own rules stand before the usual ones, which are there also where nothing is written.
void ReadAlerts(TomlReader* reader, AlertMapping* mapping);
AlertMapping DefaultAlertMapping();

}  // namespace sentinel
