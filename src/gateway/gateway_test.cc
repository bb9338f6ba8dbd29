#include "gateway/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "http/client.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "http/signed_message.h"
#include "http/test_peer.h"
#include "store/store.h"
#include "web/silence_json.h"
#include "wire/agent_stream.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;

constexpr const char* kKey = "hall";
constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "gateway-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

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
  bool signs = false;  // its answers, with v2
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
      return responder->Send(ours_ ? JsonResponse(200, R"({"boot_id":")" + boot_id + "\"}")
                                   : TextResponse(404, ""));
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
    std::ofstream(folder_.path + "/key")
        << "key = \"" << kKey << "\"\nsecret = \"" << kSecret << "\"\n";
    chmod((folder_.path + "/key").c_str(), 0600);
  }

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
    options.config.listen = {{"127.0.0.1", 0, false}, {folder_.path + "/g.sock", 0, true}};
    options.config.agents = {{"127.0.0.1", 0, false}};
    options.config.state_dir = folder_.path;
    options.config.key_file = folder_.path + "/key";
    options.config.ingest = ingest_;
    options.config.quiet_from = options.config.quiet_until;  // a test passes by night, too
    if (terminal_port_ != 0) {
      options.config.terminals = {{"hall-1", {"127.0.0.1", terminal_port_, false}, ""}};
    }
    options.config.delivery.ping_every = std::chrono::milliseconds(50);
    options.config.delivery.unreachable_after = std::chrono::milliseconds(300);
    return options;
  }

  HttpResponse Fetch(HttpRequest request, bool unix_socket = false) {
    Endpoint endpoint{"127.0.0.1", gateway_->http_port(), false};
    if (unix_socket) endpoint = {folder_.path + "/g.sock", 0, true};
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
  HttpResponse Get(const std::string& path, const std::string& query = "") {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    return Fetch(std::move(request));
  }
  Json Incidents() { return Json::parse(Get("/api/v1/incidents").body)["incidents"]; }

  Folder folder_;
  boost::asio::io_context io_;
  std::unique_ptr<FakeTerminal> terminal_;
  uint16_t terminal_port_ = 0;
  IngestConfig ingest_;
  std::unique_ptr<Gateway> gateway_;
};

constexpr const char* kHang =
    R"({"cluster_rack":"机架 A03","node_host":"gpu-worker-08-5f7c9d8b4a","event_type":"NCCL_TIMEOUT","gpu_index":3,"gpu_util":0})";

TEST_F(GatewayTest, AnEventOfAnExistingSenderReachesTheLamp) {
  StartTerminal();
  StartGateway();
  HttpResponse answer = Post(kHang);
  EXPECT_EQ(answer.status, 200);
  Json json = Json::parse(answer.body);
  EXPECT_EQ(json["status"], "accepted");
  EXPECT_THAT(json["incident"].get<std::string>(), SizeIs(16));
  EXPECT_FALSE(json["event_id"].get<std::string>().empty());
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  EXPECT_EQ(terminal_->requests.at(0).body,
            R"({"text":"训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起",)"
            R"("color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":3})");
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  Json incident = Incidents().at(0);
  EXPECT_EQ(incident["id"], json["incident"]);
  EXPECT_EQ(incident["state"], "open");
  EXPECT_EQ(incident["culprit"]["rack"], "A03");
  EXPECT_TRUE(incident["mono_ms"]["delivered"].is_number());
}

TEST_F(GatewayTest, ADuplicateIsSuppressedAndNamesTheIncident) {
  StartTerminal();
  StartGateway();
  std::string id = Json::parse(Post(kHang).body)["incident"];
  for (int i = 0; i < 50; ++i) {
    HttpResponse again = Post(kHang, i % 2 == 1);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(Json::parse(again.body)["status"], "suppressed");
    EXPECT_EQ(Json::parse(again.body)["incident"], id);
  }
  EXPECT_EQ(Incidents().at(0)["count"], 51);
  EXPECT_THAT(terminal_->messages, SizeIs(1));
}

