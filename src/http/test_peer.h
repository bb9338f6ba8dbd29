// For tests: an io_context that runs until something is true, and a raw blocking client that can
// misbehave.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

namespace sentinel {

// Runs handlers until `done` is true; fails the test after ten seconds.
inline bool RunUntil(boost::asio::io_context& io, const std::function<bool()>& done) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "waited ten seconds in vain";
      return false;
    }
    if (io.stopped()) io.restart();
    io.run_one_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Bytes to and from a server on this thread; reading lets the io_context run meanwhile.
class RawClient {
 public:
  // `from`: its own address, one of 127.0.0.0/8.
  RawClient(boost::asio::io_context& io, uint16_t port, const char* from = nullptr) : io_(io) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    if (from != nullptr) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      EXPECT_EQ(inet_pton(AF_INET, from, &own.sin_addr), 1);
      EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  RawClient(boost::asio::io_context& io, const std::string& path) : io_(io) {
    fd_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // True if the socket took it all.
  bool Send(std::string_view bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  // What has arrived once `text` is in it (all of it, also what came before).
  std::string& ReadUntil(std::string_view text) {
    RunUntil(io_, [&] {
      Pull();
      return received_.find(text) != std::string::npos || ended_;
    });
    EXPECT_NE(received_.find(text), std::string::npos) << received_;
    return received_;
  }
  std::string& ReadToEnd() {
    RunUntil(io_, [&] {
      Pull();
      return ended_;
    });
    return received_;
  }
  bool ended() {
    Pull();
    return ended_;
  }
  bool reset() const { return reset_; }

 private:
  void Pull() {
    char bytes[64 * 1024];
    for (;;) {
      ssize_t size = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (size > 0) {
        received_.append(bytes, static_cast<size_t>(size));
        continue;
      }
      if (size == 0) ended_ = true;
      if (size < 0 && errno != EAGAIN) ended_ = reset_ = true;
      return;
    }
  }

  boost::asio::io_context& io_;
  int fd_ = -1;
  std::string received_;
  bool ended_ = false;
  bool reset_ = false;
};

inline int CountOf(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace sentinel
