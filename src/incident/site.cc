#include "incident/site.h"

#include <algorithm>
#include <functional>

#include "base/glob.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kFullNameMax = 64;  // characters

void AddNew(std::vector<Site::Chosen>* list, const std::vector<std::string>& more,
            const std::string& why) {
  for (const std::string& name : more) {
    const bool known = std::any_of(list->begin(), list->end(),
                                   [&](const auto& chosen) { return chosen.terminal == name; });
    if (!known) list->push_back({name, why});
  }
}

bool Fits(const Route& route, const Site::Sight& sight) {
  if (!route.rack.empty() && SpokenRack(route.rack) != SpokenRack(sight.rack)) return false;
  if (route.level && *route.level != sight.severity) return false;
  if (route.jobs.empty()) return true;
  return !sight.job.empty() &&
         std::any_of(route.jobs.begin(), route.jobs.end(),
                     [&](const std::string& glob) { return FitsGlob(glob, sight.job); });
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

std::vector<Site::Chosen> Site::Choose(const Sight& sight) const {
  std::vector<Chosen> chosen;
  const HostEntry* entry = FindHost(sight.host);
  if (entry != nullptr && !entry->terminals.empty()) {
    AddNew(&chosen, entry->terminals, "the inventory gives this host its own terminals");
    return chosen;
  }
  for (size_t i = 0; i < routes_.size(); ++i) {
    if (Fits(routes_[i], sight)) {
      AddNew(&chosen, routes_[i].terminals, "route " + std::to_string(i + 1) + " fits");
    }
  }
  if (chosen.empty()) {
    AddNew(&chosen, terminals_, routes_.empty() ? "there are no routes" : "no route fits");
  }
  return chosen;
}

std::vector<std::string> Site::TerminalsFor(const Sight& sight) const {
  std::vector<std::string> names;
  for (Chosen& chosen : Choose(sight)) names.push_back(std::move(chosen.terminal));
  return names;
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

void Site::HearAllOf(const Site& other) {
  for (const auto& [name, identities] : other.sounding_) {
    if (sounding_.size() >= kNamesHeardMax && !sounding_.contains(name)) continue;
    std::vector<size_t>& heard = sounding_[name];
    for (size_t identity : identities) {
      bool known = std::find(heard.begin(), heard.end(), identity) != heard.end();
      if (!known && heard.size() < 2) heard.push_back(identity);
    }
  }
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