TEST_F(GatewayTest, EveryAnswerCodeIsTheContracts) {
  StartTerminal();
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 200);
  EXPECT_EQ(Post(kHang, true).status, 200);
  for (const char* bad :
       {"", "x", "[]", "null", "{}", R"({"node_host":"n"})", R"({"event_type":"X"})",
        R"({"node_host":"","event_type":"X"})", R"({"node_host":1,"event_type":"X"})",
        R"({"node_host":"n","event_type":"X","gpu_index":-2})",
        R"({"node_host":"n","event_type":"X","gpu_index":1.5})",
        R"({"node_host":"n","event_type":"X","gpu_util":101})",
        R"({"node_host":"n","event_type":"X","state":"maybe"})",
        R"({"node_host":"n","node_host":"m","event_type":"X"})"}) {
    HttpResponse answer = Post(bad);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_THAT(answer.body, HasSubstr("Bad Request")) << bad;
  }
  EXPECT_EQ(Get("/api/v1/gpu_event").status, 405);
  std::string large =
      R"({"node_host":"n","event_type":"X","pad":")" + std::string(65'536, 'a') + "\"}";
  EXPECT_EQ(Post(large).status, 413);
  EXPECT_EQ(Get("/nowhere").status, 404);
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").status, 200);
}

TEST_F(GatewayTest, ARepeatedEventIdCountsOnceAlsoAfterARestart) {
  StartTerminal();
  StartGateway();
  std::string body =
      R"({"node_host":"n1","event_type":"XID_FATAL","gpu_index":1,"event_id":"e-1"})";
  Json first = Json::parse(Post(body).body);
  EXPECT_EQ(first["status"], "accepted");
  EXPECT_EQ(first["event_id"], "e-1");
  Json second = Json::parse(Post(body).body);
  EXPECT_EQ(second["status"], "suppressed");
  EXPECT_EQ(second["event_id"], "e-1");
  EXPECT_EQ(Incidents().at(0)["count"], 1);
  gateway_.reset();
  StartGateway();
  HttpResponse third = Post(body);
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(Json::parse(third.body)["status"], "suppressed");
  EXPECT_EQ(Json::parse(third.body)["incident"], first["incident"]);
  EXPECT_EQ(Incidents().at(0)["count"], 1);
}

TEST_F(GatewayTest, TheEndUnderTheBeginningsEventIdStillEnds) {
  StartTerminal();
  StartGateway();
  std::string fields =
      R"("node_host":"n1","event_type":"XID_FATAL","gpu_index":1,"event_id":"e-1")";
  std::string id = Json::parse(Post("{" + fields + "}").body)["incident"];
  std::string end = "{" + fields + R"(,"state":"resolved"})";
  Json ended = Json::parse(Post(end).body);
  EXPECT_EQ(ended["status"], "accepted");
  EXPECT_EQ(ended["incident"], id);
  EXPECT_EQ(ended["event_id"], "e-1");
  EXPECT_EQ(Incidents().at(0)["close_reason"], "resolved");
  // Neither of them counts again, also after a restart.
  EXPECT_EQ(Json::parse(Post("{" + fields + "}").body)["status"], "suppressed");
  gateway_.reset();
  StartGateway();
  EXPECT_EQ(Json::parse(Post("{" + fields + "}").body)["status"], "suppressed");
  EXPECT_EQ(Json::parse(Post(end).body)["status"], "suppressed");
  EXPECT_THAT(Json::parse(Get("/api/v1/incidents", "state=open").body)["incidents"], SizeIs(0));
}

TEST_F(GatewayTest, TheSameEventIdOfAnotherHostIsAnotherEvent) {
  StartGateway();
  for (const char* host : {"n1", "n2", "n3-5f7c9d8b4a"}) {
    std::string body =
        R"({"node_host":")" + std::string(host) + R"(","event_type":"GPU_LOST","event_id":"1"})";
    EXPECT_EQ(Json::parse(Post(body).body)["status"], "accepted") << host;
    EXPECT_EQ(Json::parse(Post(body).body)["status"], "suppressed") << host;
  }
  EXPECT_EQ(
      Json::parse(
          Post(R"({"node_host":"n1","event_type":"XID_FATAL","event_id":"1"})").body)["status"],
      "accepted");
  EXPECT_THAT(Incidents(), SizeIs(4));
}

