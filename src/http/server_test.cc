#include "http/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "base/testing_folder.h"
#include "http/test_peer.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kPost[] = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    router_.Add("POST", "/echo", [this](HttpRequest request, auto responder) {
      peers_.push_back(request.peer);
      unix_peer_ = request.unix_peer;
      responder->Send(TextResponse(200, "<" + request.body + ">"));
    });
    router_.Add("GET", "/files/*", [](HttpRequest request, auto responder) {
      responder->Send(TextResponse(200, "file " + request.path));
    });
    router_.Add("GET", "/files/special",
                [](HttpRequest, auto responder) { responder->Send(TextResponse(200, "special")); });
    router_.Add("GET", "/later",
                [this](HttpRequest, auto responder) { held_.push_back(std::move(responder)); });
    router_.Add("GET", "/stream", [this](HttpRequest, auto responder) {
      HttpResponse head;
      head.content_type = "text/event-stream";
      head.body = "first\n";
      stream_ = responder->Stream(head);
    });
  }

  // Again with other limits: the old server goes.
  void Serve(const HttpLimits& limits) {
    server_.reset();
    Endpoint endpoint;
    endpoint.host = "127.0.0.1";
    auto server = HttpServer::Listen(io_, endpoint, limits, router_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(server).value();
  }
  void SetUp() override { Serve(HttpLimits{}); }
  RawClient Client() { return RawClient(io_, server_->port()); }

  boost::asio::io_context io_;
  HttpRouter router_;
  std::unique_ptr<HttpServer> server_;
  std::vector<std::string> peers_;
  std::shared_ptr<const UnixPeer> unix_peer_;  // of the last one
  std::vector<std::unique_ptr<HttpResponder>> held_;
  std::shared_ptr<HttpStream> stream_;
};

