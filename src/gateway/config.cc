#include "gateway/config.h"

#include <algorithm>
#include <optional>

#include "config/config_file.h"
#include "config/toml_reader.h"
#include "signal/terminal_driver.h"

namespace sentinel {
namespace {

void ReadEndpoints(TomlReader* reader, std::string_view key, uint16_t default_port,
                   std::vector<Endpoint>* out) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : *out) texts.push_back(endpoint.ToString());
  reader->Texts(key, &texts);
  out->clear();
  for (const std::string& text : texts) {
    Result<Endpoint> endpoint = ParseEndpoint(text, default_port);
    if (!endpoint.ok()) return reader->Wrong(key, endpoint.error().message);
    out->push_back(*endpoint);
  }
}

Result<Severity> Level(const std::string& name) {
  const std::optional<Severity> level = SeverityFromName(name);
  if (level) return *level;
  return Error{ErrorCode::kInvalidArgument, "one of P0, P1, NOTICE, NORMAL is expected"};
}

bool Known(const GatewayConfig& config, const std::string& terminal) {
  return std::any_of(config.terminals.begin(), config.terminals.end(),
                     [&](const TerminalConfig& t) { return t.name == terminal; });
}

void ReadTerminal(TomlReader* reader, GatewayConfig* config) {
  TerminalConfig terminal;
  std::string address;
  std::string protocol;
  reader->Name("name", &terminal.name);
  reader->Text("address", &address);
  reader->Text("key_file", &terminal.key_file);
  reader->Choice<std::string>("protocol", {{"v1", "v1"}}, &protocol);
  const Result<Endpoint> endpoint = ParseEndpoint(address, kTerminalPort);
  if (endpoint.ok()) {
    terminal.address = *endpoint;
  } else {
    reader->Wrong("address", endpoint.error().message);
  }
  if (terminal.name.empty()) reader->Wrong("name", "it is missing");
  if (Known(*config, terminal.name)) reader->Wrong("name", "it is taken already");
  config->terminals.push_back(std::move(terminal));
}

void ReadRoute(TomlReader* reader, GatewayConfig* config) {
  Route route;
  reader->Text("rack", &route.rack);
  reader->Parsed("level", Level, &route.level);
  reader->Texts("terminals", &route.terminals);
  if (route.terminals.empty()) reader->Wrong("terminals", "at least one is expected");
  for (const std::string& name : route.terminals) {
    if (!Known(*config, name)) reader->Wrong("terminals", "there is no terminal '" + name + "'");
  }
  config->routes.push_back(std::move(route));
}

void ReadSite(TomlReader* reader, GatewayConfig* config) {
  reader->Text("timezone", &config->timezone);
  reader->Choice<Language>("language",
                           {{"zh-CN", Language::kChinese}, {"en-US", Language::kEnglish}},
                           &config->incidents.language);
}

void ReadDetection(TomlReader* reader, CorrelateOptions* options) {
  reader->Whole("late_history_min", 0, 1'000'000'000, &options->late_history_min);
  reader->Millis("confirm_apart_ms", &options->confirm_apart);
  reader->Millis("red_after_ms", &options->red_after);
  reader->Millis("dead_red_after_ms", &options->dead_red_after);
  reader->Millis("arrival_lag_max_ms", &options->arrival_lag_max);
  reader->Millis("late_limit_ms", &options->late_limit);
  reader->Millis("agent_silent_ms", &options->agent_silent_after);
  reader->Millis("node_silent_ms", &options->node_silent_after);
}

// A row of the event table: what is left out stays as it is.
void ReadEvent(TomlReader* reader, EventTable* events) {
  std::string type;
  reader->Text("type", &type);
  const EventKind* known = events->Find(type);
  EventKind kind = known == nullptr ? events->unknown() : *known;
  reader->Parsed("level", Level, &kind.severity);
  reader->Text("text_zh", &kind.chinese);
  reader->Text("text_en", &kind.english);
  reader->Flag("voice_hold", &kind.voice_hold);
  if (type.empty()) return reader->Wrong("type", "an event type is expected");
  events->Set(type, std::move(kind));
}

void ReadHost(TomlReader* reader, std::vector<HostEntry>* hosts) {
  HostEntry host;
  reader->Text("name", &host.name);
  reader->Text("rack", &host.rack);
  reader->Text("alias", &host.alias);
  reader->Whole("unit", 0, 1000, &host.unit);
  reader->Texts("terminals", &host.terminals);
  reader->Numbers("gpus", &host.gpus);
  if (host.name.empty()) reader->Wrong("name", "a host name is expected");
  hosts->push_back(std::move(host));
}

Result<std::vector<HostEntry>> ReadInventory(const std::string& path, const GatewayConfig& config) {
  const std::string text = TRY(ReadConfigFile(path));
  std::vector<HostEntry> hosts = TRY(ParseInventory(text, path));
  for (const HostEntry& host : hosts) {
    for (const std::string& name : host.terminals) {
      if (Known(config, name)) continue;
      return Error{ErrorCode::kInvalidArgument,
                   path + ": host " + host.name + ": there is no terminal '" + name + "'"};
    }
  }
  return hosts;
}

}  // namespace

GatewayConfig DefaultGatewayConfig() {
  GatewayConfig config;
  config.listen = {{"127.0.0.1", kGatewayPort, false}, {"/run/gpu-sentinel/gateway.sock", 0, true}};
  config.agents = {{"127.0.0.1", kAgentPort, false}};
  return config;
}

Result<std::vector<HostEntry>> ParseInventory(std::string_view text, const std::string& file) {
  TomlReader reader = TRY(TomlReader::Parse(text, file));
  std::vector<HostEntry> hosts;
  reader.Sections("host", [&hosts](TomlReader& host) { ReadHost(&host, &hosts); });
  TRY(reader.Finish());
  return hosts;
}

Result<GatewayConfig> ParseGatewayConfig(std::string_view text, const std::string& file) {
  TomlReader reader = TRY(TomlReader::Parse(text, file));
  GatewayConfig config = DefaultGatewayConfig();
  ReadEndpoints(&reader, "listen", kGatewayPort, &config.listen);
  ReadEndpoints(&reader, "agents", kAgentPort, &config.agents);
  reader.Text("state_dir", &config.state_dir);
  reader.Text("key_file", &config.key_file);
  std::string inventory;
  reader.Text("inventory", &inventory);
  reader.Sections("terminals", [&](TomlReader& terminal) { ReadTerminal(&terminal, &config); });
  reader.Sections("routes", [&](TomlReader& route) { ReadRoute(&route, &config); });
  reader.Section("site", [&](TomlReader& site) { ReadSite(&site, &config); });
  reader.Section("detection", [&](TomlReader& table) { ReadDetection(&table, &config.detection); });
  reader.Sections("events", [&](TomlReader& event) { ReadEvent(&event, &config.incidents.table); });
  reader.Section("voice",
                 [&](TomlReader& voice) { voice.Millis("hold_ms", &config.incidents.voice_hold); });
  for (const TerminalConfig& terminal : config.terminals) {
    if (!terminal.key_file.empty() || !config.key_file.empty()) continue;
    reader.Wrong("key_file",
                 "it is missing: the file with the key and secret that messages to terminal '" +
                     terminal.name + "' are signed with");
  }
  TRY(reader.Finish());
  if (!inventory.empty()) config.hosts = TRY(ReadInventory(inventory, config));
  return config;
}

Result<GatewayConfig> LoadGatewayConfig(const std::string& path) {
  const std::string text = TRY(ReadConfigFile(path));
  return ParseGatewayConfig(text, path);
}

}  // namespace sentinel
