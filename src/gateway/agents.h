// What the gateway knows of its agents: who is there, where jobs run, who has fallen silent.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "incident/event_table.h"
#include "model/agent_message.h"

namespace sentinel {

// Agents remembered; beyond it the one not heard of for longest is forgotten.
constexpr size_t kAgentsKnownMax = 16'384;
// Jobs whose owners are remembered; beyond it the one told of first is forgotten.
constexpr size_t kJobOwnersMax = 16'384;

struct AgentRecord {
  std::string host;
  std::string boot_id;
  bool connected = false;
  Instant heard;
  size_t members = 0;
  Heartbeat last_heartbeat;
};

class Agents {
 public:
  void OnHello(const std::string& agent, const Hello& hello, Instant now);
  void OnInventory(const std::string& agent, const Inventory& inventory);
  void OnHeartbeat(const std::string& agent, const Heartbeat& heartbeat);
  void OnHeard(const std::string& agent, Instant now);
  void OnGone(const std::string& agent);

  // What agents say of jobs on that host.
  JobPresence Presence(const std::string& host) const;

  // Whose a job is, as some agent has read it; empty if none has.
  JobOwner OwnerOf(const std::string& job) const;

  // Hosts that have been silent for longer than `after`.
  std::vector<std::string> Silent(Instant now, Duration after) const;

  const std::map<std::string, AgentRecord>& all() const { return agents_; }
  size_t connected() const;

 private:
  std::map<std::string, AgentRecord> agents_;
  std::map<std::string, std::string> agent_of_host_;  // by the name hosts are known by
  std::map<std::string, JobOwner> owners_;            // by job
  std::deque<std::string> owners_order_;
};

std::string AgentsJson(const Agents& agents, Instant now);

}  // namespace sentinel
