#include "http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "http/server.h"
#include "http/test_peer.h"

namespace sentinel {
namespace {

// A server that says what it is told, or nothing, whatever it is asked.
class RudeServer {
 public:
  RudeServer(boost::asio::io_context& io, std::optional<std::string> answer, bool close_after)
      : acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}),
        answer_(std::move(answer)),
        close_after_(close_after) {
    acceptor_.async_accept([this](auto error, boost::asio::ip::tcp::socket socket) {
      if (error) return;
      socket_.emplace(std::move(socket));
      // What is read before the end makes it an end and no reset.
      socket_->async_read_some(boost::asio::buffer(asked_), [this](auto failed, size_t) {
        if (failed) return;
        if (answer_) boost::asio::write(*socket_, boost::asio::buffer(*answer_));
        if (close_after_) socket_.reset();
      });
    });
  }
  Endpoint endpoint() const {
    Endpoint endpoint;
    endpoint.host = "127.0.0.1";
    endpoint.port = acceptor_.local_endpoint().port();
    return endpoint;
  }

 private:
  boost::asio::ip::tcp::acceptor acceptor_;
  std::optional<std::string> answer_;
  bool close_after_;
  std::array<char, 4096> asked_;
  std::optional<boost::asio::ip::tcp::socket> socket_;
};

class HttpFetchTest : public testing::Test {
 protected:
  HttpOutcome Fetch(const Endpoint& endpoint, HttpRequestOptions options = {},
                    std::string method = "POST") {
    HttpRequest request;
    request.method = std::move(method);
    request.path = "/p";
    request.query = "q=1";
    request.headers["X-A"] = "b";
    request.body = "body";
    std::optional<HttpOutcome> outcome;
    HttpFetch(io_, endpoint, request, options,
              [&](HttpOutcome done) { outcome = std::move(done); });
    EXPECT_FALSE(outcome.has_value());  // never from within the call
    RunUntil(io_, [&] { return outcome.has_value(); });
    return outcome.value_or(HttpOutcome{});
  }
  static HttpRequestOptions Short() {
    HttpRequestOptions options;
    options.timeout = std::chrono::milliseconds(60);
    return options;
  }

  boost::asio::io_context io_;
};

TEST_F(HttpFetchTest, TheAnswerComesBackWhole) {
  HttpRequest seen;
  Endpoint any;
  any.host = "127.0.0.1";
  auto server =
      HttpServer::Listen(io_, any, HttpLimits{}, [&](HttpRequest request, auto responder) {
        seen = std::move(request);
        HttpResponse response = JsonResponse(401, "{}");
        response.headers["Retry-After"] = "7";
        responder->Send(std::move(response));
      });
  ASSERT_TRUE(server.ok());
  Endpoint endpoint;
  endpoint.host = "localhost";
  endpoint.port = (*server)->port();
  HttpOutcome outcome = Fetch(endpoint);
  ASSERT_TRUE(outcome.response.ok()) << outcome.response.error().message;
  EXPECT_EQ(outcome.response->status, 401);
  EXPECT_EQ(outcome.response->body, "{}");
  EXPECT_EQ(outcome.response->content_type, "application/json");
  EXPECT_EQ(outcome.response->headers.at("retry-after"), "7");
  EXPECT_TRUE(outcome.sent);
  EXPECT_EQ(seen.path, "/p");
  EXPECT_EQ(seen.query, "q=1");
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.Header("X-A"), "b");
  EXPECT_EQ(seen.Header("Host"), "localhost:" + std::to_string(endpoint.port));
}