TEST_F(GatewayTest, AStateFolderHasOneGateway) {
  StartGateway();
  auto second = Gateway::Create(io_, Options());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("pid " + std::to_string(getpid())));
  EXPECT_THAT(second.error().message, HasSubstr("a state_dir of its own"));
  EXPECT_EQ(Post(kHang).status, 200);
  gateway_.reset();
  StartGateway();
}

TEST_F(GatewayTest, ACorruptStoreIsToldOfAndTheGatewayIsReady) {
  std::ofstream(folder_.path + "/sentinel.db") << std::string(8192, 'x');
  StartGateway();
  HttpResponse ready = Get("/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_THAT(ready.body, HasSubstr("sentinel.db.corrupt-"));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_store_corrupt_total 1\n"));
  EXPECT_EQ(Post(kHang).status, 200);
  gateway_.reset();
  StartGateway();
  EXPECT_EQ(Get("/readyz").body, "ready\n");
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_store_corrupt_total 0\n"));
}

TEST_F(GatewayTest, AKeyFileThatOthersCanReadIsRefusedAlsoWithoutTerminals) {
  EXPECT_TRUE(CheckKeys(Options()).ok());
  chmod((folder_.path + "/key").c_str(), 0644);
  EXPECT_FALSE(CheckKeys(Options()).ok());
  EXPECT_FALSE(Gateway::Create(io_, Options()).ok());
}

TEST_F(GatewayTest, SendersCannotMakeMetricsGrow) {
  StartGateway();
  Post(R"({"node_host":"n1","event_type":"XID_FATAL"})");
  for (int i = 0; i < 5; ++i) {
    Post(R"({"node_host":"n1","event_type":"MADE_UP_)" + std::to_string(i) + "\"}");
  }
  std::string text = Get("/metrics").body;
  EXPECT_THAT(text, HasSubstr(R"(opened_total{severity="P0",type="XID_FATAL"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(opened_total{severity="P1",type="other"} 5)"));
  EXPECT_THAT(text, Not(HasSubstr("MADE_UP")));
}

TEST_F(GatewayTest, AnAlarmIsTriedUntilTheLampHasAnswered) {
  StartTerminal();
  terminal_->status = 500;
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 200);
  RunUntil(io_, [&] { return terminal_->requests.size() >= 2; });
  terminal_->status = 401;
  size_t before = terminal_->requests.size();
  RunUntil(io_, [&] { return terminal_->requests.size() > before; });
  terminal_->status = 200;
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  // The same message each time, under one id.
  std::set<std::string> ids;
  for (const HttpRequest& request : terminal_->requests) {
    ids.insert(std::string(request.Header("X-Message-Id")));
  }
  EXPECT_THAT(ids, SizeIs(1));
}

TEST_F(GatewayTest, ARefusedMessageIsFinalAndSaysWhy) {
  StartTerminal();
  terminal_->status = 400;
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "failed"; });
  EXPECT_THAT(Incidents().at(0)["notifications"][0]["error"].get<std::string>(), HasSubstr("400"));
}

TEST_F(GatewayTest, ARestartLosesNothingAndRepeatsNothing) {
  StartTerminal();
  StartGateway();
  std::string told = Json::parse(Post(kHang).body)["incident"];
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  terminal_->status = 503;
  std::string waiting = Json::parse(
      Post(R"({"node_host":"n1","event_type":"GPU_LOST","gpu_index":1})").body)["incident"];
  RunUntil(io_, [&] { return terminal_->requests.size() >= 2; });
  std::string message_id(terminal_->requests.back().Header("X-Message-Id"));
  gateway_.reset();
  terminal_->status = 200;
  terminal_->requests.clear();
  terminal_->messages.clear();

  StartGateway();
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  EXPECT_EQ(terminal_->requests.at(0).Header("X-Message-Id"), message_id);
  EXPECT_EQ(terminal_->requests.at(0).Header("X-Incident-Id"), waiting);
  // The window of what had been told goes on.
  Json again = Json::parse(Post(kHang).body);
  EXPECT_EQ(again["status"], "suppressed");
  EXPECT_EQ(again["incident"], told);
  EXPECT_THAT(terminal_->requests, SizeIs(1));
}

