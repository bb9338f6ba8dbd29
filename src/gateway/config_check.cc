#include "gateway/config_check.h"

#include <utility>

#include "config/time_zone.h"
#include "http/config_address.h"

namespace sentinel {
namespace {

void Append(std::vector<std::string> more, std::vector<std::string>* to) {
  for (std::string& each : more) to->push_back(std::move(each));
}

}  // namespace

std::vector<std::string> StandingWarnings(const GatewayConfig& config) {
  if (config.timezone == "UTC" || HasZones()) return {};
  return {"site.timezone " + config.timezone + " counts as UTC: this host has no zone files in " +
          kZoneFolder + "; install tzdata"};
}

Status CheckStart(const GatewayOptions& options, std::vector<std::string>* warnings) {
  TRY(CheckKeys(options));
  const GatewayConfig& config = options.config;
  std::vector<Endpoint> called = CalledEndpoints(config);
  for (const OutputConfig& output : config.outputs) {
    called.push_back(output.settings.post.url.endpoint);
  }
  Append(StateDirWarnings(config.state_dir), warnings);
  Append(StandingWarnings(config), warnings);
  Append(AddressWarnings(ServedEndpoints(config), called), warnings);
  return {};
}

}  // namespace sentinel
