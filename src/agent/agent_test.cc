#include "agent/agent.h"

#include <gtest/gtest.h>

#include "agent/testing_gateway.h"
#include "http/client.h"
#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

constexpr const char* kEvent =
    R"({"cluster_rack":"A03","node_host":"gpu-worker-08","event_type":"XID_FATAL","gpu_index":3,"gpu_util":98})";

class AgentTest : public testing::Test {
 protected:
  AgentTest() : gateway(io, files.root() / "gw.sock") {
    std::filesystem::create_directories(files.root() / "boards");
    config.host = "gpu-08";
    config.agent_id = "agent-1";
    config.board_dir = files.root() / "boards";
    config.gateway = {files.root() / "gw.sock", 0, true};
    config.ingest_socket = files.root() / "agent.sock";
    config.spool_dir = files.root() / "spool";
    config.state_dir = files.root() / "state";
  }

  void Start() {
    Result<std::unique_ptr<Agent>> created = Agent::Create(config, io);
    ASSERT_TRUE(created.ok()) << created.error().message;
    agent = std::move(created).value();
  }
  HttpResponse Fetch(HttpRequest request) {
    std::optional<HttpOutcome> outcome;
    HttpFetch(io, {config.ingest_socket, 0, true}, std::move(request), {},
              [&](HttpOutcome done) { outcome = std::move(done); });
    EXPECT_TRUE(RunUntil(io, [&] { return outcome.has_value(); }));
    EXPECT_TRUE(outcome->response.ok()) << outcome->response.error().message;
    return outcome->response.ok() ? *outcome->response : TextResponse(0, "");
  }
  HttpResponse Post(const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/gpu_event";
    request.body = body;
    return Fetch(std::move(request));
  }
  HttpResponse Get(const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    return Fetch(std::move(request));
  }
  size_t Spooled() const {
    size_t files_there = 0;
    for (const auto& entry : std::filesystem::directory_iterator(config.spool_dir)) {
      files_there += entry.path().extension() == ".json";
    }
    return files_there;
  }

  TestingProc files;
  boost::asio::io_context io;
  TestingGateway gateway;
  AgentConfig config;
  std::unique_ptr<Agent> agent;
};

TEST_F(AgentTest, IntroducesItselfTellsItsInventoryAndKeepsBeating) {
  gateway.Open();
  Start();
  ASSERT_TRUE(RunUntil(io, [&] {
    return gateway.Heard<Heartbeat>().size() >= 3 && !gateway.Heard<Inventory>().empty();
  }));
  EXPECT_EQ(gateway.Heard<Hello>().at(0).host, "gpu-08");
  EXPECT_NE(gateway.Heard<Hello>().at(0).boot_id, "");
}

TEST_F(AgentTest, AnEventPostedHereReachesTheGatewayAndLeavesTheSpool) {
  gateway.Open();
  Start();
  const HttpResponse response = Post(kEvent);
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("\"status\":\"accepted\""), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("\"incident\":null"), std::string::npos) << response.body;
  ASSERT_TRUE(RunUntil(io, [&] { return !gateway.Heard<SpooledEvent>().empty(); }));
  const std::string body = gateway.Heard<SpooledEvent>()[0].body;
  EXPECT_NE(body.find("\"event_id\":\"agent-1-"), std::string::npos) << body;
  EXPECT_NE(body.find("\"observed_at\""), std::string::npos);
  EXPECT_TRUE(RunUntil(io, [&] { return Spooled() == 0; }));
}

TEST_F(AgentTest, EventsOutliveTheGatewaysAbsenceAndOurOwnDeath) {
  Start();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Post(kEvent).status, 200);
  EXPECT_EQ(Spooled(), 3u);
  agent.reset();
  Start();
  gateway.Open();
  ASSERT_TRUE(RunUntil(io, [&] { return gateway.Heard<SpooledEvent>().size() == 3; }));
  EXPECT_TRUE(RunUntil(io, [&] { return Spooled() == 0; }));
}

