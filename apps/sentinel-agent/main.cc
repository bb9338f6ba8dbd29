// sentinel-agent: watches the training processes of one node and tells the gateway.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "agent/agent.h"
#include "agent/config.h"
#include "daemon/daemon.h"

namespace {

using namespace sentinel;

constexpr const char* kName = "sentinel-agent";
constexpr const char* kAbout =
    "Watches the progress boards of this node's training processes, tells the gateway what stands\n"
    "still, and takes events on a Unix socket. Reads only; never stops or slows a job. Without\n"
    "--config everything is as by default.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, kName};
  DaemonArguments arguments;
  ManualNotes notes;
  notes.purpose = "watches the training processes of one node and tells the gateway";
  notes.files = {{"/etc/gpu-sentinel/agent.toml", "configuration, where --config names it"},
                 {"/dev/shm/gpu-sentinel.*", "progress boards, one a training process"},
                 {"/run/gpu-sentinel/agent.sock", "where this node's own senders post events"}};
  if (const auto code = ReadArguments(&app, argc, argv, &arguments, std::move(notes))) return *code;
  StartLog(kName, arguments.log_level);

  const std::string& path = arguments.config;
  const Result<AgentConfig> config =
      path.empty() ? ParseAgentConfig("", "defaults") : LoadAgentConfig(path);
  if (!config.ok()) {
    return StartFailed(kName, config.error(),
                       "Correct the configuration; packaging/agent.toml shows all keys.");
  }
  const Status here = CheckHere(*config);
  if (arguments.check) {
    if (!here.ok()) {
      return StartFailed(
          kName,
          {here.error().code, (path.empty() ? "defaults" : path) + ": " + here.error().message},
          "Run it as root, or make it and give it to the user the agent runs as, or name another "
          "one.");
    }
    for (const std::string& warning : WarningsHere(*config)) {
      std::fprintf(stderr, "%s: warning: %s\n", kName, warning.c_str());
    }
    std::printf("%s: ok; host %s, gateway %s\n", path.empty() ? "defaults" : path.c_str(),
                config->host.c_str(), config->gateway.ToString().c_str());
    return kExitEnded;
  }

  // At boot an interface or a folder may come after us: what the start itself does not need is
  // said, and tried again.
  if (!here.ok()) {
    std::string what = here.error().message;
    std::replace(what.begin(), what.end(), '"', '\'');
    spdlog::warn("event=not_here what=\"{}\"", what);
  }
  boost::asio::io_context io(1);
  const Result<std::unique_ptr<Agent>> agent = Agent::Create(*config, io);
  if (!agent.ok()) {
    return StartFailed(kName, agent.error(),
                       "Run it as root or by its service, or set ingest_socket to a path this user "
                       "may serve, or to "
                       "\"\" to do without it.");
  }
  spdlog::info("event=started version={} host=\"{}\" id=\"{}\" boards=\"{}\" gateway={}",
               SENTINEL_VERSION, config->host, config->agent_id, config->board_dir,
               config->gateway.ToString());
  RunUntilSignal(io, [&io] { io.stop(); });
  return kExitEnded;
}
