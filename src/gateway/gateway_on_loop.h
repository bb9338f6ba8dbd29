// The gateway on the thread of one io_context: what it is made of. Internal to this folder; others
// have gateway.h.
//
// Its files, by what they tell: gateway.cc how it is made, gateway_start.cc how it begins,
// gateway_restore.cc what it takes over from the last process, gateway_reload.cc another
// configuration, gateway_loop.cc what it does again and again, gateway_agents.cc what agents say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "base/time.h"
#include "correlate/correlator.h"
#include "gateway/access.h"
#include "gateway/admission.h"
#include "gateway/agent_server.h"
#include "gateway/agents.h"
#include "gateway/book_notes.h"
#include "gateway/config.h"
#include "gateway/credentials.h"
#include "gateway/deliveries.h"
#include "gateway/gateway.h"
#include "gateway/incident_log.h"
#include "gateway/intake.h"
#include "gateway/keeper.h"
#include "gateway/outputs.h"
#include "gateway/silent_nodes.h"
#include "gateway/state_lock.h"
#include "gateway/store_watch.h"
#include "gateway/test_messages.h"
#include "http/key_file.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "http/tls_config.h"
#include "incident/incident_book.h"
#include "incident/site.h"
#include "signature/key_ring.h"
#include "store/store.h"
#include "web/metrics.h"

namespace sentinel {

class GatewayOnLoop final : public Gateway, public AgentListener {
 public:
  GatewayOnLoop(boost::asio::io_context& io, GatewayOptions options, Credentials credentials,
                std::vector<OutputSettings> outputs, StateLock lock, std::unique_ptr<Store> store);
  ~GatewayOnLoop() override;

  // Once, before anything else.
  Status Start();

  uint16_t http_port() const override { return http_port_; }
  uint16_t agent_port() const override { return agent_server_->port(); }
  Status Reload(Result<GatewayConfig> config) override;
  void Stop() override;

  void OnAgentMessage(const std::string& agent, UpMessage message) override;
  void OnAgentGone(const std::string& agent) override;
  void OnAgentRefused(const std::string& peer, const std::string& why) override;

 private:
  // gateway.cc
  static Site SiteOf(const GatewayConfig& config);
  static IncidentPolicy PolicyOf(const GatewayConfig& config);
  void TakeKeys(Credentials credentials);

  // gateway_start.cc
  void AddRoutes();
  void WarnOfDoors() const;

  // gateway_restore.cc
  void Restore();
  StoreContents Loaded();
  void RestoreIncidents(std::vector<Incident> incidents, const StoreContents& contents, Moment now);
  void RestoreTerminals(const BookNotes::Notes& notes);
  void RestoreProven(const std::string& terminal);
  void FollowTerminals();  // what they prove from here on is kept for the next process

  // gateway_reload.cc
  Status Apply(GatewayConfig fresh);
  void ReloadDone(bool taken);

  // gateway_loop.cc
  void Turn();
  void TurnSoon();
  void Correlate();
  void CorrelateSoon();
  void Arm();
  void Tick();
  void Measure(Moment now);
  void CheckSilence(Moment now);

  // gateway_agents.cc
  void Ack(const std::string& agent, uint64_t spool_id, const IntakeAnswer& answer);

  boost::asio::io_context& io_;
  GatewayConfig config_;
  SampleKey sample_key_;
  TlsContexts tls_;
  std::shared_ptr<TlsContext> agents_tls_;
  std::string id_;
  GatewayMetrics metrics_;
  IncidentBook book_;
  Correlator correlator_;
  Agents agents_;
  StateLock lock_;
  std::unique_ptr<Store> store_;  // gone before the lock is
  Keeper keeper_;
  BookNotes notes_;
  IncidentLog log_;
  Deliveries deliveries_;
  Outputs outputs_;
  Intake intake_;
  HttpRouter router_;
  std::map<std::string, KeyRing> keys_;  // by terminal
  RequestAuthenticator authenticator_;
  Admission admission_;
  Access access_;
  TestMessages tests_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::unique_ptr<AgentServer> agent_server_;
  boost::asio::steady_timer wake_;
  std::optional<Instant> armed_;
  boost::asio::steady_timer tick_;
  bool turning_ = false;
  bool turn_soon_ = false;
  bool correlate_soon_ = false;
  bool ready_ = false;
  StoreWatch store_watch_;
  SilentNodes silent_nodes_;
  uint16_t http_port_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
