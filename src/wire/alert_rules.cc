#include "wire/alert_rules.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/glob.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr size_t kEvidenceBytesMax = 1024;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

bool Same(std::string_view a, std::string_view b) { return Lower(a) == Lower(b); }

const std::string& Label(const ReceivedAlert& alert, const std::string& name) {
  static const std::string kNone;
  auto found = alert.labels.find(name);
  return found == alert.labels.end() ? kNone : found->second;
}

std::string First(const ReceivedAlert& alert, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!Label(alert, name).empty()) return Label(alert, name);
  }
  return "";
}

bool Matches(const AlertRule& rule, const ReceivedAlert& alert) {
  return MatchesPattern(rule.alertname, Label(alert, "alertname")) &&
         std::all_of(rule.labels.begin(), rule.labels.end(), [&](const auto& label) {
           return MatchesPattern(label.second, Label(alert, label.first));
         });
}

std::optional<int> Number(std::string_view text) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "gpu-07:9400" is the target of a scrape: the host without the exporter's port.
std::string WithoutPort(const std::string& target) {
  if (target.starts_with('[')) return target.substr(1, target.find(']') - 1);
  size_t colon = target.find(':');
  bool one = colon != std::string::npos && target.find(':', colon + 1) == std::string::npos;
  return one && Number(target.substr(colon + 1)) ? target.substr(0, colon) : target;
}

bool IsApplicationXid(int xid) { return xid == 13 || xid == 31 || xid == 43 || xid == 45; }

std::string Sentence(const ReceivedAlert& alert) {
  for (const char* name : {"summary", "description", "message"}) {
    auto found = alert.annotations.find(name);
    if (found == alert.annotations.end() || found->second.empty()) continue;
    std::string text = found->second.substr(0, kEvidenceBytesMax);
    // Not cut inside of a character.
    while (text.size() < found->second.size() && !text.empty() &&
           (static_cast<unsigned char>(found->second[text.size()]) & 0xC0) == 0x80) {
      text.pop_back();
    }
    return text;
  }
  return "";
}

// Levels at which monitoring talks about itself.
bool IsOnlyInformation(const ReceivedAlert& alert) {
  const std::string& severity = Label(alert, "severity");
  return Same(severity, "none") || Same(severity, "info");
}

// What we tell an Alertmanager comes back to us where its routes are wide: to take it for news
// would light another lamp for the same thing.
bool IsOurs(const ReceivedAlert& alert) {
  const std::string& level = Label(alert, "level");
  return !Label(alert, "incident").empty() && (level == "P0" || level == "P1" || level == "NOTICE");
}

void TakePlace(const ReceivedAlert& alert, const AlertMapping& mapping, Event* event) {
  event->cluster_rack = First(alert, mapping.rack);
  event->gpu_index = Number(First(alert, mapping.gpu));
  event->gpu_uuid = First(alert, {"UUID", "gpu_uuid"});
  event->pci = First(alert, {"pci_bus_id", "pci"});
  event->job_id = First(alert, mapping.job);
  event->xid = Number(First(alert, {"xid", "err_code"}));
  const std::string device = First(alert, {"nic", "device", "interface"});
  constexpr std::string_view kCard = "nvidia";
  if (!device.starts_with(kCard)) {
    event->nic = device;
  } else if (!event->gpu_index) {
    event->gpu_index = Number(std::string_view(device).substr(kCard.size()));
  }
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  return FitsGlob(Lower(pattern), Lower(text));
}

std::vector<AlertRule> UsualAlertRules() {
  std::vector<AlertRule> rules;
  auto add = [&rules](const char* event_type, std::vector<const char*> names) {
    for (const char* name : names) rules.push_back({name, {}, event_type});
  };
  // Monitoring that says it is awake, and what is said of us.
  add("", {"Watchdog", "InfoInhibitor", "DeadMansSwitch", "Sentinel*"});
  add("NVSWITCH_ERROR", {"*nvswitch*", "*sxid*"});
  add("XID_FATAL", {"*xid*"});
  add("GPU_LOST", {"*gpu*lost*", "*gpu*missing*", "*fallenoffthebus*", "*felloffthebus*"});
  add("NVLINK_ERROR", {"*nvlink*"});
  add("ECC_ERROR",
      {"*ecc*", "*doublebit*", "*uncorrectable*", "*remap*row*", "*row*remap*", "*edac*"});
  add("OPTICS_HOT", {"*optic*temp*", "*transceiver*temp*", "*module*temp*", "*optic*hot*"});
  add("OPTICS_ERROR", {"*optic*", "*transceiver*", "*symbolerror*"});
  add("THERMAL", {"*gpu*temp*", "*gpu*therm*", "*gpu*throttl*", "*gpu*hot*", "*dcgm*temp*"});
  add("PCIE_ERROR", {"*pcie*"});
  add("PFC_STORM", {"*pfc*", "*pausestorm*", "*pauseframes*"});
  add("LINK_FLAP", {"*flap*"});
  add("LINK_DOWN", {"*link*down*", "*interface*down*", "*port*down*"});
  add("NIC_ERROR",
      {"*receiveerrs*", "*transmiterrs*", "*nic*err*", "*network*err*", "*infiniband*err*"});
  add("NODE_SILENT", {"*node*down*", "*host*down*", "*instancedown*", "*targetdown*",
                      "KubeNodeNotReady", "KubeNodeUnreachable"});
  add("NCCL_TIMEOUT", {"*nccl*timeout*", "*nccl*hang*", "*nccl*stall*"});
  return rules;
}

MappedAlert MapAlert(const ReceivedAlert& alert, const AlertMapping& mapping) {
  if (IsOurs(alert)) return {std::nullopt, "it is an incident of ours", false};
  Event event;
  auto rule = std::find_if(mapping.rules.begin(), mapping.rules.end(),
                           [&](const AlertRule& r) { return Matches(r, alert); });
  if (rule != mapping.rules.end()) {
    if (rule->event_type.empty()) return {std::nullopt, "a rule passes it over", false};
    event.event_type = rule->event_type;
  } else {
    event.event_type = Label(alert, "alertname");
    if (event.event_type.empty()) return {std::nullopt, "it has no label alertname", true};
    if (!mapping.take_unknown) return {std::nullopt, "no rule knows it", false};
    if (IsOnlyInformation(alert)) return {std::nullopt, "its severity is only information", false};
  }
  event.node_host = WithoutPort(First(alert, mapping.host));
  if (event.node_host.empty()) {
    std::string looked;
    for (const std::string& name : mapping.host) looked += (looked.empty() ? "" : ", ") + name;
    return {std::nullopt, "no label names its host; looked for " + looked, true};
  }
  TakePlace(alert, mapping, &event);
  // A bug of the job, not of the card.
  bool usual = rule != mapping.rules.end() && rule->alertname == "*xid*";
  if (usual && event.xid && IsApplicationXid(*event.xid)) event.event_type = "XID_WARN";
  event.evidence = Sentence(alert);
  event.observed_at = FormatRfc3339(alert.starts_at);
  event.event_id =
      "alert-" + alert.fingerprint + "-" + std::to_string(alert.starts_at.since_epoch.count());
  event.state = alert.firing ? EventState::kFiring : EventState::kResolved;
  event.ends_only_this = true;
  event.lease = mapping.lease;
  event.extra = Json{{"alert", alert.labels}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  return {std::move(event), "", false};
}

}  // namespace sentinel
