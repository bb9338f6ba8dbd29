#include "ring/live/relay.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/check.h"
#include "ring/live/loopback.h"

namespace sentinel {
namespace {

constexpr int kPatienceMs = 10'000;
constexpr int kMomentMs = 100;
constexpr size_t kSlowBytes = 1000;
constexpr size_t kSocketBytes = 8 * 1024;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) { CHECK(fd >= 0); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() { Close(); }

  static Socket ConnectedTo(uint16_t port) {
    Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = Loopback(port);
    CHECK(connect(socket.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return socket;
  }

  int fd() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  bool Readable(int within_ms) const {
    pollfd readable{fd_, POLLIN, 0};
    return poll(&readable, 1, within_ms) == 1;
  }
  // So many bytes, or what came before the end or a long silence.
  std::string Read(size_t bytes) const {
    std::string text;
    char chunk[4096];
    while (text.size() < bytes && Readable(kPatienceMs)) {
      const ssize_t got = recv(fd_, chunk, std::min(sizeof chunk, bytes - text.size()), 0);
      if (got <= 0) break;
      text.append(chunk, static_cast<size_t>(got));
    }
    return text;
  }
  void Write(const std::string& text) const {
    CHECK(send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }

 private:
  int fd_;
};

std::string Pattern(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

// A port on which rank 1 listens, or will.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t length = sizeof address;
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    CHECK(bind(socket_.fd(), general, length) == 0);
    CHECK(getsockname(socket_.fd(), general, &length) == 0);
    port_ = ntohs(address.sin_port);
  }
  void Listen() const { CHECK(listen(socket_.fd(), 8) == 0); }
  Socket Accept() const {
    CHECK(socket_.Readable(kPatienceMs));
    return Socket(accept(socket_.fd(), nullptr, nullptr));
  }
  uint16_t port() const { return port_; }

 private:
  Socket socket_;
  uint16_t port_ = 0;
};

// Rank 0 sends to rank 1.
class RelayTest : public testing::Test {
 protected:
  RelayTest() : relay_(Started(listener_.port())) {}

  static Relay Started(uint16_t port) {
    Result<Relay> relay = Relay::Start({{0, 1, port}}, {kSlowBytes, kSocketBytes});
    CHECK(relay.ok());
    return std::move(relay).value();
  }
  // A connection through the relay: what rank 0 holds, and what rank 1 holds.
  std::pair<Socket, Socket> Join() {
    listener_.Listen();
    Socket client = Socket::ConnectedTo(relay_.port(0));
    return {std::move(client), listener_.Accept()};
  }

  Listener listener_;
  Relay relay_;
};

TEST_F(RelayTest, BytesPassUnchangedInBothDirections) {
  const auto [client, server] = Join();
  const std::string text = Pattern(100'000);
  client.Write(text);
  EXPECT_EQ(server.Read(text.size()), text);
  server.Write(text);
  EXPECT_EQ(client.Read(text.size()), text);
}

TEST_F(RelayTest, AStoppedDirectionDeliversNothingAndLosesNothingWhileTheOtherGoesOn) {
  const auto [client, server] = Join();
  client.Write("before");
  EXPECT_EQ(server.Read(6), "before");
  relay_.Set(0, 1, Flow::kStop);
  client.Write("held");
  EXPECT_FALSE(server.Readable(kMomentMs));
  server.Write("answer");
  EXPECT_EQ(client.Read(6), "answer");
  relay_.Set(0, 1, Flow::kPass);
  EXPECT_EQ(server.Read(4), "held");
}

TEST_F(RelayTest, WhatARankAnswersOnAnothersEdgeStopsToo) {
  const auto [client, server] = Join();
  relay_.Set(1, 0, Flow::kStop);
  server.Write("answer");
  EXPECT_FALSE(client.Readable(kMomentMs));
  client.Write("data");
  EXPECT_EQ(server.Read(4), "data");
}

TEST_F(RelayTest, AStoppedWireHoldsSoLittleThatItsSenderSoonWaits) {
  const auto [client, server] = Join();
  relay_.Set(0, 1, Flow::kStop);
  const std::string chunk = Pattern(1 << 14);
  size_t taken = 0;
  for (ssize_t put = 1; put > 0 && taken < (8U << 20);) {
    pollfd writable{client.fd(), POLLOUT, 0};
    if (poll(&writable, 1, kMomentMs) == 0) break;
    put = send(client.fd(), chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) taken += static_cast<size_t>(put);
  }
  EXPECT_LT(taken, 6U << 20);  // most of it in this test's own socket, which is as it comes
}

TEST_F(RelayTest, ASlowDirectionPassesASliceEachPeriod) {
  const auto [client, server] = Join();
  relay_.Set(0, 1, Flow::kSlow);
  client.Write(Pattern(3 * kSlowBytes));
  EXPECT_EQ(server.Read(kSlowBytes).size(), kSlowBytes);
  EXPECT_FALSE(server.Readable(kMomentMs));
  EXPECT_EQ(server.Read(kSlowBytes).size(), kSlowBytes);
  EXPECT_FALSE(server.Readable(kMomentMs));
  relay_.Set(0, 1, Flow::kPass);
  EXPECT_EQ(server.Read(kSlowBytes).size(), kSlowBytes);
}

TEST_F(RelayTest, ARankThatListensLateIsReached) {
  const Socket client = Socket::ConnectedTo(relay_.port(0));
  client.Write("early");
  EXPECT_FALSE(client.Readable(kMomentMs));  // neither refused nor closed
  listener_.Listen();
  EXPECT_EQ(listener_.Accept().Read(5), "early");
}

TEST_F(RelayTest, TheEndOfOneSideIsTheEndOfTheOther) {
  auto [client, server] = Join();
  client.Write("last");
  client.Close();
  EXPECT_EQ(server.Read(100), "last");
  char byte = 0;
  EXPECT_EQ(recv(server.fd(), &byte, 1, 0), 0);
}

TEST_F(RelayTest, AStoppedWireDoesNotTellThatTheOtherSideHasGone) {
  auto [client, server] = Join();
  relay_.Set(0, 1, Flow::kStop);
  relay_.Set(1, 0, Flow::kStop);
  client.Close();
  EXPECT_FALSE(server.Readable(kMomentMs));
  EXPECT_TRUE(relay_.Alive());
}

}  // namespace
}  // namespace sentinel
