#include "gateway/agents.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "incident/speech_text.h"

namespace sentinel {

void Agents::OnHello(const std::string& agent, const Hello& hello, Instant now) {
  if (!agents_.contains(agent) && agents_.size() >= kAgentsKnownMax) {
    auto oldest = std::min_element(
        agents_.begin(), agents_.end(),
        [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
    agent_of_host_.erase(IdentityHost(oldest->second.host));
    agents_.erase(oldest);
  }
  AgentRecord& record = agents_[agent];
  record.host = hello.host;
  record.boot_id = hello.boot_id;
  record.connected = true;
  record.heard = now;
  agent_of_host_[IdentityHost(hello.host)] = agent;
}

void Agents::OnInventory(const std::string& agent, const Inventory& inventory) {
  agents_[agent].members = inventory.members.size();
  for (const OwnedJob& owned : inventory.jobs) {
    if (owners_.insert_or_assign(owned.job, owned.owner).second) {
      owners_order_.push_back(owned.job);
    }
  }
  while (owners_order_.size() > kJobOwnersMax) {
    owners_.erase(owners_order_.front());
    owners_order_.pop_front();
  }
}

JobOwner Agents::OwnerOf(const std::string& job) const {
  auto it = owners_.find(job);
  return it == owners_.end() ? JobOwner{} : it->second;
}

void Agents::OnHeartbeat(const std::string& agent, const Heartbeat& heartbeat) {
  agents_[agent].last_heartbeat = heartbeat;
}

void Agents::OnHeard(const std::string& agent, Instant now) { agents_[agent].heard = now; }

void Agents::OnGone(const std::string& agent) { agents_[agent].connected = false; }

JobPresence Agents::Presence(const std::string& host) const {
  auto named = agent_of_host_.find(IdentityHost(host));
  if (named == agent_of_host_.end()) return JobPresence::kUnknown;
  auto found = agents_.find(named->second);
  if (found == agents_.end() || !found->second.connected) return JobPresence::kUnknown;
  return found->second.members > 0 ? JobPresence::kRunning : JobPresence::kNone;
}

std::vector<std::string> Agents::Silent(Instant now, Duration after) const {
  std::vector<std::string> hosts;
  for (const auto& [id, record] : agents_) {
    if (now - record.heard > after) hosts.push_back(record.host);
  }
  return hosts;
}

size_t Agents::connected() const {
  return static_cast<size_t>(std::count_if(
      agents_.begin(), agents_.end(), [](const auto& agent) { return agent.second.connected; }));
}

std::string AgentsJson(const Agents& agents, Instant now) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [id, record] : agents.all()) {
    list.push_back({{"id", id},
                    {"host", record.host},
                    {"connected", record.connected},
                    {"heard_ms", ToMillis(now - record.heard)},
                    {"members", record.members},
                    {"boards", record.last_heartbeat.boards},
                    {"events_queued", record.last_heartbeat.events_queued},
                    {"dropped", record.last_heartbeat.dropped}});
  }
  nlohmann::ordered_json json;
  json["agents"] = std::move(list);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sentinel
