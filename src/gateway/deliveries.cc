#include "gateway/deliveries.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "wire/talk_json.h"

namespace sentinel {
namespace {

// After a ping nobody answered: a terminal that comes back is noticed, and lit, soon.
constexpr Duration kPingTimeout = std::chrono::seconds(2);
constexpr Duration kPingWhileP0 = std::chrono::milliseconds(500);

DeliveryError ToError(const SendResult& result) {
  DeliveryError error{DeliveryFailure::kRetry, result.error, result.retry_after};
  switch (result.outcome) {
    case SendOutcome::kDelivered:
    case SendOutcome::kRefused:
    case SendOutcome::kUnavailable:
      break;
    case SendOutcome::kRejected:
      error.failure = DeliveryFailure::kRefused;
      break;
    case SendOutcome::kUnconfirmed:
      error.failure = DeliveryFailure::kUnconfirmed;
      break;
  }
  return error;
}

}  // namespace

Deliveries::Deliveries(boost::asio::io_context& io, std::vector<TerminalSettings> terminals,
                       DeliveryPace pace, IncidentBook& book, GatewayMetrics& metrics,
                       std::function<void()> turn)
    : io_(io),
      pace_(std::move(pace)),
      book_(book),
      metrics_(metrics),
      turn_(std::move(turn)),
      outbox_(pace_.retry) {
  for (TerminalSettings& settings : terminals) Add(std::move(settings));
}

void Deliveries::Add(TerminalSettings settings) {
  std::string name = settings.name;
  Terminal& terminal = terminals_[name];
  Drive(terminal, std::move(settings));
  metrics_.ExpectNotifications(name);
  terminal.ping_timer = std::make_unique<boost::asio::steady_timer>(io_);
  terminal.contact = MonotonicNow();
  Ping(name);
}

void Deliveries::Drive(Terminal& terminal, TerminalSettings settings) {
  const bool proven = terminal.client != nullptr && terminal.client->proven();
  terminal.settings = settings;
  terminal.client = MakeTerminalClient(io_, settings);
  if (proven) terminal.client->RememberProven();
  terminal.client->OnProven([this, alive = alive_, name = settings.name] {
    if (*alive && on_proven_) on_proven_(name);
  });
  settings.kind = TerminalKind::kSentinel;
  terminal.sentinel = std::make_shared<TerminalDriver>(terminal.client, settings);
  settings.kind = TerminalKind::kPlain;
  terminal.plain = std::make_shared<TerminalDriver>(terminal.client, settings);
}

void Deliveries::Reconfigure(std::vector<TerminalSettings> terminals, DeliveryPace pace,
                             Moment now) {
  pace_ = std::move(pace);
  outbox_.Reconfigure(pace_.retry);
  std::map<std::string, TerminalSettings> wanted;
  for (TerminalSettings& settings : terminals) {
    std::string name = settings.name;
    wanted.emplace(std::move(name), std::move(settings));
  }
  for (auto it = terminals_.begin(); it != terminals_.end();) {
    Terminal& terminal = it->second;
    auto found = wanted.find(it->first);
    if (found == wanted.end()) {
      book_.OnTerminalBack(it->first, now);  // nobody will miss it
      outbox_.Abandon(it->first, "the terminal is no longer configured");
      it = terminals_.erase(it);
      continue;
    }
    if (found->second.endpoint != terminal.settings.endpoint) {
      // It may be another device.
      terminal.kind = Kind::kUnknown;
      terminal.contact = now.mono;
      terminal.answered.reset();
      terminal.unwilling.reset();
    }
    if (found->second != terminal.settings) Drive(terminal, std::move(found->second));
    wanted.erase(found);
    ++it;
  }
  for (auto& [name, settings] : wanted) Add(std::move(settings));
}

Deliveries::~Deliveries() { *alive_ = false; }

bool Deliveries::Pump(Moment now) {
  // What has arrived before what goes: a plain lamp is sent the light of what burns there.
  bool told = TellBook(now);
  for (Delivery& delivery : outbox_.Due(now.mono)) {
    auto it = terminals_.find(delivery.notification.terminal);
    if (it == terminals_.end()) {
      outbox_.Failed(delivery.id,
                     {DeliveryFailure::kRefused, "the terminal is not configured", std::nullopt},
                     now.mono);
      continue;
    }
    book_.OnAttempt(delivery.notification.id);
    Send(it->second, std::move(delivery));
  }
  told = TellBook(now) || told;
  metrics_.outbox_waiting->Set(static_cast<double>(outbox_.waiting()));
  GatewayMetrics::CountedTo(metrics_.outbox_shed, outbox_.shed());
  return told;
}

bool Deliveries::TellBook(Moment now) {
  std::vector<Outbox::Outcome> outcomes = outbox_.TakeOutcomes();
  for (const Outbox::Outcome& outcome : outcomes) {
    switch (outcome.state) {
      case NotificationState::kDelivered:
        book_.OnDelivered(outcome.message, now);
        break;
      case NotificationState::kSuperseded:
        book_.OnSuperseded(outcome.message);
        break;
      case NotificationState::kFailed:
        metrics_.Notified(outcome.terminal, "failed");
        // A storm that fills the outbox is counted, not written down line by line.
        spdlog::log(outcome.shed ? spdlog::level::debug : spdlog::level::err,
                    "event=notification_failed id={} unconfirmed={} why=\"{}\"", outcome.message,
                    outcome.unconfirmed, outcome.error);
        if (outcome.shed) {
          book_.OnShed(outcome.message, outcome.error, now);
        } else {
          book_.OnFailed(outcome.message, outcome.error, outcome.unconfirmed || outcome.refused,
                         now);
        }
        break;
      case NotificationState::kPending:
        break;
    }
    if (on_outcome_) on_outcome_(outcome);
  }
  return !outcomes.empty();
}

void Deliveries::Send(Terminal& terminal, Delivery delivery) {
  Notification notification = delivery.notification;
  bool ours = terminal.kind == Kind::kSentinel;
  if (!ours) notification.message = book_.Picture(notification);
  std::shared_ptr<TerminalDriver> driver = ours ? terminal.sentinel : terminal.plain;
  metrics_.attempts->Increment();
  driver->Send(notification, [this, alive = alive_, driver, name = terminal.settings.name,
                              delivery = std::move(delivery)](const SendResult& result) {
    if (*alive) Settle(name, delivery, result);
  });
}

void Deliveries::Settle(const std::string& name, const Delivery& delivery,
                        const SendResult& result) {
  Moment now = MomentNow();
  const auto found = terminals_.find(name);
  Terminal* terminal = found == terminals_.end() ? nullptr : &found->second;  // no longer ours
  const Notification& notification = delivery.notification;
  if (terminal != nullptr) Willing(*terminal, result, now.mono);
  if (terminal != nullptr && result.status != 0) Heard(*terminal, now);
  if (result.outcome == SendOutcome::kDelivered) {
    double seconds = std::chrono::duration<double>(now.mono - notification.created.mono).count();
    metrics_.delivery_time->Observe(seconds);
    spdlog::info(
        "event=notification_delivered incident={} terminal={} reason={} id={} attempt={} "
        "after_ms={}",
        notification.incident, name, NotifyReasonName(notification.reason), notification.id,
        delivery.attempt, ToMillis(now.mono - notification.created.mono));
    metrics_.Notified(name, "delivered");
    outbox_.Delivered(delivery.id, now.mono);
    if (terminal != nullptr && notification.severity == Severity::kP0) HurryPing(name);
  } else {
    metrics_.attempts_failed->Increment();
    // A lamp that is down for an hour fails a hundred and twenty times.
    auto level = delivery.attempt <= 3 || delivery.attempt % 20 == 0 ? spdlog::level::warn
                                                                     : spdlog::level::debug;
    spdlog::log(level,
                "event=notification_not_delivered incident={} terminal={} id={} attempt={} "
                "outcome={} why=\"{}\"",
                notification.incident, name, notification.id, delivery.attempt,
                SendOutcomeName(result.outcome), result.error);
    book_.OnAttemptError(notification.id, result.error);
    if (terminal != nullptr) {
      terminal->error = result.error;
      if (result.status == 0 || terminal->unwilling) Missed(*terminal, result.error, now);
    }
    outbox_.Failed(delivery.id, ToError(result), now.mono);
  }
  turn_();
}

// A terminal that was started anew has forgotten that somebody pressed its button.
std::string Deliveries::PingBody(const std::string& name) const {
  const bool by_command = terminals_.at(name).tell_mute;
  if (!book_.mutes().contains(name)) return by_command ? R"({"muted_for_ms":0})" : "{}";
  const Duration left = book_.MuteLeft(name, MonotonicNow());
  if (left == Duration(0)) return "{}";
  nlohmann::json body{{"muted_for_ms", ToMillis(left)}};
  if (by_command) body["hush"] = true;
  return body.dump();
}

void Deliveries::TellMute(const std::string& name) {
  auto found = terminals_.find(name);
  if (found == terminals_.end()) return;
  Terminal& terminal = found->second;
  terminal.tell_mute = true;
  if (terminal.pinging) {
    terminal.hurry = true;
  } else {
    PingAfter(name, Duration(0));
  }
}

// One of ours that was started anew is dark until we have asked which life of it that is. Others
// have none to tell of, and a slow lamp that answers one request at a time is needed for alarms.
Duration Deliveries::PingPause(const std::string& name) const {
  const bool hurry = terminals_.at(name).kind == Kind::kSentinel && book_.CriticalBurnsAt(name);
  return hurry ? std::min(pace_.ping_every, kPingWhileP0) : pace_.ping_every;
}

// What is due sooner stays.
void Deliveries::HurryPing(const std::string& name) {
  const Terminal& terminal = terminals_.at(name);
  const auto soon = std::chrono::steady_clock::now() + kPingWhileP0;
  if (terminal.kind != Kind::kSentinel || terminal.pinging) return;
  if (terminal.ping_timer->expiry() > soon) PingAfter(name, kPingWhileP0);
}

void Deliveries::PingAfter(const std::string& name, Duration pause) {
  boost::asio::steady_timer& timer = *terminals_.at(name).ping_timer;
  timer.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause));
  timer.async_wait([this, alive = alive_, name](boost::system::error_code error) {
    if (!error && *alive) Ping(name);
  });
}

