// The gateway's configuration: docs/formats/config-gateway.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/toml_reader.h"
#include "correlate/correlator.h"
#include "gateway/access.h"
#include "gateway/admission_config.h"
#include "gateway/alert_config.h"
#include "gateway/delivery_pace.h"
#include "gateway/output_config.h"
#include "http/message.h"
#include "http/request_authenticator.h"
#include "http/tls_config.h"
#include "incident/incident_policy.h"
#include "incident/site.h"

namespace sentinel {

constexpr uint16_t kGatewayPort = 8080;
constexpr uint16_t kAgentPort = 8081;

struct TerminalConfig {
  std::string name;
  Endpoint address;
  std::string key_file;  // empty: the gateway's
  SignatureUse signature = SignatureUse::kAuto;
};

struct GatewayConfig {
  std::vector<Endpoint> listen;
  std::vector<Endpoint> agents;
  std::string state_dir = "/var/lib/gpu-sentinel";
  std::string key_file;
  std::vector<TerminalConfig> terminals;
  IngestConfig ingest;
  TlsConfig tls;
  std::vector<Route> routes;
  std::vector<HostEntry> hosts;
  std::vector<OutputConfig> outputs;
  AlertMapping alerts = DefaultAlertMapping();
  std::string timezone = "Asia/Shanghai";
  // When only P0 is spoken, in minutes of the site's day; both the same: never.
  std::chrono::minutes quiet_from = std::chrono::hours(22);
  std::chrono::minutes quiet_until = std::chrono::hours(8);
  CorrelateOptions detection;
  IncidentPolicy incidents;
  DeliveryPace delivery;
  AccessConfig access;
};

// The endpoints of it that are listened on, and those that are called.
std::vector<Endpoint> ServedEndpoints(const GatewayConfig& config);
std::vector<Endpoint> CalledEndpoints(const GatewayConfig& config);

// Errors say file:line:column and what is allowed there. The inventory that a configuration names
// is read with it; the other files that it names are looked for where it is loaded.
Result<GatewayConfig> LoadGatewayConfig(const std::string& path);
Result<GatewayConfig> ParseGatewayConfig(std::string_view text, const std::string& file,
                                         NamedFiles named = NamedFiles::kTaken);
// Of the hosts of a site with these terminals.
Result<std::vector<HostEntry>> ParseInventory(std::string_view text, const std::string& file,
                                              const std::vector<TerminalConfig>& terminals);

// What would keep the running gateway from writing there, in words; nothing if all is well. Only
// warnings: who checks a configuration need not be the daemon's user, nor on its host.
std::vector<std::string> StateDirWarnings(const std::string& folder);

// What applies where nothing is written.
GatewayConfig DefaultGatewayConfig();

}  // namespace sentinel