TEST_F(GatewayTest, ARecoveryTurnsTheLampGreen) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  EXPECT_EQ(
      Post(R"({"cluster_rack":"A03","node_host":"gpu-worker-08","event_type":"RECOVERED"})").status,
      200);
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(terminal_->messages[1].text, "训练集群已恢复正常");
  EXPECT_EQ(Incidents().at(0)["close_reason"], "moved");
  EXPECT_THAT(Json::parse(Get("/api/v1/incidents", "state=open").body)["incidents"], SizeIs(0));
}

TEST_F(GatewayTest, APlainLampKeepsTheLightOfTheWorst) {
  StartTerminal(/*ours=*/false);
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(ColorHex(terminal_->messages[1].color), "#FF0000");
  EXPECT_THAT(terminal_->messages[1].text, HasSubstr("NVLink"));
}

TEST_F(GatewayTest, APlainLampKeepsTheLightOfTheWorstThatArrivedAMomentBefore) {
  StartTerminal(/*ours=*/false);
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  terminal_->status = 503;
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  Post(kHang);
  terminal_->status = 200;
  auto last_two = [&] {
    const auto& all = terminal_->messages;
    return all.size() >= 2 && all.back().text.find("NVLink") != std::string::npos &&
           all[all.size() - 2].light_mode == LightMode::kFlash;
  };
  RunUntil(io_, last_two);
  ASSERT_TRUE(last_two());
  EXPECT_EQ(ColorHex(terminal_->messages.back().color), "#FF0000");
}

TEST_F(GatewayTest, ATerminalOfOursIsToldEachIncidentAsItIs) {
  StartTerminal();
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 1; });
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  Post(R"({"node_host":"n1","event_type":"NVLINK_ERROR","gpu_index":1})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(ColorHex(terminal_->messages[1].color), "#FFA500");
  EXPECT_EQ(terminal_->messages[1].light_mode, LightMode::kBreath);
}

TEST_F(GatewayTest, ATerminalThatWasStartedAnewIsToldAgainWhatBurns) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  RunUntil(io_, [&] { return terminal_->pings > 1; });
  std::string id(terminal_->requests.at(0).Header("X-Message-Id"));
  terminal_->boot_id = "two";
  RunUntil(io_, [&] { return terminal_->messages.size() == 2; });
  EXPECT_EQ(terminal_->requests.at(1).Header("X-Message-Id"), id);
  int pings = terminal_->pings;
  RunUntil(io_, [&] { return terminal_->pings > pings + 2; });
  EXPECT_THAT(terminal_->messages, SizeIs(2));

  // Also if it was started anew while the gateway was not there to see it.
  gateway_.reset();
  terminal_->boot_id = "three";
  StartGateway();
  RunUntil(io_, [&] { return terminal_->messages.size() == 3; });
  EXPECT_EQ(terminal_->requests.at(2).Header("X-Message-Id"), id);
}

TEST_F(GatewayTest, AnIncidentThatIsOnlyItsEventSurvivesARestart) {
  StartGateway();
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    std::string host = "n" + std::to_string(i);
    ids.insert(Json::parse(
        Post(R"({"node_host":")" + host + R"(","event_type":"NCCL_TIMEOUT"})").body)["incident"]);
  }
  for (int restart = 0; restart < 3; ++restart) {
    gateway_.reset();
    StartGateway();
    Json incidents = Incidents();
    EXPECT_THAT(incidents, SizeIs(20));
    for (const Json& incident : incidents) {
      EXPECT_TRUE(ids.contains(incident["id"]));
      EXPECT_EQ(incident["state"], "open");
    }
  }
  // Written down in its turn, or begun again: closed once, it stays closed.
  Post(R"({"node_host":"n3","event_type":"RECOVERED"})");
  gateway_.reset();
  StartGateway();
  EXPECT_THAT(Json::parse(Get("/api/v1/incidents", "state=open").body)["incidents"], SizeIs(19));
}

