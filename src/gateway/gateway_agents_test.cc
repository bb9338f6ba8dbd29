// What agents are answered.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <variant>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "gateway/gateway_testing.h"
#include "wire/agent_stream.h"

namespace sentinel {
namespace {

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

}  // namespace
}  // namespace sentinel