void Deliveries::Ping(const std::string& name) {
  Terminal& terminal = terminals_.at(name);
  if (terminal.pinging) return;
  terminal.pinging = true;
  terminal.hurry = false;
  std::shared_ptr<SignedClient> client = terminal.client;
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/ping";
  request.body = PingBody(name);
  request.headers["Content-Type"] = "application/json";
  HttpRequestOptions options;
  options.timeout = kPingTimeout;
  // It is kept until it has answered: another configuration may bring another client.
  client->Fetch(std::move(request), options,
                [this, alive = alive_, name, client](const HttpOutcome& outcome) {
                  if (*alive) Ponged(name, outcome);
                });
}

void Deliveries::Ponged(const std::string& name, const HttpOutcome& outcome) {
  Moment now = MomentNow();
  const auto found = terminals_.find(name);
  // Asked before it was configured away, or anew.
  if (found == terminals_.end()) return;
  Terminal& terminal = found->second;
  terminal.pinging = false;
  if (outcome.response.ok()) {
    int status = outcome.response->status;
    // What was said when this ping was already under way is said with the next.
    if (status == 200 && !terminal.hurry) terminal.tell_mute = false;
    // A refusal says nothing about the kind, and a broken answer neither.
    if (status == 200) CheckBoot(terminal, outcome.response->body, now);
    if (status == 404 || status == 405 || status == 501) terminal.kind = Kind::kPlain;
    if (outbox_.waiting(name) == 0) terminal.unwilling.reset();  // there is nothing to take
    const std::string trouble = terminal.error;
    Heard(terminal, now);
    if (terminal.unwilling) Missed(terminal, trouble, now);
    if (status == 401 || status == 403) {
      terminal.error = "it refuses our key or our clock: answered " + std::to_string(status);
    }
  } else {
    Missed(terminal, outcome.response.error().message, now);
  }
  turn_();
  PingAfter(name, terminal.hurry ? Duration(0) : PingPause(name));
}

