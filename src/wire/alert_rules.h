// Which of our events an alert of somebody else's monitoring is: by its labels. Pure.
//
// The defaults know the alert names and labels that DCGM exporter, node exporter and the rule
// collections around them use; a site's own rules come first (docs/formats/ingest.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/event.h"
#include "wire/alertmanager_json.h"

namespace sentinel {

constexpr size_t kAlertRulesMax = 256;

// A glob (base/glob.h) to which upper and lower case are the same.
bool MatchesPattern(std::string_view pattern, std::string_view text);

struct AlertRule {
  std::string alertname = "*";
  std::map<std::string, std::string> labels;  // each a pattern; a label that is absent is ""
  std::string event_type;                     // empty: the alert is passed over
};

struct AlertMapping {
  std::vector<AlertRule> rules;  // the first that matches counts
  // Labels that name these, the first that is there counts.
  std::vector<std::string> host = {"Hostname",        "hostname", "node",    "nodename",
                                   "kubernetes_node", "host",     "instance"};
  std::vector<std::string> rack = {"rack", "cluster_rack"};
  std::vector<std::string> gpu = {"gpu", "gpu_index", "minor_number"};
  std::vector<std::string> job = {"job_id", "slurm_job_id", "hpc_job", "training_job"};
  // An alert that no rule knows becomes an event of its own name; else it is passed over.
  bool take_unknown = true;
  // So long an alert holds without being repeated: longer than the sender's repeat_interval.
  Duration lease = std::chrono::hours(5);
};

// Rules for the usual names, to stand behind the site's own.
std::vector<AlertRule> UsualAlertRules();

struct MappedAlert {
  std::optional<Event> event;
  std::string why;    // there is none
  bool lost = false;  // nobody meant it to be passed over: a label is missing
};

// The same alert, as long as it started at the same moment, has the same event_id: a repeat counts
// once.
MappedAlert MapAlert(const ReceivedAlert& alert, const AlertMapping& mapping);

}  // namespace sentinel
