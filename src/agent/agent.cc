#include "agent/agent.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "agent/ingest.h"
#include "agent/learned_keeper.h"
#include "agent/node_watch.h"
#include "agent/stream_client.h"
#include "agent/ticker.h"
#include "base/clock.h"
#include "probe/host/network_interface.h"
#include "probe/host/pci_gpus.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr Duration kHeartbeatEvery = std::chrono::milliseconds(250);

class NodeAgent final : public Agent, public StreamListener {
 public:
  explicit NodeAgent(const AgentConfig& config)
      : config_(config),
        node_(NodeWatch::Create({config.host, config.board_dir, config.watch, ListGpus()})) {}

  Status Start(boost::asio::io_context& io) {
    const std::string boot = BootId();
    if (!config_.state_dir.empty()) {
      learned_.emplace(LearnedFile(config_.state_dir, config_.agent_id), boot);
      node_->Recall(learned_->Load());
    }
    const bool serving = !config_.ingest_socket.empty();
    ingest_ = Ingest::Create(io, serving ? config_.spool_dir : "", config_.agent_id);
    ingest_->OnEvent([this] { SendEvents(MonotonicNow()); });
    if (serving) TRY(Serve(io));
    StreamClientOptions stream;
    stream.gateway = config_.gateway;
    stream.interface = config_.interface;
    stream.hello = {kAgentProtocol, config_.agent_id, boot, config_.host, ListGpus()};
    stream.tls = TRY(OpenTls(config_.tls, {}, {config_.gateway})).client;
    stream.seed = std::hash<std::string>()(config_.agent_id);
    stream_ = StreamClient::Create(io, std::move(stream), this);
    ticker_.emplace(io, config_.watch.scan_period, [this] { Tick(); });
    return {};
  }

  ~NodeAgent() override {
    if (learned_) learned_->SaveAtEnd(node_->Remember(MonotonicNow()));
  }

 private:
  Status Serve(boost::asio::io_context& io) {
    const auto folder = std::filesystem::path(config_.ingest_socket).parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return Error{ErrorCode::kIo, "ingest_socket = \"" + config_.ingest_socket +
                                       "\": cannot make the folder " + folder.string() + ": " +
                                       error.message()};
    }
    HttpRouter router;
    router.Add("POST", "/api/v1/gpu_event", [this](HttpRequest request, auto responder) {
      ingest_->Post(std::move(request), std::move(responder));
    });
    router.Add("GET", "/metrics",
               [this](const HttpRequest&, auto responder) { responder->Send(Metrics()); });
    router.Add("GET", "/healthz", [](const HttpRequest&, auto responder) {
      responder->Send(TextResponse(200, "ok\n"));
    });
    HttpLimits limits;
    limits.body_bytes_max = kEventBytesMax;
    limits.connections_max = 64;
    server_ = TRY(HttpServer::Listen(io, {config_.ingest_socket, 0, true}, limits, router));
    return {};
  }

  void Tick() {
    const Instant now = MonotonicNow();
    for (const UpMessage& message : node_->Scan(now)) stream_->Send(message);
    for (const std::string& note : node_->TakeNotes()) spdlog::info("{}", note);
    SendEvents(now);
    if (learned_ && learned_->Due(now)) learned_->Save(node_->Remember(now));
    if (now - heartbeat_at_ >= kHeartbeatEvery) {
      heartbeat_at_ = now;
      stream_->Send(Heartbeat{node_->boards(), ingest_->queue().size(), stream_->dropped()});
      Complain();
    }
  }

  void SendEvents(Instant now) {
    for (const SpooledEvent& event : ingest_->queue().Due(now)) stream_->Send(event);
  }

  // Once for each stretch in which something is shed or slept through.
  void Complain() {
    const uint64_t dropped = stream_->dropped();
    if (dropped != dropped_ && !shedding_) {
      spdlog::warn("stream=slow dropped={} effect=\"oldest digests are shed\"", dropped);
    }
    shedding_ = dropped != dropped_;
    dropped_ = dropped;
    const uint64_t overslept = node_->overslept();
    if (overslept != overslept_ && !sleepy_) {
      spdlog::warn("scan=late overslept_total={} effect=\"silence in between is not counted\"",
                   overslept);
    }
    sleepy_ = overslept != overslept_;
    overslept_ = overslept;
  }

  void OnConnected(const std::string& gateway_id, const std::string& local_address) override {
    away_ = false;
    const std::string interface = InterfaceOf(local_address);
    spdlog::info("gateway=connected id=\"{}\" address={} interface={}", gateway_id,
                 config_.gateway.ToString(), interface.empty() ? "none" : interface);
    if (IsTrainingInterface(interface)) {
      spdlog::warn(
          "route=training_network interface={} do=\"set interface to one of the management "
          "network\"",
          interface);
    }
    ingest_->queue().Connected();
    node_->Greet();
  }

  void OnMessage(DownMessage message) override {
    if (const DetailRequest* request = std::get_if<DetailRequest>(&message)) {
      for (const UpMessage& answer : node_->Answer(*request, MonotonicNow())) stream_->Send(answer);
    } else if (const EventAck* ack = std::get_if<EventAck>(&message)) {
      ingest_->Answered(*ack);
      SendEvents(MonotonicNow());
    }
  }

  void OnDisconnected(const std::string& why) override {
    ingest_->queue().Disconnected();
    if (std::exchange(away_, true)) return;
    spdlog::warn("gateway=away address={} why=\"{}\" effect=\"events are kept, digests are not\"",
                 config_.gateway.ToString(), why);
  }

  HttpResponse Metrics() const {
    std::string text;
    const auto add = [&](const char* name, const char* type, const char* help, uint64_t value) {
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
    };
    add("sentinel_agent_boards", "gauge", "Progress boards of live processes", node_->boards());
    add("sentinel_agent_gateway_connected", "gauge", "1 while the gateway listens",
        stream_->connected());
    add("sentinel_agent_events_queued", "gauge", "Events the gateway has not answered",
        ingest_->queue().size());
    add("sentinel_agent_events_refused_total", "counter",
        "Events answered 400 or 503 for want of room", ingest_->refused());
    add("sentinel_agent_dropped_total", "counter", "Messages shed while the stream was slow",
        stream_->dropped());
    add("sentinel_agent_overslept_total", "counter",
        "Board scans that came too late to tell silence", node_->overslept());
    HttpResponse response = TextResponse(200, std::move(text));
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return response;
  }

  const AgentConfig config_;
  std::unique_ptr<NodeWatch> node_;
  std::optional<LearnedKeeper> learned_;
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<StreamClient> stream_;
  Instant heartbeat_at_{};
  bool away_ = false;
  uint64_t dropped_ = 0;
  bool shedding_ = false;
  uint64_t overslept_ = 0;
  bool sleepy_ = false;
  std::optional<Ticker> ticker_;
};

}  // namespace

Result<std::unique_ptr<Agent>> Agent::Create(const AgentConfig& config,
                                             boost::asio::io_context& io) {
  auto agent = std::make_unique<NodeAgent>(config);
  TRY(agent->Start(io));
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace sentinel
