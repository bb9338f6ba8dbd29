#include "agent/config.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/digest.h"
#include "config/config_file.h"
#include "config/folder_check.h"
#include "config/host_name.h"
#include "config/toml_reader.h"
#include "http/config_address.h"
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

Result<std::string> SocketOrNone(const std::string& path) {
  if (path.empty()) return path;
  return SocketPath(path);
}

bool IsAddress(int family, const std::string& text) {
  in6_addr address{};  // room for either
  return inet_pton(family, text.c_str(), &address) == 1;
}

// A name, or one of this host's addresses.
Result<std::string> Interface(const std::string& text) {
  const bool name = !text.empty() && text.size() < IFNAMSIZ &&
                    std::all_of(text.begin(), text.end(),
                                [](unsigned char c) { return c > ' ' && c != '/' && c != 0x7f; });
  if (name || IsAddress(AF_INET, text) || IsAddress(AF_INET6, text)) return text;
  return Error{ErrorCode::kInvalidArgument,
               "the name of an interface (1 to 15 bytes), or one of this host's addresses, is "
               "expected"};
}

// An IPv6 address reaches no IPv4 one, nor the other way round.
void CheckFamily(TomlReader* reader, const AgentConfig& config) {
  const std::string& from = config.interface;
  const std::string& to = config.gateway.host;
  if (config.gateway.unix_socket) return;
  if ((IsAddress(AF_INET, from) && IsAddress(AF_INET6, to)) ||
      (IsAddress(AF_INET6, from) && IsAddress(AF_INET, to))) {
    reader->Wrong("interface", from + " cannot reach the gateway's " + to +
                                   ": an address of the same kind, or a name, is expected");
  }
}

// `key` = `value` needs `folder`.
Status CheckUsable(const std::string& key, const std::string& value, const std::string& folder) {
  const Status writable = CheckWritable(folder);
  if (writable.ok()) return {};
  return NotHere(key, value, writable.error().message);
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

Result<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& file,
                                     NamedFiles named) {
  TomlReader reader = TRY(TomlReader::Parse(text, file, named));
  AgentConfig config;
  reader.Parsed("host", HostName, &config.host);
  reader.Parsed("agent_id", HostName, &config.agent_id);
  reader.AbsolutePath("board_dir", &config.board_dir);
  reader.Parsed("interface", Interface, &config.interface);
  reader.Parsed("ingest_socket", SocketOrNone, &config.ingest_socket);
  reader.AbsolutePath("spool_dir", &config.spool_dir);
  std::optional<std::string> state_dir;
  reader.Parsed("state_dir", PathOrNone, &state_dir);
  reader.Parsed("gateway", CalledAddress(kAgentStreamPort), &config.gateway);
  CheckFamily(&reader, config);
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
  return ParseAgentConfig(text, path, NamedFiles::kLookedFor);
}

Status CheckHere(const AgentConfig& config) {
  const Status boards = CheckFolder(config.board_dir, R_OK | X_OK);
  if (!boards.ok()) return NotHere("board_dir", config.board_dir, boards.error().message);
  if (!config.interface.empty() && if_nametoindex(config.interface.c_str()) == 0 &&
      InterfaceOf(config.interface).empty()) {
    return NotHere("interface", config.interface,
                   "this machine has no interface of that name or address");
  }
  TRY(OpenTls(config.tls, {}, {config.gateway}));
  if (!config.state_dir.empty()) {
    TRY(CheckUsable("state_dir", config.state_dir, config.state_dir));
  }
  if (config.ingest_socket.empty()) return {};  // nothing is served or spooled
  TRY(CheckUsable("ingest_socket", config.ingest_socket, FolderOf(config.ingest_socket)));
  struct stat found {};
  if (lstat(config.ingest_socket.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return NotHere("ingest_socket", config.ingest_socket,
                   "the path is taken by something that is no socket");
  }
  TRY(CheckUsable("spool_dir", config.spool_dir, config.spool_dir));
  return {};
}

std::vector<std::string> WarningsHere(const AgentConfig& config) {
  std::vector<std::string> warnings = AddressWarnings({}, {config.gateway});
  if (config.host == "localhost" || config.host.starts_with("localhost.")) {
    warnings.push_back("host " + config.host +
                       ": alarms would not say which node it is; set `host`, or this machine's "
                       "name");
  }
  const std::string by_address = InterfaceOf(config.interface);
  const std::string interface = by_address.empty() ? config.interface : by_address;
  if (IsTrainingInterface(interface)) {
    warnings.push_back("interface " + interface +
                       ": it belongs to the training network, where monitoring has no business");
  }
  return warnings;
}

}  // namespace sentinel
