// The agents' end of the stream: connections in, messages out of them, requests down to them.
//
// It believes nothing: what is not a message, or comes before Hello, ends its connection.
// Everything runs on the io_context's thread. Format: docs/formats/agent-stream.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"
#include "model/agent_message.h"

namespace sentinel {

struct AgentLimits {
  int connections_max = 4096;             // beyond: closed at once
  int strangers_max = 1024;               // of those, before their Hello; beyond: closed at once
  size_t stranger_bytes_max = 64 * 1024;  // of what comes before a Hello is whole
  Duration hello_within = std::chrono::seconds(5);  // TLS included
  size_t out_bytes_max = 4u << 20;  // queued for one agent; beyond: it is too slow, dropped
  Duration silence_max = std::chrono::seconds(15);  // then the connection is closed
};

class TlsContext;

class AgentListener {
 public:
  virtual ~AgentListener() = default;
  // The first message of every connection is a Hello; its agent_id names the rest. A second
  // connection of the same agent replaces the first without OnAgentGone.
  virtual void OnAgentMessage(const std::string& agent, UpMessage message) = 0;
  virtual void OnAgentGone(const std::string& agent) = 0;
  virtual void OnAgentRefused(const std::string& peer, const std::string& why) = 0;
};

class AgentServer {
 public:
  // `listener` outlives it. Agents at tls: endpoints go through `tls`, which is then needed.
  static Result<std::unique_ptr<AgentServer>> Listen(boost::asio::io_context& io,
                                                     const std::vector<Endpoint>& endpoints,
                                                     AgentLimits limits, std::string gateway_id,
                                                     AgentListener* listener,
                                                     std::shared_ptr<TlsContext> tls = nullptr);
  virtual ~AgentServer() = default;

  // False if that agent is not connected or too slow.
  virtual bool Send(const std::string& agent, const DownMessage& message) = 0;
  virtual int connections() const = 0;
  // The port bound for the first endpoint that is not a Unix socket; 0: there is none.
  virtual uint16_t port() const = 0;
};

}  // namespace sentinel
