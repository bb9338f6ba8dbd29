#include "agent/config.h"

#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/digest.h"
#include "config/config_file.h"
#include "config/toml_reader.h"
#include "probe/host/network_interface.h"
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

Error NotHere(const std::string& key, const std::string& value, const std::string& why) {
  return {ErrorCode::kNotFound, key + " = \"" + value + "\": " + why};
}

Status CheckFolder(const std::string& path, int access_mode) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return Error{ErrorCode::kNotFound, std::strerror(errno)};
  if (!S_ISDIR(found.st_mode)) return Error{ErrorCode::kNotFound, std::strerror(ENOTDIR)};
  if (access(path.c_str(), access_mode) != 0) {
    return Error{ErrorCode::kNotFound, std::strerror(errno)};
  }
  return {};
}

std::string FolderOf(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return std::filesystem::path(path).parent_path().string();
}

// Whether `folder` can be written to, or made: then the nearest one above it that is there can be.
Status CheckWritable(const std::string& key, const std::string& value, std::string folder) {
  Status writable = CheckFolder(folder, W_OK | X_OK);
  while (!writable.ok() && folder.size() > 1) {
    struct stat found {};
    if (stat(folder.c_str(), &found) == 0 || (errno != ENOENT && errno != ENOTDIR)) break;
    folder = FolderOf(folder);
    writable = CheckFolder(folder, W_OK | X_OK);
  }
  if (writable.ok()) return {};
  return NotHere(key, value, folder + ": " + writable.error().message);
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
    const auto milliseconds = [](Duration duration) {
      return std::to_string(
          std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
    };
    // The defaults go together, so the one that differs is written.
    const bool min_is_written = watch->suspect_min != WatchOptions{}.suspect_min;
    reader->Conflict(min_is_written ? "suspect_min_ms" : "suspect_max_ms",
                     "suspect_min_ms (" + milliseconds(watch->suspect_min) +
                         ") must not be above suspect_max_ms (" + milliseconds(watch->suspect_max) +
                         ")");
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
  std::optional<std::string> state_dir;
  reader.Parsed("state_dir", PathOrNone, &state_dir);
  reader.Parsed("gateway", GatewayAt, &config.gateway);
  ReadTls(&reader, &config.tls);
  CheckTls(&reader, config.tls, {}, {config.gateway});
  reader.Section("watch", [&config](TomlReader& watch) { ReadWatch(&watch, &config.watch); });
  TRY(reader.Finish());
  if (config.host.empty()) config.host = OwnHostName();
  if (config.agent_id.empty()) config.agent_id = DefaultAgentId(config.host);
  config.state_dir = state_dir.value_or(FolderOf(config.spool_dir));
  config.watch.overslept_after =
      std::max(config.watch.overslept_after, 4 * config.watch.scan_period);
  return config;
}

Result<AgentConfig> LoadAgentConfig(const std::string& path) {
  const std::string text = TRY(ReadConfigFile(path));
  return ParseAgentConfig(text, path);
}

Status CheckHere(const AgentConfig& config) {
  const Status boards = CheckFolder(config.board_dir, R_OK | X_OK);
  if (!boards.ok()) return NotHere("board_dir", config.board_dir, boards.error().message);
  if (!config.interface.empty() && if_nametoindex(config.interface.c_str()) == 0 &&
      InterfaceOf(config.interface).empty()) {
    return NotHere("interface", config.interface,
                   "this machine has no interface of that name or address");
  }
  if (!config.state_dir.empty()) {
    TRY(CheckWritable("state_dir", config.state_dir, config.state_dir));
  }
  if (config.ingest_socket.empty()) return {};  // nothing is served or spooled
  TRY(CheckWritable("ingest_socket", config.ingest_socket, FolderOf(config.ingest_socket)));
  TRY(CheckWritable("spool_dir", config.spool_dir, config.spool_dir));
  return {};
}

}  // namespace sentinel