// A terminal that was started anew has forgotten what was open.
void Deliveries::CheckBoot(Terminal& terminal, const std::string& pong, Moment now) {
  const Result<std::string> boot_id = ParsePong(pong);
  if (!boot_id.ok()) {
    // A lamp that answers 200 to whatever it is sent. One known as ours stays so: that is a broken
    // answer.
    if (terminal.kind == Kind::kUnknown) terminal.kind = Kind::kPlain;
    return;
  }
  terminal.kind = Kind::kSentinel;
  if (*boot_id == terminal.boot_id) return;
  if (!terminal.boot_id.empty()) {
    spdlog::info("event=terminal_restarted terminal={}", terminal.settings.name);
    book_.OnTerminalForgot(terminal.settings.name, now);
  }
  terminal.boot_id = *boot_id;
  if (on_boot_) on_boot_(terminal.settings.name, *boot_id);
}

void Deliveries::RememberBoot(const std::string& terminal, const std::string& boot_id) {
  auto it = terminals_.find(terminal);
  if (it == terminals_.end()) return;
  it->second.boot_id = boot_id;
  it->second.kind = Kind::kSentinel;  // no other says one
}

void Deliveries::RememberProven(const std::string& terminal) {
  auto it = terminals_.find(terminal);
  if (it == terminals_.end()) return;
  it->second.client->RememberProven();
  it->second.kind = Kind::kSentinel;
}

