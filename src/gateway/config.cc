#include "gateway/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gateway/toml_reader.h"
#include "signal/terminal_driver.h"

namespace sentinel {
namespace {

constexpr size_t kNameBytesMax = 64;

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kNotFound, path + ": cannot be read"};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void ReadEndpoints(TomlReader* reader, std::string_view key, uint16_t default_port,
                   std::vector<Endpoint>* out) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : *out) texts.push_back(endpoint.ToString());
  reader->Texts(key, &texts);
  out->clear();
  for (const std::string& text : texts) {
    Result<Endpoint> endpoint = ParseEndpoint(text, default_port);
    if (!endpoint.ok()) return reader->Fail(reader->Wrong(key, endpoint.error().message));
    out->push_back(*endpoint);
  }
}

void ReadLevel(TomlReader* reader, std::string_view key, std::optional<Severity>* out) {
  std::string level;
  reader->Text(key, &level);
  if (level.empty()) return;
  *out = SeverityFromName(level);
  if (!*out) reader->Fail(reader->Wrong(key, "one of P0, P1, NOTICE, NORMAL is expected"));
}

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

Status ReadTerminals(TomlReader* reader, GatewayConfig* config) {
  for (const toml::table* table : reader->Tables("terminals")) {
    TomlReader entry(*table, reader->file());
    TerminalConfig terminal;
    std::string address;
    std::string protocol = "v1";
    entry.Text("name", &terminal.name);
    entry.Text("address", &address);
    entry.Text("key_file", &terminal.key_file);
    entry.Text("protocol", &protocol);
    TRY(entry.Finish());
    if (!IsName(terminal.name)) {
      return entry.Wrong("name", "1 to 64 letters, digits, '-', '_' and '.' are expected");
    }
    if (protocol != "v1") return entry.Wrong("protocol", "\"v1\" is expected");
    Result<Endpoint> endpoint = ParseEndpoint(address, kTerminalPort);
    if (!endpoint.ok()) return entry.Wrong("address", endpoint.error().message);
    terminal.address = *endpoint;
    for (const TerminalConfig& other : config->terminals) {
      if (other.name == terminal.name) return entry.Wrong("name", "it is taken already");
    }
    config->terminals.push_back(std::move(terminal));
  }
  return {};
}

Status CheckTerminalNames(const TomlReader& reader, const std::vector<std::string>& names,
                          const GatewayConfig& config) {
  for (const std::string& name : names) {
    bool known = std::any_of(config.terminals.begin(), config.terminals.end(),
                             [&](const TerminalConfig& t) { return t.name == name; });
    if (!known) return reader.Wrong("terminals", "there is no terminal '" + name + "'");
  }
  return {};
}

Status ReadRoutes(TomlReader* reader, GatewayConfig* config) {
  for (const toml::table* table : reader->Tables("routes")) {
    TomlReader entry(*table, reader->file());
    Route route;
    entry.Text("rack", &route.rack);
    ReadLevel(&entry, "level", &route.level);
    entry.Texts("terminals", &route.terminals);
    TRY(entry.Finish());
    if (route.terminals.empty()) return entry.Wrong("terminals", "at least one is expected");
    TRY(CheckTerminalNames(entry, route.terminals, *config));
    config->routes.push_back(std::move(route));
  }
  return {};
}

Status ReadSite(TomlReader* reader, GatewayConfig* config) {
  const toml::table* table = reader->Table("site");
  if (table == nullptr) return {};
  TomlReader entry(*table, reader->file());
  std::string language = "zh-CN";
  entry.Text("timezone", &config->timezone);
  entry.Text("language", &language);
  TRY(entry.Finish());
  if (language != "zh-CN" && language != "en-US") {
    return entry.Wrong("language", "\"zh-CN\" or \"en-US\" is expected");
  }
  config->incidents.language = language == "zh-CN" ? Language::kChinese : Language::kEnglish;
  return {};
}

