// A press of the button on its way to the gateway: told until it has been heard.
//
// One press is kept, the newest: it covers everything that was open, so an older one that has not
// got through has nothing to add. It survives a gateway that is down for as long as this process
// lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "http/client.h"
#include "http/message.h"
#include "http/signed_client.h"

namespace sentinel {

struct LinkPace {
  Duration first_retry = std::chrono::milliseconds(200);
  Duration last_retry = std::chrono::seconds(30);
};

class GatewayLink {
 public:
  // How long the gateway says that the newest press mutes, from now on.
  using OnMute = std::function<void(Duration left)>;

  GatewayLink(boost::asio::io_context& io, const SignedClientOptions& gateway, std::string terminal,
              OnMute on_mute, LinkPace pace = {});
  ~GatewayLink();
  GatewayLink(const GatewayLink&) = delete;
  GatewayLink& operator=(const GatewayLink&) = delete;

  // Incidents without an id are covered without being named.
  void Acknowledge(const std::vector<std::string>& incidents, WallTime pressed_at);

  bool pending() const { return body_.has_value(); }
  int attempts() const { return attempts_; }
  const std::string& last_error() const { return last_error_; }
  const Endpoint& gateway() const { return gateway_; }

 private:
  void Send();
  void Answered(uint64_t press, const HttpOutcome& outcome);

  Endpoint gateway_;
  SignedClient client_;
  std::string terminal_;
  OnMute on_mute_;
  LinkPace pace_;
  boost::asio::steady_timer retry_;
  std::optional<std::string> body_;
  uint64_t press_ = 0;  // counts presses; an answer to an older one settles nothing
  bool in_flight_ = false;
  int attempts_ = 0;
  std::string last_error_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
