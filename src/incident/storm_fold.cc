#include "incident/storm_fold.h"

#include <algorithm>
#include <utility>

namespace sentinel {
namespace {

bool SameCard(const CardFault& a, const CardFault& b) {
  if (a.gpu && b.gpu) return *a.gpu == *b.gpu;
  return !a.pci.empty() && a.pci == b.pci;
}

std::optional<int> OrderOf(const Event& event) {
  if (!event.xid) {
    const bool root = event.event_type == "GPU_LOST" || event.event_type == "XID_FATAL" ||
                      event.event_type == "ECC_ERROR";
    return root ? std::optional<int>(0) : std::nullopt;
  }
  switch (*event.xid) {
    case 94:
    case 171:
    case 172:
      return 1;
    case 154:
      return 2;
    case 43:
    case 45:
      return 3;
    default:
      return 0;
  }
}

}  // namespace

std::optional<CardFault> CardFaultOf(const Event& event, std::string host) {
  const std::optional<int> order = OrderOf(event);
  if (!order) return std::nullopt;
  CardFault fault;
  fault.host = std::move(host);
  if (event.gpu_index && *event.gpu_index >= 0) fault.gpu = *event.gpu_index;
  fault.pci = event.pci;
  fault.order = *order;
  if (!fault.gpu && fault.pci.empty()) return std::nullopt;
  return fault;
}

std::optional<std::string> StormFold::RootOf(const CardFault& fault, Instant now) const {
  auto it = seen_.find(fault.host);
  if (it == seen_.end()) return std::nullopt;
  const Seen* root = nullptr;
  for (const Seen& seen : it->second) {
    if (seen.fault.order >= fault.order || now - seen.at > kFoldWindow) continue;
    if (!SameCard(seen.fault, fault)) continue;
    if (root == nullptr || seen.fault.order <= root->fault.order) root = &seen;
  }
  return root == nullptr ? std::nullopt : std::optional<std::string>(root->incident);
}

std::vector<std::string> StormFold::FollowersOf(const CardFault& fault, Instant now) const {
  std::vector<std::string> followers;
  auto it = seen_.find(fault.host);
  if (it == seen_.end()) return followers;
  for (const Seen& seen : it->second) {
    if (seen.fault.order <= fault.order || now - seen.at > kFoldWindow) continue;
    if (SameCard(seen.fault, fault)) followers.push_back(seen.incident);
  }
  return followers;
}

void StormFold::Remember(const CardFault& fault, const std::string& incident, Instant now) {
  if (seen_.size() >= kFoldHostsMax && !seen_.contains(fault.host)) {
    std::erase_if(seen_,
                  [now](const auto& host) { return now - host.second.back().at > kFoldWindow; });
    if (seen_.size() >= kFoldHostsMax) return;
  }
  std::deque<Seen>& faults = seen_[fault.host];
  faults.push_back({fault, incident, now});
  while (faults.size() > kFoldFaultsMax || now - faults.front().at > kFoldWindow) {
    faults.pop_front();
  }
}

void StormFold::Forget(const std::string& host, const std::string& incident) {
  auto it = seen_.find(host);
  if (it == seen_.end()) return;
  std::erase_if(it->second, [&](const Seen& seen) { return seen.incident == incident; });
  if (it->second.empty()) seen_.erase(it);
}

}  // namespace sentinel
