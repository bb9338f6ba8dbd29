#include "gateway/outputs.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/clock.h"
#include "base/digest.h"
#include "web/incident_messages.h"

namespace sentinel {
namespace {

constexpr int kGone = 410;
// An alert ends by itself when it has not been renewed for so many times the renewing pause.
constexpr int kRenewalsMissedMax = 4;

// The same news for the same receiver has the same id, also after a restart. `again` tells apart
// news that were told before something else was.
std::string MessageIdOf(const std::string& output, const std::string& incident,
                        const std::string& news, size_t again) {
  std::string named = output + '\n' + incident + '\n' + news + '\n' + std::to_string(again);
  return "msg_" + Sha256Hex(named).substr(0, 32);
}

WallTime After(WallTime now, Duration d) {
  return now + std::chrono::duration_cast<std::chrono::milliseconds>(d);
}

DeliveryError ToError(const SendResult& result) {
  bool rejected = result.outcome == SendOutcome::kRejected;
  return {rejected ? DeliveryFailure::kRefused : DeliveryFailure::kRetry, result.error,
          result.retry_after};
}

}  // namespace

RetryPolicy OutputRetryPolicy() {
  RetryPolicy retry;
  retry.pauses = {std::chrono::milliseconds(500), std::chrono::seconds(1),
                  std::chrono::seconds(2),        std::chrono::seconds(5),
                  std::chrono::seconds(10),       std::chrono::seconds(30),
                  std::chrono::seconds(60)};
  retry.retry_after_max = std::chrono::hours(1);
  return retry;
}

Outputs::Outputs(boost::asio::io_context& io, std::vector<OutputSettings> outputs,
                 RetryPolicy retry, IncidentBook& book, GatewayMetrics& metrics,
                 std::function<void()> turn_soon)
    : io_(io),
      book_(book),
      metrics_(metrics),
      turn_soon_(std::move(turn_soon)),
      outbox_(std::move(retry)),
      wake_(io) {
  for (OutputSettings& settings : outputs) Add(std::move(settings));
}

Outputs::~Outputs() { *alive_ = false; }

void Outputs::Add(OutputSettings settings) {
  std::string name = settings.name;
  Output& output = outputs_[name];
  output.settings = std::move(settings);
  output.driver = std::make_shared<PostDriver>(
      io_, output.settings.post, [this, name](const Notification& notification) {
        auto it = outputs_.find(name);
        return it == outputs_.end() ? std::string() : Compose(it->second, notification);
      });
  output.renew_timer = std::make_unique<boost::asio::steady_timer>(io_);
  // What is under way to it since before it was configured anew.
  for (const auto& [id, pending] : pending_) {
    if (pending.output == name) output.newest[pending.incident] = id;
  }
  metrics_.OutputState(name, true, 0);
  if (output.settings.kind == OutputKind::kAlertmanager) RenewLater(output);
}

void Outputs::Reconfigure(std::vector<OutputSettings> outputs) {
  std::map<std::string, OutputSettings> wanted;
  for (OutputSettings& settings : outputs) {
    std::string name = settings.name;
    wanted.emplace(std::move(name), std::move(settings));
  }
  for (auto it = outputs_.begin(); it != outputs_.end();) {
    auto found = wanted.find(it->first);
    // One that wanted no more is asked again: somebody has looked at the configuration.
    bool same = found != wanted.end() && found->second == it->second.settings && !it->second.gone;
    if (same) {
      it->second.settings.post.tls = found->second.post.tls;
      it->second.driver->Trust(found->second.post.tls);
      wanted.erase(found);
      ++it;
      continue;
    }
    outbox_.Abandon(it->first, "its configuration has changed");
    it = outputs_.erase(it);
  }
  for (const Outbox::Outcome& outcome : outbox_.TakeOutcomes()) Finish(outcome);
  for (auto& [name, settings] : wanted) Add(std::move(settings));
  CatchUp();
}

void Outputs::OnChange(const std::string& id) {
  if (outputs_.empty()) return;
  const Incident* incident = book_.Find(id);
  if (incident == nullptr || !incident->opened) return;
  for (auto& [name, output] : outputs_) Tell(output, *incident);
  PumpSoon();
}

void Outputs::CatchUp() {
  if (outputs_.empty()) return;
  catch_up_at_.reset();
  const WallTime now = WallNow();
  for (const Incident* incident : book_.List(true, kOpenIncidentsMax)) {
    if (!incident->opened) continue;
    if (incident->closed && After(incident->closed->wall, kOldNews) < now) continue;
    for (auto& [name, output] : outputs_) Tell(output, *incident);
  }
  PumpSoon();
}

void Outputs::Tell(Output& output, const Incident& incident) {
  const std::string& name = output.settings.name;
  auto told = incident.told.find(name);
  const bool known = told != incident.told.end();
  auto waits = output.newest.find(incident.id);
  const bool waiting = waits != output.newest.end();
  if (output.gone) return;
  // What it has heard of it hears the end of, whatever its level is by then.
  const bool tells = incident.severity >= output.settings.level && !incident.quiet;
  if (!tells && !known && !waiting) return;

  const std::string news = IncidentNews(incident);
  std::string id = MessageIdOf(name, incident.id, news, 0);
  auto used = [&](const std::string& name_of_news) {
    const bool heard = known && std::find(told->second.begin(), told->second.end(), name_of_news) !=
                                    told->second.end();
    return heard || pending_.contains(name_of_news);
  };
  for (size_t again = 1; used(id); ++again) {
    // It is the last it has heard, or the next it will hear.
    if (waiting ? waits->second == id : known && told->second.back() == id) return;
    id = MessageIdOf(name, incident.id, news, again);
  }

  Notification notification;
  notification.id = id;
  notification.incident = incident.id;
  notification.terminal = name;
  notification.severity = notification.urgency = incident.severity;
  notification.created = MomentNow();
  Pending& pending = pending_[id];
  pending = {name, incident.id, "", "", incident.state == IncidentState::kClosed};
  output.newest[incident.id] = id;
  // The book forgets those that have closed.
  if (pending.closing) pending.body = Compose(output, notification);
  outbox_.Accept(std::move(notification), MonotonicNow());
}

std::string Outputs::Compose(Output& output, const Notification& notification) {
  auto found = pending_.find(notification.id);
  if (found == pending_.end()) return {};
  Pending& pending = found->second;
  if (!pending.body.empty()) return pending.body;
  const Incident* incident = book_.Find(notification.incident);
  if (incident == nullptr) return {};
  switch (output.settings.kind) {
    case OutputKind::kWebhook: {
      bool told = incident->told.contains(output.settings.name);
      // Settled from here on: what has one id has one body.
      pending.body = WebhookMessage(*incident, told ? Telling::kAgain : Telling::kFirst, WallNow());
      return pending.body;
    }
    case OutputKind::kAlertmanager:
      return "[" + AlertsOf(output, *incident, &pending) + "]";
  }
  return {};
}

// The alert, after the end of the one it was until now where its labels have changed: to an
// Alertmanager that is another alert.
std::string Outputs::AlertsOf(Output& output, const Incident& incident, Pending* pending) const {
  const WallTime now = WallNow();
  std::string labels = AlertLabels(incident, output.settings.labels);
  std::string alerts;
  auto before = output.labels.find(incident.id);
  if (before != output.labels.end() && before->second != labels) {
    alerts = Alert(incident, before->second, now) + ",";
  }
  WallTime ends = incident.closed  ? incident.closed->wall
                  : incident.quiet ? now
                                   : After(now, kRenewalsMissedMax * output.settings.renew_every);
  alerts += Alert(incident, labels, ends);
  if (pending != nullptr && !incident.quiet) pending->labels = std::move(labels);
  return alerts;
}

void Outputs::PumpSoon() {
  if (pump_soon_) return;
  pump_soon_ = true;
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) return;
    pump_soon_ = false;
    Pump();
  });
}