TEST_F(GatewayTest, ATerminalThatIsGoneIsAnIncidentUntilItIsBack) {
  StartTerminal();
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  terminal_.reset();
  RunUntil(io_, [&] {
    Json incidents = Incidents();
    return !incidents.empty() && incidents[0]["event_type"] == "TERMINAL_UNREACHABLE";
  });
  EXPECT_FALSE(Json::parse(Get("/api/v1/terminals").body)["terminals"][0]["reachable"].get<bool>());
  StartTerminal();
  RunUntil(io_, [&] { return Incidents().at(0)["state"] == "closed"; });
}

TEST_F(GatewayTest, TheButtonIsHeardOnlyWithTheTerminalsOwnSignature) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  auto press = [&](std::string body, std::string secret) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/ack";
    request.body = std::move(body);
    AddSignatureV1(&request, {kKey, secret}, ToMillis(WallNow().since_epoch) / 1000);
    return Fetch(std::move(request)).status;
  };
  EXPECT_EQ(press(R"({"terminal":"hall-1"})", "wrong"), 401);
  EXPECT_EQ(press(R"({"terminal":"hall-2"})", kSecret), 403);
  EXPECT_EQ(press(R"({"terminal":7})", kSecret), 400);
  EXPECT_EQ(Incidents().at(0)["state"], "open");
  EXPECT_EQ(press(R"({"terminal":"hall-1","incidents":[]})", kSecret), 200);
  Json incident = Incidents().at(0);
  EXPECT_EQ(incident["state"], "acknowledged");
  EXPECT_EQ(incident["acknowledged"]["from"], "hall-1");
}

TEST_F(GatewayTest, ATerminalThatHasSignedItsAnswersIsNeverBelievedWithoutNotEvenAfterARestart) {
  StartTerminal();
  terminal_->signs = true;
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });

  gateway_.reset();
  io_.restart();
  terminal_->signs = false;  // somebody else answers now
  StartGateway();
  size_t before = terminal_->requests.size();
  Post(R"({"cluster_rack":"A04","node_host":"gpu-worker-09","event_type":"XID_FATAL"})");
  RunUntil(io_, [&] { return terminal_->requests.size() >= before + 2; });
  EXPECT_TRUE(terminal_->requests.back().Header("X-Signature").empty());
  Json terminal = Json::parse(Get("/api/v1/terminals").body)["terminals"][0];
  EXPECT_FALSE(terminal["reachable"].get<bool>());
  EXPECT_THAT(terminal["error"].get<std::string>(), HasSubstr("not signed"));

  terminal_->signs = true;
  RunUntil(io_, [&] {
    Json incidents = Incidents();
    return std::all_of(incidents.begin(), incidents.end(), [](const Json& incident) {
      return incident["event_type"] != "XID_FATAL" ||
             incident["notifications"][0]["state"] == "delivered";
    });
  });
}

