// The body that an Alertmanager (or Grafana, which sends the same) posts to a webhook. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/malformed.h"

namespace sentinel {

// Of one body; beyond, it is refused. An Alertmanager sends a group whole unless its max_alerts
// says otherwise, and one that is refused it does not send again soon: room for 500 alerts of 4
// KiB, twice what they weigh with ten labels, a summary, a description and a generatorURL.
constexpr size_t kAlertsBytesMax = 2 * 1024 * 1024;
// Alerts that are taken of one body: as many of 2 KiB as have room in it. Beyond, those that fire
// come first, and the rest is counted as `over`.
constexpr size_t kAlertsMax = 1024;
// Entries of one body, whatever they are; beyond, it is refused. No alert is so small.
constexpr size_t kAlertEntriesMax = 8192;
constexpr size_t kAlertLabelsMax = 64;

struct ReceivedAlert {
  bool firing = true;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  WallTime starts_at;
  std::string fingerprint;  // what it is the same alert by; made of its labels where it is missing
  size_t index = 0;         // where it stands in the body
};

struct ReceivedAlerts {
  std::vector<ReceivedAlert> alerts;
  Malformed malformed;
  size_t over = 0;       // well-formed, and more than kAlertsMax
  int64_t left_out = 0;  // how many more the sender has and did not send: its max_alerts is less
};

// An alert that is not as it has to be costs no other its place. kInvalidArgument, with what is
// wrong, where, and what is expected, for a body that is not such an object: then none of it
// counts. Fields that are not used here are passed over.
Result<ReceivedAlerts> ParseAlerts(std::string_view body);

}  // namespace sentinel
