#include "web/metrics.h"

#include <prometheus/text_serializer.h>

namespace sentinel {
namespace {

const prometheus::Histogram::BucketBoundaries kDelivery = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                                           0.5,   1,    2,    5,    30,  300};
const prometheus::Histogram::BucketBoundaries kRed = {0.25, 0.5, 0.75, 1, 1.25, 1.5,
                                                      1.75, 2,   3,    5, 30,   60};

}  // namespace

prometheus::Counter* GatewayMetrics::Counter(const char* name, const char* help,
                                             const std::map<std::string, std::string>& labels) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(*registry_).Add(labels);
}

prometheus::Gauge* GatewayMetrics::Gauge(const char* name, const char* help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(*registry_).Add({});
}

GatewayMetrics::GatewayMetrics() : registry_(std::make_shared<prometheus::Registry>()) {
  auto& events = prometheus::BuildCounter()
                     .Name("sentinel_events_total")
                     .Help("Events posted by senders, by what became of them")
                     .Register(*registry_);
  events_accepted = &events.Add({{"outcome", "accepted"}});
  events_suppressed = &events.Add({{"outcome", "suppressed"}});
  events_repeated = &events.Add({{"outcome", "repeated"}});
  events_not_durable = &events.Add({{"outcome", "not_durable"}});
  alerts_passed_over = Counter("sentinel_alerts_passed_over_total",
                               "Alerts of an Alertmanager that became no event");
  auto& malformed = prometheus::BuildCounter()
                        .Name("sentinel_ingest_malformed_total")
                        .Help("Entries of posted lists that were not as they have to be")
                        .Register(*registry_);
  malformed_alerts = &malformed.Add({{"format", "alertmanager"}});
  malformed_cloud_events = &malformed.Add({{"format", "cloudevents"}});
  opened_ = &prometheus::BuildCounter()
                 .Name("sentinel_incidents_opened_total")
                 .Help("Incidents opened")
                 .Register(*registry_);
  notified_ =
      &prometheus::BuildCounter()
           .Name("sentinel_notifications_total")
           .Help(
               "Notifications that a terminal answered (delivered) or that were given up (failed)")
           .Register(*registry_);
  answered_ = &prometheus::BuildCounter()
                   .Name("sentinel_ingest_answers_total")
                   .Help("Answers to gpu_event, by status")
                   .Register(*registry_);
  output_attempts_ = &prometheus::BuildCounter()
                          .Name("sentinel_output_attempts_total")
                          .Help("Messages sent to webhooks and Alertmanagers, by outcome")
                          .Register(*registry_);
  output_up_ = &prometheus::BuildGauge()
                    .Name("sentinel_output_up")
                    .Help("1 while a webhook or Alertmanager took what it was last sent")
                    .Register(*registry_);
  output_waiting_ = &prometheus::BuildGauge()
                         .Name("sentinel_output_waiting")
                         .Help("Messages a webhook or Alertmanager has not answered to yet")
                         .Register(*registry_);
  attempts = Counter("sentinel_delivery_attempts_total", "Messages sent to terminals");
  attempts_failed =
      Counter("sentinel_delivery_attempts_failed_total", "Of those, not answered by 200");
  agent_frames = Counter("sentinel_agent_messages_total", "Messages from agents");
  agent_frames_bad =
      Counter("sentinel_agent_messages_bad_total", "Agent connections ended for what they sent");
  suspicions = Counter("sentinel_suspicions_total", "Stalls suspected");
  incidents_open = Gauge("sentinel_incidents_open", "Incidents not closed");
  outbox_waiting = Gauge("sentinel_outbox_waiting", "Notifications not yet answered");
  outbox_shed =
      Counter("sentinel_outbox_shed_total", "Notifications given up because of the bound");
  agents_connected = Gauge("sentinel_agents_connected", "Agents connected");
  terminals_configured = Gauge("sentinel_terminals_configured", "Terminals that are configured");
  terminals_reachable = Gauge("sentinel_terminals_reachable", "Terminals that answer");
  store_ok = Gauge("sentinel_store_ok", "1 while the disk takes what is written");
  store_queued_rows = Gauge("sentinel_store_queued_rows", "Rows waiting for the disk");
  store_rows_failed =
      Counter("sentinel_store_rows_failed_total", "Rows that could not be made durable");
  store_corrupt =
      Counter("sentinel_store_corrupt_total", "Store files that were corrupt and moved aside");
  heartbeats = Counter("sentinel_heartbeats_total", "Seconds in which the main loop has turned");
  reload_ok = Gauge("sentinel_config_last_reload_successful",
                    "1 if the configuration was taken when it was last read");
  reload_time = Gauge("sentinel_config_last_reload_success_timestamp_seconds",
                      "When a configuration was last taken");
  last_pass = Gauge("sentinel_loop_last_pass_timestamp_seconds", "When the main loop last turned");
  delivery_time = &prometheus::BuildHistogram()
                       .Name("sentinel_delivery_seconds")
                       .Help("From the decision to a terminal's answer")
                       .Register(*registry_)
                       .Add({}, kDelivery);
  red_time = &prometheus::BuildHistogram()
                  .Name("sentinel_stall_to_red_seconds")
                  .Help("From the last progress of a ring to the red decision")
                  .Register(*registry_)
                  .Add({}, kRed);
}

void GatewayMetrics::CountedTo(prometheus::Counter* counter, uint64_t count) {
  counter->Increment(static_cast<double>(count) - counter->Value());
}

std::string GatewayMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

void GatewayMetrics::Opened(const std::string& type, std::string_view severity) {
  prometheus::Counter*& counter = opened_by_[{type, std::string(severity)}];
  if (counter == nullptr) {
    counter = &opened_->Add({{"type", type}, {"severity", std::string(severity)}});
  }
  counter->Increment();
}

void GatewayMetrics::ExpectNotifications(const std::string& terminal) {
  for (const char* state : {"delivered", "failed"}) {
    notified_->Add({{"terminal", terminal}, {"state", state}});
  }
}

void GatewayMetrics::Notified(const std::string& terminal, std::string_view state) {
  prometheus::Counter*& counter = notified_by_[{terminal, std::string(state)}];
  if (counter == nullptr) {
    counter = &notified_->Add({{"terminal", terminal}, {"state", std::string(state)}});
  }
  counter->Increment();
}

void GatewayMetrics::OutputAttempted(const std::string& output, std::string_view outcome) {
  output_attempts_->Add({{"output", output}, {"outcome", std::string(outcome)}}).Increment();
}

void GatewayMetrics::OutputState(const std::string& output, bool up, size_t waiting) {
  output_up_->Add({{"output", output}}).Set(up ? 1 : 0);
  output_waiting_->Add({{"output", output}}).Set(static_cast<double>(waiting));
}

void GatewayMetrics::Answered(int status) {
  prometheus::Counter*& counter = answered_by_status_[status];
  if (counter == nullptr) counter = &answered_->Add({{"status", std::to_string(status)}});
  counter->Increment();
}

}  // namespace sentinel
