// [[webhook]] and [[alertmanager]] of the gateway's configuration: docs/formats/config-gateway.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/toml_reader.h"
#include "gateway/outputs.h"

namespace sentinel {

// Webhooks and Alertmanagers; beyond, a configuration is refused.
constexpr size_t kOutputsMax = 64;

struct OutputConfig {
  OutputSettings settings;  // its secrets come from the file
  std::string secret_file;  // empty: an Alertmanager's, which are not signed to
  std::string ca_file;      // whose certificates an https:// receiver may show; empty: the host's
};

void ReadOutputs(TomlReader* reader, std::vector<OutputConfig>* outputs);

// With the secrets of their files, and whom they believe. An error names the file.
Result<std::vector<OutputSettings>> LoadOutputs(const std::vector<OutputConfig>& outputs);

}  // namespace sentinel
