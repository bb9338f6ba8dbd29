// [ingest] and [[senders]] of a gateway's configuration: who may post events.
#pragma once

#include <string>
#include <vector>

#include "config/toml_reader.h"
#include "gateway/admission.h"

namespace sentinel {

struct SenderConfig {
  std::string name;
  std::string key_file;  // or a folder of them
};

struct IngestConfig {
  OpenTo open_to = OpenTo::kLoopback;
  std::vector<SenderConfig> senders;
};

void ReadIngest(TomlReader* reader, IngestConfig* ingest);

}  // namespace sentinel
