#include "incident/site.h"

#include <algorithm>

#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kFullNameMax = 96;

void AddNew(std::vector<std::string>* list, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::find(list->begin(), list->end(), name) == list->end()) list->push_back(name);
  }
}

}  // namespace

Site::Site(std::vector<std::string> terminals, std::vector<Route> routes,
           std::vector<HostEntry> hosts)
    : terminals_(std::move(terminals)), routes_(std::move(routes)) {
  for (HostEntry& host : hosts) {
    SpokenHost(host.rack, host.name);
    std::string name = IdentityHost(host.name);
    hosts_.insert_or_assign(std::move(name), std::move(host));
  }
}

const HostEntry* Site::FindHost(std::string_view host) const {
  if (hosts_.empty()) return nullptr;
  auto it = hosts_.find(IdentityHost(host));
  return it == hosts_.end() ? nullptr : &it->second;
}

std::vector<std::string> Site::TerminalsFor(std::string_view rack, std::string_view host,
                                            Severity severity) const {
  const HostEntry* entry = FindHost(host);
  if (entry != nullptr && !entry->terminals.empty()) return entry->terminals;
  std::vector<std::string> chosen;
  for (const Route& route : routes_) {
    bool rack_fits = route.rack.empty() || SpokenRack(route.rack) == SpokenRack(rack);
    bool level_fits = !route.level || *route.level == severity;
    if (rack_fits && level_fits) AddNew(&chosen, route.terminals);
  }
  return chosen.empty() ? terminals_ : chosen;
}

std::string Site::SpokenHost(std::string_view rack, std::string_view host) {
  const HostEntry* entry = FindHost(host);
  if (entry != nullptr && !entry->alias.empty()) return Sanitise(entry->alias, kSpokenFieldMax);
  std::string clean = CleanHost(host);
  std::string identity = IdentityHost(host);
  std::string key = SpokenRack(rack) + '\n' + clean;
  auto it = sounding_.find(key);
  if (it == sounding_.end()) {
    if (sounding_.size() >= kNamesHeardMax) return clean;
    it = sounding_.emplace(std::move(key), std::vector<std::string>()).first;
  }
  std::vector<std::string>& names = it->second;
  if (std::find(names.begin(), names.end(), identity) == names.end() && names.size() < 2) {
    names.push_back(identity);
  }
  return names.size() < 2 ? clean : Sanitise(identity, kFullNameMax);
}

}  // namespace sentinel
