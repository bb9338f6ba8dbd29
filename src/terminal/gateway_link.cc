#include "terminal/gateway_link.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "wire/talk_json.h"

namespace sentinel {

GatewayLink::GatewayLink(boost::asio::io_context& io, const SignedClientOptions& gateway,
                         std::string terminal, OnMute on_mute, LinkPace pace)
    : gateway_(gateway.endpoint),
      client_(io, gateway),
      terminal_(std::move(terminal)),
      on_mute_(std::move(on_mute)),
      pace_(pace),
      retry_(io) {}

GatewayLink::~GatewayLink() { *alive_ = false; }

void GatewayLink::Acknowledge(const std::vector<std::string>& incidents, WallTime pressed_at) {
  nlohmann::ordered_json body;
  body["terminal"] = terminal_;
  body["pressed_at"] = FormatRfc3339(pressed_at);
  body["incidents"] = incidents;
  body_ = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  press_++;
  attempts_ = 0;
  last_error_.clear();
  retry_.cancel();
  if (!in_flight_) Send();
}

void GatewayLink::Send() {
  in_flight_ = true;
  attempts_++;
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/ack";
  request.body = *body_;
  request.headers["Content-Type"] = "application/json";
  client_.Fetch(std::move(request), {},
                [this, alive = alive_, press = press_](const HttpOutcome& outcome) {
                  if (*alive) Answered(press, outcome);
                });
}

void GatewayLink::Answered(uint64_t press, const HttpOutcome& outcome) {
  in_flight_ = false;
  bool heard = outcome.response.ok() && outcome.response->status == 200;
  if (press != press_) return Send();  // pressed again meanwhile
  if (heard) {
    spdlog::info("event=ack_delivered gateway={} attempts={}", gateway_.ToString(), attempts_);
    body_.reset();
    last_error_.clear();
    // A gateway of another make may not say, and then it is as long as we think.
    const PingBody said = ParsePing(outcome.response->body);
    if (said.muted_for) on_mute_(*said.muted_for);
    return;
  }
  last_error_ = outcome.response.ok()
                    ? "the gateway answered " + std::to_string(outcome.response->status)
                    : outcome.response.error().message;
  Duration wait = pace_.first_retry * (int64_t{1} << std::min(attempts_ - 1, 16));
  wait = std::min(wait, pace_.last_retry);
  spdlog::warn("event=ack_not_delivered gateway={} attempt={} retry_ms={} why=\"{}\"",
               gateway_.ToString(), attempts_, ToMillis(wait), last_error_);
  retry_.expires_after(wait);
  retry_.async_wait([this, alive = alive_, press](boost::system::error_code cancelled) {
    if (!cancelled && *alive && press == press_ && body_ && !in_flight_) Send();
  });
}

}  // namespace sentinel
