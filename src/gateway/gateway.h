// sentinel-gateway: the parts of the way of an alarm, wired on one thread.
//
// Agents' messages become verdicts, verdicts and events become incidents, incidents become
// notifications, and those reach a terminal; what must outlive us is on disk. A verdict of our own
// rings while it is being written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "gateway/config.h"
#include "gateway/deliveries.h"
#include "gateway/outputs.h"
#include "http/key_file.h"

namespace sentinel {

struct GatewayOptions {
  GatewayConfig config;
  SampleKey sample_key = SampleKey::kRefused;
  RetryPolicy output_retry = OutputRetryPolicy();
};

// Whether keys and certificates can be used: the common key, every terminal's and sender's, and
// webhooks' secrets.
Status CheckKeys(const GatewayOptions& options);

class Gateway {
 public:
  // Listens, and goes on where the last process stopped. The io_context outlives it.
  static Result<std::unique_ptr<Gateway>> Create(boost::asio::io_context& io,
                                                 GatewayOptions options);
  virtual ~Gateway() = default;

  // Ports really bound, of the first TCP endpoint; 0: there is none.
  virtual uint16_t http_port() const = 0;
  virtual uint16_t agent_port() const = 0;

  // Another configuration counts from here on, if all of it can: what is open, timers, queues and
  // sends under way go on. One that cannot be used is logged, and the old one stays in force; so is
  // one that changes what only a start can (listen, agents, state_dir, site.timezone).
  virtual Status Reload(Result<GatewayConfig> config) = 0;

  // Takes nothing new; what is queued for the disk is written when the object goes.
  virtual void Stop() = 0;
};

}  // namespace sentinel