Status ReadDetection(TomlReader* reader, CorrelateOptions* options) {
  const toml::table* table = reader->Table("detection");
  if (table == nullptr) return {};
  TomlReader entry(*table, reader->file());
  std::optional<int64_t> history;
  entry.Integer("late_history_min", 0, 1'000'000'000, &history);
  entry.Millis("confirm_apart_ms", &options->confirm_apart);
  entry.Millis("red_after_ms", &options->red_after);
  entry.Millis("dead_red_after_ms", &options->dead_red_after);
  entry.Millis("arrival_lag_max_ms", &options->arrival_lag_max);
  entry.Millis("late_limit_ms", &options->late_limit);
  entry.Millis("agent_silent_ms", &options->agent_silent_after);
  entry.Millis("node_silent_ms", &options->node_silent_after);
  TRY(entry.Finish());
  if (history) options->late_history_min = static_cast<uint64_t>(*history);
  return {};
}

// A row of the event table: what is left out stays as it is.
Status ReadEvents(TomlReader* reader, EventTable* events) {
  for (const toml::table* table : reader->Tables("events")) {
    TomlReader entry(*table, reader->file());
    std::string type;
    entry.Text("type", &type);
    const EventKind* known = events->Find(type);
    EventKind kind = known == nullptr ? events->unknown() : *known;
    std::optional<Severity> level;
    ReadLevel(&entry, "level", &level);
    entry.Text("text_zh", &kind.chinese);
    entry.Text("text_en", &kind.english);
    entry.Flag("voice_hold", &kind.voice_hold);
    TRY(entry.Finish());
    if (type.empty()) return entry.Wrong("type", "an event type is expected");
    if (level) kind.severity = *level;
    events->Set(type, std::move(kind));
  }
  return {};
}

}  // namespace

GatewayConfig DefaultGatewayConfig() {
  GatewayConfig config;
  config.listen = {{"127.0.0.1", kGatewayPort, false}, {"/run/gpu-sentinel/gateway.sock", 0, true}};
  config.agents = {{"127.0.0.1", kAgentPort, false}};
  return config;
}

Result<std::vector<HostEntry>> ParseInventory(std::string_view text, const std::string& file) {
  toml::table table = TRY(ParseToml(text, file));
  TomlReader reader(table, file);
  std::vector<HostEntry> hosts;
  for (const toml::table* host : reader.Tables("host")) {
    TomlReader entry(*host, file);
    HostEntry one;
    std::optional<int64_t> unit;
    entry.Text("name", &one.name);
    entry.Text("rack", &one.rack);
    entry.Text("alias", &one.alias);
    entry.Integer("unit", 0, 1000, &unit);
    entry.Texts("terminals", &one.terminals);
    if (const toml::table* gpus = entry.Table("gpus")) {
      for (const auto& [pci, index] : *gpus) {
        if (!index.is_integer()) {
          return entry.Wrong("gpus", "PCI ids with card numbers are expected");
        }
        one.gpus[std::string(pci.str())] = static_cast<int>(index.as_integer()->get());
      }
    }
    TRY(entry.Finish());
    if (one.name.empty()) return entry.Wrong("name", "a host name is expected");
    if (unit) one.unit = static_cast<int>(*unit);
    hosts.push_back(std::move(one));
  }
  TRY(reader.Finish());
  return hosts;
}

Result<GatewayConfig> ParseGatewayConfig(std::string_view text, const std::string& file) {
  toml::table table = TRY(ParseToml(text, file));
  TomlReader reader(table, file);
  GatewayConfig config = DefaultGatewayConfig();
  ReadEndpoints(&reader, "listen", kGatewayPort, &config.listen);
  ReadEndpoints(&reader, "agents", kAgentPort, &config.agents);
  reader.Text("state_dir", &config.state_dir);
  reader.Text("key_file", &config.key_file);
  std::string inventory;
  reader.Text("inventory", &inventory);
  TRY(ReadTerminals(&reader, &config));
  TRY(ReadRoutes(&reader, &config));
  TRY(ReadSite(&reader, &config));
  TRY(ReadDetection(&reader, &config.detection));
  TRY(ReadEvents(&reader, &config.incidents.table));
  if (const toml::table* voice = reader.Table("voice")) {
    TomlReader entry(*voice, file);
    entry.Millis("hold_ms", &config.incidents.voice_hold);
    TRY(entry.Finish());
  }
  TRY(reader.Finish());
  for (const TerminalConfig& terminal : config.terminals) {
    if (terminal.key_file.empty() && config.key_file.empty()) {
      return reader.Wrong("key_file",
                          "it is missing: the file with the key and secret that messages to "
                          "terminal '" +
                              terminal.name + "' are signed with");
    }
  }
  if (!inventory.empty()) {
    std::string hosts = TRY(ReadFile(inventory));
    config.hosts = TRY(ParseInventory(hosts, inventory));
    for (const HostEntry& host : config.hosts) {
      for (const std::string& name : host.terminals) {
        bool known = std::any_of(config.terminals.begin(), config.terminals.end(),
                                 [&](const TerminalConfig& t) { return t.name == name; });
        if (!known) {
          return Error{ErrorCode::kInvalidArgument,
                       inventory + ": host " + host.name + ": there is no terminal '" + name + "'"};
        }
      }
    }
  }
  return config;
}

Result<GatewayConfig> LoadGatewayConfig(const std::string& path) {
  std::string text = TRY(ReadFile(path));
  return ParseGatewayConfig(text, path);
}

}  // namespace sentinel