void Outputs::Pump() {
  for (const Outbox::Outcome& outcome : outbox_.TakeOutcomes()) Finish(outcome);
  for (Delivery& delivery : outbox_.Due(MonotonicNow())) {
    auto it = outputs_.find(delivery.notification.terminal);
    if (it == outputs_.end()) {
      outbox_.Failed(delivery.id, {DeliveryFailure::kRefused, "not configured", std::nullopt},
                     MonotonicNow());
      continue;
    }
    std::shared_ptr<PostDriver> driver = it->second.driver;
    Notification notification = delivery.notification;
    // It holds its driver: a new configuration ends no attempt.
    driver->Send(notification, [this, alive = alive_, driver,
                                delivery = std::move(delivery)](const SendResult& result) {
      if (*alive) Settle(delivery, result);
    });
  }
  for (const auto& [name, output] : outputs_) {
    metrics_.OutputState(name, output.failures == 0 && !output.gone, outbox_.waiting(name));
  }
  Arm();
}

void Outputs::Settle(const Delivery& delivery, const SendResult& result) {
  const Instant now = MonotonicNow();
  const Notification& notification = delivery.notification;
  const std::string& name = notification.terminal;
  metrics_.OutputAttempted(name, SendOutcomeName(result.outcome));
  auto it = outputs_.find(name);
  if (result.outcome == SendOutcome::kDelivered) {
    spdlog::info("event=output_told output={} incident={} id={} attempt={} after_ms={}", name,
                 notification.incident, notification.id, delivery.attempt,
                 ToMillis(now - notification.created.mono));
    if (it != outputs_.end()) it->second.failures = 0;
    outbox_.Delivered(delivery.id, now);
  } else {
    auto level = delivery.attempt <= 3 || delivery.attempt % 20 == 0 ? spdlog::level::warn
                                                                     : spdlog::level::debug;
    spdlog::log(level, "event=output_not_told output={} incident={} id={} attempt={} why=\"{}\"",
                name, notification.incident, notification.id, delivery.attempt, result.error);
    bool gone = result.status == kGone && it != outputs_.end() &&
                it->second.settings.kind == OutputKind::kWebhook;
    if (it != outputs_.end()) ++it->second.failures;
    outbox_.Failed(delivery.id, ToError(result), now);
    if (gone) Disable(it->second);
  }
  Pump();
}

