// How the gateway begins: takes over what was, opens its doors, says what of them is odd.
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "base/clock.h"
#include "gateway/api.h"
#include "gateway/gateway_on_loop.h"

namespace sentinel {

Status GatewayOnLoop::Start() {
  Restore();
  for (const Endpoint& endpoint : config_.listen) {
    std::unique_ptr<HttpServer> server = TRY(HttpServer::Listen(
        io_, endpoint, ApiLimits(),
        SignAnswers(authenticator_,
                    [this](HttpRequest request, std::unique_ptr<HttpResponder> responder) {
                      authenticator_.Identify(&request, MomentNow());
                      router_(std::move(request), std::move(responder));
                    }),
        tls_.server));
    if (http_port_ == 0) http_port_ = server->port();
    servers_.push_back(std::move(server));
  }
  agent_server_ = TRY(AgentServer::Listen(io_, config_.agents, {}, id_, this, agents_tls_));
  AddRoutes();
  ready_ = true;
  Turn();
  outputs_.CatchUp();
  Tick();
  WarnOfDoors();
  if (keys_.empty()) {
    spdlog::warn(
        "event=no_terminals what=\"no [[terminals]] are configured: incidents are kept "
        "and shown, no lamp will be lit\"");
  }
  return {};
}

void GatewayOnLoop::AddRoutes() {
  ApiDeps deps{io_,
               book_,
               *store_,
               metrics_,
               agents_,
               deliveries_,
               intake_,
               authenticator_,
               admission_,
               access_,
               keys_,
               config_.alerts,
               tests_,
               config_.incidents.mute,
               [this](const AuditRecord& line) { notes_.KeepAct(line); },
               [this] { Turn(); },
               [this] { return ready_; }};
  AddApiRoutes(&router_, std::move(deps));
}

// Somebody who listens on the network and gives nobody a key wonders where the events are; and who
// lets anybody be an agent is to know it.
void GatewayOnLoop::WarnOfDoors() const {
  for (const Endpoint& endpoint : config_.agents) {
    if (IsLocal(endpoint) || endpoint.tls) continue;
    spdlog::warn(
        "event=agents_open listen={} what=\"whoever reaches it may be an agent: tls: lets in only "
        "those with a certificate\"",
        endpoint.ToString());
  }
  if (config_.ingest.open_to == OpenTo::kNetwork) {
    spdlog::warn("event=ingest_open what=\"whoever reaches us may post events: ingest.open_to\"");
    return;
  }
  for (const Endpoint& endpoint : config_.listen) {
    if (IsLocal(endpoint) || !config_.ingest.senders.empty()) continue;
    if (endpoint.tls && config_.tls.clients != ClientCertificates::kNone) continue;
    spdlog::warn(
        "event=ingest_closed listen={} what=\"from other hosts events are taken signed, and there "
        "are no [[senders]]: they get 401\"",
        endpoint.ToString());
  }
}

}  // namespace sentinel