TEST_F(GatewayTest, WhereEventsMustBeSignedBothVersionsOpenAndATerminalsKeyDoesNot) {
  const KeyPair sender{"slurm-1", "fedcba9876543210fedcba9876543210"};
  std::ofstream(folder_.path + "/sender")
      << "key = \"" << sender.key << "\"\nsecret = \"" << sender.secret << "\"\n";
  chmod((folder_.path + "/sender").c_str(), 0600);
  ingest_.open_to = OpenTo::kNobody;
  ingest_.senders = {{"slurm", folder_.path + "/sender"}};
  StartTerminal();
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 401);
  EXPECT_EQ(Post(kHang, /*unix_socket=*/true).status, 200);
  HttpRequest event;
  event.method = "POST";
  event.path = "/api/v1/gpu_event";
  event.body = kHang;
  HttpRequest old = event;
  AddSignatureV1(&old, sender, ToMillis(WallNow().since_epoch) / 1000);
  EXPECT_EQ(Fetch(old).status, 200);
  HttpRequest changed = old;
  changed.body.back() = ' ';
  EXPECT_EQ(Fetch(changed).status, 401);
  HttpRequest now = event;
  AddSignatureV2(&now, kGatewayAudience, {sender}, WallNow().since_epoch.count());
  HttpResponse answer = Fetch(now);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(now), kGatewayAudience, KeyRing(sender), WallNow(), answer));
  EXPECT_EQ(Fetch(now).status, 401);  // taken before
  EXPECT_EQ(Fetch(old).status, 401);  // and v1 is over for this key
  HttpRequest terminals = event;
  AddSignatureV2(&terminals, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  EXPECT_EQ(Fetch(terminals).status, 403);
  // A sender is no terminal, either.
  HttpRequest press = event;
  press.path = "/api/v1/ack";
  press.body = R"({"terminal":"hall-1"})";
  AddSignatureV2(&press, kGatewayAudience, {sender}, WallNow().since_epoch.count());
  EXPECT_EQ(Fetch(press).status, 403);
}

TEST_F(GatewayTest, ItsTimeIsToldSigned) {
  StartTerminal();
  StartGateway();
  HttpRequest question;
  question.method = "GET";
  question.path = "/api/v1/time";
  question.headers["X-Nonce"] = MakeNonce();
  question.headers["X-Key-Ids"] = kKey;
  HttpResponse answer = Fetch(question);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(question), kGatewayAudience, KeyRing(KeyPair{kKey, kSecret}),
                         WallNow(), answer));
}

TEST_F(GatewayTest, APressMutesItsTerminalAndARestartDoesNotEndThat) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  ASSERT_TRUE(RunUntil(io_, [&] { return !terminal_->messages.empty(); }));
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  press.body = R"({"terminal":"hall-1","pressed_at":")" + FormatRfc3339(WallNow()) + "\"}";
  AddSignatureV2(&press, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  ASSERT_EQ(Fetch(press).status, 200);
  auto muted_until = [&] {
    return Json::parse(Get("/api/v1/terminals").body)["terminals"][0]["muted_until_at"];
  };
  const Json until = muted_until();
  ASSERT_TRUE(until.is_string());
  EXPECT_TRUE(RunUntil(io_, [&] { return terminal_->last_ping.find("muted_for_ms") == 2; }));

  gateway_.reset();
  io_.restart();
  terminal_->last_ping.clear();
  StartGateway();
  EXPECT_EQ(muted_until(), until);
  EXPECT_TRUE(RunUntil(io_, [&] { return terminal_->last_ping.find("muted_for_ms") == 2; }));
}

TEST_F(GatewayTest, ASilenceOutlivesTheGatewayAndWhatItCoversIsKept) {
  StartTerminal();
  auto store = Store::Open(io_, {folder_.path + "/sentinel.db"});
  ASSERT_TRUE(store.ok());
  Silence silence;
  silence.id = "0123456789abcdef";
  silence.matcher.rack = "A03";
  silence.created = silence.starts = WallNow();
  silence.expires = silence.starts + std::chrono::hours(1);
  silence.author = "li";
  (*store)->PutNote({"silence/" + silence.id, SilenceJson(silence, SilencePhase::kActive)}, {});
  (*store)->PutNote({"silence/broken", "{}"}, {});
  store->reset();
  for (bool again : {false, true}) {
    StartGateway();
    const Json answer = Json::parse(Post(kHang).body);
    EXPECT_EQ(answer["status"], again ? "suppressed" : "accepted");
    const Json incidents = Incidents();
    ASSERT_THAT(incidents, SizeIs(1));
    EXPECT_EQ(incidents[0]["severity"], "P0");
    EXPECT_EQ(incidents[0]["quiet"]["by"], silence.id);
    EXPECT_THAT(incidents[0]["notifications"], SizeIs(0));
    gateway_.reset();
    io_.restart();
  }
  EXPECT_THAT(terminal_->messages, SizeIs(0));
}

