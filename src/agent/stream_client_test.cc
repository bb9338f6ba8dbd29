#include "agent/stream_client.h"

#include <gtest/gtest.h>

#include "agent/testing_gateway.h"
#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

class Listener : public StreamListener {
 public:
  void OnConnected(const std::string& id, const std::string&) override {
    ++connected;
    gateway_id = id;
  }
  void OnMessage(DownMessage message) override { messages.push_back(std::move(message)); }
  void OnDisconnected(const std::string& reason) override {
    ++disconnected;
    why = reason;
  }

  int connected = 0;
  int disconnected = 0;
  std::string gateway_id;
  std::string why;
  std::vector<DownMessage> messages;
};

class StreamClientTest : public testing::Test {
 protected:
  StreamClientTest() : path(files.root() / "gw.sock"), gateway(io, path) {}

  void Start() {
    StreamClientOptions options;
    options.gateway = {path, 0, true};
    options.hello.agent_id = "agent-1";
    client = StreamClient::Create(io, options, &listener);
  }

  TestingProc files;
  std::string path;
  boost::asio::io_context io;
  TestingGateway gateway;
  Listener listener;
  std::unique_ptr<StreamClient> client;
};

TEST_F(StreamClientTest, SaysHelloFirstAndIsConnectedOnceWelcomed) {
  gateway.Open();
  Start();
  client->Send(Heartbeat{1, 0, 0});  // nobody there yet: forgotten
  ASSERT_TRUE(RunUntil(io, [&] { return listener.connected == 1; }));
  EXPECT_TRUE(client->connected());
  EXPECT_EQ(listener.gateway_id, "gw-1");
  client->Send(Heartbeat{2, 0, 0});
  ASSERT_TRUE(RunUntil(io, [&] { return gateway.heard.size() == 2; }));
  EXPECT_EQ(std::get<Hello>(gateway.heard[0]).agent_id, "agent-1");
  EXPECT_EQ(std::get<Heartbeat>(gateway.heard[1]).boards, 2u);
}

TEST_F(StreamClientTest, HearsWhatTheGatewayAsks) {
  gateway.Open();
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return listener.connected == 1; }));
  gateway.Send(DetailRequest{9, {"j", 1, 2}, {}});
  ASSERT_TRUE(RunUntil(io, [&] { return !listener.messages.empty(); }));
  EXPECT_EQ(std::get<DetailRequest>(listener.messages[0]).request_id, 9u);
}

TEST_F(StreamClientTest, AGatewayThatIsAbsentIsTriedUntilItIsThere) {
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return listener.disconnected >= 2; }));
  EXPECT_NE(listener.why, "");
  gateway.Open();
  EXPECT_TRUE(RunUntil(io, [&] { return listener.connected == 1; }));
}

TEST_F(StreamClientTest, AKilledGatewayIsComeBackTo) {
  gateway.Open();
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return listener.connected == 1; }));
  gateway.Close();
  ASSERT_TRUE(RunUntil(io, [&] { return listener.disconnected >= 1; }));
  EXPECT_FALSE(client->connected());
  gateway.Open();
  EXPECT_TRUE(RunUntil(io, [&] { return listener.connected == 2; }));
}

TEST_F(StreamClientTest, APeerThatSpeaksSomethingElseIsLeft) {
  gateway.Open();
  gateway.welcomes = false;
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return gateway.connections == 1 && !gateway.heard.empty(); }));
  gateway.SendBytes("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_TRUE(RunUntil(io, [&] { return listener.disconnected == 1; }));
}

TEST_F(StreamClientTest, AnotherProtocolIsNoWelcome) {
  gateway.Open();
  gateway.protocol = 99;
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return listener.disconnected == 1; }));
  EXPECT_EQ(listener.connected, 0);
}

TEST_F(StreamClientTest, AGatewayThatNeverWelcomesIsLeftAfterThreeSeconds) {
  gateway.Open();
  gateway.welcomes = false;
  Start();
  EXPECT_TRUE(RunUntil(io, [&] { return listener.disconnected == 1; }));
  EXPECT_NE(listener.why.find("welcome"), std::string::npos);
}

TEST_F(StreamClientTest, ASlowGatewayCostsDigestsAndNoMemory) {
  gateway.Open();
  Start();
  ASSERT_TRUE(RunUntil(io, [&] { return listener.connected == 1; }));
  Digest digest;
  digest.edges.resize(kDigestEdgesMax);
  for (EdgeProgress& edge : digest.edges) edge.steps = edge.started = UINT32_MAX;
  while (client->dropped() == 0) client->Send(digest);  // the io_context does not run
  EXPECT_TRUE(client->connected());
}

TEST_F(StreamClientTest, CanBeLetGoAtAnyMoment) {
  for (int steps = 0; steps < 12; ++steps) {
    if (steps % 2 == 0) gateway.Open();
    Start();
    for (int i = 0; i < steps; ++i) io.run_one_for(std::chrono::milliseconds(5));
    client.reset();
    io.restart();
    io.run_for(std::chrono::milliseconds(5));
    gateway.Close();
  }
}

}  // namespace
}  // namespace sentinel
