#include "gateway/admission_config.h"

#include <algorithm>
#include <utility>

namespace sentinel {

void ReadIngest(TomlReader* reader, IngestConfig* ingest) {
  reader->Section("ingest", [ingest](TomlReader& table) {
    table.Choice<OpenTo>("open_to",
                         {{"nobody", OpenTo::kNobody},
                          {"loopback", OpenTo::kLoopback},
                          {"network", OpenTo::kNetwork}},
                         &ingest->open_to);
  });
  reader->Sections("senders", [ingest](TomlReader& table) {
    SenderConfig sender;
    table.Name("name", &sender.name);
    table.File("key_file", &sender.key_file);
    if (sender.name.empty()) table.Wrong("name", "it is missing");
    if (sender.key_file.empty()) {
      table.Wrong("key_file",
                  "it is missing: the file, or folder of files, with this sender's key");
    }
    bool taken = std::any_of(ingest->senders.begin(), ingest->senders.end(),
                             [&](const SenderConfig& other) { return other.name == sender.name; });
    if (taken) table.Wrong("name", "it is taken already");
    ingest->senders.push_back(std::move(sender));
  });
}

}  // namespace sentinel
