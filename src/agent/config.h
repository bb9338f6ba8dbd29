// The agent's configuration: packaging/agent.toml shows all of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/toml_reader.h"
#include "http/message.h"
#include "http/tls_config.h"
#include "progress/comm_watch.h"

namespace sentinel {

constexpr uint16_t kAgentStreamPort = 8081;

struct AgentConfig {
  std::string host;      // default: the machine's own name
  std::string agent_id;  // default: host and machine id; stable over restarts
  std::string board_dir = "/dev/shm";
  Endpoint gateway{"127.0.0.1", kAgentStreamPort, false};
  std::string interface;                                       // empty: as routed
  std::string ingest_socket = "/run/gpu-sentinel/agent.sock";  // empty: off
  std::string spool_dir = "/var/lib/gpu-sentinel/agent-spool";
  // What was learned outlives the agent there. Empty: it does not. Default where a configuration is
  // read: the folder that spool_dir is in.
  std::string state_dir;
  TlsConfig tls;
  WatchOptions watch;
};

// Errors say file:line:column and what is allowed there. The files that it names are looked for
// where it is loaded.
Result<AgentConfig> LoadAgentConfig(const std::string& path);
Result<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& file,
                                     NamedFiles named = NamedFiles::kTaken);

// Whether this machine has what is named there, board_dir and interface, whether its certificates
// can be used, and whether the folders of the spool, the state and the ingest socket are there or
// can be made. Makes nothing.
Status CheckHere(const AgentConfig& config);
// What an operator should know of it, in words: a gateway whose name does not resolve now (it is
// asked for again with every attempt), a host that alarms cannot tell from others, the training
// network. Asks the host's resolver, which may take its time.
std::vector<std::string> WarningsHere(const AgentConfig& config);

}  // namespace sentinel