TEST_F(GatewayTest, WhoPressedTheButtonIsOnTheTrail) {
  StartTerminal();
  StartGateway();
  const std::string incident = Json::parse(Post(kHang).body)["incident"];
  ASSERT_TRUE(RunUntil(io_, [&] { return !terminal_->messages.empty(); }));
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  press.body = R"({"terminal":"hall-1"})";
  AddSignatureV2(&press, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  ASSERT_EQ(Fetch(press).status, 200);
  gateway_.reset();
  io_.restart();
  auto store = Store::Open(io_, {folder_.path + "/sentinel.db"});
  ASSERT_TRUE(store.ok());
  std::vector<AuditRecord> trail;
  (*store)->ReadAudit(10, [&](Result<std::vector<AuditRecord>> lines) {
    ASSERT_TRUE(lines.ok());
    trail = *lines;
  });
  ASSERT_TRUE(RunUntil(io_, [&] { return trail.size() == 2; }));
  EXPECT_EQ(trail[1].action, AuditAction::kAcknowledge);
  EXPECT_EQ(trail[1].subject, incident);
  EXPECT_EQ(trail[1].actor.by, "button");
  EXPECT_EQ(trail[1].actor.from, "hall-1");
  EXPECT_EQ(trail[0].action, AuditAction::kMute);
}

TEST_F(GatewayTest, WithoutTerminalsItStillTakesAndShows) {
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 200);
  EXPECT_THAT(Incidents(), SizeIs(1));
}

TEST_F(GatewayTest, MetricsCountWhatHappened) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  Post(kHang);
  std::string text = Get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("sentinel_events_total{outcome=\"accepted\"} 1"));
  EXPECT_THAT(text, HasSubstr("sentinel_events_total{outcome=\"suppressed\"} 1"));
  EXPECT_THAT(text, HasSubstr("# TYPE sentinel_delivery_seconds histogram"));
}

// While it lives no file of this process can grow: what a full disk looks like.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(GatewayTest, AFullDiskAnswers503AndTheLampIsLitAllTheSame) {
  StartTerminal();
  StartGateway();
  HttpResponse answer;
  {
    FullDisk full;
    answer = Post(kHang);
    RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  }
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("Retry-After"), "1");
  // Once there is room again the incident is written after all, and the sender is heard.
  RunUntil(io_, [&] { return Post(kHang).status == 200; });
  gateway_.reset();
  StartGateway();
  EXPECT_EQ(Incidents().at(0)["event_type"], "NCCL_TIMEOUT");
  EXPECT_THAT(terminal_->messages, SizeIs(1));
}

// An agent's end of the stream, by hand.
class FakeAgent {
 public:
  FakeAgent(boost::asio::io_context& io, uint16_t port) : io_(io), socket_(io) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }
  void Say(const UpMessage& message) {
    boost::asio::write(socket_, boost::asio::buffer(*EncodeUp(message)));
  }
  void Raw(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }
  // The next message down; nothing once the connection has ended.
  std::optional<DownMessage> Hear() {
    std::string payload;
    while (!frames_.Next(&payload)) {
      std::optional<size_t> size;
      socket_.async_read_some(boost::asio::buffer(in_), [&](boost::system::error_code error,
                                                            size_t n) { size = error ? 0 : n; });
      RunUntil(io_, [&] { return size.has_value(); });
      if (size.value_or(0) == 0) return std::nullopt;
      EXPECT_TRUE(frames_.Append(std::string_view(in_.data(), *size)).ok());
    }
    return *DecodeDown(payload);
  }

 private:
  boost::asio::io_context& io_;
  boost::asio::ip::tcp::socket socket_;
  std::array<char, 4096> in_{};
  FrameReader frames_;
};

TEST_F(GatewayTest, AnAgentsSpooledEventIsTakenAndAcknowledged) {
  StartTerminal();
  StartGateway();
  FakeAgent agent(io_, gateway_->agent_port());
  Hello hello;
  hello.agent_id = "a1";
  hello.host = "n1";
  agent.Say(hello);
  ASSERT_TRUE(std::holds_alternative<Welcome>(*agent.Hear()));
  agent.Say(SpooledEvent{7, kHang});
  auto ack = std::get<EventAck>(*agent.Hear());
  EXPECT_EQ(ack.spool_id, 7u);
  EXPECT_EQ(ack.status, 200u);
  agent.Say(SpooledEvent{8, "nonsense"});
  EXPECT_EQ(std::get<EventAck>(*agent.Hear()).status, 400u);
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  EXPECT_EQ(Json::parse(Get("/api/v1/agents").body)["agents"][0]["host"], "n1");
}

