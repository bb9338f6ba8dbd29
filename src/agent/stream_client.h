// The agent's end of the stream: connects, stays connected, carries messages both ways. Format and
// back-off: docs/formats/agent-stream.md.
//
// Everything runs on the io_context's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "http/message.h"
#include "model/agent_message.h"

namespace sentinel {

class TlsContext;

class StreamListener {
 public:
  virtual ~StreamListener() = default;
  // The gateway has welcomed us: say what there is.
  virtual void OnConnected(const std::string& gateway_id, const std::string& local_address) = 0;
  virtual void OnMessage(DownMessage message) = 0;
  // Once for every connection that failed or ended.
  virtual void OnDisconnected(const std::string& why) = 0;
};

struct StreamClientOptions {
  Endpoint gateway;
  std::string interface;  // name or address that connections leave by; empty: as routed
  Hello hello;
  uint64_t seed = 0;
  std::shared_ptr<TlsContext> tls{};  // for a tls: gateway, which is not called without
};

class StreamClient {
 public:
  // `listener` outlives it. Connects as soon as the io_context runs, and again whenever it must.
  static std::unique_ptr<StreamClient> Create(boost::asio::io_context& io,
                                              StreamClientOptions options,
                                              StreamListener* listener);
  virtual ~StreamClient() = default;

  // Forgotten while not connected; shed within the bound of Outgoing while the connection is slow.
  virtual void Send(const UpMessage& message) = 0;
  virtual bool connected() const = 0;  // welcomed
  virtual uint64_t dropped() const = 0;
};

}  // namespace sentinel