TEST_F(AgentTest, AnEventTheGatewayCannotKeepYetStays) {
  gateway.event_status = 503;
  gateway.Open();
  Start();
  EXPECT_EQ(Post(kEvent).status, 200);
  ASSERT_TRUE(RunUntil(io, [&] { return !gateway.Heard<SpooledEvent>().empty(); }));
  io.restart();
  io.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(Spooled(), 1u);
}

TEST_F(AgentTest, AnswersWhatIsWrongAsTheGatewayWould) {
  Start();
  EXPECT_EQ(Post("{}").status, 400);
  EXPECT_EQ(Post("{}").body.rfind("Bad Request", 0), 0u);
  EXPECT_EQ(Post("no json").status, 400);
  EXPECT_EQ(Post(std::string(70 * 1024, ' ')).status, 413);
  EXPECT_EQ(Get("/api/v1/gpu_event").status, 405);
  EXPECT_EQ(Get("/nothing").status, 404);
}

TEST_F(AgentTest, WhatIsNotDurableIsToldAndGoesOnFromMemory) {
  TestingProc::WriteFile(files.root() / "file", "");
  config.spool_dir = files.root() / "file/spool";
  gateway.Open();
  Start();
  const HttpResponse response = Post(kEvent);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.headers.find("Retry-After"), response.headers.end());
  EXPECT_TRUE(RunUntil(io, [&] { return gateway.Heard<SpooledEvent>().size() == 1; }));
}

TEST_F(AgentTest, AFullSpoolRefusesAndSaysWhenToComeAgain) {
  Start();
  const std::string big =
      std::string(kEvent).insert(1, "\"evidence\":\"" + std::string(60000, 'x') + "\",");
  size_t accepted = 0;
  size_t kept = 0;  // also those of which the disk was too slow to say so in time
  HttpResponse response;
  for (; kept < 1000; ++kept) {
    response = Post(big);
    if (response.status == 200) ++accepted;
    if (response.body.find("wait for the gateway") != std::string::npos) break;
  }
  EXPECT_EQ(response.status, 503);
  EXPECT_GT(kept, 30u);
  EXPECT_LT(kept, 100u);
  EXPECT_GE(Spooled(), accepted);
}

TEST_F(AgentTest, ShowsItsMetrics) {
  Start();
  const HttpResponse response = Get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("sentinel_agent_boards 0\n"), std::string::npos);
  EXPECT_NE(response.body.find("sentinel_agent_gateway_connected 0\n"), std::string::npos);
  EXPECT_EQ(Get("/healthz").status, 200);
}

TEST_F(AgentTest, ASocketThatCannotBeServedIsAFailedStartThatSaysWhatIsInTheWay) {
  config.ingest_socket = "/proc/none/agent.sock";
  const Result<std::unique_ptr<Agent>> agent_there = Agent::Create(config, io);
  ASSERT_FALSE(agent_there.ok());
  EXPECT_NE(agent_there.error().message.find("cannot make the folder /proc/none"),
            std::string::npos)
      << agent_there.error().message;
}

TEST_F(AgentTest, MakesTheFoldersItNeeds) {
  config.ingest_socket = files.root() / "run/gpu-sentinel/agent.sock";
  config.spool_dir = files.root() / "var/lib/gpu-sentinel/agent-spool";
  Start();
  EXPECT_EQ(Post(kEvent).status, 200);
  std::filesystem::remove_all(files.root() / "var");
  EXPECT_EQ(Post(kEvent).status, 200) << "also when somebody has tidied up since";
}

TEST_F(AgentTest, AStateFolderThatCannotBeMadeStopsNothing) {
  TestingProc::WriteFile(files.root() / "file", "");
  config.state_dir = files.root() / "file/state";
  gateway.Open();
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return !gateway.Heard<Heartbeat>().empty(); }));
  agent.reset();
}

}  // namespace
}  // namespace sentinel
