#include "terminal/gateway_link.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "http/server.h"
#include "http/signed_message.h"
#include "http/test_peer.h"
#include "signature/signature_v1.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A gateway that answers what it is told to and remembers what it heard.
class Gateway {
 public:
  explicit Gateway(boost::asio::io_context& io, uint16_t port = 0) {
    auto made =
        HttpServer::Listen(io, Endpoint{"127.0.0.1", port, false}, {},
                           [this](HttpRequest request, std::unique_ptr<HttpResponder> responder) {
                             heard.push_back(std::move(request));
                             responder->Send(TextResponse(status, answer));
                           });
    CHECK(made.ok());
    server_ = std::move(made).value();
  }
  Endpoint endpoint() const { return {"127.0.0.1", server_->port(), false}; }

  int status = 200;
  std::string answer;
  std::vector<HttpRequest> heard;

 private:
  std::unique_ptr<HttpServer> server_;
};

SignedClientOptions At(const Endpoint& gateway) {
  return {gateway, KeyRing(KeyPair{"key", "secret"}), std::string(kGatewayAudience)};
}

const LinkPace kQuick{milliseconds(5), milliseconds(20)};
const auto kWhateverItMutes = [](Duration) {};

TEST(GatewayLink, TellsTheGatewaySigned) {
  boost::asio::io_context io;
  Gateway gateway(io);
  GatewayLink link(io, At(gateway.endpoint()), "hall-1", kWhateverItMutes, kQuick);
  link.Acknowledge({"a", "b"}, WallTime{milliseconds(1'755'419'400'250)});
  ASSERT_TRUE(RunUntil(io, [&] { return !link.pending(); }));
  ASSERT_EQ(gateway.heard.size(), 1u);
  const HttpRequest& request = gateway.heard[0];
  EXPECT_EQ(request.method + " " + request.path, "POST /api/v1/ack");
  EXPECT_EQ(
      request.body,
      R"({"terminal":"hall-1","pressed_at":"2025-08-17T08:30:00.250Z","incidents":["a","b"]})");
  EXPECT_EQ(request.Header("X-API-Key"), "key");
  RequestVerifier verifier({std::string(kGatewayAudience), "boot", 10},
                           {{}, WallTime{WallNow().since_epoch - seconds(60)}});
  const std::string target = TargetOf(request);
  EXPECT_TRUE(verifier
                  .Verify(PartsOf(request, target), {KeyRing(KeyPair{"key", "secret"})},
                          {{seconds(60)}, WallNow()})
                  .ok());
  EXPECT_TRUE(VerifyV1("secret", request.Header("X-Timestamp"), request.body,
                       request.Header("X-Signature"), WallNow())
                  .ok());
}

TEST(GatewayLink, TriesAgainUntilTheGatewayHasHeard) {
  boost::asio::io_context io;
  Gateway gateway(io);
  gateway.status = 503;
  GatewayLink link(io, At(gateway.endpoint()), "hall-1", kWhateverItMutes, kQuick);
  link.Acknowledge({"a"}, WallNow());
  ASSERT_TRUE(RunUntil(io, [&] { return gateway.heard.size() >= 4; }));
  EXPECT_TRUE(link.pending());
  EXPECT_NE(link.last_error().find("503"), std::string::npos);
  gateway.status = 200;
  EXPECT_TRUE(RunUntil(io, [&] { return !link.pending(); }));
}

TEST(GatewayLink, APressOutlivesAGatewayThatIsNotThere) {
  boost::asio::io_context io;
  Endpoint endpoint;
  {
    Gateway gone(io);
    endpoint = gone.endpoint();
  }
  GatewayLink link(io, At(endpoint), "hall-1", kWhateverItMutes, kQuick);
  link.Acknowledge({"a"}, WallNow());
  ASSERT_TRUE(RunUntil(io, [&] { return link.attempts() >= 3; }));
  Gateway back(io, endpoint.port);
  EXPECT_TRUE(RunUntil(io, [&] { return !link.pending(); }));
  EXPECT_EQ(back.heard.size(), 1u);
}

TEST(GatewayLink, TheNewestPressIsTheOneThatIsTold) {
  boost::asio::io_context io;
  Gateway gateway(io);
  gateway.status = 500;
  GatewayLink link(io, At(gateway.endpoint()), "hall-1", kWhateverItMutes, kQuick);
  link.Acknowledge({"a"}, WallNow());
  ASSERT_TRUE(RunUntil(io, [&] { return !gateway.heard.empty(); }));
  link.Acknowledge({"a", "b"}, WallNow());
  gateway.status = 200;
  ASSERT_TRUE(RunUntil(io, [&] { return !link.pending(); }));
  auto body = nlohmann::json::parse(gateway.heard.back().body);
  EXPECT_EQ(body["incidents"].size(), 2u);
}

TEST(GatewayLink, TellsHowLongTheGatewaySaysThatItMutes) {
  boost::asio::io_context io;
  Gateway gateway(io);
  std::vector<Duration> mutes;
  GatewayLink link(
      io, At(gateway.endpoint()), "hall-1", [&](Duration left) { mutes.push_back(left); }, kQuick);
  for (const char* answer : {R"({"acknowledged":1})", "", R"({"muted_for_ms":"long"})",
                             R"({"acknowledged":1,"muted_for_ms":60000})"}) {
    gateway.answer = answer;
    link.Acknowledge({"a"}, WallNow());
    ASSERT_TRUE(RunUntil(io, [&] { return !link.pending(); }));
  }
  EXPECT_EQ(mutes, std::vector<Duration>{seconds(60)});
}

}  // namespace
}  // namespace sentinel
