#include "signal/terminal_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "base/clock.h"
#include "http/server.h"
#include "http/test_peer.h"
#include "signature/signature_v1.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

Notification Hang() {
  Notification notification;
  notification.id = "m-1";
  notification.incident = "3f9c0a4b7d21e658";
  notification.severity = Severity::kP0;
  notification.sequence = 4;
  notification.message.text = "训练集群紧急预警";
  notification.message.color = {0xFF, 0, 0};
  notification.message.light_mode = LightMode::kFlash;
  notification.message.audio_mode = AudioMode::kCycle;
  notification.message.repeat_times = 3;
  return notification;
}

// A lamp that does what the test says, behind a real socket.
class TerminalDriverTest : public testing::Test {
 protected:
  TerminalDriverTest() {
    Endpoint any;
    any.host = "127.0.0.1";
    auto server =
        HttpServer::Listen(io_, any, HttpLimits{}, [this](HttpRequest asked, auto answer) {
          request_ = std::move(asked);
          ++asked_;
          if (response_) {
            answer->Send(*response_);
          } else {
            silent_.push_back(std::move(answer));
          }
        });
    EXPECT_TRUE(server.ok());
    server_ = std::move(server).value();
    settings_.name = "hall-1";
    settings_.endpoint = any;
    settings_.endpoint.port = server_->port();
    settings_.keys = KeyRing(KeyPair{"key-1", "secret"});
    settings_.kind = TerminalKind::kPlain;
    settings_.attempt_timeout = std::chrono::milliseconds(100);
  }

  SendResult Send() {
    if (!client_) client_ = MakeTerminalClient(io_, settings_);
    if (!driver_) driver_.emplace(client_, settings_);
    std::optional<SendResult> result;
    driver_->Send(Hang(), [&](SendResult sent) { result = std::move(sent); });
    RunUntil(io_, [&] { return result.has_value(); });
    return result.value_or(SendResult{});
  }

  boost::asio::io_context io_;
  std::unique_ptr<HttpServer> server_;
  TerminalSettings settings_;
  std::shared_ptr<SignedClient> client_;
  std::optional<TerminalDriver> driver_;
  std::optional<HttpResponse> response_ = TextResponse(200, "");
  std::vector<std::unique_ptr<HttpResponder>> silent_;
  HttpRequest request_;
  int asked_ = 0;
};

TEST_F(TerminalDriverTest, TheMessageArrivesSignedAsTheContractHasIt) {
  SendResult result = Send();
  EXPECT_EQ(result.outcome, SendOutcome::kDelivered) << result.error;
  EXPECT_EQ(request_.method, "POST");
  EXPECT_EQ(request_.path, "/api/v1/send_msg");
  EXPECT_EQ(request_.body, WriteTerminalMessage(Hang().message));
  EXPECT_EQ(request_.Header("Content-Type"), "application/json");
  EXPECT_EQ(request_.Header("X-API-Key"), "key-1");
  EXPECT_TRUE(VerifyV1("secret", request_.Header("X-Timestamp"), request_.body,
                       request_.Header("X-Signature"), WallNow())
                  .ok());
  EXPECT_EQ(request_.Header("X-Message-Id"), "m-1");
  EXPECT_EQ(request_.Header("X-Incident-Id"), "3f9c0a4b7d21e658");
  EXPECT_EQ(request_.Header("X-Sequence"), "4");
  EXPECT_EQ(request_.Header("X-Severity"), "P0");
}

TEST_F(TerminalDriverTest, ALampThatIsBusySaysWhenToComeBack) {
  response_ = TextResponse(503, "warming up");
  response_->headers["Retry-After"] = "2";
  SendResult result = Send();
  EXPECT_EQ(result.outcome, SendOutcome::kUnavailable);
  EXPECT_EQ(result.status, 503);
  EXPECT_EQ(result.retry_after, std::chrono::seconds(2));
}

