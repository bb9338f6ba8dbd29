// The agent of one node, wired: boards scanned on a timer, the stream to the gateway, the ingest
// socket.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>

#include "agent/config.h"
#include "base/result.h"

namespace sentinel {

class Agent {
 public:
  // Runs on `io`, on the thread that runs it. Fails if the ingest socket cannot be served; a
  // gateway that is not there is no failure.
  static Result<std::unique_ptr<Agent>> Create(const AgentConfig& config,
                                               boost::asio::io_context& io);
  virtual ~Agent() = default;
};

}  // namespace sentinel
