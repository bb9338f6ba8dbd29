#include "agent/config.h"

#include <unistd.h>

#include <algorithm>

#include "base/digest.h"
#include "config/config_file.h"
#include "config/toml_reader.h"
#include "probe/host/proc_files.h"

namespace sentinel {
namespace {

std::string OwnHostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Not the machine id itself, which is nobody's business outside.
std::string DefaultAgentId(const std::string& host) {
  const Result<std::string> machine = ReadWhole("/etc/machine-id", 256);
  return host + "-" +
         Sha256Hex("gpu-sentinel agent " + (machine.ok() ? *machine : "")).substr(0, 8);
}

Result<std::string> PathOrNone(const std::string& path) {
  if (!path.empty() && !path.starts_with('/')) {
    return Error{ErrorCode::kInvalidArgument, "an absolute path is expected, or \"\" for none"};
  }
  return path;
}

Result<Endpoint> GatewayAt(const std::string& text) {
  return ParseEndpoint(text, kAgentStreamPort);
}

void ReadWatch(TomlReader* reader, WatchOptions* watch) {
  reader->Millis("suspect_min_ms", &watch->suspect_min, 50, 60000);
  reader->Millis("suspect_max_ms", &watch->suspect_max, 50, 60000);
  reader->Whole("gap_factor", 1, 100, &watch->gap_factor);
  reader->Whole("scans_min", 1, 1000, &watch->scans_min);
  reader->Whole("warmup_operations", 0, 100000, &watch->warmup_operations);
  reader->Millis("warmup_limit_ms", &watch->warmup_limit, 1000, 3600000);
  reader->Millis("scan_period_ms", &watch->scan_period, 5, 1000);
  if (watch->suspect_min > watch->suspect_max) {
    reader->Wrong("suspect_min_ms", "it is above suspect_max_ms");
  }
}

}  // namespace

Result<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& file) {
  TomlReader reader = TRY(TomlReader::Parse(text, file));
  AgentConfig config;
  reader.Text("host", &config.host);
  reader.Text("agent_id", &config.agent_id);
  reader.AbsolutePath("board_dir", &config.board_dir);
  reader.Text("interface", &config.interface);
  reader.Parsed("ingest_socket", PathOrNone, &config.ingest_socket);
  reader.AbsolutePath("spool_dir", &config.spool_dir);
  reader.Parsed("gateway", GatewayAt, &config.gateway);
  reader.Section("watch", [&config](TomlReader& watch) { ReadWatch(&watch, &config.watch); });
  TRY(reader.Finish());
  if (config.host.empty()) config.host = OwnHostName();
  if (config.agent_id.empty()) config.agent_id = DefaultAgentId(config.host);
  config.watch.overslept_after =
      std::max(config.watch.overslept_after, 4 * config.watch.scan_period);
  return config;
}

Result<AgentConfig> LoadAgentConfig(const std::string& path) {
  const std::string text = TRY(ReadConfigFile(path));
  return ParseAgentConfig(text, path);
}

}  // namespace sentinel
