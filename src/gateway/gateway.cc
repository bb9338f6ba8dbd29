#include "gateway/gateway.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "gateway/credentials.h"
#include "gateway/gateway_on_loop.h"
#include "gateway/outputs.h"
#include "gateway/state_lock.h"
#include "store/store.h"

namespace sentinel {
namespace {

// A slow disk is served best by few large commits.
constexpr size_t kBatchRows = 1024;
// Of signed requests; beyond it the time they may be on their way becomes shorter.
constexpr size_t kNoncesMax = 131'072;

}  // namespace

Status CheckKeys(const GatewayOptions& options) {
  TRY(LoadCredentials(options.config, options.sample_key));
  TRY(LoadOutputs(options.config.outputs));
  return {};
}

Result<std::unique_ptr<Gateway>> Gateway::Create(boost::asio::io_context& io,
                                                 GatewayOptions options) {
  Credentials credentials = TRY(LoadCredentials(options.config, options.sample_key));
  std::vector<OutputSettings> outputs = TRY(LoadOutputs(options.config.outputs));
  StateLock lock = TRY(StateLock::Take(options.config.state_dir));
  StoreOptions store_options;
  store_options.path = options.config.state_dir + "/sentinel.db";
  store_options.batch_rows_max = kBatchRows;
  std::unique_ptr<Store> store = TRY(Store::Open(io, store_options));
  auto gateway =
      std::make_unique<GatewayOnLoop>(io, std::move(options), std::move(credentials),
                                      std::move(outputs), std::move(lock), std::move(store));
  TRY(gateway->Start());
  return std::unique_ptr<Gateway>(std::move(gateway));
}

GatewayOnLoop::GatewayOnLoop(boost::asio::io_context& io, GatewayOptions options,
                             Credentials credentials, std::vector<OutputSettings> outputs,
                             StateLock lock, std::unique_ptr<Store> store)
    : io_(io),
      config_(std::move(options.config)),
      sample_key_(options.sample_key),
      tls_(credentials.tls),
      agents_tls_(credentials.agents_tls),
      id_(Sha256Hex(std::to_string(WallNow().since_epoch.count()) + "/" +
                    std::to_string(MonotonicNow().since_boot.count()))
              .substr(0, 12)),
      book_(PolicyOf(config_), SiteOf(config_)),
      correlator_(config_.detection),
      lock_(std::move(lock)),
      store_(std::move(store)),
      keeper_(book_, *store_),
      notes_(book_, *store_),
      log_(book_, metrics_),
      deliveries_(io, credentials.terminals, config_.delivery, book_, metrics_, [this] { Turn(); }),
      outputs_(io, std::move(outputs), std::move(options.output_retry), book_, metrics_,
               [this] { TurnSoon(); }),
      intake_(io,
              {book_, *store_, keeper_, metrics_,
               [this](const std::string& host) { return agents_.Presence(host); },
               [this] { Turn(); }, [this] { TurnSoon(); }},
              id_ + "-"),
      authenticator_({{std::string(kGatewayAudience), id_, kNoncesMax}}, {}, MomentNow()),
      admission_(config_.ingest.open_to, {}),
      access_(config_.access, {}, geteuid()),
      tests_(io, deliveries_, *store_, config_.incidents.language, [this] { Turn(); }),
      wake_(io),
      tick_(io),
      store_watch_(metrics_) {
  TakeKeys(std::move(credentials));
  ReloadDone(true);
}

GatewayOnLoop::~GatewayOnLoop() {
  *alive_ = false;
  Stop();
}

void GatewayOnLoop::Stop() {
  ready_ = false;
  for (auto& server : servers_) server->Stop();
}

Site GatewayOnLoop::SiteOf(const GatewayConfig& config) {
  std::vector<std::string> names;
  for (const TerminalConfig& terminal : config.terminals) names.push_back(terminal.name);
  return Site(std::move(names), config.routes, config.hosts);
}

IncidentPolicy GatewayOnLoop::PolicyOf(const GatewayConfig& config) {
  IncidentPolicy policy = config.incidents;
  if (config.quiet_from != config.quiet_until) {
    policy.quiet.emplace(config.quiet_from, config.quiet_until, CivilOffset);
  }
  return policy;
}

void GatewayOnLoop::TakeKeys(Credentials credentials) {
  keys_.clear();
  std::vector<KeyRing> rings;
  for (const TerminalSettings& terminal : credentials.terminals) {
    keys_[terminal.name] = terminal.keys;
    rings.push_back(terminal.keys);
    if (deliveries_.Proven(terminal.name)) authenticator_.RememberProven(terminal.keys);
  }
  for (const auto& [name, ring] : credentials.senders) rings.push_back(ring);
  for (const KeyHolder& holder : credentials.operators) rings.push_back(holder.keys);
  authenticator_.Reconfigure(std::move(rings));
  admission_ = Admission(config_.ingest.open_to, std::move(credentials.senders));
  access_ = Access(config_.access, std::move(credentials.operators), geteuid());
}

}  // namespace sentinel
