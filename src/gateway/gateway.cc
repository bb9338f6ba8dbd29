#include "gateway/gateway.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/digest.h"
#include "gateway/access.h"
#include "gateway/agent_server.h"
#include "gateway/agents.h"
#include "gateway/api.h"
#include "gateway/book_notes.h"
#include "gateway/credentials.h"
#include "gateway/incident_log.h"
#include "gateway/intake.h"
#include "gateway/keeper.h"
#include "gateway/log_value.h"
#include "gateway/silent_nodes.h"
#include "gateway/state_lock.h"
#include "gateway/store_watch.h"
#include "gateway/test_messages.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "web/incident_json.h"
#include "web/metrics.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr auto kTick = std::chrono::seconds(1);
// A slow disk is served best by few large commits.
constexpr size_t kBatchRows = 1024;
// Rounds of "the outbox tells the book, the book tells the outbox" in one turn; the rest in the
// next.
constexpr int kRoundsMax = 16;
// Of signed requests; beyond it the time they may be on their way becomes shorter.
constexpr size_t kNoncesMax = 131'072;
constexpr const char* kProvenNote = "v2/";  // + terminal: it has answered with signature v2
constexpr const char* kBootNote = "boot/";  // + terminal: the life of it that was last spoken to

Site SiteOf(const GatewayConfig& config) {
  std::vector<std::string> names;
  for (const TerminalConfig& terminal : config.terminals) names.push_back(terminal.name);
  return Site(std::move(names), config.routes, config.hosts);
}

IncidentPolicy PolicyOf(const GatewayConfig& config) {
  IncidentPolicy policy = config.incidents;
  if (config.quiet_from != config.quiet_until) {
    policy.quiet.emplace(config.quiet_from, config.quiet_until, CivilOffset);
  }
  return policy;
}

// What only a start can change, and is changed.
std::string NeedsAStart(const GatewayConfig& now, const GatewayConfig& then) {
  if (now.listen != then.listen) return "listen";
  if (now.agents != then.agents) return "agents";
  if (now.state_dir != then.state_dir) return "state_dir";
  if (now.timezone != then.timezone) return "site.timezone";
  if (now.tls != then.tls) return "tls";
  return "";
}

class GatewayOnLoop final : public Gateway, public AgentListener {
 public:
  GatewayOnLoop(boost::asio::io_context& io, GatewayOptions options, Credentials credentials,
                std::vector<OutputSettings> outputs, StateLock lock, std::unique_ptr<Store> store)
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
        deliveries_(io, credentials.terminals, config_.delivery, book_, metrics_,
                    [this] { Turn(); }),
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

  ~GatewayOnLoop() override {
    *alive_ = false;
    Stop();
  }