TEST_F(HttpFetchTest, NobodyThereIsUnavailableAndNotSent) {
  Endpoint nobody;
  nobody.host = "127.0.0.1";
  nobody.port = 1;
  HttpOutcome outcome = Fetch(nobody);
  ASSERT_FALSE(outcome.response.ok());
  EXPECT_EQ(outcome.response.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(outcome.sent);
  Endpoint missing;
  missing.host = "/nonexistent/x.sock";
  missing.unix_socket = true;
  EXPECT_EQ(Fetch(missing).response.error().code, ErrorCode::kUnavailable);
}

TEST_F(HttpFetchTest, SilenceAfterTheBodyIsATimeoutOfSomethingSent) {
  RudeServer silent(io_, std::nullopt, false);
  HttpOutcome outcome = Fetch(silent.endpoint(), Short());
  ASSERT_FALSE(outcome.response.ok());
  EXPECT_EQ(outcome.response.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(outcome.sent);
  EXPECT_GE(outcome.elapsed, std::chrono::milliseconds(60));
}

TEST_F(HttpFetchTest, AnAnswerThatStopsInTheMiddleIsATimeout) {
  RudeServer half(io_, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", false);
  HttpOutcome outcome = Fetch(half.endpoint(), Short());
  EXPECT_EQ(outcome.response.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(outcome.status, 200);
  RudeServer header(io_, "HTTP/1.1 200 OK\r\nContent-Le", false);
  EXPECT_EQ(Fetch(header.endpoint(), Short()).status, 0);
  RudeServer interim(io_, "HTTP/1.1 100 Continue\r\n\r\n", false);
  EXPECT_EQ(Fetch(interim.endpoint(), Short()).status, 0);
}

TEST_F(HttpFetchTest, AConnectionThatEndsEarlyIsUnavailable) {
  RudeServer nothing(io_, std::nullopt, true);
  EXPECT_EQ(Fetch(nothing.endpoint()).response.error().code, ErrorCode::kUnavailable);
  RudeServer half(io_, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", true);
  EXPECT_EQ(Fetch(half.endpoint()).response.error().code, ErrorCode::kUnavailable);
}

TEST_F(HttpFetchTest, ABodyWithoutALengthEndsWithTheConnection) {
  RudeServer plain(io_, "HTTP/1.0 200 OK\r\n\r\nall of it", true);
  HttpOutcome outcome = Fetch(plain.endpoint());
  ASSERT_TRUE(outcome.response.ok()) << outcome.response.error().message;
  EXPECT_EQ(outcome.response->body, "all of it");
}

TEST_F(HttpFetchTest, WhatIsNoHttpIsCorrupt) {
  RudeServer banner(io_, "SSH-2.0-OpenSSH_9.2\r\n\r\n", false);
  EXPECT_EQ(Fetch(banner.endpoint()).response.error().code, ErrorCode::kCorrupt);
}

TEST_F(HttpFetchTest, AnAnswerBeyondTheBoundIsCutOff) {
  HttpRequestOptions options;
  options.response_bytes_max = 100;
  RudeServer big(io_, "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'),
                 false);
  HttpOutcome outcome = Fetch(big.endpoint(), options);
  EXPECT_EQ(outcome.response.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(outcome.status, 200);
  RudeServer chunks(io_,
                    "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                        std::string(101, 'x') + "\r\n",
                    false);
  EXPECT_EQ(Fetch(chunks.endpoint(), options).status, 202);
  RudeServer endless(io_, "HTTP/1.1 200 OK\r\nX: " + std::string(40000, 'x'), false);
  EXPECT_EQ(Fetch(endless.endpoint()).response.error().code, ErrorCode::kExhausted);
}

TEST_F(HttpFetchTest, RedirectsAreNotFollowed) {
  RudeServer elsewhere(
      io_, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      false);
  HttpOutcome outcome = Fetch(elsewhere.endpoint());
  ASSERT_TRUE(outcome.response.ok());
  EXPECT_EQ(outcome.response->status, 302);
}

TEST_F(HttpFetchTest, ARefusalBeforeTheBodyIsReadIsHeard) {
  Endpoint any;
  any.host = "127.0.0.1";
  HttpLimits limits;
  limits.body_bytes_max = 10;
  auto server = HttpServer::Listen(io_, any, limits, [](HttpRequest, auto) {});
  ASSERT_TRUE(server.ok());
  any.port = (*server)->port();
  HttpRequest request;
  request.method = "POST";
  request.path = "/";
  request.body = std::string(300'000, 'x');
  std::optional<HttpOutcome> outcome;
  HttpFetch(io_, any, request, {}, [&](HttpOutcome done) { outcome = std::move(done); });
  RunUntil(io_, [&] { return outcome.has_value(); });
  ASSERT_TRUE(outcome->response.ok()) << outcome->response.error().message;
  EXPECT_EQ(outcome->response->status, 413);
}

}  // namespace
}  // namespace sentinel
