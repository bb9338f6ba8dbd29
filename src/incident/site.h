// The site: where hosts stand, which terminals there are, and who shows what.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/severity.h"
#include "model/silence.h"

namespace sentinel {

struct HostEntry {
  std::string name;
  std::string rack;
  std::optional<int> unit;
  std::string alias;                   // spoken instead of the name; empty: none
  std::vector<std::string> terminals;  // empty: by the routes
  std::map<std::string, int> gpus;     // PCI id -> card number
  NodeState state = NodeState::kInService;
};

// Matches what it states; a route that states nothing matches all.
struct Route {
  std::string rack;
  std::optional<Severity> level;
  std::vector<std::string> jobs;  // globs, any of them; what belongs to no job fits none
  std::vector<std::string> terminals;
};

class Site {
 public:
  Site() = default;
  Site(std::vector<std::string> terminals, std::vector<Route> routes, std::vector<HostEntry> hosts);

  const std::vector<std::string>& terminals() const { return terminals_; }

  // By the name it is known by; a generated suffix makes no difference.
  const HostEntry* FindHost(std::string_view host) const;

  // What is to be shown: where it is, how severe, whose.
  struct Sight {
    std::string_view rack;
    std::string_view host;
    Severity severity;
    std::string_view job;
  };
  struct Chosen {
    std::string terminal;
    std::string why;  // for people
  };
  // Those of the host, else those of every route that matches, else all. A rack is compared as it
  // is spoken.
  std::vector<Chosen> Choose(const Sight& sight) const;
  std::vector<std::string> TerminalsFor(const Sight& sight) const;

  // What to call a host of a rack aloud: its alias, its clean name, or, where another host of that
  // rack in the inventory or heard of would sound the same, the name it is known by: cut like a
  // clean one if that tells them apart, else up to 64 characters of it.
  std::string SpokenHost(std::string_view rack, std::string_view host);
  // There is such a host: names are compared with its name from here on.
  void OnHostSeen(std::string_view host);
  // All the names that `other` has heard of are heard of here too.
  void HearAllOf(const Site& other);

 private:
  // That host may be called so. True if no other of that rack may.
  bool Hear(std::string_view rack, const std::string& name, const std::string& identity);

  std::vector<std::string> terminals_;
  std::vector<Route> routes_;
  std::map<std::string, HostEntry, std::less<>> hosts_;  // by identity name
  // (rack, name) -> hashes of up to two identity names that sound so; see kNamesHeardMax.
  std::unordered_map<std::string, std::vector<size_t>> sounding_;
};

// Names remembered for telling hosts apart; beyond it a new one is spoken in full, for want of
// knowing better.
constexpr size_t kNamesHeardMax = 65'536;

}  // namespace sentinel