TEST_F(GatewayTest, WhatIsNoAgentIsShownTheDoor) {
  StartGateway();
  FakeAgent babbler(io_, gateway_->agent_port());
  babbler.Raw("GET / HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(babbler.Hear().has_value());
  FakeAgent mute(io_, gateway_->agent_port());
  mute.Say(Heartbeat{});
  EXPECT_FALSE(mute.Hear().has_value());
}

TEST_F(GatewayTest, AnotherConfigurationCountsWithoutAStart) {
  StartTerminal();
  StartGateway();
  std::string id = Json::parse(Post(kHang).body)["incident"];
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  FakeTerminal office(io_, true, 0, "office");
  GatewayConfig config = Options().config;
  config.terminals.push_back({"office", {"127.0.0.1", office.port(), false}, ""});
  config.incidents.language = Language::kEnglish;
  ASSERT_TRUE(gateway_->Reload(config).ok());
  // The new terminal is told what burns, the old one nothing twice.
  RunUntil(io_, [&] { return !office.messages.empty(); });
  EXPECT_THAT(terminal_->messages, SizeIs(1));
  EXPECT_EQ(Json::parse(Post(kHang).body)["status"], "suppressed");
  EXPECT_EQ(Incidents().at(0)["id"], id);
  Post(R"({"node_host":"n1","event_type":"GPU_LOST"})");
  RunUntil(io_, [&] { return terminal_->messages.size() == 2 && office.messages.size() == 2; });
  EXPECT_THAT(terminal_->messages[1].text, HasSubstr("node n1"));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_config_last_reload_successful 1\n"));
}

TEST_F(GatewayTest, AConfigurationThatCannotBeUsedChangesNothing) {
  StartTerminal();
  StartGateway();
  EXPECT_FALSE(gateway_->Reload(Error{ErrorCode::kInvalidArgument, "gateway.toml:1:1"}).ok());
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_config_last_reload_successful 0\n"));
  GatewayConfig config = Options().config;
  config.terminals.clear();
  config.key_file = folder_.path + "/nowhere";
  EXPECT_FALSE(gateway_->Reload(config).ok());
  config = Options().config;
  config.state_dir = "/tmp";
  Status refused = gateway_->Reload(config);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("state_dir cannot be changed"));
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->messages.size() == 1; });
  EXPECT_TRUE(gateway_->Reload(Options().config).ok());
  const Json trail = Json::parse(Get("/api/v1/audit").body)["audit"];
  ASSERT_GE(trail.size(), 2u);
  EXPECT_EQ(trail[0]["action"], "reload");
  EXPECT_EQ(trail[0]["detail"], "taken");
  EXPECT_THAT(trail[1]["detail"].get<std::string>(), HasSubstr("state_dir cannot be changed"));
}

TEST_F(GatewayTest, ASendUnderWayOutlivesAReloadAndIsNotRepeated) {
  StartTerminal();
  StartGateway();
  RunUntil(io_, [&] { return terminal_->pings > 0; });
  terminal_->silent = true;
  Post(kHang);
  RunUntil(io_, [&] { return terminal_->requests.size() == 1; });
  GatewayConfig config = Options().config;
  config.delivery.attempt_timeout = std::chrono::seconds(2);  // other drivers
  ASSERT_TRUE(gateway_->Reload(config).ok());
  io_.restart();
  io_.run_for(std::chrono::milliseconds(100));
  EXPECT_THAT(terminal_->requests, SizeIs(1));
  terminal_->AnswerHeld();
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  EXPECT_THAT(terminal_->requests, SizeIs(1));
}

}  // namespace
}  // namespace sentinel
