#include "incident/site.h"

#include <algorithm>
#include <functional>

#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kFullNameMax = 64;  // characters

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
    if (!host.alias.empty()) Hear(host.rack, Sanitise(host.alias, kSpokenFieldMax), name);
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
  std::string identity = IdentityHost(host);
  std::string clean = CleanHost(host);
  bool alone = Hear(rack, clean, identity);
  // All its names are heard, whichever is spoken: the next host is compared with every one.
  std::string cut = Sanitise(identity, kSpokenHostMax);
  if (cut == clean) return alone ? clean : Sanitise(identity, kFullNameMax);
  bool cut_alone = Hear(rack, cut, identity);
  if (alone) return clean;
  return cut_alone ? cut : Sanitise(identity, kFullNameMax);
}

void Site::OnHostSeen(std::string_view host) {
  const HostEntry* entry = FindHost(host);
  SpokenHost(entry == nullptr ? "" : std::string_view(entry->rack), host);
}

bool Site::Hear(std::string_view rack, const std::string& name, const std::string& identity) {
  std::string key = SpokenRack(rack) + '\n' + name;
  auto it = sounding_.find(key);
  if (it == sounding_.end()) {
    if (sounding_.size() >= kNamesHeardMax) return false;
    it = sounding_.emplace(std::move(key), std::vector<size_t>()).first;
  }
  std::vector<size_t>& identities = it->second;
  size_t hash = std::hash<std::string>()(identity);
  bool known = std::find(identities.begin(), identities.end(), hash) != identities.end();
  if (!known && identities.size() < 2) identities.push_back(hash);
  return identities.size() < 2;
}

}  // namespace sentinel
