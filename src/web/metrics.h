// The gateway's metrics, by Prometheus' conventions; every name begins with sentinel_.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace sentinel {

class GatewayMetrics {
 public:
  GatewayMetrics();

  // /metrics: text exposition format 0.0.4.
  std::string Text() const;

  // `type` is of a closed set: it becomes a label.
  void Opened(const std::string& type, std::string_view severity);
  // Counts from 0 on: an increase from nothing to 1 is none to Prometheus.
  void ExpectNotifications(const std::string& terminal);
  void Notified(const std::string& terminal, std::string_view state);
  void Answered(int status);
  // Of a webhook or Alertmanager, by its configured name.
  void OutputAttempted(const std::string& output, std::string_view outcome);
  void OutputState(const std::string& output, bool up, size_t waiting);
  // What is counted elsewhere, since the start.
  static void CountedTo(prometheus::Counter* counter, uint64_t count);

  prometheus::Counter* events_accepted;
  prometheus::Counter* events_suppressed;
  prometheus::Counter* events_repeated;  // by event_id
  prometheus::Counter* events_not_durable;
  prometheus::Counter* alerts_passed_over;
  prometheus::Counter* malformed_alerts;
  prometheus::Counter* malformed_cloud_events;
  prometheus::Counter* attempts;
  prometheus::Counter* attempts_failed;
  prometheus::Counter* agent_frames;
  prometheus::Counter* agent_frames_bad;
  prometheus::Counter* suspicions;
  prometheus::Gauge* incidents_open;
  prometheus::Gauge* outbox_waiting;
  prometheus::Counter* outbox_shed;
  prometheus::Gauge* agents_connected;
  prometheus::Gauge* terminals_configured;
  prometheus::Gauge* terminals_reachable;
  prometheus::Gauge* store_ok;
  prometheus::Gauge* store_queued_rows;
  prometheus::Counter* store_rows_failed;
  prometheus::Counter* store_corrupt;  // files moved aside
  prometheus::Gauge* reload_ok;        // of the last reading of the configuration
  prometheus::Gauge* reload_time;      // Unix time of the last that was taken
  // A dead man's switch for the loop itself: the first rises once a second, the second is Unix
  // time.
  prometheus::Counter* heartbeats;
  prometheus::Gauge* last_pass;
  prometheus::Histogram* delivery_time;  // from the decision to the terminal's answer
  prometheus::Histogram* red_time;       // from the ring's last progress to the decision

 private:
  prometheus::Counter* Counter(const char* name, const char* help,
                               const std::map<std::string, std::string>& labels = {});
  prometheus::Gauge* Gauge(const char* name, const char* help);

  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Counter>* opened_;
  prometheus::Family<prometheus::Counter>* notified_;
  prometheus::Family<prometheus::Counter>* answered_;
  prometheus::Family<prometheus::Counter>* output_attempts_;
  prometheus::Family<prometheus::Gauge>* output_up_;
  prometheus::Family<prometheus::Gauge>* output_waiting_;
  std::map<int, prometheus::Counter*> answered_by_status_;
  std::map<std::pair<std::string, std::string>, prometheus::Counter*> opened_by_;
  std::map<std::pair<std::string, std::string>, prometheus::Counter*> notified_by_;
};

}  // namespace sentinel