void Outputs::Disable(Output& output) {
  output.gone = true;
  outbox_.Abandon(output.settings.name, "the receiver wants no more");
  spdlog::error(
      "event=output_disabled output={} url={} why=\"answered 410 Gone\" what=\"nothing is sent to "
      "it until the gateway is started or its configuration is read again\"",
      output.settings.name, output.settings.post.url.ToString());
}

void Outputs::Finish(const Outbox::Outcome& outcome) {
  auto found = pending_.find(outcome.message);
  if (found == pending_.end()) return;
  Pending pending = std::move(found->second);
  pending_.erase(found);
  auto it = outputs_.find(pending.output);
  Output* output = it == outputs_.end() ? nullptr : &it->second;
  bool was_newest = false;
  if (output != nullptr) {
    auto newest = output->newest.find(pending.incident);
    if (newest != output->newest.end() && newest->second == outcome.message) {
      output->newest.erase(newest);
      was_newest = true;
    }
  }
  bool told = false;
  bool unheard = false;
  switch (outcome.state) {
    case NotificationState::kDelivered:
      told = true;
      if (output != nullptr && output->settings.kind == OutputKind::kAlertmanager) {
        if (pending.labels.empty() || pending.closing) {
          output->labels.erase(pending.incident);
        } else {
          output->labels[pending.incident] = std::move(pending.labels);
        }
      }
      break;
    case NotificationState::kFailed:
      if (outcome.shed) {
        unheard = true;
      } else if (output != nullptr && !output->gone) {
        // It will never take this message; it may take the next.
        spdlog::error("event=output_refused output={} incident={} id={} why=\"{}\"", pending.output,
                      pending.incident, outcome.message, outcome.error);
        told = true;
      }
      break;
    case NotificationState::kSuperseded:
      unheard = was_newest;  // nothing newer follows: its receiver was configured anew
      break;
    case NotificationState::kPending:
      break;
  }
  if (unheard && !catch_up_at_) catch_up_at_ = MonotonicNow() + kCatchUpEvery;
  if (!told) return;
  book_.OnTold(pending.incident, pending.output, outcome.message);
  turn_soon_();
}

void Outputs::Arm() {
  std::optional<Instant> wake = outbox_.NextWake();
  if (catch_up_at_ && (!wake || *catch_up_at_ < *wake)) wake = catch_up_at_;
  if (!wake) return;
  wake_.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(wake->since_boot)));
  wake_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    if (catch_up_at_ && *catch_up_at_ <= MonotonicNow()) CatchUp();
    Pump();
  });
}

// ------------------------------------------------------------------------- renewing what fires

void Outputs::RenewLater(Output& output) {
  output.renew_timer->expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(output.settings.renew_every));
  output.renew_timer->async_wait(
      [this, alive = alive_, name = output.settings.name](boost::system::error_code error) {
        if (error || !*alive) return;
        auto firing = std::make_shared<std::vector<std::string>>();
        std::vector<const Incident*> open = book_.List(false, kOpenIncidentsMax);
        std::stable_sort(open.begin(), open.end(), [](const Incident* a, const Incident* b) {
          return a->severity > b->severity;
        });
        for (const Incident* incident : open) {
          if (incident->told.contains(name)) firing->push_back(incident->id);
        }
        Renew(name, std::move(firing), 0);
      });
}

// One request after the other; the first that fails leaves the rest to the next time, which comes
// before any alert has run out.
void Outputs::Renew(const std::string& name, std::shared_ptr<std::vector<std::string>> firing,
                    size_t from) {
  auto it = outputs_.find(name);
  if (it == outputs_.end()) return;
  Output& output = it->second;
  std::string alerts;
  size_t next = from;
  for (size_t count = 0; next < firing->size() && count < kAlertsPerPostMax; ++next) {
    const Incident* incident = book_.Find(firing->at(next));
    if (incident == nullptr || incident->closed || incident->quiet) continue;
    alerts += (count++ == 0 ? "" : ",") + AlertsOf(output, *incident, nullptr);
  }
  if (alerts.empty()) return RenewLater(output);
  std::shared_ptr<PostDriver> driver = output.driver;
  driver->Post("", "[" + alerts + "]",
               [this, alive = alive_, driver, name, firing = std::move(firing),
                next](const SendResult& result) {
                 if (!*alive) return;
                 metrics_.OutputAttempted(name, SendOutcomeName(result.outcome));
                 auto found = outputs_.find(name);
                 if (found == outputs_.end()) return;
                 if (result.outcome == SendOutcome::kDelivered) return Renew(name, firing, next);
                 spdlog::warn("event=output_not_renewed output={} alerts={} why=\"{}\"", name,
                              firing->size() - next, result.error);
                 RenewLater(found->second);
               });
}

}  // namespace sentinel