TEST_F(TerminalDriverTest, ASlowLampIsUnconfirmedUnlessItKnowsARepeat) {
  response_.reset();
  SendResult plain = Send();
  EXPECT_EQ(plain.outcome, SendOutcome::kUnconfirmed);
  EXPECT_GE(plain.elapsed, settings_.attempt_timeout);
  settings_.kind = TerminalKind::kSentinel;
  driver_.reset();
  EXPECT_EQ(Send().outcome, SendOutcome::kUnavailable);
}

TEST_F(TerminalDriverTest, ALampThatIsNotThereIsUnavailable) {
  server_.reset();
  SendResult result = Send();
  EXPECT_EQ(result.outcome, SendOutcome::kUnavailable);
  EXPECT_THAT(result.error, HasSubstr("127.0.0.1"));
}

TEST_F(TerminalDriverTest, ALampThatHangsUpUnheardIsUnavailableOneThatHeardIsUnconfirmed) {
  using Tcp = boost::asio::ip::tcp;
  Tcp::acceptor acceptor(io_, {boost::asio::ip::address_v4::loopback(), 0});
  settings_.endpoint.port = acceptor.local_endpoint().port();
  settings_.attempt_timeout = std::chrono::seconds(5);
  acceptor.async_accept([](auto, Tcp::socket) {});  // hangs up at once
  EXPECT_EQ(Send().outcome, SendOutcome::kUnavailable);
  std::optional<Tcp::socket> peer;
  std::string heard(4096, '\0');
  acceptor.async_accept([&](auto, Tcp::socket socket) {
    peer.emplace(std::move(socket));
    peer->async_read_some(boost::asio::buffer(heard), [&](auto, size_t) { peer.reset(); });
  });
  EXPECT_EQ(Send().outcome, SendOutcome::kUnconfirmed);
}

TEST_F(TerminalDriverTest, ALampInAnotherYearIsSpokenToInItsOwnTime) {
  response_ = TextResponse(401, "timestamp");
  EXPECT_EQ(Send().outcome, SendOutcome::kRefused);
  EXPECT_EQ(client_->clock_ahead().count(), 0);  // its clock is ours: the key is wrong

  // A server cannot send a second Date of its own, so a bare socket plays the lamp.
  using Tcp = boost::asio::ip::tcp;
  Tcp::acceptor acceptor(io_, {boost::asio::ip::address_v4::loopback(), 0});
  settings_.endpoint.port = acceptor.local_endpoint().port();
  settings_.signature = SignatureUse::kV1Only;  // another maker's
  driver_.reset();
  client_.reset();
  std::optional<Tcp::socket> peer;
  std::string heard(4096, '\0');
  std::string answer =
      "HTTP/1.1 401 Unauthorized\r\nDate: Thu, 01 Jan 1970 00:01:00 GMT\r\nContent-Length: "
      "0\r\n\r\n";
  for (int attempt = 1; attempt <= 2; ++attempt) {
    acceptor.async_accept([&](auto, Tcp::socket socket) {
      peer.emplace(std::move(socket));
      peer->async_read_some(boost::asio::buffer(heard), [&](auto, size_t) {
        peer->async_write_some(boost::asio::buffer(answer), [](auto, size_t) {});
      });
    });
    EXPECT_EQ(Send().outcome, SendOutcome::kRefused);
  }
  size_t at = heard.find("X-Timestamp: ");
  ASSERT_NE(at, std::string::npos);
  int64_t stamped = std::stoll(heard.substr(at + 13, 12));
  EXPECT_GE(stamped, 55);
  EXPECT_LE(stamped, 65);
}

TEST_F(TerminalDriverTest, ADriverThatGoesTakesItsAttemptsAlong) {
  response_.reset();
  bool called = false;
  driver_.emplace(MakeTerminalClient(io_, settings_), settings_);
  driver_->Send(Hang(), [&](const SendResult&) { called = true; });
  RunUntil(io_, [&] { return asked_ == 1; });
  driver_.reset();
  silent_[0]->Send(TextResponse(200, ""));
  for (int i = 0; i < 20; ++i) io_.run_one_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace sentinel
