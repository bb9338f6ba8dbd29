// A gateway's agent port on a Unix socket, for tests: welcomes, remembers, answers when told to.
#pragma once

#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include "model/agent_message.h"
#include "wire/agent_stream.h"

namespace sentinel {

class TestingGateway {
 public:
  TestingGateway(boost::asio::io_context& io, std::string path) : io_(io), path_(std::move(path)) {}
  ~TestingGateway() { Close(); }

  void Open() {
    unlink(path_.c_str());
    acceptor_ = std::make_unique<Protocol::acceptor>(io_, Protocol::endpoint(path_));
    Accept();
  }
  // As if it had been killed.
  void Close() {
    acceptor_.reset();
    unlink(path_.c_str());
    Hangup();
  }
  void Hangup() {
    if (link_) link_->socket.close();
    link_.reset();
  }
  void Send(const DownMessage& message) { SendBytes(EncodeDown(message).value()); }
  void SendBytes(const std::string& bytes) {
    boost::system::error_code gone;  // the agent may be
    if (link_) boost::asio::write(link_->socket, boost::asio::buffer(bytes), gone);
  }

  template <typename T>
  std::vector<T> Heard() const {
    std::vector<T> found;
    for (const UpMessage& message : heard) {
      if (const T* one = std::get_if<T>(&message)) found.push_back(*one);
    }
    return found;
  }

  bool welcomes = true;
  uint32_t protocol = kAgentProtocol;
  uint32_t event_status = 200;  // 0: events are not answered
  int connections = 0;
  std::vector<UpMessage> heard;

 private:
  using Protocol = boost::asio::local::stream_protocol;
  struct Link {
    explicit Link(Protocol::socket connected) : socket(std::move(connected)) {}
    Protocol::socket socket;
    FrameReader frames;
    std::array<char, 65536> in{};
  };

  void Accept() {
    acceptor_->async_accept(
        [this](const boost::system::error_code& error, Protocol::socket socket) {
          if (error) return;
          ++connections;
          link_ = std::make_shared<Link>(std::move(socket));
          Read(link_);
          Accept();
        });
  }
  void Read(const std::shared_ptr<Link>& link) {
    link->socket.async_read_some(
        boost::asio::buffer(link->in),
        [this, link](const boost::system::error_code& error, size_t size) {
          if (error) return;
          if (!link->frames.Append(std::string_view(link->in.data(), size)).ok()) return;
          std::string payload;
          while (link->frames.Next(&payload)) Take(DecodeUp(payload).value());
          if (link->socket.is_open()) Read(link);
        });
  }
  void Take(UpMessage message) {
    if (std::holds_alternative<Hello>(message) && welcomes) Send(Welcome{protocol, "gw-1"});
    if (const SpooledEvent* event = std::get_if<SpooledEvent>(&message)) {
      if (event_status != 0) Send(EventAck{event->spool_id, event_status, "{}"});
    }
    heard.push_back(std::move(message));
  }

  boost::asio::io_context& io_;
  std::string path_;
  std::unique_ptr<Protocol::acceptor> acceptor_;
  std::shared_ptr<Link> link_;
};

// Runs until `done` says so; false if it has not within ten seconds.
template <typename Done>
bool RunUntil(boost::asio::io_context& io, Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    io.restart();
    io.run_one_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace sentinel
