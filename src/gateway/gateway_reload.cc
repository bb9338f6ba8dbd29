// Another configuration while the gateway runs: all of it or none.
#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/gateway_on_loop.h"
#include "model/audit.h"

namespace sentinel {
namespace {

// What only a start can change, and is changed.
std::string NeedsAStart(const GatewayConfig& now, const GatewayConfig& then) {
  if (now.listen != then.listen) return "listen";
  if (now.agents != then.agents) return "agents";
  if (now.state_dir != then.state_dir) return "state_dir";
  if (now.timezone != then.timezone) return "site.timezone";
  if (now.tls != then.tls) return "tls";
  return "";
}

}  // namespace

Status GatewayOnLoop::Reload(Result<GatewayConfig> config) {
  Status done = config.ok() ? Apply(std::move(*config)) : Status(config.error());
  ReloadDone(done.ok());
  notes_.KeepAct({WallNow(),
                  {"SIGHUP", "this host"},
                  AuditAction::kReload,
                  "configuration",
                  done.ok() ? "taken" : "refused: " + done.error().message});
  if (done.ok()) {
    spdlog::info("event=config_reloaded terminals={} outputs={}", config_.terminals.size(),
                 config_.outputs.size());
  } else {
    spdlog::error(
        "event=config_not_reloaded why=\"{}\" what=\"the configuration before it stays "
        "in force; correct it and send SIGHUP again\"",
        done.error().message);
  }
  return done;
}

void GatewayOnLoop::ReloadDone(bool taken) {
  metrics_.reload_ok->Set(taken ? 1 : 0);
  if (taken) metrics_.reload_time->Set(static_cast<double>(WallNow().since_epoch.count()) / 1000.0);
}

// Whatever can be wrong is found before anything is changed.
Status GatewayOnLoop::Apply(GatewayConfig fresh) {
  const std::string key = NeedsAStart(config_, fresh);
  if (!key.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 key + " cannot be changed while the gateway runs: start it anew"};
  }
  Credentials credentials = TRY(LoadCredentials(fresh, sample_key_));
  std::vector<OutputSettings> outputs = TRY(LoadOutputs(fresh.outputs));
  Moment now = MomentNow();
  config_ = std::move(fresh);
  // Certificates are read at the start; a terminal that is the first behind TLS brings the CA in.
  if (tls_.client == nullptr) tls_.client = credentials.tls.client;
  for (TerminalSettings& terminal : credentials.terminals) terminal.tls = tls_.client;
  std::vector<TerminalSettings> terminals = credentials.terminals;
  TakeKeys(std::move(credentials));
  correlator_.Reconfigure(config_.detection);
  deliveries_.Reconfigure(std::move(terminals), config_.delivery, now);
  deliveries_.Pump(now);  // the book hears of what was given up
  book_.Reconfigure(PolicyOf(config_), SiteOf(config_), now);
  outputs_.Reconfigure(std::move(outputs));
  Turn();
  return {};
}

}  // namespace sentinel
