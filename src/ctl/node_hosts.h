// Which hosts an operator means by a name with holes in it. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sentinel {

// Whether it has a `*` or `?`: no host is called so.
bool IsHostPattern(const std::string& host);

// The hosts that fit, of those a gateway has heard of: its agents', those of incidents that it
// knows, and those out of service. In order, each once. The answers to GET /api/v1/agents,
// /api/v1/incidents and /api/v1/silences.
std::vector<std::string> KnownHostsThatFit(const std::string& pattern, const nlohmann::json& agents,
                                           const nlohmann::json& incidents,
                                           const nlohmann::json& silences);

// Likewise those that are out of service, each by its own name or, where a whole pattern was posted
// to the gateway, by that. The answer to GET /api/v1/silences.
std::vector<std::string> HostsOutOfServiceThatFit(const std::string& pattern,
                                                  const nlohmann::json& silences);

}  // namespace sentinel