  Status Start() {
    TRY(Restore());
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

  uint16_t http_port() const override { return http_port_; }
  uint16_t agent_port() const override { return agent_server_->port(); }
  Status Reload(Result<GatewayConfig> config) override;
  void Stop() override {
    ready_ = false;
    for (auto& server : servers_) server->Stop();
  }

  void OnAgentMessage(const std::string& agent, UpMessage message) override;
  void OnAgentGone(const std::string& agent) override;
  void OnAgentRefused(const std::string& peer, const std::string& why) override;

 private:
  Status Apply(GatewayConfig fresh);
  void ReloadDone(bool taken);
  void TakeKeys(Credentials credentials);
  void WarnOfDoors() const;
  void RestoreProven(const std::string& terminal);
  StoreContents Loaded();
  Status Restore();
  void AddRoutes();
  void Turn();
  void Correlate();
  void TurnSoon();
  void Arm();
  void Tick();
  void CheckSilence(Moment now);
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

// A disk that cannot even be read keeps no alarm from ringing.
StoreContents GatewayOnLoop::Loaded() {
  Result<StoreContents> contents = store_->Load();
  if (contents.ok()) return std::move(*contents);
  spdlog::error(
      "event=store_unread why=\"{}\" what=\"incidents and event ids of before this start are not "
      "known; alarms ring from memory\"",
      contents.error().message);
  StoreContents nothing;
  // Above every number that may be in it.
  nothing.begun_last = static_cast<uint64_t>(WallNow().since_epoch.count());
  return nothing;
}

Status GatewayOnLoop::Restore() {
  StoreContents contents = Loaded();
  std::vector<std::string> corrupt;
  std::vector<Incident> incidents = KeptIncidents(contents, &corrupt);
  for (const std::string& id : corrupt) {
    spdlog::error("event=incident_unreadable id={} what=\"its document is left out\"", id);
  }
  std::vector<std::string> ids;
  for (const Incident& incident : incidents) ids.push_back(incident.id);
  size_t count = incidents.size();
  Moment now = MomentNow();
  notes_.RestoreSilences(contents.notes, now);
  notes_.RestoreFlaps(contents.notes, now);
  book_.Restore(std::move(incidents), BootId(), now);
  keeper_.Resume(contents.begun_last);
  for (const BegunIncident& begun : contents.begun_incidents) {
    Result<Event> event = ParseEvent(begun.body);
    if (!event.ok()) {
      spdlog::error("event=event_unreadable incident={} why=\"{}\"", begun.id,
                    event.error().message);
      continue;
    }
    book_.Rebegin(*event, begun.occurrence, begun.received_at, now);
    if (book_.Find(begun.id) == nullptr) continue;
    keeper_.ResumeTurn(begun.id, begun.begun);
    ids.push_back(begun.id);
  }
  count += contents.begun_incidents.size();
  intake_.Remember(contents.event_ids, ids);
  notes_.RestoreMutes(contents.notes, now);
  notes_.RestoreDigest(contents.notes, now);
  for (const auto& [name, boot_id] : contents.notes) {
    if (name.starts_with(kBootNote)) {
      deliveries_.RememberBoot(name.substr(std::string(kBootNote).size()), boot_id);
    } else if (name.starts_with(kProvenNote)) {
      RestoreProven(name.substr(std::string(kProvenNote).size()));
    } else if (name.starts_with(kTestNote)) {
      tests_.Resume(name.substr(std::string(kTestNote).size()), boot_id);
    }
  }
  deliveries_.OnOutcome([this](const Outbox::Outcome& outcome) { tests_.OnOutcome(outcome); });
  deliveries_.OnBoot([this](const std::string& terminal, const std::string& boot_id) {
    Turn();  // what is sent again is queued for the disk first
    store_->PutNote({kBootNote + terminal, boot_id}, {});
  });
  deliveries_.OnProven([this](const std::string& terminal) {
    spdlog::info("event=terminal_signs_v2 terminal={} what=\"v1 alone is not believed any more\"",
                 terminal);
    RestoreProven(terminal);
    store_->PutNote({kProvenNote + terminal, "yes"}, {});
  });
  spdlog::info("event=restored incidents={} open={} event_ids={}", count, book_.open(),
               contents.event_ids.size());
  return {};
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

void GatewayOnLoop::RestoreProven(const std::string& terminal) {
  deliveries_.RememberProven(terminal);
  auto keys = keys_.find(terminal);
  if (keys != keys_.end()) authenticator_.RememberProven(keys->second);
}

void GatewayOnLoop::AddRoutes() {
  ApiDeps deps{book_,
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

// ----------------------------------------------------------------------------------- the reload

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

// ------------------------------------------------------------------------------------- the loop

void GatewayOnLoop::Turn() {
  if (turning_) return TurnSoon();
  turning_ = true;
  Moment now = MomentNow();
  book_.Advance(now);
  std::vector<std::string> touched;
  for (int round = 0; round < kRoundsMax; ++round) {
    IncidentBook::Actions actions = book_.TakeActions();
    for (const IncidentBook::Cancel& cancel : actions.cancels) deliveries_.Cancel(cancel);
    for (Notification& notification : actions.notifications) {
      deliveries_.Accept(std::move(notification), now.mono);
    }
    for (const IncidentBook::Change& change : actions.changes) {
      log_.Tell(change, config_.incidents.table);
      outputs_.OnChange(change.incident);
    }
    touched.insert(touched.end(), actions.touched.begin(), actions.touched.end());
    keeper_.KeepLater(actions.later);
    notes_.Keep(actions);
    // What rings goes out before what is written.
    bool told = deliveries_.Pump(now);
    if (!told && actions.notifications.empty() && actions.cancels.empty()) break;
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  keeper_.Keep(touched);
  turning_ = false;
  Arm();
}

void GatewayOnLoop::TurnSoon() {
  if (turn_soon_) return;
  turn_soon_ = true;
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) return;
    turn_soon_ = false;
    Turn();
  });
}

void GatewayOnLoop::Correlate() {
  Moment now = MomentNow();
  Correlator::Actions actions = correlator_.Advance(now.mono);
  for (const Correlator::Request& request : actions.requests) {
    agent_server_->Send(request.agent, request.request);
  }
  for (const Verdict& verdict : actions.verdicts) {
    // Only what would ring asks whose job it is.
    JobFacts job;
    if (verdict.stage == VerdictStage::kRed) {
      job = correlator_.ExtentOf(verdict.comm);
      job.owner = agents_.OwnerOf(verdict.comm.job);
    }
    book_.OnVerdict(verdict, job, now);
  }
  if (actions.verdicts.empty()) {
    Arm();
  } else {
    Turn();
  }
}

// One timer for everybody who wants to be woken.
void GatewayOnLoop::Arm() {
  std::optional<Instant> wake;
  for (const std::optional<Instant>& at :
       {book_.NextWake(), deliveries_.NextWake(), correlator_.NextWake()}) {
    if (at && (!wake || *at < *wake)) wake = at;
  }
  if (!wake || (armed_ && *armed_ <= *wake && *armed_ > MonotonicNow())) return;
  armed_ = wake;
  wake_.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(wake->since_boot)));
  wake_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    armed_.reset();
    std::optional<Instant> due = correlator_.NextWake();
    if (due && *due <= MonotonicNow()) Correlate();
    Turn();
  });
}

