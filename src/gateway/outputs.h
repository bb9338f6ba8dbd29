// What webhooks and Alertmanagers are told of incidents: the newest state of each, until they have
// answered.
//
// Beside the terminals, never before them: an outbox of their own, one bounded line a receiver, the
// most urgent first. A receiver that was away is told the state of each incident as it is then, not
// every step on the way. What it has answered to is kept with the incident, so that a restart
// neither forgets nor repeats; a message that was sent and not written down is sent again under its
// old id. Formats: docs/formats/outputs.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "incident/incident_book.h"
#include "outbox/outbox.h"
#include "signal/post_driver.h"
#include "web/metrics.h"

namespace sentinel {

enum class OutputKind : uint8_t { kWebhook, kAlertmanager };

struct OutputSettings {
  std::string name;
  OutputKind kind = OutputKind::kWebhook;
  PostSettings post;
  Severity level = Severity::kP1;             // the least that is told
  std::map<std::string, std::string> labels;  // of an Alertmanager: added to every alert
  // Likewise: so often it is told again what still fires, and four times that is how long it takes
  // our silence for an end.
  Duration renew_every = std::chrono::seconds(60);

  bool operator==(const OutputSettings&) const = default;
};

// Alerts in one renewing request.
constexpr size_t kAlertsPerPostMax = 64;
// A start does not tell of incidents that ended longer ago than this.
constexpr Duration kOldNews = std::chrono::hours(1);
// After a line was too full for everything, incidents are looked through again so often.
constexpr Duration kCatchUpEvery = std::chrono::seconds(30);

// Pauses of a receiver that does not answer; it may ask for an hour.
RetryPolicy OutputRetryPolicy();

class Outputs {
 public:
  // `turn_soon` is called after the book has been told something. All references outlive this.
  Outputs(boost::asio::io_context& io, std::vector<OutputSettings> outputs, RetryPolicy retry,
          IncidentBook& book, GatewayMetrics& metrics, std::function<void()> turn_soon);
  ~Outputs();

  // Something about this incident has changed. Sends nothing before it returns.
  void OnChange(const std::string& incident);
  // Everything a receiver has not answered to: after the book was restored.
  void CatchUp();
  // One that is configured as before goes on as before, and believes whom its CA files name now; so
  // do attempts under way.
  void Reconfigure(std::vector<OutputSettings> outputs);

 private:
  struct Output {
    OutputSettings settings;
    std::shared_ptr<PostDriver> driver;
    std::unique_ptr<boost::asio::steady_timer> renew_timer;
    std::unordered_map<std::string, std::string> newest;  // by incident: what waits, its id
    std::unordered_map<std::string, std::string> labels;  // by incident: as an alert fires
    uint64_t failures = 0;                                // in a row
    bool gone = false;                                    // it wants no more
  };
  // A message that waits or is under way.
  struct Pending {
    std::string output;
    std::string incident;
    std::string body;  // once it is settled
    std::string labels;
    bool closing = false;
  };

  void Add(OutputSettings settings);
  void Tell(Output& output, const Incident& incident);
  std::string Compose(Output& output, const Notification& notification);
  std::string AlertsOf(Output& output, const Incident& incident, Pending* pending) const;
  void PumpSoon();
  void Pump();
  void Settle(const Delivery& delivery, const SendResult& result);
  void Finish(const Outbox::Outcome& outcome);
  void Disable(Output& output);
  void Arm();
  void RenewLater(Output& output);
  void Renew(const std::string& name, std::shared_ptr<std::vector<std::string>> firing,
             size_t from);

  boost::asio::io_context& io_;
  IncidentBook& book_;
  GatewayMetrics& metrics_;
  std::function<void()> turn_soon_;
  Outbox outbox_;
  std::map<std::string, Output> outputs_;
  std::unordered_map<std::string, Pending> pending_;  // by message id
  boost::asio::steady_timer wake_;
  std::optional<Instant> catch_up_at_;
  bool pump_soon_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
