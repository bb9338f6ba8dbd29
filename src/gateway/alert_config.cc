#include "gateway/alert_config.h"

#include <string>
#include <utility>

namespace sentinel {
namespace {

constexpr int64_t kLeaseMinMs = 60'000;
constexpr int64_t kLeaseMaxMs = 7 * 86'400'000;

void ReadRule(TomlReader* reader, std::vector<AlertRule>* rules) {
  AlertRule rule;
  bool known = false;
  reader->Text("alertname", &rule.alertname);
  reader->Names("labels", &rule.labels);
  auto type = [&known](const std::string& text) -> Result<std::string> {
    known = true;
    return text;
  };
  reader->Parsed("event_type", type, &rule.event_type);
  if (!known) {
    reader->Wrong("event_type", "it is missing: which event such an alert is, or \"\" for none");
  }
  if (rules->size() == kAlertRulesMax) {
    reader->Wrong("alertname", "more than " + std::to_string(kAlertRulesMax) + " rules");
  }
  rules->push_back(std::move(rule));
}

}  // namespace

AlertMapping DefaultAlertMapping() {
  AlertMapping mapping;
  mapping.rules = UsualAlertRules();
  return mapping;
}

void ReadAlerts(TomlReader* reader, AlertMapping* mapping) {
  std::vector<AlertRule> rules;
  reader->Section("alerts", [&](TomlReader& alerts) {
    alerts.Sections("rules", [&](TomlReader& rule) { ReadRule(&rule, &rules); });
    alerts.Texts("host_labels", &mapping->host);
    alerts.Texts("rack_labels", &mapping->rack);
    alerts.Texts("gpu_labels", &mapping->gpu);
    alerts.Texts("job_labels", &mapping->job);
    alerts.Choice<bool>("unknown", {{"event", true}, {"ignore", false}}, &mapping->take_unknown);
    alerts.Millis("lease_ms", &mapping->lease, kLeaseMinMs, kLeaseMaxMs);
    if (mapping->host.empty()) alerts.Wrong("host_labels", "at least one is expected");
  });
  mapping->rules.insert(mapping->rules.begin(), rules.begin(), rules.end());
}

}  // namespace sentinel
