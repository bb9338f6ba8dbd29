// What becomes of incidents, as lines of the log and as counts of the metrics.
#pragma once

#include <cstdint>

#include "incident/event_table.h"
#include "incident/incident_book.h"
#include "web/metrics.h"

namespace sentinel {

class IncidentLog {
 public:
  // Both outlive this object.
  IncidentLog(const IncidentBook& book, GatewayMetrics& metrics) : book_(book), metrics_(metrics) {}

  // Every change is counted; of a storm only so many have a line of their own. Types that are in
  // `table` become labels, all others are one.
  void Tell(const IncidentBook::Change& change, const EventTable& table);
  // Once a second: says how many lines were left out since the last time.
  void Tick();

 private:
  const IncidentBook& book_;
  GatewayMetrics& metrics_;
  uint64_t lines_ = 0;  // since the last tick
};

}  // namespace sentinel