void GatewayOnLoop::Tick() {
  Moment now = MomentNow();
  metrics_.heartbeats->Increment();
  metrics_.last_pass->Set(static_cast<double>(now.wall.since_epoch.count()) / 1000.0);
  metrics_.incidents_open->Set(static_cast<double>(book_.open()));
  metrics_.agents_connected->Set(static_cast<double>(agents_.connected()));
  const std::vector<TerminalStatus> terminals = deliveries_.Status();
  double reachable = 0;
  for (const TerminalStatus& status : terminals) reachable += status.reachable ? 1 : 0;
  metrics_.terminals_configured->Set(static_cast<double>(terminals.size()));
  metrics_.terminals_reachable->Set(reachable);
  store_watch_.Look(store_->health());
  log_.Tick();
  CheckSilence(now);
  if (book_.ClockWasSet(now)) Turn();
  keeper_.Tick();
  tick_.expires_after(kTick);
  tick_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (!error && *alive) Tick();
  });
}

void GatewayOnLoop::CheckSilence(Moment now) {
  const std::vector<std::string> hosts =
      agents_.Silent(now.mono, config_.detection.node_silent_after);
  const SilentNodes::News news = silent_nodes_.Update(hosts, config_.incidents.language);
  if (news.back.empty() && news.silent.empty()) return;
  for (const std::string& host : news.back) book_.OnNodeBack(host, now);
  for (const std::string& host : news.silent) {
    spdlog::error("event=node_silent host={} silent={}", LogValue(host), hosts.size());
    book_.OnNodeSilent(host, now);
  }
  Turn();
}

// --------------------------------------------------------------------------------------- agents

void GatewayOnLoop::OnAgentMessage(const std::string& agent, UpMessage message) {
  Moment now = MomentNow();
  metrics_.agent_frames->Increment();
  agents_.OnHeard(agent, now.mono);
  correlator_.OnHeard(agent, now.mono);
  if (const Hello* hello = std::get_if<Hello>(&message)) {
    spdlog::info("event=agent_connected agent={} host={}", LogValue(agent), LogValue(hello->host));
    agents_.OnHello(agent, *hello, now.mono);
    book_.OnHostSeen(hello->host);
    // It may have been told as silent by an earlier process.
    book_.OnNodeBack(hello->host, now);
    TurnSoon();
  } else if (const Inventory* inventory = std::get_if<Inventory>(&message)) {
    agents_.OnInventory(agent, *inventory);
    correlator_.OnInventory(agent, *inventory, now.mono);
  } else if (const Heartbeat* heartbeat = std::get_if<Heartbeat>(&message)) {
    agents_.OnHeartbeat(agent, *heartbeat);
  } else if (const Digest* digest = std::get_if<Digest>(&message)) {
    correlator_.OnDigest(agent, *digest, now.mono);
  } else if (const CallOrder* order = std::get_if<CallOrder>(&message)) {
    correlator_.OnCallOrder(agent, *order, now.mono);
  } else if (const HostEvidence* evidence = std::get_if<HostEvidence>(&message)) {
    if (evidence->kind.starts_with("link_")) book_.OnPortEvent(evidence->host, now);
    correlator_.OnEvidence(agent, *evidence, now.mono);
  } else if (SpooledEvent* event = std::get_if<SpooledEvent>(&message)) {
    uint64_t spool_id = event->spool_id;
    intake_.Take(std::move(event->body),
                 [this, alive = alive_, agent, spool_id](const IntakeAnswer& answer) {
                   if (*alive) Ack(agent, spool_id, answer);
                 });
    return;
  }
  // Messages that arrive together are judged together.
  if (correlate_soon_) return;
  correlate_soon_ = true;
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) return;
    correlate_soon_ = false;
    Correlate();
  });
}

void GatewayOnLoop::Ack(const std::string& agent, uint64_t spool_id, const IntakeAnswer& answer) {
  EventAck ack;
  ack.spool_id = spool_id;
  ack.status = static_cast<uint32_t>(answer.status);
  ack.body = answer.body;
  agent_server_->Send(agent, ack);
}

void GatewayOnLoop::OnAgentGone(const std::string& agent) {
  spdlog::info("event=agent_gone agent={}", LogValue(agent));
  agents_.OnGone(agent);
  correlator_.OnDisconnected(agent, MonotonicNow());
  Correlate();
}

void GatewayOnLoop::OnAgentRefused(const std::string& peer, const std::string& why) {
  metrics_.agent_frames_bad->Increment();
  spdlog::warn("event=agent_refused peer={} why={}", LogValue(peer), LogValue(why));
}

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

}  // namespace sentinel
