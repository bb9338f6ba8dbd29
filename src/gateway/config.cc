#include "gateway/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "config/config_file.h"
#include "config/host_name.h"
#include "config/time_zone.h"
#include "config/toml_reader.h"
#include "gateway/config_access.h"
#include "http/config_address.h"
#include "incident/speech_text.h"
#include "signal/terminal_driver.h"
#include "wire/talk_json.h"

namespace sentinel {
namespace {

Result<Severity> Level(const std::string& name) {
  const std::optional<Severity> level = SeverityFromName(name);
  if (level) return *level;
  return Error{ErrorCode::kInvalidArgument, "one of P0, P1, NOTICE, NORMAL is expected"};
}

constexpr int64_t kConfirmApartMinMs = 1;
// The longest an agent waits before it suspects a stall.
constexpr Duration kSuspectMax = std::chrono::milliseconds(400);
constexpr Duration kDeadRedMin = std::chrono::milliseconds(200);
constexpr Duration kAgentSilentMin = std::chrono::milliseconds(500);  // two heartbeats

Result<std::string> Folder(const std::string& path) {
  if (!path.empty()) return path;
  return Error{ErrorCode::kInvalidArgument, "the path of a folder is expected"};
}

// Where both would bind the same port. A name is compared as it is written; what it is on this host
// --check warns of. A path is compared as the system reads it.
bool Collide(const Endpoint& a, const Endpoint& b) {
  if (a.unix_socket || b.unix_socket) {
    return a.unix_socket == b.unix_socket && std::filesystem::path(a.host).lexically_normal() ==
                                                 std::filesystem::path(b.host).lexically_normal();
  }
  auto any = [](const Endpoint& e) { return e.host == "0.0.0.0" || e.host == "::"; };
  return a.port != 0 && a.port == b.port && (a.host == b.host || any(a) || any(b));
}

void CheckAddresses(TomlReader* reader, const GatewayConfig& config) {
  std::vector<Endpoint> taken;
  auto take = [&](std::string_view key, const std::vector<Endpoint>& endpoints) {
    for (const Endpoint& endpoint : endpoints) {
      for (const Endpoint& other : taken) {
        if (!Collide(endpoint, other)) continue;
        return reader->Wrong(key, endpoint.ToString() + " and " + other.ToString() +
                                      " cannot both be listened on; each of `listen` and "
                                      "`agents` needs an address of its own");
      }
      taken.push_back(endpoint);
    }
  };
  take("listen", config.listen);
  take("agents", config.agents);
}

bool Known(const std::vector<TerminalConfig>& terminals, const std::string& name) {
  return std::any_of(terminals.begin(), terminals.end(),
                     [&](const TerminalConfig& terminal) { return terminal.name == name; });
}

// For TomlReader::ParsedEach: names of terminals that there are.
auto TerminalOf(const std::vector<TerminalConfig>& terminals) {
  return [&terminals](const std::string& name) -> Result<std::string> {
    if (Known(terminals, name)) return name;
    std::string names;
    for (const TerminalConfig& terminal : terminals) {
      names += (names.empty() ? "" : ", ") + terminal.name;
    }
    return Error{ErrorCode::kInvalidArgument, "there is no terminal '" + name +
                                                  "'; [[terminals]] has " +
                                                  (names.empty() ? "none" : names)};
  };
}

void ReadTerminal(TomlReader* reader, GatewayConfig* config) {
  TerminalConfig terminal;
  std::optional<Endpoint> address;
  reader->Name("name", &terminal.name);
  reader->Parsed("address", CalledAddress(kTerminalPort), &address);
  reader->File("key_file", &terminal.key_file);
  reader->Choice<SignatureUse>(
      "protocol",
      {{"auto", SignatureUse::kAuto}, {"v1", SignatureUse::kV1Only}, {"v2", SignatureUse::kV2Only}},
      &terminal.signature);
  if (address) {
    terminal.address = *address;
  } else {
    reader->Wrong("address", "it is missing: host[:port], tls:host[:port] or unix:/path");
  }
  if (terminal.name.empty()) reader->Wrong("name", "it is missing");
  if (Known(config->terminals, terminal.name)) reader->Wrong("name", "it is taken already");
  config->terminals.push_back(std::move(terminal));
}

void ReadRoute(TomlReader* reader, GatewayConfig* config) {
  Route route;
  reader->Text("rack", &route.rack);
  reader->Parsed("level", Level, &route.level);
  reader->Texts("jobs", &route.jobs);
  reader->ParsedEach("terminals", TerminalOf(config->terminals), &route.terminals);
  if (route.terminals.empty()) reader->Wrong("terminals", "at least one is expected");
  config->routes.push_back(std::move(route));
}

void ReadSite(TomlReader* reader, GatewayConfig* config) {
  reader->Parsed(
      "timezone", [](const std::string& zone) { return ZoneName(zone); }, &config->timezone);
  reader->Choice<Language>("language",
                           {{"zh-CN", Language::kChinese}, {"en-US", Language::kEnglish}},
                           &config->incidents.language);
}

void ReadDetection(TomlReader* reader, GatewayConfig* config) {
  CorrelateOptions* options = &config->detection;
  reader->Whole("late_history_min", 0, 1'000'000'000, &options->late_history_min);
  reader->Millis("confirm_apart_ms", &options->confirm_apart, kConfirmApartMinMs);
  reader->Millis("red_after_ms", &options->red_after);
  reader->Millis("dead_red_after_ms", &options->dead_red_after);
  reader->Millis("arrival_lag_max_ms", &options->arrival_lag_max, 1);
  reader->Millis("late_limit_ms", &options->late_limit);
  reader->Millis("agent_silent_ms", &options->agent_silent_after);
  reader->Millis("node_silent_ms", &options->node_silent_after);
  reader->Millis("recovered_after_ms", &config->incidents.recovery_hold, 0,
                 ToMillis(kRecoveryHoldMax));
  auto at_least = [reader](std::string_view key, Duration value, Duration least,
                           const std::string& why) {
    if (value >= least) return;
    reader->Wrong(key, std::to_string(ToMillis(value)) + " is too short, at least " +
                           std::to_string(ToMillis(least)) + " is expected: " + why);
  };
  at_least("red_after_ms", options->red_after, kSuspectMax + 2 * options->confirm_apart,
           "a stall is suspected after up to 400 ms and confirmed by digests that are "
           "confirm_apart_ms apart; a lamp before that would be a guess");
  at_least("dead_red_after_ms", options->dead_red_after, kDeadRedMin,
           "a process that ends with its job leaves others waiting for a moment");
  at_least("late_limit_ms", options->late_limit, options->red_after,
           "who is late is not called a stall sooner than who stands still inside an operation "
           "(red_after_ms)");
  at_least("red_after_ms", options->red_after, options->arrival_lag_max,
           "a job that is that late by habit (arrival_lag_max_ms) would be red at once");
  at_least("agent_silent_ms", options->agent_silent_after, kAgentSilentMin,
           "an agent speaks every 250 ms, and one message may be late");
  at_least("node_silent_ms", options->node_silent_after, options->agent_silent_after,
           "a node is not silent before its agent is (agent_silent_ms)");
}

Result<std::chrono::minutes> TimeOfDay(const std::string& text) {
  int hour = 0;
  int minute = 0;
  int read = 0;
  bool fits =
      text.size() == 5 && std::sscanf(text.c_str(), "%2d:%2d%n", &hour, &minute, &read) == 2;
  if (fits && read == 5 && hour >= 0 && hour < 24 && minute >= 0 && minute < 60) {
    return std::chrono::hours(hour) + std::chrono::minutes(minute);
  }
  return Error{ErrorCode::kInvalidArgument, "a time of day such as 22:00 is expected"};
}

void ReadVoice(TomlReader* reader, GatewayConfig* config) {
  IncidentPolicy& policy = config->incidents;
  reader->Millis("hold_ms", &policy.voice_hold);
  reader->Millis("mute_ms", &policy.mute, 1, ToMillis(kMutedForMax));
  reader->Flag("strict_mute", &policy.strict_mute);
  reader->Parsed("quiet_from", TimeOfDay, &config->quiet_from);
  reader->Parsed("quiet_until", TimeOfDay, &config->quiet_until);
}

// The longest a terminal may keep an alarm from the next one.
constexpr int64_t kAttemptMaxMs = 60'000;

void ReadDelivery(TomlReader* reader, DeliveryPace* pace) {
  reader->Millis("attempt_timeout_ms", &pace->attempt_timeout, 100, kAttemptMaxMs);
  reader->Millis("ping_ms", &pace->ping_every, 100);
  reader->Millis("unreachable_ms", &pace->unreachable_after, 100);
  std::vector<Duration>& again = pace->retry.unconfirmed_pauses;
  reader->Millis("unconfirmed_first_ms", &again.at(0), 1);
  reader->Millis("unconfirmed_then_ms", &again.at(1), 1);
  if (pace->unreachable_after < pace->ping_every) {
    reader->Wrong("unreachable_ms", "it is shorter than ping_ms: every terminal would be missed");
  }
}

void ReadRing(TomlReader* reader, RingRule* ring) {
  reader->Whole("gpus_min", 0, 1'000'000, &ring->gpus_min);
  reader->Texts("partitions", &ring->partitions);
  reader->Texts("namespaces", &ring->namespaces);
  reader->Texts("users", &ring->users);
}

void ReadSentence(TomlReader* reader, std::string_view key, std::string* sentence) {
  auto checked = [](const std::string& text) -> Result<std::string> {
    TRY(CheckTemplate(text));
    return text;
  };
  reader->Parsed(key, checked, sentence);
}

void ReadKind(TomlReader* reader, EventKind* kind) {
  reader->Parsed("level", Level, &kind->severity);
  ReadSentence(reader, "text_zh", &kind->chinese);
  ReadSentence(reader, "text_en", &kind->english);
  reader->Flag("voice_hold", &kind->voice_hold);
  reader->Flag("hides_host", &kind->hides_host);
  reader->Choice<Ending>("resolved_means",
                         {{"job-moves", Ending::kJobMoves}, {"fault-gone", Ending::kFaultGone}},
                         &kind->ending);
}

// A row of the event table: what is left out stays as it is. `read`: the types of those before it.
void ReadEvent(TomlReader* reader, EventTable* events, std::set<std::string>* read) {
  std::string type;
  reader->Text("type", &type);
  const EventKind* known = events->Find(type);
  EventKind kind = known == nullptr ? events->unknown() : *known;
  ReadKind(reader, &kind);
  if (type.empty()) return reader->Wrong("type", "an event type is expected");
  if (!read->insert(type).second) return reader->Wrong("type", "it has a row already");
  events->Set(type, std::move(kind));
}

Result<HangClass> ClassNamed(const std::string& name) {
  const std::optional<HangClass> known = HangClassFromName(name);
  if (known) return *known;
  std::string names;
  for (size_t i = 0; i < kHangClasses; ++i) {
    names += (i == 0 ? "" : ", ") + std::string(HangClassName(static_cast<HangClass>(i)));
  }
  return Error{ErrorCode::kInvalidArgument, "'" + name + "' is not one of " + names};
}

void ReadClass(TomlReader* reader, EventTable* events) {
  std::optional<HangClass> hang_class;
  std::string type;
  reader->Parsed("class", ClassNamed, &hang_class);
  reader->Text("event", &type);
  if (!reader->ok()) return;
  if (!hang_class) return reader->Wrong("class", "it is missing");
  if (events->Find(type) == nullptr) {
    return reader->Wrong("event", "there is no row for '" + type + "' in [[events]]");
  }
  events->SetTypeOf(*hang_class, type);
}

bool IsPciId(const std::string& id) {
  return !id.empty() && id.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

// `names`: of those before it, by the name each is known by.
void ReadHost(TomlReader* reader, const std::vector<TerminalConfig>& terminals,
              std::map<std::string, std::string>* names, std::vector<HostEntry>* hosts) {
  HostEntry host;
  reader->Parsed("name", HostName, &host.name);
  reader->Text("rack", &host.rack);
  reader->Text("alias", &host.alias);
  reader->Whole("unit", 0, 1000, &host.unit);
  reader->ParsedEach("terminals", TerminalOf(terminals), &host.terminals);
  reader->Numbers("gpus", &host.gpus);
  reader->Choice<NodeState>("state",
                            {{NodeStateName(NodeState::kInService), NodeState::kInService},
                             {NodeStateName(NodeState::kDrained), NodeState::kDrained},
                             {NodeStateName(NodeState::kCordoned), NodeState::kCordoned},
                             {NodeStateName(NodeState::kReserved), NodeState::kReserved}},
                            &host.state);
  if (host.name.empty()) reader->Wrong("name", "it is missing");
  for (const auto& [id, card] : host.gpus) {
    if (!IsPciId(id)) reader->Wrong("gpus", "'" + id + "' is no PCI id such as 0000:3b:00.0");
  }
  auto [other, first] = names->emplace(IdentityHost(host.name), host.name);
  if (!first) {
    reader->Wrong("name", "'" + host.name + "' is the same host as '" + other->second +
                              "' before it (a generated suffix makes no difference)");
  }
  hosts->push_back(std::move(host));
}

// The file itself is wrong where it is named; what stands in it, where it stands.
Status ReadInventory(TomlReader* reader, const std::string& path, GatewayConfig* config) {
  if (path.empty() || !reader->ok()) return {};
  const Result<std::string> text = ReadConfigFile(path);
  if (!text.ok()) {
    reader->Wrong("inventory", text.error());
    return {};
  }
  config->hosts = TRY(ParseInventory(*text, path, config->terminals));
  return {};
}

// What an agent says rings, so it is known by its certificate, or is on this host, or whoever
// reaches us may be one, and somebody has said so.
void CheckAgents(TomlReader* reader, const GatewayConfig& config) {
  if (AnyTls(config.agents) && config.tls.files.ca.empty()) {
    reader->Wrong("agents",
                  "an agent shows a certificate there, which needs tls.ca to be held against");
  }
  for (const Endpoint& endpoint : config.agents) {
    if (endpoint.tls || IsLocal(endpoint) || config.ingest.open_to == OpenTo::kNetwork) continue;
    reader->Wrong("agents", endpoint.ToString() +
                                ": whoever reaches it could be an agent, and ring: put it behind "
                                "tls:, or let in the whole network with ingest.open_to");
  }
}

}  // namespace

GatewayConfig DefaultGatewayConfig() {
  GatewayConfig config;
  config.listen = {{"127.0.0.1", kGatewayPort, false}, {"/run/gpu-sentinel/gateway.sock", 0, true}};
  config.agents = {{"127.0.0.1", kAgentPort, false}};
  return config;
}

std::vector<Endpoint> ServedEndpoints(const GatewayConfig& config) {
  std::vector<Endpoint> served = config.listen;
  served.insert(served.end(), config.agents.begin(), config.agents.end());
  return served;
}

std::vector<Endpoint> CalledEndpoints(const GatewayConfig& config) {
  std::vector<Endpoint> called;
  for (const TerminalConfig& terminal : config.terminals) called.push_back(terminal.address);
  return called;
}

Result<std::vector<HostEntry>> ParseInventory(std::string_view text, const std::string& file,
                                              const std::vector<TerminalConfig>& terminals) {
  TomlReader reader = TRY(TomlReader::Parse(text, file));
  std::vector<HostEntry> hosts;
  std::map<std::string, std::string> names;
  reader.Sections("host", [&](TomlReader& host) { ReadHost(&host, terminals, &names, &hosts); });
  TRY(reader.Finish());
  return hosts;
}

Result<GatewayConfig> ParseGatewayConfig(std::string_view text, const std::string& file,
                                         NamedFiles named) {
  TomlReader reader = TRY(TomlReader::Parse(text, file, named));
  GatewayConfig config = DefaultGatewayConfig();
  reader.ParsedEach("listen", ServedAddress(kGatewayPort), &config.listen);
  if (config.listen.empty()) {
    reader.Wrong("listen", "at least one address is expected: nobody could post an event or ask");
  }
  // None: a gateway of events that senders post, and nothing else.
  reader.ParsedEach("agents", ServedAddress(kAgentPort, ServedNames::kNone), &config.agents);
  reader.Parsed("state_dir", Folder, &config.state_dir);
  reader.File("key_file", &config.key_file);
  std::string inventory;
  reader.File("inventory", &inventory);
  reader.Sections("terminals", [&](TomlReader& terminal) { ReadTerminal(&terminal, &config); });
  ReadIngest(&reader, &config.ingest);
  reader.Sections("routes", [&](TomlReader& route) { ReadRoute(&route, &config); });
  ReadOutputs(&reader, &config.outputs);
  ReadAlerts(&reader, &config.alerts);
  reader.Section("site", [&](TomlReader& site) { ReadSite(&site, &config); });
  reader.Section("detection", [&](TomlReader& table) { ReadDetection(&table, &config); });
  std::set<std::string> rows;
  reader.Sections("events",
                  [&](TomlReader& event) { ReadEvent(&event, &config.incidents.table, &rows); });
  EventTable& table = config.incidents.table;
  reader.Sections("classes", [&](TomlReader& hang) { ReadClass(&hang, &table); });
  EventKind unknown = table.unknown();
  reader.Section("event_unknown", [&](TomlReader& kind) { ReadKind(&kind, &unknown); });
  table.SetUnknown(std::move(unknown));
  EventKind unlocated = table.unlocated();
  reader.Section("event_unlocated", [&](TomlReader& kind) { ReadKind(&kind, &unlocated); });
  table.SetUnlocated(std::move(unlocated));
  bool low_utilisation_is_p0 = false;
  reader.Flag("low_utilisation_is_p0", &low_utilisation_is_p0);
  table.SetLowUtilisationIsP0(low_utilisation_is_p0);
  reader.Section("ring", [&](TomlReader& ring) { ReadRing(&ring, &config.incidents.ring); });
  reader.Section("voice", [&](TomlReader& voice) { ReadVoice(&voice, &config); });
  reader.Section("delivery", [&](TomlReader& pace) { ReadDelivery(&pace, &config.delivery); });
  ReadTls(&reader, &config.tls);
  CheckTls(&reader, config.tls, ServedEndpoints(config), CalledEndpoints(config));
  CheckAgents(&reader, config);
  reader.Section("access", [&](TomlReader& access) { ReadAccess(&access, &config.access); });
  CheckAddresses(&reader, config);
  for (const TerminalConfig& terminal : config.terminals) {
    if (!terminal.key_file.empty() || !config.key_file.empty()) continue;
    reader.Wrong("key_file",
                 "it is missing: the file with the key and secret that messages to terminal '" +
                     terminal.name + "' are signed with");
  }
  // Before it: a key that nobody knows is told first.
  TRY(reader.Finish());
  TRY(ReadInventory(&reader, inventory, &config));
  TRY(reader.Finish());
  return config;
}

Result<GatewayConfig> LoadGatewayConfig(const std::string& path) {
  const std::string text = TRY(ReadConfigFile(path));
  return ParseGatewayConfig(text, path, NamedFiles::kLookedFor);
}

std::vector<std::string> StateDirWarnings(const std::string& folder) {
  auto unusable = [](const std::string& path) -> std::string {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) return std::strerror(errno);
    if (!S_ISDIR(found.st_mode)) return "it is not a folder";
    return access(path.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
  };
  std::string why = unusable(folder);
  if (why.empty()) return {};
  std::vector<std::string> warnings = {"state_dir " + folder +
                                       " cannot be used by this user: " + why};
  struct stat found {};
  if (stat(folder.c_str(), &found) == 0) return warnings;
  size_t slash = folder.find_last_of('/');
  std::string parent =
      slash == std::string::npos ? "." : folder.substr(0, std::max<size_t>(slash, 1));
  why = unusable(parent);
  if (!why.empty()) warnings.push_back("nor can it be created in " + parent + ": " + why);
  return warnings;
}

}  // namespace sentinel
