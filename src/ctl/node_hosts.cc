#include "ctl/node_hosts.h"

#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/glob.h"
#include "ctl/json_fields.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

class Hosts {
 public:
  explicit Hosts(std::string pattern) : pattern_(std::move(pattern)) {}

  void Add(const std::string& host) {
    if (!host.empty() && FitsGlob(pattern_, host)) fitting_.insert(host);
  }
  void AddOutOfService(const Json& silences) {
    for (const Json& silence : List(silences, "silences")) {
      const Json& matcher = Field(silence, "matcher");
      // What also asks for a rack, a type or a job says nothing of the host alone.
      const bool of_hosts = Text(matcher, "rack").empty() && Text(matcher, "type").empty() &&
                            Text(matcher, "job").empty();
      const bool counts = !Text(silence, "node_state").empty() && Text(silence, "phase") != "over";
      if (of_hosts && counts) Add(Text(matcher, "host"));
    }
  }
  std::vector<std::string> All() const { return {fitting_.begin(), fitting_.end()}; }

 private:
  std::string pattern_;
  std::set<std::string> fitting_;
};

}  // namespace

bool IsHostPattern(const std::string& host) {
  return host.find_first_of("*?") != std::string::npos;
}

std::vector<std::string> KnownHostsThatFit(const std::string& pattern, const Json& agents,
                                           const Json& incidents, const Json& silences) {
  Hosts hosts(pattern);
  for (const Json& agent : List(agents, "agents")) hosts.Add(Text(agent, "host"));
  for (const Json& incident : List(incidents, "incidents")) {
    hosts.Add(Text(Field(incident, "culprit"), "host"));
  }
  for (const Json& silence : List(silences, "silences")) {
    const std::string host = Text(Field(silence, "matcher"), "host");
    const bool of_a_node = !Text(silence, "node_state").empty() && !IsHostPattern(host);
    if (of_a_node) hosts.Add(host);
  }
  return hosts.All();
}

std::vector<std::string> HostsOutOfServiceThatFit(const std::string& pattern,
                                                  const Json& silences) {
  Hosts hosts(pattern);
  hosts.AddOutOfService(silences);
  return hosts.All();
}

}  // namespace sentinel