bool Deliveries::Proven(const std::string& terminal) const {
  auto it = terminals_.find(terminal);
  return it != terminals_.end() && it->second.client->proven();
}

void Deliveries::Heard(Terminal& terminal, Moment now) {
  terminal.contact = now.mono;
  terminal.answered = now;
  terminal.error.clear();
  if (!terminal.lost || terminal.unwilling) return;
  terminal.lost = false;
  spdlog::info("event=terminal_back terminal={}", terminal.settings.name);
  book_.OnTerminalBack(terminal.settings.name, now);
}

// One that answers every ping and takes no alarm is of no more use than one that is gone.
void Deliveries::Willing(Terminal& terminal, const SendResult& result, Instant now) {
  switch (result.outcome) {
    case SendOutcome::kDelivered:
    case SendOutcome::kRejected:  // the message's fault
    case SendOutcome::kUnconfirmed:
      terminal.unwilling.reset();
      break;
    case SendOutcome::kRefused:
    case SendOutcome::kUnavailable:
      if (result.status != 0 && !terminal.unwilling) terminal.unwilling = now;
      break;
  }
}

void Deliveries::Missed(Terminal& terminal, const std::string& error, Moment now) {
  terminal.error = error;
  const Instant since = std::min(terminal.contact, terminal.unwilling.value_or(terminal.contact));
  if (terminal.lost || now.mono - since <= pace_.unreachable_after) return;
  terminal.lost = true;
  spdlog::error("event=terminal_unreachable terminal={} address={} why=\"{}\"",
                terminal.settings.name, terminal.settings.endpoint.ToString(), error);
  book_.OnTerminalLost(terminal.settings.name, now);
}

std::string Deliveries::TroubleOf(const std::string& name) const {
  auto found = terminals_.find(name);
  if (found == terminals_.end() || found->second.error.empty()) return "";
  return ": " + found->second.error;
}

std::vector<TerminalStatus> Deliveries::Status() const {
  std::vector<TerminalStatus> list;
  for (const auto& [name, terminal] : terminals_) {
    TerminalStatus status;
    status.name = name;
    status.address = terminal.settings.endpoint.ToString();
    switch (terminal.kind) {
      case Kind::kUnknown:
        status.kind = "unknown";
        break;
      case Kind::kSentinel:
        status.kind = "sentinel";
        break;
      case Kind::kPlain:
        status.kind = "plain";
        break;
    }
    status.reachable = terminal.answered.has_value() && terminal.error.empty();
    status.answered = terminal.answered;
    status.error = terminal.error;
    list.push_back(std::move(status));
  }
  return list;
}

}  // namespace sentinel
