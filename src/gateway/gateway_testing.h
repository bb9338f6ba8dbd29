// A gateway on loopback with one terminal and a folder of its own, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/testing_folder.h"
#include "gateway/gateway.h"
#include "http/client.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "http/signed_message.h"
#include "http/test_peer.h"
#include "wire/terminal_json.h"

namespace sentinel {

using Json = nlohmann::json;

inline constexpr const char* kKey = "hall";
inline constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

// What an existing sender posts of a hang.
inline constexpr const char* kHang =
    R"({"cluster_rack":"机架 A03","node_host":"gpu-worker-08-5f7c9d8b4a","event_type":"NCCL_TIMEOUT","gpu_index":3,"gpu_util":0})";

// A lamp on loopback that does as it is told: answers with `status`, or not at all.
class FakeTerminal {
 public:
  FakeTerminal(boost::asio::io_context& io, bool ours, uint16_t port = 0,
               const std::string& name = "hall-1")
      : ours_(ours), door_({{name, "one", 1000}}, {KeyRing(KeyPair{kKey, kSecret})}, MomentNow()) {
    auto listening =
        HttpServer::Listen(io, Endpoint{"127.0.0.1", port, false}, {},
                           [this](HttpRequest request, std::unique_ptr<HttpResponder> responder) {
                             HttpHandler take = [this](HttpRequest inner, auto out) {
                               Take(std::move(inner), std::move(out));
                             };
                             if (signs) take = SignAnswers(door_, std::move(take));
                             take(std::move(request), std::move(responder));
                           });
    EXPECT_TRUE(listening.ok());
    server_ = std::move(*listening);
  }

  uint16_t port() const { return server_->port(); }
  void AnswerHeld() {
    for (auto& responder : held_) responder->Send(TextResponse(200, ""));
    held_.clear();
  }
  int status = 200;
  bool silent = false;
  bool signs = false;    // its answers, with v2
  int plain_pong = 404;  // what a plain lamp answers to a ping
  std::string boot_id = "one";
  std::vector<TerminalMessage> messages;  // carried out
  std::vector<HttpRequest> requests;      // of send_msg, answered in whatever way
  int pings = 0;
  std::string last_ping;  // its body

 private:
  void Take(HttpRequest request, std::unique_ptr<HttpResponder> responder) {
    EXPECT_TRUE(door_.Check(&request, MomentNow()).ok());
    if (request.path == "/api/v1/ping") {
      ++pings;
      last_ping = request.body;
      if (!ours_) return responder->Send(TextResponse(plain_pong, "ok"));
      return responder->Send(JsonResponse(200, R"({"boot_id":")" + boot_id + "\"}"));
    }
    EXPECT_EQ(request.path, "/api/v1/send_msg");
    requests.push_back(request);
    if (silent) {
      held_.push_back(std::move(responder));
      return;
    }
    if (status == 200) messages.push_back(*ParseTerminalMessage(request.body));
    HttpResponse response = TextResponse(status, "");
    if (status == 503) response.headers["Retry-After"] = "1";
    responder->Send(std::move(response));
  }

  bool ours_;
  RequestAuthenticator door_;
  std::unique_ptr<HttpServer> server_;
  std::vector<std::unique_ptr<HttpResponder>> held_;
};

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    std::ofstream(In("key")) << "key = \"" << kKey << "\"\nsecret = \"" << kSecret << "\"\n";
    chmod(In("key").c_str(), 0600);
  }

  std::string In(const std::string& name) const { return folder_.path() / name; }

  void StartTerminal(bool ours = true) {
    terminal_ = std::make_unique<FakeTerminal>(io_, ours, terminal_port_);
    terminal_port_ = terminal_->port();
  }

  void StartGateway() {
    auto made = Gateway::Create(io_, Options());
    ASSERT_TRUE(made.ok()) << made.error().message;
    gateway_ = std::move(*made);
  }

  GatewayOptions Options() {
    GatewayOptions options;
    options.config = DefaultGatewayConfig();
    options.config.listen = {{"127.0.0.1", 0, false}, {In("g.sock"), 0, true}};
    options.config.agents = {{"127.0.0.1", 0, false}};
    options.config.state_dir = folder_.path();
    options.config.key_file = In("key");
    options.config.ingest = ingest_;
    options.config.quiet_from = options.config.quiet_until;  // a test passes by night, too
    if (terminal_port_ != 0) {
      options.config.terminals = {{"hall-1", {"127.0.0.1", terminal_port_, false}, ""}};
    }
    options.config.delivery.ping_every = ping_every_;
    options.config.delivery.unreachable_after = std::chrono::milliseconds(300);
    return options;
  }

  HttpResponse Fetch(HttpRequest request, bool unix_socket = false) {
    Endpoint endpoint{"127.0.0.1", gateway_->http_port(), false};
    if (unix_socket) endpoint = {In("g.sock"), 0, true};
    std::optional<HttpOutcome> outcome;
    HttpRequestOptions options;
    options.timeout = std::chrono::seconds(8);
    HttpFetch(io_, endpoint, std::move(request), options,
              [&](HttpOutcome done) { outcome = std::move(done); });
    RunUntil(io_, [&] { return outcome.has_value(); });
    if (!outcome->response.ok()) {
      ADD_FAILURE() << outcome->response.error().message;
      return {};
    }
    return *outcome->response;
  }
  HttpResponse Post(const std::string& body, bool unix_socket = false) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/gpu_event";
    request.body = body;
    return Fetch(std::move(request), unix_socket);
  }
  HttpResponse Get(const std::string& path, const std::string& query = "",
                   bool unix_socket = false) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    return Fetch(std::move(request), unix_socket);
  }
  Json Incidents() { return Json::parse(Get("/api/v1/incidents").body)["incidents"]; }

  TestingFolder folder_;
  boost::asio::io_context io_;
  std::unique_ptr<FakeTerminal> terminal_;
  uint16_t terminal_port_ = 0;
  IngestConfig ingest_;
  Duration ping_every_ = std::chrono::milliseconds(50);
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace sentinel