TEST_F(HttpServerTest, AKeptConnectionCarriesManyRequests) {
  RawClient client = Client();
  for (int i = 1; i <= 3; ++i) {
    client.Send(kPost);
    RunUntil(io_, [&] { return CountOf(client.ReadUntil("<hello>"), "<hello>") == i; });
  }
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_EQ(peers_.at(0), "127.0.0.1");
  EXPECT_EQ(unix_peer_, nullptr);
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  RawClient client = Client();
  std::string all;
  for (int i = 0; i < 500; ++i) {
    std::string body = std::to_string(1000 + i);
    all += "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n" + body;
  }
  ASSERT_TRUE(client.Send(all));
  std::string got = client.ReadUntil("<1499>");
  size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = got.find("<" + std::to_string(1000 + i) + ">", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(HttpServerTest, AClientThatPipelinesAndNeverReadsIsHeldBack) {
  int answered = 0;
  router_.Add("GET", "/big", [&](HttpRequest, auto responder) {
    ++answered;
    responder->Send(TextResponse(200, std::string(100'000, 'x')));
  });
  Serve(HttpLimits{});
  RawClient client = Client();
  std::string ask = "GET /big HTTP/1.1\r\nHost: h\r\n\r\n";
  std::string all;
  for (int i = 0; i < 400; ++i) all += ask;
  client.Send(all);
  for (int i = 0; i < 50; ++i) io_.run_one_for(std::chrono::milliseconds(2));
  EXPECT_LT(answered, 200);
  RunUntil(io_, [&] { return CountOf(client.ReadUntil("200 OK"), "200 OK") == 400; });
}

TEST_F(HttpServerTest, AnAnswerMayComeLater) {
  RawClient client = Client();
  client.Send(
      "GET /later HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\nx");
  RunUntil(io_, [&] { return held_.size() == 1; });
  for (int i = 0; i < 5; ++i) io_.run_one_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(peers_.empty());  // one after the other
  held_[0]->Send(TextResponse(503, "no"));
  EXPECT_THAT(client.ReadUntil("<x>"), StartsWith("HTTP/1.1 503 Service Unavailable"));
}

TEST_F(HttpServerTest, AResponderThatIsDroppedAnswers500) {
  RawClient client = Client();
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  RunUntil(io_, [&] { return held_.size() == 1; });
  held_.clear();
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 500"));
}

TEST_F(HttpServerTest, ARouteIsExactOrTakesTheRest) {
  RawClient client = Client();
  client.Send("GET /files/a/b?q HTTP/1.1\r\n\r\n");
  client.ReadUntil("file /files/a/b");
  client.Send("GET /files/special HTTP/1.1\r\n\r\n");
  client.ReadUntil("special");
  client.Send("GET /nothing HTTP/1.1\r\n\r\n");
  client.ReadUntil("404 Not Found");
}

TEST_F(HttpServerTest, AnotherMethodIsToldWhichOnesThereAre) {
  RawClient client = Client();
  client.Send("GET /echo HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: POST\r\n")));
}

TEST_F(HttpServerTest, HeadIsGetWithoutTheBody) {
  RawClient client = Client();
  client.Send("HEAD /files/special HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::string got = client.ReadToEnd();
  EXPECT_THAT(got, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_TRUE(got.ends_with("\r\n\r\n")) << got;
}

TEST_F(HttpServerTest, WhatIsNoHttpIsToldSo) {
  for (std::string bytes : {"hello\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
                            "GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
                            "POST /echo HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                            "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                            "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                            "\x16\x03\x01\x02\x01\x01\x01\x01\xfc\x03\x03"}) {
    RawClient client = Client();
    client.Send(bytes);
    EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << bytes;
    client.Close();
  }
  RunUntil(io_, [&] { return server_->connections() == 0; });
}

TEST_F(HttpServerTest, AHeaderBeyondTheBoundIs431) {
  std::string one = "GET /echo HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  std::string many = "GET /echo HTTP/1.1\r\n";
  for (int i = 0; i < 1000; ++i) many += "X-" + std::to_string(i) + ": 12345\r\n";
  std::string line = "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n\r\n";
  std::string endless(20000, 'A');
  for (const std::string& bytes : {one, many + "\r\n", line, endless}) {
    RawClient client = Client();
    client.Send(bytes);
    EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 431")) << bytes.substr(0, 40);
  }
  RawClient client = Client();
  client.Send("GET /files/x HTTP/1.1\r\nX: " + std::string(7900, 'x') + "\r\n\r\n");
  client.ReadUntil("200 OK");
}

TEST_F(HttpServerTest, ABodyBeyondTheBoundIs413AndTheClientCanReadIt) {
  RawClient announced = Client();
  announced.Send("POST /echo HTTP/1.1\r\nContent-Length: 70000\r\n\r\n" + std::string(60000, 'x'));
  EXPECT_THAT(announced.ReadToEnd(), StartsWith("HTTP/1.1 413"));
  EXPECT_FALSE(announced.reset());

  RawClient chunked = Client();
  chunked.Send("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunk = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
  for (int i = 0; i < 5; ++i) chunked.Send(chunk);
  EXPECT_THAT(chunked.ReadToEnd(), StartsWith("HTTP/1.1 413"));
  EXPECT_FALSE(chunked.reset());

  RawClient fits = Client();
  fits.Send("POST /echo HTTP/1.1\r\nContent-Length: 65536\r\n\r\n" + std::string(65536, 'x'));
  EXPECT_THAT(fits.ReadUntil("x>"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, APathMayTakeLargerBodiesThanTheOthers) {
  HttpLimits limits;
  limits.body_bytes_max = 1000;
  limits.body_bytes_max_of = {{"/echo", 20'000}};
  Serve(limits);
  auto post = [&](const std::string& target, size_t size) {
    RawClient client = Client();
    client.Send("POST " + target + " HTTP/1.1\r\nContent-Length: " + std::to_string(size) +
                "\r\nConnection: close\r\n\r\n" + std::string(size, 'x'));
    return client.ReadToEnd().substr(0, 12);
  };
  EXPECT_EQ(post("/echo", 20'000), "HTTP/1.1 200");
  EXPECT_EQ(post("/echo?page=1", 20'000), "HTTP/1.1 200");
  EXPECT_EQ(post("http://here/echo", 20'000), "HTTP/1.1 200");
  EXPECT_EQ(post("/echo", 20'001), "HTTP/1.1 413");
  EXPECT_EQ(post("/echo/", 1001), "HTTP/1.1 413");
  EXPECT_EQ(post("/later", 1001), "HTTP/1.1 413");

  // One after the other on a kept connection, each by its own bound.
  RawClient kept = Client();
  kept.Send("POST /echo HTTP/1.1\r\nContent-Length: 1500\r\n\r\n" + std::string(1500, 'x'));
  kept.ReadUntil("x>");
  kept.Send("POST /files/a HTTP/1.1\r\nContent-Length: 1500\r\n\r\n" + std::string(1500, 'x'));
  kept.ReadUntil("HTTP/1.1 413");
}

TEST_F(HttpServerTest, LargeBodiesAtOnceAreBounded) {
  HttpLimits limits;
  limits.body_bytes_max = 1000;
  limits.body_bytes_max_of = {{"/echo", 20'000}};
  limits.large_bodies_max = 2;
  Serve(limits);
  const std::string head = "POST /echo HTTP/1.1\r\nContent-Length: 6000\r\n\r\n";
  const std::string body(6000, 'x');
  RawClient slow = Client();
  slow.Send(head + body.substr(0, 5000));
  for (int i = 0; i < 20; ++i) io_.run_one_for(std::chrono::milliseconds(2));

  // Half of the places are one peer's; those of others, and smaller bodies, are not concerned.
  RawClient second = Client();
  second.Send(head + body.substr(0, 5000));
  EXPECT_THAT(second.ReadUntil("\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1\r\n")));
  second.Close();
  RunUntil(io_, [&] { return server_->connections() == 1; });
  RawClient small = Client();
  small.Send(kPost);
  small.ReadUntil("<hello>");
  RawClient other(io_, server_->port(), "127.0.0.2");
  other.Send(head + body);
  EXPECT_THAT(other.ReadUntil("x>"), StartsWith("HTTP/1.1 200"));

  // Who has been answered gives its place back, and so does who leaves.
  slow.Send(body.substr(5000));
  EXPECT_THAT(slow.ReadUntil("x>"), StartsWith("HTTP/1.1 200"));
  RawClient leaves = Client();
  leaves.Send(head + body.substr(0, 5000));
  for (int i = 0; i < 20; ++i) io_.run_one_for(std::chrono::milliseconds(2));
  leaves.Close();
  RunUntil(io_, [&] { return server_->connections() == 3; });
  RawClient third = Client();
  third.Send(head + body);
  EXPECT_THAT(third.ReadUntil("x>"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AClientThatAsksFirstIsToldToContinue) {
  RawClient client = Client();
  client.Send("POST /echo HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  client.ReadUntil("100 Continue\r\n\r\n");
  client.Send("ok");
  client.ReadUntil("<ok>");
}

TEST_F(HttpServerTest, AClientMayEndItsSideAndStillReadItsAnswer) {
  RawClient client = Client();
  client.Send(kPost);
  client.EndSending();
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("<hello>"));
  RunUntil(io_, [&] { return server_->connections() == 0; });
}

TEST_F(HttpServerTest, AClientThatGoesInTheMiddleIsForgotten) {
  RawClient half = Client();
  half.Send("POST /echo HTTP/1.1\r\nContent-Length: 50\r\n\r\nhel");
  RunUntil(io_, [&] { return server_->connections() == 1; });
  half.Close();
  RunUntil(io_, [&] { return server_->connections() == 0; });
  RawClient waiting = Client();
  waiting.Send("GET /later HTTP/1.1\r\n\r\n");
  RunUntil(io_, [&] { return held_.size() == 1; });
  waiting.Close();
  held_[0]->Send(TextResponse(200, "nobody hears it"));
  RunUntil(io_, [&] { return server_->connections() == 0; });
}

TEST_F(HttpServerTest, OldClientsAreServedInTheirOwnWay) {
  RawClient closing = Client();
  closing.Send("POST /echo HTTP/1.0\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_THAT(closing.ReadToEnd(), HasSubstr("Connection: close\r\n"));
  RawClient keeping = Client();
  keeping.Send("POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_THAT(keeping.ReadUntil("<x>"), HasSubstr("Connection: keep-alive\r\n"));
}

TEST_F(HttpServerTest, ASlowSenderIsSentAway) {
  HttpLimits limits;
  limits.read_timeout = std::chrono::milliseconds(60);
  Serve(limits);
  RawClient client = Client();
  std::string request = kPost;
  // One byte at a time, for ever: each byte is progress, the whole is not.
  for (size_t i = 0; i < request.size() && !client.ended(); ++i) {
    client.Send(request.substr(i, 1));
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    while (std::chrono::steady_clock::now() < end) io_.run_one_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(client.ReadToEnd(), StartsWith("HTTP/1.1 408"));
  RawClient silent = Client();
  EXPECT_EQ(silent.ReadToEnd(), "");
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  HttpLimits limits;
  limits.idle_timeout = std::chrono::milliseconds(50);
  Serve(limits);
  RawClient client = Client();
  client.Send(kPost);
  EXPECT_TRUE(client.ReadToEnd().ends_with("<hello>"));
}

TEST_F(HttpServerTest, ConnectionsBeyondTheBoundAreClosedAndCounted) {
  HttpLimits limits;
  limits.connections_max = 2;
  limits.peer_share_max = 1;
  Serve(limits);
  RawClient first = Client();
  RawClient second = Client();
  RunUntil(io_, [&] { return server_->connections() == 2; });
  RawClient third = Client();
  third.ReadToEnd();
  EXPECT_EQ(server_->connections_refused(), 1u);
  first.Send(kPost);
  first.ReadUntil("<hello>");
  first.Close();
  RunUntil(io_, [&] { return server_->connections() == 1; });
  RawClient fourth = Client();
  fourth.Send(kPost);
  fourth.ReadUntil("<hello>");
}

TEST_F(HttpServerTest, OneStuckClientLeavesRoomForTheOthers) {
  HttpLimits limits;
  limits.connections_max = 8;
  Serve(limits);
  std::vector<std::unique_ptr<RawClient>> stuck;
  for (int i = 0; i < 8; ++i) stuck.push_back(std::make_unique<RawClient>(io_, server_->port()));
  RunUntil(io_, [&] { return server_->connections_refused() == 4; });
  EXPECT_EQ(server_->connections(), 4);
  RawClient other(io_, server_->port(), "127.0.0.2");
  other.Send(kPost);
  other.ReadUntil("<hello>");
  EXPECT_EQ(peers_.at(0), "127.0.0.2");
  // What it gives back it may take again.
  stuck.clear();
  RunUntil(io_, [&] { return server_->connections() == 1; });
  RawClient again = Client();
  again.Send(kPost);
  again.ReadUntil("<hello>");
}

TEST_F(HttpServerTest, AStreamCarriesChunksUntilItIsClosed) {
  RawClient client = Client();
  client.Send("GET /stream HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("6\r\nfirst\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(stream_->open());
  EXPECT_TRUE(stream_->Write("data: x\n\n"));
  client.ReadUntil("9\r\ndata: x\n\n\r\n");
  stream_->Close();
  EXPECT_FALSE(stream_->open());
  EXPECT_FALSE(stream_->Write("late"));
  EXPECT_TRUE(client.ReadToEnd().ends_with("0\r\n\r\n"));
}

TEST_F(HttpServerTest, AStreamWhoseClientLeavesIsClosed) {
  RawClient client = Client();
  client.Send("GET /stream HTTP/1.1\r\n\r\n");
  client.ReadUntil("first");
  client.Close();
  RunUntil(io_, [&] { return !stream_->open(); });
  EXPECT_FALSE(stream_->Write("x"));
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(HttpServerTest, AStreamWhoseClientIsTooSlowIsDropped) {
  RawClient client = Client();
  client.Send("GET /stream HTTP/1.1\r\n\r\n");
  client.ReadUntil("first");
  std::string chunk(64 * 1024, 'x');
  int written = 0;
  while (stream_->Write(chunk) && written < 1000) ++written;
  EXPECT_LT(written, 1000);
  EXPECT_FALSE(stream_->open());
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(HttpServerTest, StopLetsRunningRequestsFinish) {
  RawClient idle = Client();
  RawClient busy = Client();
  busy.Send("GET /later HTTP/1.1\r\n\r\n");
  RunUntil(io_, [&] { return held_.size() == 1 && server_->connections() == 2; });
  server_->Stop();
  EXPECT_EQ(idle.ReadToEnd(), "");
  held_[0]->Send(TextResponse(200, "done"));
  EXPECT_THAT(busy.ReadToEnd(), HasSubstr("Connection: close"));
}

TEST_F(HttpServerTest, ResponderAndStreamMayOutliveTheServer) {
  RawClient first = Client();
  RawClient second = Client();
  first.Send("GET /later HTTP/1.1\r\n\r\n");
  second.Send("GET /stream HTTP/1.1\r\n\r\n");
  RunUntil(io_, [&] { return held_.size() == 1 && stream_; });
  server_.reset();
  EXPECT_FALSE(stream_->Write("x"));
  held_[0]->Send(TextResponse(200, "x"));
  EXPECT_EQ(first.ReadToEnd(), "");
}

class UnixSocketTest : public HttpServerTest {
 protected:
  UnixSocketTest() {
    endpoint_.host = folder_.path() / "s.sock";
    endpoint_.unix_socket = true;
  }

  TestingFolder folder_;
  Endpoint endpoint_;
};

TEST_F(UnixSocketTest, ServesItsOwnGroupAndKnowsWhoAsks) {
  auto server = HttpServer::Listen(io_, endpoint_, HttpLimits{}, router_);
  ASSERT_TRUE(server.ok()) << server.error().message;
  struct stat made {};
  ASSERT_EQ(stat(endpoint_.host.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0660u);
  RawClient client(io_, endpoint_.host);
  client.Send(kPost);
  client.ReadUntil("<hello>");
  EXPECT_EQ(peers_.at(0),
            "unix uid=" + std::to_string(getuid()) + " pid=" + std::to_string(getpid()));
  ASSERT_NE(unix_peer_, nullptr);
  EXPECT_EQ(unix_peer_->uid, getuid());
  EXPECT_TRUE(unix_peer_->InGroup(getgid()));
  std::vector<gid_t> groups(kPeerGroupsMax);
  groups.resize(static_cast<size_t>(getgroups(kPeerGroupsMax, groups.data())));
  for (gid_t group : groups) EXPECT_TRUE(unix_peer_->InGroup(group)) << group;
  EXPECT_FALSE(unix_peer_->InGroup(4'000'000'000));
  (*server)->Stop();
  EXPECT_NE(stat(endpoint_.host.c_str(), &made), 0);
}

TEST_F(UnixSocketTest, ADeadSocketIsReplacedALiveOneAndAFileAreNot) {
  {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, endpoint_.host.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    close(fd);  // the file stays, as after kill -9
  }
  auto server = HttpServer::Listen(io_, endpoint_, HttpLimits{}, router_);
  ASSERT_TRUE(server.ok()) << server.error().message;
  auto second = HttpServer::Listen(io_, endpoint_, HttpLimits{}, router_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr(endpoint_.host));
  (*server)->Stop();
  close(open((endpoint_.host).c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_FALSE(HttpServer::Listen(io_, endpoint_, HttpLimits{}, router_).ok());
}

TEST_F(HttpServerTest, APortThatIsTakenIsAnErrorInWords) {
  Endpoint taken;
  taken.host = "127.0.0.1";
  taken.port = server_->port();
  auto second = HttpServer::Listen(io_, taken, HttpLimits{}, router_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1:" + std::to_string(taken.port)));
}

}  // namespace
}  // namespace sentinel
